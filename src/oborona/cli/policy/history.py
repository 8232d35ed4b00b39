"""The table of all policy files that ever shipped, written again:
`python -m oborona.cli.policy.history` (docs/policy/policy.md, `oborona.policy.shipped_files`).

`make docs` adds the files as they are now; this program adds those of all commits of the clone that
it runs in as well.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from oborona.errors import PolicyError
from oborona.policy.shipped_files import (
    MANIFEST,
    FileVersion,
    digest,
    fingerprint,
    read,
    shipped_table,
    statements_of,
)
from oborona.toml import parse

FOLDER: Final = "etc/policy.d"


def table(folder: Path, older: Iterable[FileVersion] = ()) -> str:
    """Return the table of a folder of files that ship.

    Args:
        folder: with its table so far, if there is one; what is in that stays.
        older: further versions, oldest first.
    """
    manifest = folder / MANIFEST
    now = {path.name: version(path.name, path.read_bytes()) for path in shipping(folder)}
    before = [*older, *(read(manifest) if manifest.exists() else ())]
    entries = {(entry.name, entry.digest): entry._replace(ships=False) for entry in before}
    entries |= {(entry.name, entry.digest): entry._replace(ships=True) for entry in now.values()}
    return shipped_table(entries.values())


def shipping(folder: Path) -> list[Path]:
    """Return the files of a folder that ship, but the table."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix in (".toml", ".list", ".lua") and path.name[0] != "."
    )


def version(name: str, raw: bytes) -> FileVersion:
    """Return what the table says of one version of a file."""
    statements = None
    if name.endswith(".toml"):
        data = parse(raw, name, PolicyError).data
        statements = frozenset(
            fingerprint(key, value) for key, value in statements_of(data).items()
        )
    return FileVersion(name, ships=False, digest=digest(raw), said=statements)


def committed(root: Path) -> Iterator[FileVersion]:
    """Yield all versions in the history of a clone, oldest first."""
    commits = _git(root, "log", "--reverse", "--format=%H", "--", FOLDER).decode().split()
    blobs: set[tuple[str, str]] = set()
    for commit in commits:
        for line in _git(root, "ls-tree", "-r", commit, f"{FOLDER}/").decode().splitlines():
            about, path = line.split("\t")
            name, blob = Path(path).name, about.split()[2]
            if (name, blob) not in blobs and Path(path).suffix in (".toml", ".list", ".lua"):
                blobs.add((name, blob))
                yield version(name, _git(root, "cat-file", "blob", blob))


def _git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True).stdout  # noqa: S603, S607 - our own clone


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[4]
    path = root / FOLDER / MANIFEST
    path.write_text(table(root / FOLDER, committed(root)))
    print(path.relative_to(root))
