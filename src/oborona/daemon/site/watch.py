"""The keeper's part in a site of several machines: what others write is brought here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from oborona import __version__
from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.event_drain import EventDrain
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.site.model_follower import SiteModelFollower
from oborona.errors import StoreError
from oborona.metrics import Gauge
from oborona.replication.link import read_link
from oborona.stores.policy_versions.site_versions import is_behind
from oborona.telemetry.trouble import TroubleNotice

AGAIN_S: Final = 5.0  # before another try, where nobody knows which log to follow
AWAY: Final = Gauge(
    "oborona_site_log_away_seconds",
    "For how long the site's log has not answered; 0 while it does. Of several machines alone.",
    (),
)
BEHIND: Final = Gauge(
    "oborona_site_changes_behind",
    "Changes of a common store that are in the site's log and were not done here yet.",
    ("store",),
)
STUCK: Final = Gauge(
    "oborona_site_store_stuck",
    "1 while a common store does not follow the site's log: the keeper's log says why.",
    ("store",),
)
POLICY: Final = Gauge(
    "oborona_site_policy_behind",
    "1 while this machine's policy folder does not hold the site's policy: `oborona policy status` "
    "says why. Of several machines alone.",
    (),
)
MODELS: Final = Gauge(
    "oborona_site_models_behind",
    "1 while this machine does not judge by the site's final models: `oborona doctor` says why. Of "
    "several machines alone.",
    (),
)
SPOOLED: Final = Gauge(
    "oborona_site_events_spooled",
    "Events that were acknowledged here and wait for the site's log. Of several machines alone.",
    (),
)


class SiteWatch:
    """Follows the site's log for one keeper, as long as the state folder is linked to it.

    Args:
        state: state folder.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._follower: ReplicaFollower | None = None
        self._drain: EventDrain | None = None
        self._models: SiteModelFollower | None = None
        self._trouble = TroubleNotice(
            "the site is not followed; what is known stays in force", "the site is followed again"
        )
        AWAY.set_function(self._away)
        BEHIND.set_function(self._behind)
        STUCK.set_function(self._stuck)
        POLICY.set_function(self._policy)
        MODELS.set_function(self._models_behind)
        SPOOLED.set_function(self._spooled)

    async def run(self) -> None:
        """Follow until the machine leaves the site."""
        stop = threading.Event()
        try:
            with self._trouble.noted():
                await asyncio.to_thread(self._follow, stop)
            if self._trouble.now:
                await asyncio.sleep(AGAIN_S)
        finally:
            stop.set()

    def _follow(self, stop: threading.Event) -> None:
        while not stop.is_set() and (link := read_link(self._state)) is not None:
            kinds = {name: kind for name, kind in COMMON_KINDS.items() if name in link.stores}
            self._follower = ReplicaFollower(self._state, link, kinds, __version__)
            with self._beside():
                self._follower.run(stop)
        self._follower = None

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """Hand on what waits, and take the site's models, within."""
        self._drain, self._models = EventDrain(self._state), SiteModelFollower(self._state)
        over = threading.Event()
        threads = [
            threading.Thread(target=self._drain.run, args=(over,), name="event drain"),
            threading.Thread(target=self._models.run, args=(over,), name="site models"),
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()
            self._drain = self._models = None

    def _models_behind(self) -> dict[tuple[()], float]:
        return {} if self._models is None else {(): int(bool(self._models.trouble.now))}

    def _spooled(self) -> dict[tuple[()], float]:
        return {} if self._drain is None else {(): self._drain.waiting}

    def _away(self) -> dict[tuple[()], float]:
        if self._follower is None:
            return {}
        return {(): self._follower.away_s}

    def _behind(self) -> dict[tuple[str], float]:
        if self._follower is None:
            return {}
        return {
            (name,): max(0, store.head - store.number)
            for name, store in self._follower.stores.items()
        }

    def _stuck(self) -> dict[tuple[str], float]:
        if self._follower is None:
            return {}
        return {
            (name,): int(bool(store.trouble.now)) for name, store in self._follower.stores.items()
        }

    def _policy(self) -> dict[tuple[()], float]:
        if self._follower is None:
            return {}
        with suppress(StoreError):  # its own trouble is told where it is followed
            return {(): int(is_behind(self._state))}
        return {}
