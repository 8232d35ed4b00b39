"""A resolver kept at the servers that the system names, and a word in the log when none of them is
of use.

/etc/resolv.conf is read when it has changed: a network that comes
up late, or a resolver of one's own that is set up beside the daemon, takes no restart.  Where the
settings name servers, those stay.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.doorbell import Doorbell
from oborona.resolver.factory import SYSTEM, max_questions_under_way, system_servers
from oborona.resolver.resolver import Resolver
from oborona.telemetry.log import event

# questions in a row that brought nothing: a few messages, more than one dead zone asks for
FAILING: Final = 20

log = logging.getLogger("oborona.dns")


class FollowedServers:
    """Looks after a resolver's servers.

    Args:
        resolver: kept at them.
        follows: whether the system names them; else they stay.
        file: where it does.
        clock: Unix seconds.

    Attributes:
        trouble: why the DNS is of no use now, for status and `oborona doctor`; empty: it is, as far
            as is known.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        follows: bool,
        file: Path = SYSTEM,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._resolver = resolver
        self._file = file if follows else None
        self._clock = clock
        self._seen = self._stamp()
        self._since = 0.0  # of the trouble
        self.trouble = ""

    async def watch(self) -> None:
        """Look for ever."""
        with Doorbell(*([] if self._file is None else [self._file]), anyway=lambda: True) as bell:
            while True:
                await bell.rung()
                self.look()

    def look(self) -> None:
        """Take the servers of the file if it has changed, and say when the DNS begins or ceases to
        be of no use.
        """
        stamp = self._stamp()
        if self._file is not None and stamp != self._seen:
            self._seen = stamp
            servers = system_servers(self._file)
            if servers != self._resolver.servers:
                self._resolver.use(servers, under_way=max_questions_under_way(servers))
                event(log, logging.INFO, "other resolvers", servers=self.servers, file=self._file)
        failed = self._resolver.failed
        if failed < FAILING:
            if self.trouble:
                event(log, logging.WARNING, "the DNS answers again", servers=self.servers)
            self.trouble, self._since = "", 0.0
            return
        if not self.trouble:
            self._since = self._clock()
            event(
                log,
                logging.WARNING,
                "the DNS is of no use: SPF, DKIM, DMARC and DNS lists know nothing",
                servers=self.servers,
                why=self._resolver.why,
                questions=failed,
            )
        since = time.strftime("%H:%M:%S", time.localtime(self._since))
        self.trouble = (
            f"{failed} questions in a row to {self.servers} brought nothing "
            f"({self._resolver.why}), since {since}"
        )

    @property
    def servers(self) -> str:
        """Whom the resolver asks, with spaces between."""
        return " ".join(map(str, self._resolver.servers))

    def _stamp(self) -> tuple[int, int, int] | None:
        if self._file is None:
            return None
        try:
            status = os.stat(self._file)  # noqa: PTH116 - follows links, as the system does
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
