"""docs/ as a site of files: `make site`.

    python package/site_build.py FOLDER

Pages link to files of the repository beside docs/.  These are taken in below `repository/`: pages
as pages, others as text, folders as a list.  Zensical then builds all of it, and what it built is
looked at once more: each link leads to a file and a section of it, and no other host is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).resolve().parents[1]
_WORKER: Final = ROOT / "package/site/iframe-worker.js"
"""Has the search work where a browser reads the site from a folder."""
_TARGET: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)")
_ELSEWHERE: Final = re.compile(
    r'<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)="?(https?:[^"> ]+)'
)
"""What a browser would ask of another host; a link that a reader may follow is none."""
_LINK: Final = re.compile(r'\b(?:src|href)=(?:"([^"]*)"|([^"\s>]+))')
_ANCHOR: Final = re.compile(r'\b(?:id|name)=(?:"([^"]*)"|([^"\s>]+))')


class SiteSource:
    """The folder that the site is built from.

    Args:
        folder: where it is made, an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        shutil.copytree(ROOT / "docs", self.docs)
        (self.docs / "assets").mkdir(exist_ok=True)
        shutil.copy(_WORKER, self.docs / "assets")
        shutil.copy(ROOT / "mkdocs.yml", folder)

    def link_all(self) -> None:
        """Have each link of each page lead to a file of the site."""
        waiting = [page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")]
        done = set(waiting)
        for page in waiting:  # it grows meanwhile
            for file in self._link(page):
                if file not in done:
                    done.add(file)
                    waiting.append(file)

    def _link(self, page: Path) -> list[Path]:
        """Write a page, given by its place in the repository; return pages that it takes in."""
        if (ROOT / page).is_dir():
            names = sorted(file.name for file in (ROOT / page).iterdir())
            text = f"# {page}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)
            base = page
        else:
            text, base = (ROOT / page).read_text(), page.parent
        place = self._place(page)
        taken: list[Path] = []

        def lead(match: re.Match[str]) -> str:
            file = Path(os.path.normpath(base / match[1]))
            ours = file.parts[0] == "docs"
            if not (ROOT / file).exists() or (ours and (ROOT / file).is_dir()):
                return match[1]  # the build says that it leads nowhere
            if file.suffix == ".md" or (ROOT / file).is_dir():
                taken.append(file)
            elif not ours:
                self._place(file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, self._place(file))
            return os.path.relpath(self._place(file), place.parent)

        text = _TARGET.sub(lead, text)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return taken

    def _place(self, file: Path) -> Path:
        """Return where a file of the repository lies in the source."""
        if file.parts[0] == "docs":
            return self.folder / file
        name = self.docs / "repository" / file
        if (ROOT / file).is_dir():
            return name / "index.md"
        return name if name.suffix == ".md" else name.with_name(f"{name.name}.txt")


def asked_elsewhere(site: Path) -> list[str]:
    """Return what pages of a site would have a browser ask of other hosts."""
    return [
        f"{page.relative_to(site)} asks {address}"
        for page in sorted(site.rglob("*.html"))
        for address in _ELSEWHERE.findall(page.read_text())
    ]


def leads_nowhere(site: Path) -> list[str]:
    """Return links of a site to files, or sections of pages, that are not there."""
    texts = {page: page.read_text() for page in sorted(site.rglob("*.html"))}
    texts.pop(site / "404.html", None)  # for whatever address, so its links begin at the root
    anchors = {page: _values(_ANCHOR, text) | {""} for page, text in texts.items()}
    faults: list[str] = []
    for page, text in texts.items():
        for link in sorted(_values(_LINK, text)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            file = page if not parts.path else Path(os.path.normpath(page.parent / parts.path))
            if file.is_dir():
                file /= "index.html"
            if not file.is_file() or unquote(parts.fragment) not in anchors.get(file, {""}):
                faults.append(f"{page.relative_to(site)} links to {link}")
    return faults


def _values(attribute: re.Pattern[str], text: str) -> set[str]:
    return {unescape(quoted or bare) for quoted, bare in attribute.findall(text)}


def main(target: Path) -> int:
    """Build the site into a folder, which is replaced; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="oborona-site-") as folder:
        source = SiteSource(Path(folder))
        source.link_all()
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        ended = subprocess.run(command, check=False, cwd=folder)
        if ended.returncode:
            return ended.returncode
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(Path(folder, "site"), target)
    faults = asked_elsewhere(target) + leads_nowhere(target)
    for fault in faults:
        print(fault, file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
