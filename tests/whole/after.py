"""A whole site after delivery: Postfix → our daemon → Dovecot, whose readers complain with their
mail programs, and whose mailboxes we enter again.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Self

import msgspec

from tests.peers.dovecot_mailboxes import MailboxDovecot
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix

DOMAIN: Final = "example.test"
AS_IT_COMES: Final = "".join(
    f'[[rule]]\nname = "{name}"\nenabled = false\n'
    for name in ("MASS_REPEATED", "MASS_STRANGERS", "MASS_LINK", "MASS_CONTACT")
)
"""Rules that file a campaign's third copy: its first ones are to reach people here."""
HOSTS: Final = 3  # of a campaign: from more the shipped policy files it as it comes
CAMPAIGN: Final = (
    "Dear friend, our laboratory has made a wonderful medicine that takes away all pain within "
    "three days, and only this week you can"
    " order it without any prescription from our house in the mountains, where my grandmother "
    "found the herbs long ago."
)
_numbers = itertools.count(1)


class After:
    """The site; use it as a context.

    Args:
        users: local parts of its readers.
        settings: further ones, by SECTION.KEY.
        policy: of 90-local.toml, over the shipped one.
    """

    def __init__(
        self,
        users: Sequence[str],
        settings: Mapping[str, object] | None = None,
        *,
        policy: str = "",
    ) -> None:
        self.users = tuple(users)
        self.dovecot = MailboxDovecot(users)
        self._settings = dict(settings or {})
        self._policy = policy
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            dovecot = stack.enter_context(self.dovecot)
            folder = dovecot.root / "policy.d"
            shutil.copytree(SETTINGS.parent / "policy.d", folder)
            (folder / "90-local.toml").write_text(f"{AS_IT_COMES}{self._policy}")
            self.oborona = stack.enter_context(
                Oborona(
                    {
                        "site.name": "mx.example.test",
                        "paths.policy": folder,
                        "worker.processes": 1,
                        "worker.drain_s": 1,
                        "reader.enabled": False,
                        "log.format": "json",
                        "intake.listen": f"unix:{dovecot.socket}",
                        "intake.socket_mode": "0666",
                        "intake.person": f"{{user}}@{DOMAIN}",
                        "intake.spool": dovecot.spool,
                        "mailboxes.kind": "doveadm",
                        "mailboxes.url": f"http://127.0.0.1:{dovecot.api_port}/doveadm/v1",
                        "mailboxes.key_file": dovecot.root / "key",
                        "mailboxes.user": "{local}",
                    }
                    | self._settings
                )
            )
            self.postfix = stack.enter_context(
                Postfix(self.oborona.milter, virtual_transport=f"lmtp:unix:{dovecot.lmtp}")
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def post(self, user: str, text: str, *, ip: str, sender: str) -> str:
        """Send a message to a reader, as a client of that address; return the last reply."""
        number = next(_numbers)
        raw = (
            f"From: Somebody <{sender}>\r\nTo: {user}@{DOMAIN}\r\nSubject: news for "
            f"you\r\nMessage-ID: <{number}@mail.example>\r\n"
            f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{text}\r\n"
        )
        return self.postfix.send(
            raw.encode(),
            sender=sender,
            recipients=[f"{user}@{DOMAIN}"],
            xclient={"ADDR": ip, "NAME": "[UNAVAILABLE]"},
            helo=f"host{number}.example",
        )[-1]

    def campaign(
        self, users: Iterable[str], *, text: str = CAMPAIGN, network: int = 20
    ) -> list[str]:
        """Send near-duplicates of a text, from `HOSTS` addresses of a network each.

        Return the last replies.
        """
        replies = []
        for user in users:
            number = next(_numbers)
            words = text.split()
            words[random.Random(number).randrange(len(words))] = f"certainly{number}"
            host = number % HOSTS
            sender = f"doctor{number}@n{network}d{host}.example"
            replies.append(
                self.post(user, " ".join(words), ip=f"{network + host}.11.7.9", sender=sender)
            )
        return replies

    def inbox(self, user: str) -> int:
        """Return how many messages an inbox holds."""
        return self._files(user, "")

    def junk(self, user: str) -> int:
        """Return how many messages a spam folder holds."""
        return self._files(user, ".Junk")

    def _files(self, user: str, folder: str) -> int:
        """Return how many messages lie in a folder of a Maildir, which may be on their way out of
        it.
        """
        maildir = self.dovecot.root / "mail" / user / "Maildir" / folder
        return sum(1 for part in ("new", "cur") for _ in (maildir / part).glob("*"))

    def read(self, user: str) -> None:
        """Let a reader open all there is."""
        client = self.dovecot.client(user)
        client.select_folder("INBOX")
        for uid in client.search():
            client.fetch(uid, ["BODY[]"])
        client.logout()

    def drag(self, user: str, source: str, target: str) -> None:
        """Let a reader move all of a folder."""
        client = self.dovecot.client(user)
        client.select_folder(source)
        client.move(client.search(), target)
        client.logout()

    def events(self, what: str) -> list[dict[str, Any]]:
        """Return the log's lines of one kind."""
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [one for one in found if one["msg"] == what]
