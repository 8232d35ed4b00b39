"""Debian packages for a machine: built once of this tree, and others made of them, as a later or an
earlier commit would give them.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from tests.boot.image import ROOT, told
from tests.boot.machine import CLONE, Machine

LATER: Final = "99.1-1"
_SITE: Final = "usr/lib/oborona/lib/python3.11/site-packages"


def build(folder: Path) -> Path:
    """Build the package and that of pictures by the documented command, packed little.

    Return the folder with both.
    """
    before = set(ROOT.glob("dist/*.deb"))
    told(["env", "LEVEL=0", "EXTRAS=ocr", "VERSION=1.0", *("make", "-C", ROOT, "deb")])
    for package in set(ROOT.glob("dist/*_1.0-1+deb*.deb")) - before:
        shutil.move(package, folder)
    return folder


def later(package: Path) -> Path:
    """Make what a later commit would have given: new rules, new units, a store of a newer format.

    Return the package, beside the first.
    """
    tree = package.parent / "later"
    told(["dpkg-deb", "--raw-extract", package, tree])
    _change(tree / "DEBIAN/control", r"^Version: .*", f"Version: {LATER}")
    _change(tree / "DEBIAN/preinst", r"^version=\S+", f"version={LATER}")
    for file in (tree / "usr/lib/oborona/formats", tree / "DEBIAN/preinst"):
        _change(file, r"journal\.db (\d+)", "journal.db 999")
    _change(tree / "usr/lib/systemd/system/oborona.service", "^Description=.*", "Description=Anew")
    _change(
        tree / _SITE / "oborona/etc/policy.d/20-test.toml",
        r"\Z",
        '\n[[rule]]\nname = "SHIPPED"\nwhen = "subject == \'shipped\'"\nscore = 300\nsay = "new"\n',
    )
    new = package.with_name(f"later_{package.name}")
    told(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, new])
    shutil.rmtree(tree)
    return new


def bring(machine: Machine, *packages: Path) -> None:
    """Put packages where commands of the documents are run."""
    for package in packages:
        shutil.copy(package, machine.root / CLONE[1:])


def _change(path: Path, pattern: str, new: str) -> None:
    mode = path.stat().st_mode
    text, changes = re.subn(pattern, new, path.read_text(), count=1, flags=re.MULTILINE)
    assert changes, (path, pattern)
    path.write_text(text)
    path.chmod(mode)
