"""Digests of the files of a policy folder: pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

FileSet = Mapping[str, bytes]
"""Names, and what is in the files."""


def digest_of(raw: bytes) -> str:
    """Return the digest of a file's octets."""
    return hashlib.sha256(raw).hexdigest()


def digests_of(files: FileSet) -> dict[str, str]:
    """Return the digest of each file, by name."""
    return {name: digest_of(raw) for name, raw in sorted(files.items())}


def digest_of_all(files: FileSet) -> str:
    """Return one digest of all files and their names: of "this very text"."""
    lines = "".join(f"{digest} {name}\n" for name, digest in digests_of(files).items())
    return digest_of(lines.encode("utf-8", "surrogatepass"))
