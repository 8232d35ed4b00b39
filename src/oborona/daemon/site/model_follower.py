"""Brings the final models of a site into the state folder of a machine, as long as it runs: what
other machines trained, installed, rolled back or found.
"""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Final

from oborona import __version__, state_files
from oborona.daemon.site.follower import ReplicaFollower
from oborona.errors import OboronaError
from oborona.replication.link import read_link
from oborona.replication.log import ReplicationLog
from oborona.stores.site_models import schema
from oborona.stores.site_models.level import bring_level_here, is_common, unlevel_files
from oborona.stores.site_models.store import SiteModelStore
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 1.0
AGAIN_S: Final = 5.0  # before what failed is tried again


class SiteModelFollower:
    """Follows the models of a site for one machine; for one thread.

    Args:
        state: the state folder.

    Attributes:
        trouble: why this machine does not judge by them; it judges by those it had.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / state_files.SITE_MODELS
        self._store: SiteModelStore | None = None
        self.trouble = TroubleNotice(
            "this machine does not judge by the site's final models, those it had stay in force",
            "it judges by the site's final models again",
        )

    def run(self, stop: threading.Event) -> None:
        """Follow until told to stop."""
        try:
            while not stop.is_set():
                with self.trouble.noted():
                    self.look()
                if self.trouble.now:
                    self.close()
                stop.wait(AGAIN_S if self.trouble.now else LOOK_S)
        finally:
            self.close()

    def look(self) -> None:
        """Do once what is to be done.

        Raises:
            StoreError: the site's models can't be used here.
        """
        if not is_common(self._state) or not self._path.exists():
            self.close()
            return
        if self._store is None:
            self._store = SiteModelStore(self._path, make=False)
        if unlevel_files(self._state, self._store):
            bring_level_here(self._state, self._store)

    def close(self) -> None:
        """Let the file go."""
        if self._store is not None:
            self._store.close()
            self._store = None


def catch_up_models(state: Path) -> str:
    """Let a machine of a site begin with the site's final models, before it judges.

    Return why they can't be had, empty where they are: then it begins with what it has.
    """
    link = read_link(state)
    if link is None or not is_common(state):
        return ""
    kinds = {state_files.SITE_MODELS: schema.SHARED}
    try:
        with (
            closing(ReplicaFollower(state, link, kinds, __version__)) as follower,
            closing(ReplicationLog(link.address, link.machine)) as log,
            closing(SiteModelFollower(state)) as models,
        ):
            log.check(link.site)
            follower.look(log)
            models.look()
    except OboronaError as error:
        return str(error)
    return ""
