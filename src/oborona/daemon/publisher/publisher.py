"""The process that publishes the policy: it alone reads the policy folders while the service runs,
and all workers switch at its word.

    look at the folders when the kernel says that they change, by the clock, at SIGHUP and when
    asked → the files have come to rest → load and check → copy them (`snapshots`) → offer the copy
    on the page → all workers that live are ready, or `PATIENCE_S` is over → put it in force

A broken policy is refused with its place and never offered.  One that a worker says it can't load
is withdrawn: all or none.  A worker that was late loads the policy before it judges its next
message, and is not waited for again until it has caught up.  Killed at any point, the next one
begins with what is in force.  Files that changed and mean the same are handed on as well, for they
say what stands in which line; that is no other policy, and nothing is told as one.  Times here are
measured, not told: the clock of the machine decides nothing.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.daemon.publisher import reload_socket
from oborona.daemon.publisher.code import CodePublisher
from oborona.daemon.publisher.page import NOTHING, PolicyPage, version_of
from oborona.daemon.publisher.quiet_period import QuietPeriod
from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.daemon.publisher.reporter import PolicyReporter, refusal_of
from oborona.daemon.publisher.snapshots import PolicySnapshots, snapshot_folder
from oborona.doorbell import CHANGED, LOOK_S, NAMED, FileNotices
from oborona.errors import PolicyError, StoreError
from oborona.heartbeat import beat, beat_and_tell
from oborona.policy.expression import FactSchema
from oborona.policy.folders import PolicyFolders
from oborona.policy.load_cache import PolicyCache, PublishedPolicy
from oborona.policy.signatures import SignatureBook
from oborona.policy.watch import LivePolicy, folder_state

# between looks where the kernel tells of changes: it does not of a file that a link in the folder
# leads to, nor of what another machine writes to a network file system
TOLD_LOOK_S: Final = 3.0
MOVING_LOOK_S: Final = 0.05  # while its files change: they are read as soon as they rest
PATIENCE_S: Final = 5.0  # for workers to be ready; with the largest policy they take half of it
TICK_S: Final = 0.005  # between looks at who is ready
ATTEMPTS: Final = 5  # at files that are being changed, where somebody waits for an answer
RETRY_S: Final = 5.0  # after trouble that is not the files'
MOVED: Final = "the files are being changed"
STOPS: Final = "the daemon stops"


class PolicyPublisher:
    """Publishes the policy of two folders.

    Args:
        where: as of `load_policy`.
        schema: the facts that rules may name.
        state: state folder.
        key: of this service, as its workers have it.
        before: what this process knows of the policy already, having loaded it; None = nothing.
        patience_s: for workers to be ready.

    Raises:
        PolicyError: there is no good policy to begin with.
    """

    def __init__(
        self,
        where: Path | PolicyFolders,
        schema: FactSchema,
        state: Path,
        key: bytes,
        *,
        before: PolicyCache | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._coder = CodePublisher(key)
        self._folders = PolicyFolders.of(where)
        self._live = LivePolicy(self._folders, schema, self._coder, before)
        self._state = state
        self._patience_s = patience_s
        self._snapshots = PolicySnapshots(state / state_files.POLICY_IN_FORCE, self._folders)
        self._page: PolicyPage | None = None
        self._begun = NOTHING
        self._rest = QuietPeriod(self._live.seen)
        self._handed_on = self._live.seen  # how the files looked that the workers have
        self._retry_at = 0.0  # monotonic; 0 = there is nothing to try again
        self._since = time.monotonic()  # it is in force; of what was before this process, no longer
        self._former = ""  # version that was in force before
        self._behind: dict[int, int] = {}  # workers that were late, with what they were late for
        self._asked = False
        self._stop = False
        self._signalled = -1
        self.telling = PolicyReporter(state)

    def begin(self) -> None:
        """Put the policy in force, before there is any worker.

        Raises:
            PolicyError: its files changed meanwhile, and are broken.
            StoreError: it can't be written.
        """
        self._snapshots.begin()
        page = PolicyPage.make(self._state / state_files.POLICY_IN_FORCE / state_files.POLICY_PAGE)
        word = page.named(self._live.current.version)
        self._take(word)
        while folder_state(self._folders) != self._live.seen:
            self._live.reload()
            if self._live.error is not None:
                raise self._live.error
            word = page.named(self._live.current.version)
            self._take(word, force=True)
        page.offered = page.active = self._begun = word
        self._handed_on = self._live.seen
        self._rest.handled(self._live.seen)
        self._snapshots.keep(frozenset({word}))
        page.close()

    @property
    def published(self) -> PublishedPolicy:
        """What `begin` put in force, made ready for processes that are forked from here."""
        policy = self._live.current
        return PublishedPolicy(self._begun, policy, SignatureBook.of(policy.signatures.values()))

    def run(self, listener: socket.socket, ready: Callable[[], None]) -> int:
        """Publish until SIGTERM; return the exit status.

        Raises:
            StoreError: what is in force can't be read.
        """
        self._signalled = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # a wait is over at once
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, self._ask)
        self.open()
        self.telling.report()  # who asks once the service is ready is told
        ready()
        notices = FileNotices()
        heard: list[socket.socket | FileNotices | int] = [
            listener,
            self._signalled,
            *([notices] if notices.given else []),
        ]
        while not self._stop:
            beat_and_tell()
            look_s = TOLD_LOOK_S if self._ask_for(notices) else LOOK_S
            look_s = MOVING_LOOK_S if self._rest.waits else look_s
            readable, _, _ = select.select(heard, [], [], 0.0 if self._asked else look_s)
            notices.drain()
            if self._signalled in readable:
                os.eventfd_read(self._signalled)
            line = reload_socket.accept_reload(listener) if listener in readable else None
            outcome = self.look(asked=self._asked or line is not None)
            if line is not None and outcome is not None:
                reload_socket.answer_reload(line, outcome)
            self.telling.report()
        self.telling.end()
        return os.EX_OK

    def _ask_for(self, notices: FileNotices) -> bool:
        """Ask for notices of the folders, and of their names; return whether all will come.

        Each time anew: one may be there by now, or another have the name.
        """
        told = [
            notices.add(path, what)
            for folder in self._folders
            if folder is not None
            # its name first: what comes between the two is told of
            for path, what in ((folder.parent, NAMED), (folder, CHANGED))
        ]
        return all(told)

    def open(self) -> None:
        """Take up what is in force; an offer that another left behind is withdrawn.

        Raises:
            StoreError: there is no page, or nothing in force on it.
        """
        self._page = page = PolicyPage(
            self._state / state_files.POLICY_IN_FORCE / state_files.POLICY_PAGE
        )
        page.offered = page.active
        self.telling.begin(version_of(page.active))

    def _end(self, _number: int, _frame: object) -> None:
        self._stop = True
        self._wake()

    def _ask(self, _number: int, _frame: object) -> None:
        self._asked = True
        self._wake()

    def _wake(self) -> None:
        if self._signalled >= 0:
            os.eventfd_write(self._signalled, 1)

    def look(self, *, asked: bool = False) -> ReloadOutcome | None:
        """Look at the folders once, and publish what is there if it changed and has come to rest.

        Return what came of it, None if nothing.

        Args:
            asked: read the files whatever they look like, and say what came of it.
        """
        now = time.monotonic()
        due = self._rest.came(folder_state(self._folders), now) or 0.0 < self._retry_at <= now
        if not due and not asked:
            return None
        self._asked, self._retry_at = False, 0.0
        outcome = self._publish(now, force=asked)
        for _ in range(ATTEMPTS - 1):
            if outcome.trouble != MOVED or not asked:
                break
            outcome = self._publish(now, force=True)
        if outcome.trouble == MOVED:
            self._rest.moved()
        elif outcome.trouble != STOPS:
            self.telling.came(outcome, asked=asked)
        return outcome

    def _publish(self, started: float, *, force: bool) -> ReloadOutcome:
        """Read the files, and put the policy in force if it is right and another."""
        page, live = self._open_page, self._live
        live.reload(force=force)
        before = version_of(page.active)
        if live.error is not None:
            self._rest.handled(live.seen)
            return ReloadOutcome(version=before, refused=refusal_of(live.error))
        same = live.current.version == before
        if same and live.seen == self._handed_on:
            self._rest.handled(live.seen)
            return self._outcome(started, changed=False)
        word = page.named(live.current.version)
        try:
            self._take(word, force=force)
        except (StoreError, PolicyError) as error:
            self._rest.handled(live.seen)
            self._retry_at = time.monotonic() + RETRY_S
            return ReloadOutcome(version=before, trouble=str(error))
        former = page.active
        if folder_state(self._folders) != live.seen:
            self._snapshots.keep(frozenset({former}))
            return ReloadOutcome(version=before, trouble=MOVED)
        self._rest.handled(live.seen)
        if same and self._snapshots.alike(former, word):
            self._handed_on = live.seen
            self._snapshots.keep(frozenset({former}))
            return self._outcome(started, changed=False)
        page.offered = word
        late = self._wait(page, word)
        failed = [worker for worker in self._living(page) if page.failed(worker) == word]
        if failed or self._stop:
            page.offered = former
            self._snapshots.keep(frozenset({former}))
            self._retry_at = time.monotonic() + RETRY_S
            which = ", ".join(map(str, failed))
            return ReloadOutcome(
                version=before,
                trouble=f"worker {which} can't load it; its log says why" if failed else STOPS,
            )
        page.active = word  # from here on
        self._former = before
        self._behind = dict.fromkeys(late, word)
        self._handed_on = live.seen
        self._snapshots.keep(frozenset({former, word}))
        if same:
            return msgspec.structs.replace(self._outcome(started, changed=False), reworded=True)
        self._since = time.monotonic()
        return self._outcome(started, changed=True)

    def _take(self, word: int, *, force: bool = False) -> None:
        self._snapshots.take(word, force=force)
        self._coder.hand_on(snapshot_folder(self._state / state_files.POLICY_IN_FORCE, word))

    def _outcome(self, started: float, *, changed: bool) -> ReloadOutcome:
        page, now = self._open_page, time.monotonic()
        living = self._living(page)
        late = tuple(worker for worker in living if page.ready(worker) != page.active)
        return ReloadOutcome(
            version=version_of(page.active),
            before=self._former,
            rules=len(self._live.current.rules),
            changed=changed,
            seconds=now - started,
            age_s=now - self._since,
            workers=len(living) - len(late),
            late=late,
        )

    def _wait(self, page: PolicyPage, word: int) -> tuple[int, ...]:
        """Wait until the workers that live are ready, or one can't be.

        Return those that are late.
        """
        until = time.monotonic() + self._patience_s
        while not self._stop:
            beat()
            living = self._living(page)
            for worker in [
                number
                for number in self._behind
                if number not in living or page.ready(number) == page.active
            ]:
                del self._behind[worker]
            if any(page.failed(worker) == word for worker in living):
                return ()
            waiting = tuple(worker for worker in living if page.ready(worker) != word)
            if not set(waiting) - self._behind.keys() or time.monotonic() > until:
                return waiting
            time.sleep(TICK_S)
        return ()

    @staticmethod
    def _living(page: PolicyPage) -> list[int]:
        return [worker for worker, pid in page.workers().items() if _lives(pid)]

    @property
    def _open_page(self) -> PolicyPage:
        if self._page is None:
            raise StoreError(
                f"{self._state / state_files.POLICY_IN_FORCE / state_files.POLICY_PAGE}: "
                f"is not open"
            )
        return self._page


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another's by now
        return False
    return True
