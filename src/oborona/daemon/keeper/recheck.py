"""Rechecks of a running site: the stores, followers and tasks that they use, opened and closed
again.

    changes ← words, signatures, pins, policy                alarm ← moves that run away, waves of
    moves changes, index → engine → moves → mover → mailboxes

Each part stands by itself: where a store or the mailboxes can't be used, that part says so, once,
and goes on when it can; the others go on meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.config import Settings
from oborona.daemon.alarm.alarm import AlertDispatcher, open_alarm
from oborona.daemon.alarm.campaigns import CampaignNews, campaign_alert
from oborona.daemon.alarm.waves import WaveDetector
from oborona.daemon.keeper.changes import ChangeWatcher
from oborona.daemon.keeper.limits import limits_of
from oborona.daemon.keeper.person_actions import PersonActions
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.daemon.keeper.rescorer_in_force import RescorerInForce
from oborona.daemon.keeper.shared_counters import SharedCounters
from oborona.daemon.site.move_share import open_move_share
from oborona.doorbell import Doorbell
from oborona.errors import OboronaError, StoreError
from oborona.ident import to_text
from oborona.journal.index.index import JournalIndex
from oborona.message.shingles import Hasher
from oborona.metrics import REGISTRY, Gauge
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.memory_age import CounterMemoryAge
from oborona.policy.scan import ScanSite
from oborona.recheck.engine.delivered_messages import DeliveredMessages
from oborona.recheck.engine.loop import RecheckEngine
from oborona.recheck.engine.model import RecheckResult
from oborona.recheck.engine.mover import CopyMover
from oborona.recheck.engine.rescorer import Rescorer
from oborona.recheck.engine.signature_changes import SignatureChanges
from oborona.recheck.mailboxes.model import SiteMailboxes
from oborona.recheck.moves import MoveStore
from oborona.stores.final_model import FollowedFinalModel
from oborona.stores.mailboxes import open_mailboxes
from oborona.stores.persons.follower import FollowedPersons
from oborona.stores.pins.follower import FollowedPins
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry import status
from oborona.telemetry.alert import Alert, AlertKind
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

UNTOLD_S: Final = 60.0  # between looks at what has changed where no file has moved
# between looks at what is to be tried again; what is decided rings, and need not wait
MOVE_S: Final = 5.0
TROUBLE_S: Final = 5.0  # before the next try
GRACE_S: Final = 3.0  # at the end, for what is under way
EXAMPLES: Final = 5  # messages that an alert names
UP: Final = Gauge("oborona_recheck_up", "1 while the recheck of delivered mail runs.", ())
STUCK: Final = Gauge("oborona_recheck_stuck", "1 while the recheck can't do something.", ())

log = logging.getLogger("oborona.recheck")


class RecheckService:
    """The rechecks of a site, in one event loop.

    Args:
        settings: of the site.
        name: of the site.
        state: state folder, prepared; the journal is there.
        mailboxes: None = none are set.
        alarm: told of waves, and of moves that run away.
        counters: that other tasks of this process read, too.
        before: what is known of policies already.
        clock: Unix seconds.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        state: Path,
        mailboxes: SiteMailboxes | None,
        alarm: AlertDispatcher,
        counters: SharedCounters,
        *,
        before: PolicyCache | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._limits = limits_of(settings)
        self._name = name
        self._state = state
        self._mailboxes = mailboxes
        self._alarm = alarm
        self._counters = counters
        self._clock = clock
        self._policy = PolicyInForce(state, policy_folders(settings.paths), before)
        self._hasher = Hasher(secret.load(state).shingles)
        self._persons = FollowedPersons(state / state_files.PERSONS)
        self._pins = FollowedPins(state / state_files.PINS)
        self._final = FollowedFinalModel.of_site(state, SCHEMA)
        self._heard = PersonActions(state)
        # bells: a change to be told of, one to be judged by, a move to be made
        self._told, self._changed, self._decided = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._asked: dict[str, Mapping[str, str]] = {}
        self._site: ScanSite | None = None
        waves = settings.alarm
        self._campaigns = CampaignNews()
        self._waves = WaveDetector(least=waves.wave_least, times=waves.wave_times)
        self._troubles = {
            "judging": TroubleNotice(
                "delivered mail is not judged again", "delivered mail is judged again"
            ),
            "changes": TroubleNotice("changes are not followed", "changes are followed again"),
            "moves": TroubleNotice("moves can't be made", "moves are made again"),
            "campaigns": TroubleNotice(
                "campaigns are not looked for", "campaigns are looked for again"
            ),
            "report": TroubleNotice("no status for metrics", "there is a status for metrics again"),
        }
        self.engine: RecheckEngine | None = None
        self.mover: CopyMover | None = None
        UP.set(1)
        STUCK.set_function(lambda: {(): bool(self.trouble)})

    @property
    def trouble(self) -> str:
        """What is wrong now; empty = nothing."""
        return "; ".join(
            f"{name}: {trouble.now}" for name, trouble in self._troubles.items() if trouble.now
        )

    async def run(self, stop: asyncio.Event, index: JournalIndex) -> None:
        """Look until told to stop.

        What can't be opened now is tried again, and a fault of ours ends nothing else.

        Args:
            stop: set to end it.
            index: of the journal; somebody else keeps it up.
        """
        try:
            while not stop.is_set():
                try:
                    await self._session(stop, index)
                except OboronaError as error:
                    self._troubles["judging"].failed(error)
                except Exception as error:
                    log.exception("fault in the recheck")
                    self._troubles["judging"].failed(error)
                await _wait(stop, TROUBLE_S)
        finally:
            with suppress(StoreError):
                status.remove_process(self._state, status.RecheckStatus)
            if self._mailboxes is not None:
                await self._mailboxes.close()
            await self._alarm.close(GRACE_S)

    async def _session(self, stop: asyncio.Event, index: JournalIndex) -> None:
        """Open everything, and look until told to stop.

        Raises:
            StoreError: something can't be opened.
        """
        moves_path = self._state / state_files.MOVES
        with (
            MoveStore(moves_path) as decides,
            MoveStore(moves_path) as makes,
            MoveStore(moves_path) as follows,
            MoveStore(moves_path) as tells,
        ):
            async with await DeliveredMessages.open(self._state / state_files.JOURNAL) as journal:
                changes = ChangeWatcher(
                    self._state,
                    follows,
                    self._policy,
                    self._hasher,
                    window_s=self._limits.window_s,
                    clock=self._clock,
                )
                rescorer = RescorerInForce(partial(self._make_rescorer, moves=tells))
                self._pins.look()
                self._final.look()  # the workers say what it is, before the service is ready
                await self._persons.look()
                self.engine = engine = RecheckEngine(
                    journal=journal,
                    index=index,
                    moves=decides,
                    rescorer=lambda: self._rescorer_now(rescorer, changes),
                    limits=self._limits,
                    asked=self._asked,
                    stopped=self._stopped,
                    decided=self._take_up,
                    clock=self._clock,
                )

                async def message_id(number: int) -> str:
                    entry = await journal.get(number)
                    return "" if entry is None else entry.message_id

                share = open_move_share(
                    self._state, makes, takes=self._mailboxes is not None, clock=self._clock
                )
                self.mover = mover = CopyMover(
                    makes,
                    self._mailboxes,
                    user=self._settings.mailboxes.owner,
                    message_id=message_id,
                    window_s=self._limits.window_s,
                    site=share,
                    clock=self._clock,
                )
                await engine.begin()
                async with AsyncExitStack() as closings:
                    if share is not None:
                        closings.callback(share.close)
                    closings.callback(self._close_site)
                    closings.push_async_callback(self._persons.close)
                    closings.callback(self._pins.close)
                    closings.callback(self._heard.close)
                    closings.callback(changes.close)
                    await self._together(stop, engine, mover, changes)

    async def _together(
        self,
        stop: asyncio.Event,
        engine: RecheckEngine,
        mover: CopyMover,
        changes: ChangeWatcher,
    ) -> None:
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            folder = self._state / state_files.POLICY_IN_FORCE
            page = folder / state_files.POLICY_PAGE
            changing = (state_files.FEEDBACK, state_files.SIGNATURES, state_files.PINS)
            watching = [
                group.create_task(watch)
                for watch in (
                    self._persons.watch(),
                    self._pins.watch(),
                    self._final.watch(),
                    _pass_on(
                        self._told,
                        page,
                        *(self._state / name for name in changing),
                        # where no publisher runs, the policy folders are looked at
                        anyway=lambda: not page.exists(),
                    ),
                    _pass_on(self._changed, self._state / state_files.JOURNAL),  # found late
                    _pass_on(self._decided, self._state / state_files.MOVES),  # an admin's word
                )
            ]
            steady = [
                group.create_task(self._repeat(stop, name, step, pause_s, bell))
                for name, step, pause_s, bell in (
                    (
                        "changes",
                        lambda: self._queue_triggers(changes, engine),
                        UNTOLD_S,
                        self._told,
                    ),
                    ("judging", engine.step, 0.0, self._changed),
                    ("moves", lambda: self._move(mover), MOVE_S, self._decided),
                    ("report", self._report, status.WRITE_S, ended),
                    ("campaigns", self._look_for_campaigns, status.WRITE_S, ended),
                )
            ]
            await stop.wait()
            for bell in (ended, self._told, self._changed, self._decided):
                bell.set()
            await asyncio.wait(steady, timeout=GRACE_S)
            # a move that is cut off here is made again by the next process
            for task in (*watching, *steady):
                task.cancel()

    async def _repeat(
        self,
        stop: asyncio.Event,
        name: str,
        step: Callable[[], Awaitable[float]],
        pause_s: float,
        bell: asyncio.Event,
    ) -> None:
        """Take a step again and again; it returns for how long it wants to rest besides.

        Who rings ends the rest.
        """
        trouble = self._troubles[name]
        while not stop.is_set():
            bell.clear()  # before the step: what is new meanwhile rings again
            try:
                rest_s = await step()
            except StoreError as error:
                trouble.failed(error)
                await _wait(stop, TROUBLE_S)
                continue
            except Exception as error:  # the barrier of this part: the others go on
                log.exception("fault in %s", name)
                trouble.failed(error)
                await _wait(stop, TROUBLE_S)
                continue
            trouble.over()
            await _wait(bell, pause_s + rest_s)

    async def _queue_triggers(self, changes: ChangeWatcher, engine: RecheckEngine) -> float:
        for trigger in await asyncio.to_thread(changes.look):
            engine.add(trigger.cause, trigger.pieces, echo=trigger.echo)
            self._changed.set()
            self._told.set()  # there may be more than one look takes
        if changes.failed is not None:
            raise changes.failed
        return 0.0

    async def _move(self, mover: CopyMover) -> float:
        moved = await mover.step()
        return -MOVE_S if moved else 0.0

    async def _report(self) -> float:
        """Write what there is to say of the second look."""
        report = status.RecheckStatus(
            pid=os.getpid(),
            time=time.time(),
            metrics=REGISTRY.snapshot(),
            trouble=self.trouble,
        )
        await asyncio.to_thread(status.write_status, self._state, report)
        return 0.0

    async def _look_for_campaigns(self) -> float:
        """Raise an alert for what workers see many of, and was not told yet."""
        now = self._clock()
        workers = await asyncio.to_thread(status.read_workers, self._state, now)
        for campaign in self._campaigns.news(
            (sighting for worker in workers for sighting in worker.campaigns), now
        ):
            await self._alarm.raise_(campaign_alert(campaign))
        return 0.0

    def _rescorer_now(self, rescorer: RescorerInForce, changes: ChangeWatcher) -> Rescorer | None:
        """Return who judges by what is in force now; None until there is a policy."""
        policy = self._policy.current
        if policy is None:
            return None
        if self._site is None:
            self._site = self._open_site()
        return rescorer.now(self._site, policy, changes.signed, self._final.in_use)

    def _make_rescorer(
        self, site: ScanSite, policy: Policy, signed: SignatureChanges, moves: MoveStore
    ) -> Rescorer:
        return Rescorer(
            site,
            policy,
            asked=self._asked,
            people=self._heard,
            made=moves,
            folders=self._limits.folders,
            signed=signed,
        )

    def _open_site(self) -> ScanSite:
        settings = self._settings
        return ScanSite(
            name=self._name,
            hasher=self._hasher,
            counters=self._counters.acquire(),
            regions=tuple(settings.site.regions.split()),
            pins=self._pins,
            persons=self._persons,
            final=self._final,
            memory=CounterMemoryAge(),
        )

    def _close_site(self) -> None:
        if self._site is not None:
            self._counters.release()
        self._site = None

    async def _stopped(self, why: str) -> None:
        await self._alarm.raise_(
            Alert(
                kind=AlertKind.RUNAWAY,
                title="Moves of delivered mail have stopped",
                text=(
                    f"{why}.\nLook at `oborona recheck moves`, then `oborona recheck resume` "
                    f"or `oborona recheck discard`."
                ),
                time=self._clock(),
                evidence={"why": why},
            )
        )

    async def _take_up(self, results: Sequence[RecheckResult]) -> None:
        """Have what was decided moved at once, and raise an alert where it is a wave."""
        self._decided.set()
        number = sum(len(result.moves) for result in results)
        wave = self._waves.add("moves", number, self._clock())
        if wave is None:
            return
        examples = [
            {
                "id": to_text(result.entry.id),
                "sender": result.entry.sender,
                "subject": result.entry.subject,
                "client": result.entry.client_ip,
                "why": result.moves[0].why,
                "score": result.moves[0].score,
                "line": result.moves[0].line,
            }
            for result in results[:EXAMPLES]
        ]
        await self._alarm.raise_(
            Alert(
                kind=AlertKind.WAVE,
                title=f"{wave.level} delivered messages are moved within ten minutes",
                text=f"Usual are {wave.usual:.0f}. The latest: {examples[0]['why']}.",
                time=self._clock(),
                evidence={"level": wave.level, "usual": wave.usual, "examples": examples},
            )
        )


def open_recheck(
    settings: Settings,
    name: str,
    state: Path,
    counters: SharedCounters,
    before: PolicyCache | None = None,
) -> RecheckService:
    """Return the second look of a site; in the event loop that it will run in.

    Args:
        settings: of the site.
        name: of the site.
        state: state folder, prepared.
        counters: that other tasks of this process read, too.
        before: what is known of policies already.

    Raises:
        ConfigError: the settings of mailboxes or alarm do not suffice.
        StoreError: there are no keys.
    """
    mailboxes = open_mailboxes(settings)
    if mailboxes is None:
        event(
            log,
            logging.INFO,
            "no mailboxes are set: what is found is written down, and nothing is moved",
        )
    alarm = open_alarm(settings, name, time.time)
    return RecheckService(settings, name, state, mailboxes, alarm, counters, before=before)


async def _pass_on(
    bell: asyncio.Event, *paths: Path, anyway: Callable[[], bool] = lambda: False
) -> None:
    """Ring when stores move, for ever."""
    with Doorbell(*paths, sqlite=True, anyway=anyway) as doorbell:
        while True:
            await doorbell.rung()
            bell.set()


async def _wait(bell: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await bell.wait()
    except TimeoutError:
        return
