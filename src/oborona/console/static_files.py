"""Style, scripts and pictures: in memory, compressed once, under names that change with what is in
them, so that a browser keeps them for a year.

Scripts are one file, in this order: the policy of trusted types before htmx, which needs it.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = Path(__file__).with_name("static")
PREFIX: Final = "/static/"
KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
SCRIPTS: Final = ("trusted.js", "htmx.min.js", "keys.js")
SCRIPT: Final = "console.js"
"""The name under which templates ask for all of them."""


class StaticFile(msgspec.Struct, frozen=True):
    """One that is served.

    Args:
        kind: media type.
        octets: of it.
        compressed: the same.
    """

    kind: str
    octets: bytes
    compressed: bytes


class StaticFiles:
    """Those of the package.

    Raises:
        OSError: one can't be read.
    """

    def __init__(self) -> None:
        self._served: dict[str, StaticFile] = {}
        self._names: dict[str, str] = {}
        script = b"\n".join((FOLDER / name).read_bytes() for name in SCRIPTS)
        self._add(SCRIPT, script)
        for path in sorted(FOLDER.iterdir()):
            if path.suffix in KINDS and path.name not in SCRIPTS:
                self._add(path.name, path.read_bytes())

    def url(self, name: str) -> str:
        """Return where a file is served.

        Raises:
            KeyError: there is none of this name.
        """
        return PREFIX + self._names[name]

    def find(self, path: str) -> StaticFile | None:
        """Return the file that is served at a path."""
        return self._served.get(path.removeprefix(PREFIX))

    def _add(self, name: str, octets: bytes) -> None:
        stem, dot, suffix = name.rpartition(".")
        served = f"{stem}.{hashlib.blake2b(octets, digest_size=6).hexdigest()}{dot}{suffix}"
        self._names[name] = served
        self._served[served] = StaticFile(
            KINDS[dot + suffix], octets, gzip.compress(octets, 9, mtime=0)
        )
