"""`oborona serve`, and `worker`, `writer`, `keeper`, `reader`, `trainer`, `intake` for those who
start each process by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.next_steps import what_next
from oborona.config import ListenSettings, UnixAddress
from oborona.daemon.beside import BesideProcess
from oborona.daemon.event_logs import check_event_logs
from oborona.daemon.flows.process import check_flows
from oborona.daemon.listeners import open_doors
from oborona.daemon.serve import ProcessRole, run
from oborona.daemon.sockets import closed_folder
from oborona.errors import ConfigError
from oborona.replication.link import read_link


@click.command()
@pass_cli_context
def serve(context: CliContext) -> None:
    """Run the whole daemon until SIGTERM: workers, writer (counters), keeper (journal and recheck),
    image reader, trainer, intake (reports), flows, event logs, desk and console, as far as the
    settings want them.

    SIGHUP reads the policy again; so does every change of a policy file. A second SIGTERM stops at
    once.
    """
    settings = context.loaded.settings.console
    if not settings.enabled and read_link(context.state) is None:
        _run(context, tuple(ProcessRole))
        return
    from oborona.cli import console, desk  # noqa: PLC0415 - for who wants them

    beside = desk.site_policy_beside(context)
    if not settings.enabled:
        _run(context, tuple(ProcessRole), beside)
        return
    beside.append(desk.desk_beside(context))
    if settings.listen:
        beside.append(console.console_process(context))
    _run(context, tuple(ProcessRole), beside, console.console_words)


@click.command()
@pass_cli_context
def worker(context: CliContext) -> None:
    """Run the workers alone: they judge mail and answer the mail server."""
    _run(context, (ProcessRole.WORKER,))


@click.command()
@pass_cli_context
def writer(context: CliContext) -> None:
    """Run the writer alone: it merges what the workers counted into the store."""
    _run(context, (ProcessRole.WRITER,))


@click.command()
@pass_cli_context
def keeper(context: CliContext) -> None:
    """Run the keeper alone: it keeps the journal within its limits, and rechecks delivered mail."""
    _run(context, (ProcessRole.KEEPER,))


@click.command()
@pass_cli_context
def reader(context: CliContext) -> None:
    """Run the image reader alone: it reads text (OCR) and QR codes in pictures for the workers."""
    if not context.loaded.settings.reader.enabled:
        raise click.UsageError("reader.enabled is off: there is nothing to run")
    _run(context, (ProcessRole.READER,))


@click.command()
@pass_cli_context
def trainer(context: CliContext) -> None:
    """Run the trainer alone: it trains the content model from spam and not-spam reports."""
    _run(context, (ProcessRole.TRAINER,))


@click.command()
@pass_cli_context
def intake(context: CliContext) -> None:
    """Run the intake alone: it takes reports and mail to spam traps (Dovecot, HTTP, LMTP or
    SMTP).
    """
    if not context.loaded.settings.intake.doors:
        raise ConfigError("no listener of [intake] is set: there is nothing to run")
    _run(context, (ProcessRole.INTAKE,))


def run_flows(context: CliContext) -> None:
    """Run the process that counts flows of SMTP alone (`oborona flows run`)."""
    check_flows(context.loaded.settings)
    _run(context, (ProcessRole.FLOWS,))


def run_event_logs(context: CliContext) -> None:
    """Run the process of event logs alone (`oborona eventlog run`)."""
    check_event_logs(context.loaded.settings)
    _run(context, (ProcessRole.EVENT_LOGS,))


def _run(
    context: CliContext,
    roles: Collection[ProcessRole],
    others: Sequence[BesideProcess] = (),
    words_of_others: Callable[[CliContext], list[str]] = lambda _context: [],
) -> None:
    settings = context.loaded.settings
    if ProcessRole.WORKER in roles and read_link(context.state) is not None:
        # of those alone who have several machines
        from oborona.daemon.site.model_follower import catch_up_models  # noqa: PLC0415
        from oborona.desk.policy.machine_policy import catch_up  # noqa: PLC0415

        catch_up(context)
        if why := catch_up_models(context.state):
            context.notice(f"the site's final models are not fetched, those here stay: {why}")
    # before any process is started: Postfix's tools are asked, and a supervisor waits for no
    # children but its own
    result = (
        what_next(context)
        if ProcessRole.WORKER in roles and not os.environ.get("NOTIFY_SOCKET")
        else []
    )

    def ready() -> None:
        if ProcessRole.WORKER not in roles:
            return
        doors = dict(open_doors(settings))
        where = " and ".join(door.address.postfix for door in doors.values())
        by_hand = not os.environ.get("NOTIFY_SOCKET")
        pages = words_of_others(context) if by_hand else []
        for name, door in doors.items():
            _warn_of_closed_folder(f"doors.{name}", door)
        click.echo(
            "\n".join([f"oborona: ready on {where or 'the delivery listener'}", *result, *pages])
        )

    click.get_current_context().exit(run(context.loaded, roles, ready, others))


def _warn_of_closed_folder(section: str, door: ListenSettings) -> None:
    closed = (
        closed_folder(Path(door.address.path)) if isinstance(door.address, UnixAddress) else None
    )
    if closed is not None:
        click.echo(
            f"oborona: warning: {closed} is closed to others: a mail server that can't get "
            f"through it asks in vain; "
            f"chmod o+x {closed}, or set {section}.listen elsewhere",
            err=True,
        )
