"""Finished rows of the quality benchmark, in a file: what was measured once of the same mail by the
same filter is not measured again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.labelled import Labelled
from benchmarks.streams import Row


class Kept:
    """Figures by filter, its stamp, the mail and the row.

    Args:
        file: written after each row; None = they are kept until the program ends.
        mail: digest of it.
    """

    def __init__(self, file: Path | None, mail: str) -> None:
        self._file = file
        self._mail = mail
        self._found: dict[str, dict[str, Any]] = (
            json.loads(file.read_text()) if file is not None and file.exists() else {}
        )

    def get(self, name: str, stamp: str, row: Row, limit: int | None) -> dict[str, Any] | None:
        """Return a filter's figures of a row; None = they were not measured."""
        return self._found.get(self._key(name, stamp, row, limit))

    def put(
        self, name: str, stamp: str, row: Row, limit: int | None, figures: dict[str, Any]
    ) -> None:
        """Keep a filter's figures of a row."""
        self._found[self._key(name, stamp, row, limit)] = figures
        if self._file is not None:
            beside = self._file.with_name(f"{self._file.name}.new")
            beside.write_text(json.dumps(self._found, indent=1))
            beside.replace(self._file)

    def _key(self, name: str, stamp: str, row: Row, limit: int | None) -> str:
        values = asdict(row) | {"feedback": float(row.feedback), "noise": float(row.noise)}
        return json.dumps([name, stamp, self._mail, values, limit])


def digest_of_mail(mail: Sequence[Labelled]) -> str:
    """Return what a corpus is known by: its messages in order, and what people say of them."""
    found = hashlib.blake2b(digest_size=8)
    for message in mail:
        found.update(hashlib.blake2b(message.raw, digest_size=16).digest() + bytes([message.spam]))
    return found.hexdigest()


def digest_of_code(root: Path, folders: Iterable[str]) -> str:
    """Return what the code and rules in some folders are known by."""
    found = hashlib.blake2b(digest_size=8)
    for folder in folders:
        if not (root / folder).is_dir():
            raise NotADirectoryError(root / folder)  # nothing would be known by the same digest
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".py", ".toml", ".lua"):
                found.update(file.read_bytes() + b"\0")
    return found.hexdigest()
