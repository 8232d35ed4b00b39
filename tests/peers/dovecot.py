"""A real Dovecot of our own: LMTP on a Unix socket, IMAP on a free port, our Sieve script before
all others.

    with Dovecot(users=["joe"]) as dovecot:
        deliver with lmtp:unix:{dovecot.lmtp}, then look at dovecot.messages("joe"),
        dovecot.messages("joe", "Junk")

It reads `etc/dovecot/90-oborona.conf` and `oborona.sieve` as they are shipped, only the script's
path is another. It runs as root, keeps mail as `nobody`, lives in a folder in /tmp (other users
must reach its sockets), and is gone afterwards. Limits: user names are local parts of simple
letters; LMTP refuses any other.
"""

from __future__ import annotations

import os
import shutil
import smtplib
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from tests.peers.ports import free_port

SHIPPED: Final = Path(__file__).parents[2] / "etc" / "dovecot"
# where the shipped configuration looks
INSTALLED_SCRIPT: Final = "/etc/dovecot/sieve/oborona.sieve"
PASSWORD: Final = "secret"  # of every user
READY_S: Final = 20.0  # it takes 0.2 s; much more on a busy machine
NOBODY: Final = 65534  # keeps the mail: any user that is not root, and exists everywhere

_CONFIG: Final = """
base_dir = {root}/run
state_dir = {root}/state
log_path = {root}/dovecot.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_username_format = %Ln
first_valid_uid = {nobody}
first_valid_gid = {nobody}
mail_location = maildir:~/Maildir
mail_fsync = never
service imap-login {{
  inet_listener imap {{
    port = {imap_port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service lmtp {{
  unix_listener {root}/lmtp.sock {{
    mode = 0666
  }}
}}
passdb {{
  driver = {passdb}
}}
userdb {{
  driver = static
  args = uid={nobody} gid={nobody} home={root}/mail/%n{anyone}
}}
namespace inbox {{
  inbox = yes
  separator = /
}}
!include {root}/90-oborona.conf
{extra}
"""


class Dovecot:
    """A Dovecot in a folder of its own.

    Args:
        users: local parts that exist; empty = any.
        extra: configuration after all other, each brace on a line of its own.
    """

    place = "/tmp"  # where its folder is made

    def __init__(self, users: Sequence[str] = (), *, extra: str = "") -> None:
        self._users = users
        self._extra = extra
        self.root = Path(tempfile.mkdtemp(prefix="dovecot-", dir=self.place))
        self.lmtp = self.root / "lmtp.sock"
        self.imap_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Write the configuration, start, and wait until it answers.

        Raises:
            RuntimeError: it did not come up; the text has its log.
        """
        self._configure()
        with (self.root / "output").open("wb") as output:
            self._process = subprocess.Popen(
                ["dovecot", "-F", "-c", str(self.root / "dovecot.conf")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for us, who stop it
            )
        deadline = time.monotonic() + READY_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"dovecot did not start:\n{self.log()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it and remove its folder."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=READY_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        shutil.rmtree(self.root, ignore_errors=True)

    def deliver(self, raw: bytes, *recipients: str, sender: str = "ann@example.org") -> None:
        """Hand a message over by LMTP, as a mail server would.

        Raises:
            smtplib.SMTPException: it was refused.
        """
        with smtplib.LMTP(str(self.lmtp)) as client:
            for (
                recipient
                # one each: smtplib reads one answer, LMTP gives one for each recipient
            ) in recipients:
                client.sendmail(sender, recipient, raw)

    def messages(self, user: str, mailbox: str = "INBOX") -> list[bytes]:
        """Return what a mailbox holds, oldest first; nothing when there is no such mailbox."""
        maildir = self.root / "mail" / user / "Maildir"
        folder = maildir if mailbox == "INBOX" else maildir / f".{mailbox}"
        files = [file for part in ("new", "cur") for file in (folder / part).glob("*")]
        return [file.read_bytes() for file in sorted(files, key=_delivery)]

    def counts(self) -> Counter[str]:
        """Return how many messages all users have, by mailbox."""
        counts: Counter[str] = Counter()
        for maildir in (self.root / "mail").glob("*/Maildir"):
            for part in ("new", "cur"):
                counts["INBOX"] += len(list((maildir / part).glob("*")))
                for folder in maildir.glob(".*"):
                    counts[folder.name[1:]] += len(list((folder / part).glob("*")))
        return +counts

    def processes(self, name: str) -> list[int]:
        """Return the numbers of its processes that do a job, such as lmtp."""
        assert self._process is not None
        master = self._process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        return [int(one) for one in children if _runs(int(one)) == name]

    def log(self) -> str:
        """Return everything that it said."""
        files = (self.root / "output", self.root / "dovecot.log")
        return "".join(file.read_text(errors="replace") for file in files if file.exists())

    def _configure(self) -> None:
        self.root.chmod(0o755)
        for name in ("run", "state", "mail", "sieve"):
            (self.root / name).mkdir(exist_ok=True)
        os.chown(self.root / "mail", NOBODY, NOBODY)
        script = self.root / "sieve" / "oborona.sieve"
        shutil.copyfile(SHIPPED / "oborona.sieve", script)
        shipped = (SHIPPED / "90-oborona.conf").read_text()
        (self.root / "90-oborona.conf").write_text(shipped.replace(INSTALLED_SCRIPT, str(script)))
        (self.root / "passwd").write_text(
            "".join(f"{user}:{{PLAIN}}{PASSWORD}\n" for user in self._users)
        )
        config = self.root / "dovecot.conf"
        config.write_text(
            _CONFIG.format(
                root=self.root,
                imap_port=self.imap_port,
                nobody=NOBODY,
                passdb=f"passwd-file\n  args = {self.root}/passwd"
                if self._users
                else f"static\n  args = password={PASSWORD}",
                anyone="" if self._users else " allow_all_users=yes",
                extra=self._extra,
            )
        )
        compiled = subprocess.run(
            ["sievec", "-c", str(config), str(script)],
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
        )
        if compiled.returncode:
            raise RuntimeError(f"sievec: {compiled.stdout}{compiled.stderr}")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.imap_port), timeout=READY_S) as imap:
                if not imap.recv(100).startswith(b"* OK"):
                    return False
            with socket.socket(socket.AF_UNIX) as lmtp:
                lmtp.settimeout(READY_S)
                lmtp.connect(str(self.lmtp))
                return lmtp.recv(100).startswith(b"220")
        except OSError:
            return False


def _delivery(file: Path) -> tuple[int, int, str]:
    """Return when a Maildir file was delivered: its name begins with seconds, and M with
    microseconds.
    """
    seconds, _, rest = file.name.partition(".")
    micros = rest[1:].partition("P")[0]
    return int(seconds), int(micros) if micros.isdigit() else 0, file.name


def _runs(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it is gone
        return ""
