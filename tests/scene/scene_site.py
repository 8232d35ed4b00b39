"""One site of three hosts on loopback: a daemon and a Postfix each, one Dovecot for all mailboxes,
a PostgreSQL with its standby, and a cluster of three Redis with a replica each.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Final, Self

from tests.peers.dovecot_mailboxes import MailboxDovecot
from tests.peers.postgresql_pair import PostgresqlPair
from tests.peers.redis import Cluster
from tests.scene.scene_host import SceneHost
from tests.whole.after import CAMPAIGN, DOMAIN, HOSTS

HOSTS_OF_SITE: Final = 3


class SceneSite:
    """The site; use it as a context.

    Args:
        users: local parts of its readers.

    Attributes:
        hosts: the three; Dovecot tells the first one what readers do.
    """

    def __init__(self, users: Sequence[str]) -> None:
        self.dovecot = MailboxDovecot(users)
        self.pair = PostgresqlPair()
        self.redis = Cluster()
        self.hosts: list[SceneHost] = []
        self._stack = ExitStack()
        self._sent = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for part in (self.dovecot, self.pair, self.redis):
                stack.enter_context(part)
            for number in range(1, HOSTS_OF_SITE + 1):
                self.hosts.append(self._host(number, stack))
            first, *others = self.hosts
            first.join("begin", self.pair, None)
            secret = (first.oborona.state / "secret").read_bytes()
            for host in others:
                host.join("join", self.pair, secret)
            for host in self.hosts:
                host.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def _host(self, number: int, stack: ExitStack) -> SceneHost:
        settings: dict[str, object] = {
            "site.name": "mx.example.test",
            "worker.processes": 1,
            "worker.drain_s": 1,
            "worker.hung_s": 5,
            "worker.scan_cpu_s": 2,
            "reader.enabled": False,
            "log.format": "json",
            "counters.store": "cluster",
            "cluster.nodes": " ".join(self.redis.names),
            "cluster.deadline_s": 1,
            "intake.socket_mode": "0666",
            "intake.person": f"{{user}}@{DOMAIN}",
            "mailboxes.kind": "doveadm",
            "mailboxes.url": f"http://127.0.0.1:{self.dovecot.api_port}/doveadm/v1",
            "mailboxes.key_file": self.dovecot.root / "key",
            "mailboxes.user": "{local}",
        }
        if number == 1:
            settings |= {
                "intake.listen": f"unix:{self.dovecot.socket}",
                "intake.spool": self.dovecot.spool,
            }
        return SceneHost(f"mx{number}", settings, self.dovecot.lmtp, stack)

    def campaign(self, users: Iterable[str]) -> list[str]:
        """Send near-duplicates of a text, each by the next host; return the last replies."""
        replies = []
        for user in users:
            number = self._sent = self._sent + 1
            words = CAMPAIGN.split()
            words[random.Random(number).randrange(len(words))] = f"certainly{number}"
            place = number % HOSTS
            replies.append(
                self.hosts[number % len(self.hosts)].post(
                    user,
                    " ".join(words),
                    ip=f"{20 + place}.11.7.9",
                    sender=f"doctor{number}@n20d{place}.example",
                )
            )
        return replies

    def drag(self, user: str, source: str, target: str) -> None:
        """Let a reader move all of a folder."""
        client = self.dovecot.client(user)
        client.select_folder(source)
        client.move(client.search(), target)
        client.logout()

    def held(self, user: str) -> tuple[int, int]:
        """Return how many messages inbox and spam folder of a reader hold."""
        return len(self.dovecot.messages(user)), len(self.dovecot.messages(user, "Junk"))
