"""rspamd's own client, rspamc of Debian: what it says of a message that it had checked.

with Oborona({"doors.http.listen": f"inet:127.0.0.1:{port}"}):
    Rspamc(port).json(raw, "-i", "192.0.2.1")["action"] == "reject"
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = shutil.which("rspamc")
PATIENCE_S: Final = 30


class Rspamc:
    """The client.

    Args:
        port: of a server on loopback.
        always: words that stand in each call, such as -P for a key.
    """

    def __init__(self, port: int, *always: str) -> None:
        self._words = [
            PROGRAM or "rspamc",
            "-h",
            f"127.0.0.1:{port}",
            "-t",
            str(PATIENCE_S),
            *always,
        ]

    def run(self, *words: str | Path, message: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Call it; `message` is what it reads where no file is named."""
        return subprocess.run(
            [*self._words, *map(str, words)],
            input=message,
            capture_output=True,
            timeout=PATIENCE_S + 10,
            check=False,
        )

    def json(self, message: bytes, *words: str) -> dict[str, Any]:
        """Return the answer to a message.

        Raises:
            RuntimeError: it had none; the text is what it said.
        """
        done = self.run("--compact", "-j", *words, message=message)
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr).decode(errors="replace"))
        found: dict[str, Any] = json.loads(done.stdout)
        return found
