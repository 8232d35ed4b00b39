"""The processes of the service, put together: what `oborona serve`, `worker`, `writer`, `keeper`,
`reader` and `trainer` run.

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
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from oborona import lock, state_files
from oborona.config import Listening, Loaded
from oborona.config.load import DEFAULT
from oborona.daemon import last_trouble, sockets
from oborona.daemon.confine.kinds import Kind
from oborona.daemon.confine.memory import keep_memory_private
from oborona.daemon.exporter import process as exporter
from oborona.daemon.intake import service as intake
from oborona.daemon.keeper.run import run_keeper
from oborona.daemon.listeners import NONE_OPEN, Entrance, any_open, entrances
from oborona.daemon.publisher import asking as publishing
from oborona.daemon.publisher.code import KEY_BYTES
from oborona.daemon.publisher.publisher import Publisher
from oborona.daemon.reader import service as reader
from oborona.daemon.silence import PATIENT
from oborona.daemon.site_name import site_name
from oborona.daemon.state import prepare_state
from oborona.daemon.supervisor import Job, Supervisor
from oborona.daemon.suspects import Suspects
from oborona.daemon.trainer.trainer import train
from oborona.daemon.watched import SERVES, Watched
from oborona.daemon.worker import Worker
from oborona.errors import ConfigError, OboronaError, StoreBusy, StoreError, StoreVersion
from oborona.heartbeat import Stop
from oborona.ident import WORKERS
from oborona.metrics import REGISTRY
from oborona.policy.before import Before
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import Whose
from oborona.policy.load import Policy, load_policy
from oborona.session.setapart.notes import Notes
from oborona.stores.counters import check_store, open_writer
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry import status
from oborona.telemetry.log import Format, event, set_up

AS_ROOT: Final = (
    "runs as root: who breaks into it has the machine; run it as a user of its own, as the "
    "units in systemd/ do"
)

log = logging.getLogger("oborona")


class Role(StrEnum):
    """One program per job."""

    WORKER = "worker"
    WRITER = "writer"
    KEEPER = "keeper"
    READER = "reader"
    TRAINER = "trainer"
    INTAKE = "intake"


def run(loaded: Loaded, roles: Collection[Role], on_ready: Callable[[], None]) -> int:
    """Run the processes of these roles until SIGTERM.

    Args:
        loaded: the settings.
        roles: which; all of them for `serve`.
        on_ready: called once, when all of them serve.

    Returns:
        Exit status.

    Raises:
        ConfigError, SocketError, StoreError: something is wrong that an admin must mend; nothing
        was started.
    """
    if Role.WORKER in roles and not any_open(loaded.settings):
        raise ConfigError(NONE_OPEN)
    set_up(Format(loaded.settings.log.format), loaded.settings.log.level.upper())
    faulthandler.enable()  # the service manager's watchdog ends us with SIGABRT
    try:
        return _run(loaded, roles, on_ready)
    except OboronaError as error:
        last_trouble.note(Path(loaded.settings.paths.state), "start", str(error))
        raise


def _run(loaded: Loaded, roles: Collection[Role], on_ready: Callable[[], None]) -> int:
    """Check everything, open what is shared, and supervise."""
    keep_memory_private()
    before = Before()
    _told(loaded, load_policy(policy_folders(loaded.settings.paths), SCHEMA, before))
    state = Path(loaded.settings.paths.state)
    if os.geteuid() == 0:
        event(log, logging.INFO, AS_ROOT)  # a trial does; doctor warns of it
    prepare_state(state)
    with ExitStack() as locks, ExitStack() as listening:
        if Role.WORKER in roles:
            locks.enter_context(lock.hold(state / state_files.WORKERS_LOCK, "oborona workers"))
        if Role.KEEPER in roles:
            locks.enter_context(lock.hold(state / state_files.KEEPER_LOCK, "oborona keeper"))
        if reads := Role.READER in roles and loaded.settings.reader.enabled:
            locks.enter_context(lock.hold(state / state_files.READER_LOCK, "oborona reader"))
        if Role.TRAINER in roles:
            locks.enter_context(lock.hold(state / state_files.TRAINER_LOCK, "oborona trainer"))
        if hears := Role.INTAKE in roles and loaded.settings.intake.doors:
            locks.enter_context(lock.hold(state / state_files.INTAKE_LOCK, "oborona intake"))
        check_counters(loaded, writes=Role.WRITER in roles)
        jobs: list[Job] = []
        suspects: Suspects | None = None
        hung_s = loaded.settings.worker.hung_s
        # mail waits for workers: where there are any, the service is there for them
        beside = partial(Job, hung_s=hung_s * PATIENT, vital=Role.WORKER not in roles)
        if Role.WRITER in roles:
            kind = (
                Kind.CLUSTER_WRITER if loaded.settings.counters.store == "cluster" else Kind.WRITER
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
                    kind=Kind.READER,
                )
            )
        if Role.WORKER in roles:
            key = secrets.token_bytes(KEY_BYTES)
            suspects = Suspects(
                state, {_worker_name(number): Notes() for number in range(_number(loaded))}
            )
            jobs += [
                _publisher(loaded, key, before, listening),
                *_workers(loaded, key, before, listening, suspects),
            ]
        if Role.TRAINER in roles:
            run_trainer = partial(train, loaded.settings, state, site_name(loaded))
            jobs.append(beside(name="trainer", run=run_trainer, kind=Kind.TRAINER))
        if hears:
            heard = intake.listen(loaded.settings.intake, listening)
            run_intake = partial(intake.serve, loaded.settings, state, heard)
            jobs.append(
                beside(
                    name="intake",
                    run=run_intake,
                    sockets=tuple(heard.values()),
                    hung_s=hung_s,
                    kind=Kind.INTAKE,
                )
            )
        if Role.KEEPER in roles:
            keeper = partial(run_keeper, loaded.settings, site_name(loaded), state, before)
            jobs.append(beside(name="keeper", run=keeper, kind=Kind.KEEPER))
            if loaded.settings.export.folder:
                # a process of its own: rounds take long, and what is found late is moved late
                run_exporter = partial(exporter.run, loaded.settings, state, before)
                jobs.append(
                    beside(name="exporter", run=run_exporter, vital=False, kind=Kind.EXPORTER)
                )
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


def _told(loaded: Loaded, policy: Policy) -> None:
    """Say whose files the policy is made of.

    A folder that the settings name and that is not there is hardly meant.
    """
    folders = policy.folders
    shipped = sum(folders.whose(Path(name)) is Whose.SHIPPED for name in policy.files)
    about = {"version": policy.version, "shipped": shipped, "own": len(policy.files) - shipped}
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


def check_counters(loaded: Loaded, *, writes: bool) -> None:
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


def _publisher(loaded: Loaded, key: bytes, before: Before, listening: ExitStack) -> Job:
    """Put the policy in force for the workers to come, and return the job that follows its
    files.
    """
    state = Path(loaded.settings.paths.state)
    publisher = Publisher(policy_folders(loaded.settings.paths), SCHEMA, state, key, before=before)
    publisher.begin()
    listener = publishing.listen(state)
    listening.callback(sockets.close_and_unlink, listener)
    return Job(
        name="policy",
        run=partial(publisher.run, listener),
        sockets=(listener,),
        hung_s=loaded.settings.worker.hung_s * PATIENT,
        vital=False,
        kind=Kind.PUBLISHER,
    )


def _number(loaded: Loaded) -> int:
    """Return how many workers there are to be."""
    return min(loaded.settings.worker.processes or len(os.sched_getaffinity(0)), WORKERS)


def _worker_name(number: int) -> str:
    return f"worker-{number}"


def _ended(state: Path, suspects: Suspects | None, child: Watched, why: str, ended: int) -> None:
    """Write down that a process ended, and over what."""
    last_trouble.note(state, child.job.name, why)
    if suspects is not None:
        suspects.died(child.job.name, ended, stood_still=child.hangs and not child.silence.spins)


def _leave(state: Path, name: str) -> None:
    with suppress(StoreError):
        status.remove_service(state, name)


def _report(state: Path, name: str, suspects: Suspects | None, children: Sequence[Watched]) -> None:
    """Say for metrics how the processes are, and take up what an admin has changed of messages that
    were set apart.
    """
    SERVES.replace({(child.job.name,): child.serves for child in children})
    said = status.ServiceStatus(
        name=name, pid=os.getpid(), time=time.time(), metrics=REGISTRY.snapshot()
    )
    with suppress(StoreError):  # on a disk that is full: those who serve say so
        status.write_service(state, said)
    if suspects is not None:
        suspects.look()


def _workers(
    loaded: Loaded, key: bytes, before: Before, listening: ExitStack, suspects: Suspects
) -> list[Job]:
    """Open the sockets and return the jobs that share them."""
    settings = loaded.settings
    doors = entrances(settings, partial(_listen, listening=listening))
    delivery = (
        _listen(settings.doors.delivery, listening) if settings.doors.delivery.listen else None
    )
    return [
        Job(
            name=_worker_name(number),
            run=partial(_work, loaded, number, key, before, doors, delivery, suspects),
            hung_s=settings.worker.hung_s,
            kind=Kind.WORKER,
            sockets=(
                *(entrance.listener for entrance in doors),
                *([] if delivery is None else [delivery]),
            ),
        )
        for number in range(_number(loaded))
    ]


def _listen(door: Listening, listening: ExitStack) -> socket.socket:
    sock = sockets.listen(
        door.address, owner=door.socket_owner, group=door.socket_group, mode=door.mode
    )
    listening.callback(sockets.close_and_unlink, sock)
    return sock


def _work(
    loaded: Loaded,
    number: int,
    key: bytes,
    before: Before,
    doors: Sequence[Entrance],
    delivery: socket.socket | None,
    suspects: Suspects,
    ready: Callable[[], None],
) -> int:
    """Be one worker until SIGTERM."""
    return Worker(
        number=number,
        settings=loaded.settings,
        name=site_name(loaded),
        state=Path(loaded.settings.paths.state),
        key=key,
        entrances=doors,
        before=before,
        notes=suspects.notes_of(_worker_name(number)),
        board=suspects.board,
        delivery=delivery,
    ).run(ready)


def write(loaded: Loaded, ready: Callable[[], None]) -> int:
    """Be the writer: bring the workers' spools into the store until SIGTERM."""
    stop = Stop()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it reads no policy
    with closing(open_writer(loaded.settings, Path(loaded.settings.paths.state))) as writer:
        ready()
        writer.run(stop)
    return os.EX_OK
