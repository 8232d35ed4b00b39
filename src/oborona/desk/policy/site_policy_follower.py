"""A machine's part in the policy of a site: it says whether it could judge by what is about to be
published, and brings what is published into its folder, as long as it runs.

What is new in the common store of versions it hears of by the bell that the keeper rings.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Final

from oborona import state_files
from oborona.daemon.beside import BesideProcess
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.daemon.publisher.reload_socket import ReloadOutcome, ask_reload
from oborona.desk.call import CallError
from oborona.desk.policy.folder_replacement import changed_names
from oborona.desk.policy.guards import checked_policy
from oborona.desk.policy.machine_policy import (
    EDITED,
    FolderState,
    MachinePolicy,
    machine_policy,
    reload_here,
    take_latest,
)
from oborona.desk.policy.site_policy import (
    PolicyBusyError,
    own_folder,
    policy_lock,
    versions_of,
)
from oborona.desk.site import Site
from oborona.doorbell import RUNG, FileNotices
from oborona.errors import OboronaError, StoreError
from oborona.heartbeat import StopSignal
from oborona.replication.link import ReplicationLink
from oborona.replication.log import ReplicationLog
from oborona.replication.policy_places import PolicyWord, tell_policy_place
from oborona.stores.policy_versions.digests import digest_of_all
from oborona.stores.policy_versions.site_versions import begun_version, note_applied
from oborona.stores.policy_versions.store import PolicyVersion, VersionStore
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 1.0
TELL_S: Final = 30.0  # between words where nothing changes
PATIENCE_S: Final = 15.0  # for the daemon to judge by it; after that it is asked again
AGAIN_S: Final = 5.0  # before what failed is tried again
NAME: Final = "site-policy"


class SitePolicyFollower:
    """Follows the site's policy for one machine; for one thread.

    Args:
        site: with its policy folder.
        link: the site's log.

    Attributes:
        word: what this machine says.
    """

    def __init__(self, site: Site, link: ReplicationLink) -> None:
        self._site = site
        self._log = ReplicationLog(link.address, link.machine)
        self._link = link
        self.word = PolicyWord()
        self._told: PolicyWord | None = None
        self._prepared = False  # the log has the tables
        self._again_at = self._tell_at = 0.0
        self._trouble = TroubleNotice(
            "this machine does not judge by the site's policy",
            "it judges by the site's policy again",
        )
        self._away = TroubleNotice(
            "nobody hears which policy this machine has", "the site hears again which policy it has"
        )

    def run(self, stop: StopSignal) -> None:
        """Follow until told to stop."""
        with closing(self), closing(FileNotices()) as notices:
            while not stop.is_set():
                notices.drain()
                notices.add(self._site.state / state_files.POLICY_VERSIONS, RUNG)
                self.look()
                stop.wait_for(notices.fileno(), LOOK_S)

    def close(self) -> None:
        """Let the log go."""
        self._log.close()

    def look(self) -> None:
        """Do once what is to be done, and say it."""
        with self._trouble.noted():
            self._do()
        if self._trouble.now:
            with suppress(StoreError):
                note_applied(self._site.state, None, self._trouble.now)
        self.word = self.word._replace(trouble=self._trouble.now)
        if self.word != self._told or time.monotonic() >= self._tell_at:
            with self._away.noted():
                self._tell()

    def _tell(self) -> None:
        self._log.check(self._link.site)
        if not self._prepared:
            self._log.prepare()
            self._prepared = True
        tell_policy_place(self._log, self.word)
        self._told, self._tell_at = self.word, time.monotonic() + TELL_S

    def _do(self) -> None:
        if not (self._site.state / state_files.POLICY_VERSIONS).exists():
            return  # the keeper fetches it, or nothing was published yet
        with versions_of(self._site) as store:
            held = machine_policy(self._site, store)
            begun = begun_version(store)
            if begun is not None and begun.number != self.word.prepared:
                refused = self._refusal(store, held, begun)
                self.word = self.word._replace(prepared=begun.number, refused=refused)
            if held.latest is not None:
                self._follow(store, held, held.latest)

    def _refusal(self, store: VersionStore, held: MachinePolicy, begun: PolicyVersion) -> str:
        """Return why this machine could not judge by a version; empty = it could."""
        folder, files = own_folder(self._site), store.files(begun)
        if held.state is FolderState.EDITED and digest_of_all(held.files) != begun.digest:
            return EDITED
        changed = changed_names(held.files, files)
        where = folder.parent if len(changed) > 1 or not folder.exists() else folder
        if changed and not os.access(where, os.W_OK | os.X_OK):
            return f"{where} can't be written by the user that Oborona runs as"
        try:
            checked_policy(self._site, files)
        except OboronaError as error:
            return str(error)
        return ""

    def _follow(self, store: VersionStore, held: MachinePolicy, latest: PolicyVersion) -> None:
        """Bring the site's version in, unless this machine judges by it."""
        if held.state is FolderState.EDITED:
            self.word = self.word._replace(version=0)
            raise CallError(EDITED)
        if held.state is FolderState.LEVEL and self.word.version == latest.number:
            note_applied(self._site.state, latest)
            return
        if time.monotonic() < self._again_at:
            raise CallError(self._trouble.now)
        self._again_at = time.monotonic() + AGAIN_S
        try:
            with policy_lock(self._site, 0.0):
                held = machine_policy(self._site, store)
                if held.state is FolderState.EDITED:  # just now
                    raise CallError(EDITED)
                take_latest(self._site, store, held)
                outcome = reload_here(self._site, PATIENCE_S)
        except PolicyBusyError:
            if held.state is not FolderState.LEVEL:
                self._again_at = 0.0
                return
            # who publishes on this machine holds the lock until all have said that they have it
            outcome = ask_reload(self._site.state, PATIENCE_S)
        self._again_at = 0.0
        self.word = self.word._replace(version=latest.number, meaning=_meaning(outcome))


def _meaning(outcome: ReloadOutcome | None) -> str:
    return "" if outcome is None else outcome.version


def site_policy_process(site: Site, link: ReplicationLink) -> BesideProcess:
    """Return what follows the site's policy as a process among the daemon's."""

    def run(_opened: tuple[socket.socket, ...], ready: Callable[[], None]) -> int:
        stop = StopSignal()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        follower = SitePolicyFollower(site, link)
        ready()
        follower.run(stop)
        return os.EX_OK

    return BesideProcess(NAME, ProcessKind.DESK, lambda _listening: (), run)
