"""A real Exim that expands strings, as its ACLs do, and does nothing else: `exim -be`.

with Expansions() as exim:
    assert exim.expand(["${extract{text}{verdict=reject text=\\"a b\\"}}"]) == ["a b"]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from oborona.config.address import UnixAddress, parse_address

LINE: Final = 1000  # octets that Exim reads of its input at a time
UNPACKED: Final = Path(__file__).parents[2] / ".venv" / "unpacked" / "usr" / "sbin" / "exim4"


def program() -> str | None:
    """Return the path of Exim, installed or unpacked, if it can be used here."""
    if os.geteuid() != 0:  # it wants root's configuration
        return None
    return str(UNPACKED) if UNPACKED.exists() else shutil.which("exim4")


class Expansions:
    """An Exim with a configuration of its own."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="oborona-exim-", dir="/tmp"))
        self.root.chmod(0o755)
        (self.root / "exim.conf").write_text(
            f"keep_environment =\nprimary_hostname = mx.test\nlog_file_path = "
            f"{self.root}/%slog\nspool_directory = {self.root}\n"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        shutil.rmtree(self.root)

    def expand(self, texts: Sequence[str]) -> list[str]:
        """Return what each text, of at most 16 KiB, becomes; no result may have a newline."""
        said = subprocess.run(
            [program() or "exim4", "-C", str(self.root / "exim.conf"), "-be"],
            input="".join(f"{_continued(text)}\n" for text in texts),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        results = [line.removeprefix("> ") for line in said.splitlines()]
        assert len(results) >= len(texts), said[:1000]
        return results[: len(texts)]


def _continued(text: str) -> str:
    """Return a text in lines of the length that Exim reads.

    Where the next begins with a space, that would be lost.
    """
    lines = [""]
    for word in re.split(r"(?=[^\s\\])", text):
        if len(lines[-1]) + len(word) > LINE:
            lines.append("")
        lines[-1] += word
    return "\\\n".join(lines)


def asks(
    address: str, request: str, *, options: str = "5s", newline: str = " ", away: str = "AWAY"
) -> str:
    r"""Return the expansion that puts a request, without its end, to a door.

    Args:
        address: of the door, as settings write it.
        request: may have expansions of its own.
        options: of readsocket, its time-out first.
        newline: stands for each newline of the answer.
        away: what it gives where nobody answers.
    """
    where = parse_address(address)
    place = where.path if isinstance(where, UnixAddress) else f"inet:{where.host}:{where.port}"
    return f"${{readsocket{{{place}}}{{{request}\\n}}{{{options}}}{{{newline}}}{{{away}}}}}"
