"""The processes of the service, put together: what `oborona serve`, `worker`, `writer`, `keeper`,
`reader`, `trainer`, `intake`, `flows run` and `eventlog run` run.

    settings and policy are read and checked → state folder and secret → locks → counters → sockets
    → policy in force → one supervisor

Everything that can be wrong is found here, before the first process is started, and said in one
line.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import secrets
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from oborona import lock, state_files
from oborona.config import ListenSettings, LoadedSettings
from oborona.config.load import DEFAULT
from oborona.daemon import event_logs, last_trouble, metrics_process, sockets
from oborona.daemon.beside import BesideProcess, beside_job
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.daemon.confinement.memory import keep_memory_private
from oborona.daemon.exporter import process as exporter
from oborona.daemon.final_trainer.process import final_trainer_main
from oborona.daemon.flows import process as flows
from oborona.daemon.hang_detector import PATIENT
from oborona.daemon.heap import use_one_heap
from oborona.daemon.held_sockets import HeldSockets, keep
from oborona.daemon.intake import service as intake
from oborona.daemon.keeper.run import run_keeper
from oborona.daemon.listeners import NONE_OPEN, DoorListener, listen_doors, takes_mail
from oborona.daemon.publisher import reload_socket as publishing
from oborona.daemon.publisher.code import KEY_BYTES
from oborona.daemon.publisher.publisher import PolicyPublisher
from oborona.daemon.reader import service as reader
from oborona.daemon.site_name import site_name
from oborona.daemon.state import prepare_state
from oborona.daemon.supervised_process import CPU, FILES, MEMORY, SERVES, SupervisedProcess
from oborona.daemon.supervisor import ProcessJob, Supervisor
from oborona.daemon.suspects import DeathSuspects
from oborona.daemon.trainer.trainer import trainer_main
from oborona.daemon.worker import WorkerProcess
from oborona.errors import ConfigError, OboronaError, StoreBusy, StoreError, StoreVersion
from oborona.heartbeat import StopSignal, own_usage
from oborona.ident import WORKERS
from oborona.metrics import REGISTRY
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import FileOwner
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.replication.link import read_link
from oborona.session.quarantine.in_flight import InFlightTable
from oborona.stores.counters import check_store, open_writer
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry import status
from oborona.telemetry.log import LogFormat, event, set_up

AS_ROOT: Final = (
    "runs as root: who breaks into it has the machine; run it as a user of its own, as the "
    "units in systemd/ do"
)

log = logging.getLogger("oborona")


class ProcessRole(StrEnum):
    """One program per job."""

    WORKER = "worker"
    WRITER = "writer"
    KEEPER = "keeper"
    READER = "reader"
    TRAINER = "trainer"
    INTAKE = "intake"
    FLOWS = "flows"
    EVENT_LOGS = "eventlog"


def run(
    loaded: LoadedSettings,
    roles: Collection[ProcessRole],
    on_ready: Callable[[], None],
    others: Sequence[BesideProcess] = (),
) -> int:
    """Run the processes of these roles until SIGTERM.

    Args:
        loaded: the settings.
        roles: which; all of them for `serve`.
        on_ready: called once, when all of them serve.
        others: beside them.

    Returns:
        Exit status.

    Raises:
        ConfigError, SocketError, StoreError: something is wrong that an admin must mend; nothing
        was started.
    """
    if ProcessRole.WORKER in roles and not takes_mail(loaded.settings):
        raise ConfigError(NONE_OPEN)
    set_up(LogFormat(loaded.settings.log.format), loaded.settings.log.level.upper())
    faulthandler.enable()  # the service manager's watchdog ends us with SIGABRT
    try:
        return _run(loaded, roles, on_ready, others)
    except OboronaError as error:
        last_trouble.note_last_trouble(Path(loaded.settings.paths.state), "start", str(error))
        raise


def _run(
    loaded: LoadedSettings,
    roles: Collection[ProcessRole],
    on_ready: Callable[[], None],
    others: Sequence[BesideProcess],
) -> int:
    """Check everything, open what is shared, and supervise."""
    keep_memory_private()
    use_one_heap()
    before = PolicyCache()
    _log_policy_files(loaded, load_policy(policy_folders(loaded.settings.paths), SCHEMA, before))
    state = Path(loaded.settings.paths.state)
    if os.geteuid() == 0:
        event(log, logging.INFO, AS_ROOT)  # a trial does; doctor warns of it
    prepare_state(state)
    with ExitStack() as locks, ExitStack() as listening:
        if ProcessRole.WORKER in roles:
            locks.enter_context(lock.hold(state / state_files.WORKERS_LOCK, "oborona workers"))
        if ProcessRole.KEEPER in roles:
            locks.enter_context(lock.hold(state / state_files.KEEPER_LOCK, "oborona keeper"))
        if reads := ProcessRole.READER in roles and loaded.settings.reader.enabled:
            locks.enter_context(lock.hold(state / state_files.READER_LOCK, "oborona reader"))
        if ProcessRole.TRAINER in roles:
            locks.enter_context(lock.hold(state / state_files.TRAINER_LOCK, "oborona trainer"))
        if hears := ProcessRole.INTAKE in roles and loaded.settings.intake.doors:
            locks.enter_context(lock.hold(state / state_files.INTAKE_LOCK, "oborona intake"))
        if follows := ProcessRole.FLOWS in roles and loaded.settings.flows.source != "off":
            flows.check_flows(loaded.settings)
            locks.enter_context(lock.hold(state / state_files.FLOWS_LOCK, "oborona flows"))
        if logs := ProcessRole.EVENT_LOGS in roles and loaded.settings.eventlog.enabled:
            event_logs.check_event_logs(loaded.settings)
            locks.enter_context(lock.hold(state / state_files.EVENT_LOG_LOCK, "oborona eventlog"))
        check_counters(loaded, writes=ProcessRole.WRITER in roles)
        jobs: list[ProcessJob] = []
        suspects: DeathSuspects | None = None
        hung_s = loaded.settings.worker.hung_s
        # mail waits for workers: where there are any, the service is there for them
        beside = partial(ProcessJob, hung_s=hung_s * PATIENT, vital=ProcessRole.WORKER not in roles)
        if ProcessRole.WRITER in roles:
            kind = (
                ProcessKind.CLUSTER_WRITER
                if loaded.settings.counters.store == "cluster"
                else ProcessKind.WRITER
            )
            jobs.append(
                beside(name="writer", run=partial(write, loaded), stops_last=True, kind=kind)
            )
        if reads:
            listener = reader.listen(state)
            listening.callback(sockets.close_and_unlink, listener)
            run_reader = partial(reader.serve, loaded.settings.reader, state, listener)
            jobs.append(
                beside(
                    name="reader",
                    run=run_reader,
                    sockets=(listener,),
                    stops_last=True,
                    hung_s=hung_s,
                    kind=ProcessKind.READER,
                )
            )
        if ProcessRole.WORKER in roles:
            key = secrets.token_bytes(KEY_BYTES)
            suspects = DeathSuspects(
                state, {_worker_name(number): InFlightTable() for number in range(_number(loaded))}
            )
            jobs += [
                _publisher(loaded, key, before, listening),
                *_workers(loaded, key, before, listening, suspects),
            ]
        if ProcessRole.TRAINER in roles:
            run_trainer = partial(trainer_main, loaded.settings, state, site_name(loaded))
            alone = read_link(state) is None
            kind = ProcessKind.TRAINER if alone else ProcessKind.SITE_TRAINER
            jobs.append(beside(name="trainer", run=run_trainer, kind=kind))
            if loaded.settings.final_training.enabled:
                # a process of its own: learning from what people say waits for no training
                jobs.append(
                    beside(
                        name="final-trainer",
                        run=partial(final_trainer_main, loaded.settings, state),
                        vital=False,
                        kind=ProcessKind.FINAL_TRAINER if alone else ProcessKind.SITE_FINAL_TRAINER,
                    )
                )
        if hears:
            doors = intake.listen(loaded.settings.intake, listening)
            run_intake = partial(intake.serve, loaded.settings, state, doors)
            jobs.append(
                beside(
                    name="intake",
                    run=run_intake,
                    sockets=tuple(doors.values()),
                    hung_s=hung_s,
                    kind=ProcessKind.INTAKE,
                )
            )
        if follows:
            asks = loaded.settings.flows.source == "clickhouse"
            jobs.append(
                beside(
                    name="flows",
                    run=partial(flows.run, loaded.settings, state),
                    kind=ProcessKind.FLOW_ASKER if asks else ProcessKind.FLOWS,
                )
            )
        if logs:
            jobs.append(
                beside(
                    name="eventlog",
                    run=partial(event_logs.run, loaded.settings, state),
                    kind=ProcessKind.EVENT_LOGS,
                )
            )
        if ProcessRole.KEEPER in roles:
            keeper = partial(run_keeper, loaded.settings, site_name(loaded), state, before)
            jobs.append(beside(name="keeper", run=keeper, kind=ProcessKind.KEEPER))
            if loaded.settings.metrics.listen:
                asked_at = metrics_process.listen(loaded.settings.metrics, listening)
                tell = partial(metrics_process.serve, loaded.settings.metrics, state, asked_at)
                jobs.append(
                    beside(
                        name="metrics",
                        run=tell,
                        sockets=(asked_at,),
                        vital=False,
                        kind=ProcessKind.METRICS,
                    )
                )
            if loaded.settings.export.folder:
                # a process of its own: rounds take long, and what is found late is moved late
                run_exporter = partial(exporter.run, loaded.settings, state, before)
                jobs.append(
                    beside(
                        name="exporter", run=run_exporter, vital=False, kind=ProcessKind.EXPORTER
                    )
                )
        jobs += [
            beside_job(loaded, other, listening, vital=ProcessRole.WORKER not in roles)
            for other in others
        ]
        if not loaded.settings.confine.system_calls:
            jobs = [replace(job, kind=None) for job in jobs]
        grace_s = loaded.settings.worker.drain_s + 5.0
        name = next(job.name for job in jobs if job.vital)
        locks.callback(_leave, state, name)
        # from the stop on nobody accepts: who connects is refused, and the mail server need not
        # wait to learn it
        return Supervisor(
            jobs,
            grace_s=grace_s,
            on_ready=on_ready,
            on_stop=listening.close,
            on_trouble=partial(_ended, state, suspects),
            report=partial(_report, state, name, suspects),
            log=log,
        ).run()


def _log_policy_files(loaded: LoadedSettings, policy: Policy) -> None:
    """Say whose files the policy is made of.

    A folder that the settings name and that is not there is hardly meant.
    """
    folders = policy.folders
    owners = Counter(folders.whose(Path(name)) for name in policy.files)
    shipped, feed = owners[FileOwner.SHIPPED], owners[FileOwner.FEED]
    about = {"version": policy.version, "shipped": shipped}
    about |= {"feed": feed} if feed else {}
    about |= {"own": len(policy.files) - shipped - feed}
    if folders.own is None or folders.is_own_there():
        event(log, logging.INFO, "policy", **about)
        return
    named = loaded.origins["paths.policy"] != DEFAULT
    level = logging.WARNING if named else logging.INFO
    event(
        log,
        level,
        "policy: what ships alone, the folder of the site is not there",
        folder=str(folders.own),
        **about,
    )


def check_counters(loaded: LoadedSettings, *, writes: bool) -> None:
    """Refuse counters that a newer Oborona wrote; if we are to write them, make them ready.

    Other trouble, such as a full disk, stops no mail: the processes that meet it say so, and try
    again.

    Raises:
        StoreVersion: they are newer.
        StoreBusy: another process writes them.
        ConfigError: they are in a cluster, and the settings do not suffice to reach it.
    """
    try:
        check_store(loaded.settings, Path(loaded.settings.paths.state), writes=writes)
    except (StoreVersion, StoreBusy):
        raise
    except StoreError:
        return


def _publisher(
    loaded: LoadedSettings, key: bytes, before: PolicyCache, listening: ExitStack
) -> ProcessJob:
    """Put the policy in force for the workers to come, and return the job that follows its
    files.
    """
    state = Path(loaded.settings.paths.state)
    publisher = PolicyPublisher(
        policy_folders(loaded.settings.paths), SCHEMA, state, key, before=before
    )
    publisher.begin()
    before.published = publisher.published
    listener = publishing.listen(state)
    listening.callback(sockets.close_and_unlink, listener)
    return ProcessJob(
        name="policy",
        run=partial(publisher.run, listener),
        sockets=(listener,),
        hung_s=loaded.settings.worker.hung_s * PATIENT,
        vital=False,
        kind=ProcessKind.PUBLISHER,
    )


def _number(loaded: LoadedSettings) -> int:
    """Return how many workers there are to be."""
    return min(loaded.settings.worker.processes or len(os.sched_getaffinity(0)), WORKERS)


def _worker_name(number: int) -> str:
    return f"worker-{number}"


def _ended(
    state: Path, suspects: DeathSuspects | None, child: SupervisedProcess, why: str, ended: int
) -> None:
    """Write down that a process ended, and over what."""
    last_trouble.note_last_trouble(state, child.job.name, why)
    if suspects is not None:
        suspects.died(child.job.name, ended, stood_still=child.hangs and not child.silence.spins)


def _leave(state: Path, name: str) -> None:
    with suppress(StoreError):
        status.remove_service(state, name)


def _report(
    state: Path, name: str, suspects: DeathSuspects | None, children: Sequence[SupervisedProcess]
) -> None:
    """Say for metrics how the processes are, and take up what an admin has changed of messages that
    were set apart.
    """
    SERVES.replace({(child.job.name,): child.answers for child in children})
    takes = {child.job.name: child.heartbeat.usage for child in children if child.pid}
    takes[f"supervisor-{name}"] = own_usage()
    told = {(process,): usage for process, usage in takes.items() if usage.memory_bytes}
    MEMORY.replace({process: usage.memory_bytes for process, usage in told.items()})
    FILES.replace({process: usage.open_files for process, usage in told.items()})
    CPU.replace({process: usage.cpu_s for process, usage in told.items()})
    report = status.ServiceStatus(
        name=name, pid=os.getpid(), time=time.time(), metrics=REGISTRY.snapshot()
    )
    with suppress(StoreError):  # on a disk that is full: those who serve say so
        status.write_service(state, report)
    if suspects is not None:
        suspects.look()


def _workers(
    loaded: LoadedSettings,
    key: bytes,
    before: PolicyCache,
    listening: ExitStack,
    suspects: DeathSuspects,
) -> list[ProcessJob]:
    """Open the sockets and return the jobs that share them."""
    settings = loaded.settings
    with HeldSockets() as held:
        doors = listen_doors(settings, partial(_listen, listening=listening, held=held))
        delivery = (
            _listen(settings.doors.delivery, listening, held)
            if settings.doors.delivery.listen
            else None
        )
    return [
        ProcessJob(
            name=_worker_name(number),
            run=partial(_work, loaded, number, key, before, doors, delivery, suspects),
            hung_s=settings.worker.hung_s,
            kind=ProcessKind.WORKER,
            sockets=(
                *(door.listener for door in doors),
                *([] if delivery is None else [delivery]),
            ),
        )
        for number in range(_number(loaded))
    ]


def _listen(door: ListenSettings, listening: ExitStack, held: HeldSockets) -> socket.socket:
    sock = held.take(door.address)
    if sock is None:
        sock = sockets.listen(
            door.address, owner=door.socket_owner, group=door.socket_group, mode=door.mode
        )
        keep(sock, door.address)
    listening.callback(sockets.close_and_unlink, sock)
    return sock


def _work(
    loaded: LoadedSettings,
    number: int,
    key: bytes,
    before: PolicyCache,
    doors: Sequence[DoorListener],
    delivery: socket.socket | None,
    suspects: DeathSuspects,
    ready: Callable[[], None],
) -> int:
    """Be one worker until SIGTERM."""
    return WorkerProcess(
        number=number,
        settings=loaded.settings,
        name=site_name(loaded),
        state=Path(loaded.settings.paths.state),
        key=key,
        doors=doors,
        before=before,
        notes=suspects.notes_of(_worker_name(number)),
        board=suspects.board,
        delivery=delivery,
    ).run(ready)


def write(loaded: LoadedSettings, ready: Callable[[], None]) -> int:
    """Be the writer: bring the workers' spools into the store until SIGTERM."""
    stop = StopSignal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it reads no policy
    with closing(open_writer(loaded.settings, Path(loaded.settings.paths.state))) as writer:
        ready()
        writer.run(stop)
    return os.EX_OK
