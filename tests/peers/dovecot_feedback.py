"""A real Dovecot that tells of what people do with their mail, by the files that are shipped.

    with FeedbackDovecot(["joe"]) as dovecot:
        listen on dovecot.socket; what Dovecot could not say lies in dovecot.spool

Its master user is `MASTER`; `dovecot.client("joe")` is an IMAP client that is logged in.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import imapclient

from tests.peers.dovecot import PASSWORD, READY_S, SHIPPED, Dovecot

SCRIPTS: Final = ("oborona-spam.sieve", "oborona-ham.sieve", "oborona-read.sieve")
EXTENSIONS: Final = "+vnd.dovecot.execute +vnd.dovecot.environment +special-use"
MASTER: Final = "backup"
MASTER_PASSWORD: Final = "master"

_MASTER: Final = """
auth_master_user_separator = *
passdb {{
  driver = passwd-file
  args = {root}/master
  master = yes
}}
namespace inbox {{
  mailbox Trash {{
    auto = subscribe
    special_use = \\Trash
  }}
  mailbox Bin {{
    auto = subscribe
    special_use = \\Trash
  }}
  mailbox Archive {{
    auto = subscribe
  }}
}}
"""


class FeedbackDovecot(Dovecot):
    """A Dovecot in a folder of its own, with the shipped files of the feedback.

    Args:
        users: local parts that exist.
        extra: configuration after all other.
    """

    def __init__(self, users: Sequence[str], *, extra: str = "") -> None:
        super().__init__(users)
        self.socket = self.root / "oborona-intake" / "feedback.sock"
        self.spool = self.root / "spool"
        self._extra = (
            f"{_MASTER.format(root=self.root)}\n!include "
            f"{self.root}/91-oborona-feedback.conf\n{extra}"
        )

    def client(self, user: str, *, master: bool = False) -> imapclient.IMAPClient:
        """Return an IMAP client that is logged in as a user, or as the master user in the name of
        that user.
        """
        client = imapclient.IMAPClient("127.0.0.1", port=self.imap_port, ssl=False)
        if master:
            client.login(f"{user}*{MASTER}", MASTER_PASSWORD)
        else:
            client.login(user, PASSWORD)
        return client

    def _configure(self) -> None:
        self.root.chmod(0o755)
        for folder in (self.socket.parent, self.root / "programs"):
            folder.mkdir(exist_ok=True)
        self.spool.mkdir(exist_ok=True)
        self.spool.chmod(0o3733)  # as the shipped file says
        (self.root / "master").write_text(f"{MASTER}:{{PLAIN}}{MASTER_PASSWORD}\n")
        shipped = (SHIPPED / "91-oborona-feedback.conf").read_text()
        installed = shipped.replace("file:/etc/dovecot/sieve/", f"file:{self.root}/sieve/").replace(
            "/usr/lib/dovecot/sieve-execute", f"{self.root}/programs"
        )
        (self.root / "91-oborona-feedback.conf").write_text(installed)
        program = self.root / "programs" / "oborona-spool"
        program.write_text(
            (SHIPPED / "oborona-spool")
            .read_text()
            .replace("/var/spool/oborona\n", f"{self.spool}\n")
        )
        program.chmod(0o755)
        super()._configure()
        for name in SCRIPTS:
            self._compile(name)

    def _compile(self, name: str) -> None:
        script = self.root / "sieve" / name
        shutil.copyfile(SHIPPED / name, script)
        compiled = subprocess.run(
            ["sievec", "-c", str(self.root / "dovecot.conf"), "-x", EXTENSIONS, str(script)],
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
        )
        if compiled.returncode:
            raise RuntimeError(f"sievec {name}: {compiled.stdout}{compiled.stderr}")


def left(dovecot: FeedbackDovecot) -> list[Path]:
    """Return the files in the spool."""
    return sorted(dovecot.spool.iterdir())
