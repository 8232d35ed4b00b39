"""A file of main.cf lines that we ship, as a real Postfix takes it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ETC = Path(__file__).resolve().parents[2] / "etc/postfix"


class Lines:
    """The lines of one file.

    Args:
        name: of the file in etc/postfix.
        address: of our socket, as the file has it.
    """

    def __init__(self, name: str, address: str) -> None:
        self.text = (ETC / name).read_text()
        self._address = address

    def settings(self, address: str) -> dict[str, str]:
        """Return what the file sets, with the socket of a test."""
        lines = [
            line.partition(" = ")
            for line in self.text.splitlines()
            if line and not line.startswith("#")
        ]
        assert any(self._address in value for _, _, value in lines)
        return {name: value.replace(self._address, address) for name, _, value in lines}

    def as_understood(self, folder: Path) -> str:
        """Return the settings as Postfix understands them; it must not complain."""
        (folder / "main.cf").write_text("compatibility_level = 3.6\n" + self.text)
        shutil.copy("/usr/share/postfix/master.cf.dist", folder / "master.cf")
        found = subprocess.run(
            ["/usr/sbin/postconf", "-c", folder, "-n"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        assert found.stderr == ""
        return found.stdout
