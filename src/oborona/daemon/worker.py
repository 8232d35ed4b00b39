"""A worker: one event loop that judges the mail of its share of connections.

    open stores → load the policy in force → probe DNS lists → serve the sockets → until SIGTERM:
    flush counters, make ready the policy that is offered, probe, report → drain, and listen no more
    → write what is left

The policy is what the publisher puts in force (`oborona.daemon.publisher`); the policy folder is
never read here.  Stores are opened here, after the fork.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import msgspec
import uvloop

from oborona import secret, state_files
from oborona.accounts.addresses.address_report import count_address
from oborona.accounts.excess_spool import ExcessSpool
from oborona.accounts.followed_accounts import FollowedAccounts
from oborona.accounts.time_mark import TimeMark
from oborona.config import Settings
from oborona.daemon.alarm.campaigns import CampaignSightings, campaign_sighting
from oborona.daemon.exit_stack import LoggingExitStack
from oborona.daemon.listeners import DOOR, DoorListener
from oborona.daemon.publisher.policy_follower import FollowedPolicy
from oborona.daemon.reader.connection import ReaderConnection
from oborona.daemon.reader.late_reader import LateReader
from oborona.daemon.reader.meaning import EncoderMeanings
from oborona.daemon.reader.picture_client import PictureClient
from oborona.doorbell import Doorbell
from oborona.doors.context import DoorContext, DoorServer
from oborona.doors.delivery.entry_lookup import JournalTiming, find_entry
from oborona.doors.delivery.handover import DeliveryServices
from oborona.doors.delivery.server import DeliveryServer
from oborona.doors.login_recorder import LoginRecorder
from oborona.doors.memory_budget import MemoryBudget
from oborona.errors import StoreError
from oborona.heartbeat import beat_forever
from oborona.ident import JournalIdGenerator
from oborona.journal.journal import JournalWriter
from oborona.message.shingles import Hasher
from oborona.metrics import REGISTRY, Gauge
from oborona.policy.engines import NoOtherEngines
from oborona.policy.fact_table import SCHEMA
from oborona.policy.headers import HeaderDetail
from oborona.policy.load_cache import PolicyCache
from oborona.policy.memory_age import CounterMemoryAge
from oborona.policy.models.meaning import MeaningModel, NoMeaningModel
from oborona.policy.pictures import NoPictures
from oborona.policy.ports import CounterReader
from oborona.policy.scan import Scan, ScanSite
from oborona.session.concurrency_limit import ConcurrencyLimit
from oborona.session.engines.engine_set import EngineSet, open_engines
from oborona.session.logins import LoginWatch
from oborona.session.lookups import DnsLookups
from oborona.session.loop_lag import QUIET_S, LoopLag
from oborona.session.policy_log import PolicyLog
from oborona.session.quarantine.in_flight import InFlightTable
from oborona.session.quarantine.scan_tracker import ScanTracker
from oborona.session.quarantine.shared_list import QuarantineList
from oborona.session.refusals import turned_away_reply
from oborona.session.services import SessionServices
from oborona.session.session import Session
from oborona.session.traps import TrapEventLog
from oborona.stores.content_model import FollowedContentModel
from oborona.stores.counters import open_counters
from oborona.stores.final_model import FollowedFinalModel
from oborona.stores.geoip import GeoIpDatabases
from oborona.stores.persons.contacts import ContactLearner
from oborona.stores.persons.follower import FollowedPersons
from oborona.stores.pins.follower import FollowedPins
from oborona.stores.policy_folders import policy_folders
from oborona.stores.signatures.follower import FollowedSignatures
from oborona.telemetry import status
from oborona.telemetry.log import event
from oborona.telemetry.status_writer import write_periodically

# that looking at, or reading, all pictures of a message may take once it is answered
LATE_S: Final = 120.0
LATE_GRACE_S: Final = 3.0  # at the end, for pictures that are being read
# after a message, until the disk has what it counted
FLUSHED_S: Final = 1.0
# objects more than before, and collections of the younger generation
COLLECT_AFTER: Final = (20_000, 20, 10)

UP: Final = Gauge("oborona_up", "1 for each worker that runs.", ())
POLICY: Final = Gauge(
    "oborona_policy_info", "1 for the version of the policy in use.", ("version",)
)

log = logging.getLogger("oborona.worker")


class BufferedCounters(Protocol):
    """Counters that wait in memory until they are handed over."""

    @property
    def dropped(self) -> int: ...
    @property
    def stuck(self) -> bool: ...
    def write(self, now: float) -> int: ...
    def flush(self, now: float) -> int: ...


class WorkerProcess:
    """One worker process.

    Args:
        number: 0 and up; workers that run at once have different ones.
        settings: of the site.
        name: authserv-id.
        state: folder of the stores, and of the policy in force.
        key: of this service, as the publisher of the policy has it.
        doors: the doors that it serves; at least one.
        before: what the parent knew of the policy when it forked this process; None = nothing.
        notes: where its supervisor sees what it is judging; None = nobody does.
        board: what is set apart; None = nothing.
        delivery: the listening socket of the delivery door, this process's copy; None: it is
            closed.
    """

    def __init__(
        self,
        *,
        number: int,
        settings: Settings,
        name: str,
        state: Path,
        key: bytes,
        doors: Sequence[DoorListener],
        before: PolicyCache | None = None,
        notes: InFlightTable | None = None,
        board: QuarantineList | None = None,
        delivery: socket.socket | None = None,
    ) -> None:
        self._number = number
        self._settings = settings
        self._name = name
        self._state = state
        self._before = before
        self._places = GeoIpDatabases(settings.places)
        self._final = FollowedFinalModel.of_site(state, SCHEMA)
        self._signatures = FollowedSignatures(state / state_files.SIGNATURES)
        self._pins = FollowedPins(state / state_files.PINS)
        self._accounts = FollowedAccounts(state / state_files.ACCOUNTS)
        self._persons = FollowedPersons(state / state_files.PERSONS)
        self._contacts = ContactLearner(state / state_files.PERSONS, settings.personal.contacts)
        self._policy = FollowedPolicy(
            state,
            number,
            SCHEMA,
            key,
            policy_folders(settings.paths),
            self._signatures.prepare,
            before=before,
        )
        self._taught = FollowedContentModel(
            state / state_files.WEIGHTS, least=settings.learning.min_learned
        )
        self._flights = ScanTracker(state, notes, board)
        self._doors = doors
        self._delivery = delivery
        self._trapping = TrapEventLog(state / state_files.EVENTS, time.time)
        self._sightings = CampaignSightings()
        self._beside: EngineSet | None = None  # opened in the loop
        self._stop = asyncio.Event()
        self._counted = asyncio.Event()  # a message, since the last round of flushes began
        self._trouble = ""  # of the counters, said once
        self._turned_away = 0  # adds, at the end of the last trouble
        self._full = False  # it was said that adds are turned away

    def run(self, ready: Callable[[], None]) -> int:
        """Serve until SIGTERM; return the exit status."""
        uvloop.run(self._serve(ready))
        return os.EX_OK

    async def _serve(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        loop.add_signal_handler(signal.SIGINT, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)  # the publisher reads the policy
        async with LoggingExitStack(log) as closings:
            alive = asyncio.create_task(beat_forever())  # from here to the last of what is closed
            closings.callback(alive.cancel)
            keys = secret.load(self._state)
            self._policy.begin()
            UP.set(1)
            POLICY.set_function(lambda: {(self._policy.current.version,): 1})
            journal = await closings.enter_async_context(
                await JournalWriter.open(
                    self._state / state_files.JOURNAL, batch_s=self._settings.journal.batch_s
                )
            )
            closings.add(
                partial(status.remove_worker, self._state, self._number),
                "status stays behind",
                logging.WARNING,
            )
            counters = open_counters(self._settings, self._state, f"worker-{self._number}")
            closings.add(counters.close, "the last counters may be lost")
            closings.add(partial(self._flush_once, counters), "the last counters may be lost")
            await self._open_stores(closings)
            asking = DnsLookups(self._settings, self._name)
            closings.add(asking.close, "the resolver can't be closed")
            line = ReaderConnection(self._state / state_files.READER_SOCKET)
            closings.add(line.close, "the connection to the reader can't be closed")
            site = self._site(keys, counters, line)
            pulse = LoopLag(max(QUIET_S, 2 * self._settings.worker.deadline_s))
            limit = ConcurrencyLimit(
                self._settings.worker.max_messages,
                pulse,
                deadline_s=self._settings.worker.deadline_s,
            )
            numbers, timing = JournalIdGenerator(self._number), _timing(self._settings)
            late = LateReader(
                PictureClient(line, look_s=LATE_S, read_s=LATE_S, urgent=False),
                site,
                new_inquiry=asking.inquirer,
                counters=counters,
                journal=journal.append_late,
                signed=self._signatures.count,
                clock=time.time,
                most=self._settings.reader.late_messages if self._settings.reader.enabled else 0,
            )
            closings.add(
                partial(late.close, LATE_GRACE_S), "pictures that came late can't be ended"
            )
            session_services = SessionServices(
                site=site,
                settings=self._settings.worker,
                concurrency=limit,
                flights=self._flights,
                contact=self._settings.site.contact,
                detail=HeaderDetail(self._settings.headers.reason),
                policy=self._policy,
                counters=counters,
                written=partial(self._write, counters),
                journal=journal.append,
                refusals=journal,
                entry=lambda number: find_entry(journal, number, timing, time.time()),
                record_policy=PolicyLog(journal).note,
                numbers=numbers,
                signing_key=keys.signature,
                clock=time.time,
                accounts=self._accounts,
                known_accounts=self._accounts.directory,
                excess=ExcessSpool(self._state / state_files.EXCESSES),
                held=TimeMark(self._state / state_files.HELD_LAST).try_set,
                new_inquiry=asking.inquirer,
                own=asking.is_own,
                late=late.add,
                signed=self._signatures.count,
                learn_contacts=self._contacts.learn_contacts,
                observe_campaign=self._note_campaign,
                trap=self._trapping.keep,
                reports=self._settings.intake.reports
                if self._settings.intake.mail_listen
                else frozenset(),
            )
            await asking.begin(self._policy.current)
            room = MemoryBudget(self._settings.worker.max_bodies_bytes)
            closings.add(pulse.stop, "the pulse can't be stopped")
            logins = LoginWatch(session_services)
            recorder = LoginRecorder.of(self._settings, self._state)
            closings.add(recorder.close, "the last logins may be lost")
            servers: list[DoorServer] = []
            # where something failed nobody is answered by what is being closed
            closings.add(partial(self._drain, servers, 0.0), "sessions can't be ended")
            for door in self._doors:
                services = msgspec.structs.replace(session_services, door=door.name)
                door_context = DoorContext(
                    settings=self._settings,
                    sessions=partial(Session, services, content=door.content),
                    asker=asking.asker,
                    name=self._name,
                    state=self._state,
                    signing_key=keys.signature,
                    note=partial(DOOR.inc, door.name),
                    keep=self._trapping.keep,
                    logins=logins,
                    record_login=recorder.note,
                    policy=lambda: self._policy.current,
                    count_address=lambda address: count_address(
                        counters, site.hasher, address, time.time()
                    ),
                    room=room,
                    turned_away=partial(turned_away_reply, services),
                )
                servers.append(await door.start(door_context, door.listener))
            if self._delivery is not None:
                servers.append(await self._deliver(self._delivery, keys, journal, numbers, room))
            _collect_seldom()
            pulse.start()
            ready()
            async with (
                asyncio.TaskGroup() as chores
            ):  # a chore that fails ends the worker: the supervisor starts another
                running = [
                    chores.create_task(chore)
                    for chore in (
                        self._flush(counters),
                        self._flush_others(counters),
                        self._policy.watch(),
                        asking.watch(lambda: self._policy.current),
                        self._places.watch(),
                        self._signatures.watch(),
                        self._pins.watch(),
                        self._accounts.watch(),
                        self._persons.watch(),
                        self._contacts.watch(),
                        recorder.run(),
                        self._final.watch(),
                        write_periodically(self._state, partial(self._status, asking), log),
                    )
                ]
                await self._stop.wait()
                self._policy.leave()
                await self._drain(servers, self._settings.worker.drain_s)
                for chore in running:
                    chore.cancel()

    async def _open_stores(self, closings: LoggingExitStack) -> None:
        """Read what is followed, before there is mail, and open what else a scan asks."""
        closings.add(self._trapping.close, "the log of events can't be closed")
        closings.add(self._contacts.close, "the last contacts may be lost")
        closings.add(self._persons.close, "the store of persons can't be closed")
        await self._persons.look()
        closings.add(self._pins.close, "the store of manual overrides can't be closed")
        self._pins.look()
        closings.add(self._accounts.close, "the file of accounts can't be closed")
        self._accounts.look()
        closings.add(self._signatures.close, "the last hits of signatures may be lost")
        self._signatures.begin(
            self._policy.current.signatures,
            None if self._before is None else self._before.published,
        )
        self._final.begin()
        self._beside = open_engines(self._settings, self._name)
        if self._beside is not None:
            closings.add(self._beside.close, "engines can't be closed")

    async def _drain(self, servers: list[DoorServer], grace_s: float) -> None:
        """Serve nobody new, and give those who are served so many seconds.

        Once, whoever calls it again.
        """
        draining = [asyncio.create_task(server.drain(grace_s)) for server in servers]
        servers.clear()
        await asyncio.sleep(0)  # their first step: they do not touch the sockets any more
        for door in self._doors:
            # a copy that stays open would let new connections wait for nobody
            door.listener.close()
        if self._delivery is not None:
            self._delivery.close()
        await asyncio.gather(*draining)

    def _site(
        self, keys: secret.SiteKeys, counters: CounterReader, line: ReaderConnection
    ) -> ScanSite:
        reader, longest_s = self._settings.reader, self._settings.worker.deadline_s / 2
        picture_client = PictureClient(
            line,
            look_s=min(reader.look_wait_s, longest_s),
            read_s=min(reader.read_wait_s, longest_s),
        )
        return ScanSite(
            name=self._name,
            hasher=Hasher(keys.shingles),
            counters=counters,
            regions=tuple(self._settings.site.regions.split()),
            places=self._places,
            pins=self._pins,
            persons=self._persons,
            engines=self._beside or NoOtherEngines(),
            signatures=self._signatures,
            content=self._taught,
            final=self._final,
            meanings=self._meanings(line),
            pictures=picture_client if reader.enabled else NoPictures(),
            memory=CounterMemoryAge(),
        )

    def _meanings(self, line: ReaderConnection) -> MeaningModel:
        wait_s = min(self._settings.reader.meaning_wait_s, self._settings.worker.deadline_s / 2)
        enabled = self._settings.reader.enabled and self._settings.reader.meaning
        return (
            EncoderMeanings(line, self._final.meaning, within_s=wait_s)
            if enabled
            else NoMeaningModel()
        )

    async def _deliver(
        self,
        listener: socket.socket,
        keys: secret.SiteKeys,
        journal: JournalWriter,
        numbers: JournalIdGenerator,
        room: MemoryBudget,
    ) -> DoorServer:
        settings = self._settings
        session_services = DeliveryServices(
            settings=settings.doors.delivery,
            detail=HeaderDetail(settings.headers.reason),
            name=self._name,
            signing_key=keys.signature,
            entries=journal,
            went=journal.append_went,
            expected=_timing(settings),
            persons=self._persons,
            policy=lambda: self._policy.current,
            numbers=numbers,
            clock=time.time,
        )
        server = DeliveryServer(session_services, self._state, room)
        await server.start(listener)
        return server

    def _note_campaign(self, scanned: Scan, now: float) -> None:
        """Note the campaign that a message belongs to, if it is one of many."""
        sighting = campaign_sighting(scanned, least=self._settings.alarm.wave_least, now=now)
        if sighting is not None:
            self._sightings.note(sighting)

    async def _flush(self, counters: BufferedCounters) -> None:
        """Hand counts over every few moments while messages come."""
        flush_s, loop = self._settings.counters.flush_s, asyncio.get_running_loop()
        while True:
            await self._counted.wait()
            self._counted.clear()
            until = loop.time() + FLUSHED_S
            while loop.time() < until:
                await asyncio.sleep(flush_s)
                self._flush_once(counters)

    async def _flush_others(self, counters: BufferedCounters) -> None:
        """Hand over what was counted without a message, such as logins, with the second's look."""
        with Doorbell(anyway=lambda: True) as second:
            while True:
                await second.rung()
                self._flush_once(counters)

    def _flush_once(self, counters: BufferedCounters) -> None:
        self._hand_over(counters, partial(counters.flush, time.time()))

    def _write(self, counters: BufferedCounters, now: float) -> None:
        """Have what a message counted survive the death of this process."""
        self._counted.set()
        self._hand_over(counters, partial(counters.write, now))

    def _hand_over(self, counters: BufferedCounters, hand_over: Callable[[], int]) -> None:
        """Counts that can't be written wait in memory until that is full.

        Both are said once, and once when it is over.
        """
        try:
            hand_over()
        except StoreError as error:
            if str(error) != self._trouble:
                event(log, logging.ERROR, "counters wait in memory", error=error)
                self._trouble = str(error)
            return
        turned_away = counters.dropped - self._turned_away
        if turned_away and not self._full:
            event(log, logging.ERROR, "memory for counters is full, new ones are turned away")
            self._full = True
        if (self._trouble or self._full) and not counters.stuck:
            event(log, logging.WARNING, "counters are written again", turned_away=turned_away)
            self._trouble, self._turned_away, self._full = "", counters.dropped, False

    def _status(self, asking: DnsLookups) -> status.WorkerStatus:
        """Return what this worker has to say of itself."""
        now = time.time()
        return status.WorkerStatus(
            worker=self._number,
            pid=os.getpid(),
            time=now,
            metrics=REGISTRY.snapshot(),
            policy=self._policy.current.version,
            resolvers=asking.servers.servers,
            dns_trouble=asking.servers.trouble,
            lists=asking.lists.statuses(),
            engines={} if self._beside is None else self._beside.status(),
            campaigns=self._sightings.now(now),
            final=self._final.version,
            final_wrong=str(self._final.error or ""),
        )


def _timing(settings: Settings) -> JournalTiming:
    """Return how long the journal takes to have an entry, and keeps it."""
    return JournalTiming(
        retention_s=settings.journal.retention_hours * 3600,
        wait_s=settings.doors.delivery.journal_wait_s,
    )


def _collect_seldom() -> None:
    """Have the collector look at what messages leave behind, which is next to nothing, and at that
    alone: policy and stores stay.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
