"""`oborona site`: several machines that have their stores of people's work in common."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from oborona import __version__
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_caller
from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.membership import (
    MembershipError,
    begin_site,
    join_site,
)
from oborona.daemon.site.store_check import CheckedStore, check_stores
from oborona.daemon.stopped_state import hold_stopped
from oborona.desk.asks.machines import MachinesQuestion, SiteMachine, list_machines
from oborona.desk.doctor.machines import SILENT_S
from oborona.desk.doctor.traffic import ago
from oborona.desk.owner import as_owner_of
from oborona.replication.link import read_link
from oborona.replication.log import ReplicationLog

# longer than a machine believes that a move is its own (`daemon.site.move_share`)
FORGOTTEN_S: Final = 60.0

_address = click.argument("address", metavar="postgresql://…")
_name = click.option(
    "--name", metavar="MACHINE", help="Name of this machine in the site; default: its host name."
)


@click.group()
def site() -> None:
    """Make several machines one site: personal lists, manual overrides, signatures, cases,
    policy, reports, accounts and the console's people are the same on all
    (docs/operate/machines.md).
    """


@site.command()
@_address
@_name
@pass_cli_context
def begin(context: CliContext, address: str, name: str | None) -> None:
    """Begin a site in an empty database of PostgreSQL, with this machine's stores.

    ADDRESS is what libpq reads: postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full, or
    name=value pairs. Oborona must be stopped here.
    """
    with _stopped(context.state, "oborona site begin"):
        there = begin_site(context.state, address, name or _host(), __version__)
    echo(f"this machine is {name or _host()}; the site has of it: {', '.join(there) or 'nothing'}")
    echo("start Oborona, and on each other machine: oborona site join ADDRESS")


@site.command()
@_address
@_name
@pass_cli_context
def join(context: CliContext, address: str, name: str | None) -> None:
    """Join a site: its stores take the place of this machine's, which are set aside.

    This machine must have the site's secret, and Oborona must be stopped here. Joining again
    fetches the stores anew.
    """
    with _stopped(context.state, "oborona site join"):
        aside = join_site(context.state, address, name or _host(), __version__)
    echo(f"this machine is {name or _host()}; start Oborona")
    for path in aside:
        echo(f"kept what was there: {path}")


@site.command()
@click.option(
    "--unchecked", is_flag=True, help="Leave with what is here, whatever the site's log has."
)
@pass_cli_context
def leave(context: CliContext, unchecked: bool) -> None:
    """Leave the site: this machine's stores are brought to where the site is, compared with it row
    by row, and are this machine's alone.

    Oborona must be stopped here. Where the site's log can't be reached, they stay as they are.
    """
    with _stopped(context.state, "oborona site leave"):
        left = leave_site(context.state, unchecked=unchecked)
    for one in left.checked or ():
        _print_checked(one)
    if left.checked is None:
        click.echo("oborona: nothing was compared with the site's log", err=True)
    echo(f"this machine was {left.machine or 'of a site'}; what it knows is its own now")


@site.command()
@click.option("--json", "as_json", is_flag=True, help="JSON, a store a line.")
@pass_cli_context
def check(context: CliContext, as_json: bool) -> None:
    """Compare this machine's common stores with the site's log, row by row. Exit status 1 when one
    differs.

    Mail and changes go on meanwhile. It needs twice the room of the largest store in the state
    folder.
    """
    link = read_link(context.state)
    if link is None:
        raise MembershipError("this machine is alone: it is of no site")
    differs = False
    log = ReplicationLog(link.address, link.machine)
    try:
        log.check(link.site)
        with as_owner_of(context.state):
            for one in check_stores(log, context.state, link):
                differs = differs or bool(one.difference)
                if as_json:
                    echo_json(one)
                else:
                    _print_checked(one)
    finally:
        log.close()
    if differs:
        click.get_current_context().exit(1)


def _print_checked(one: CheckedStore) -> None:
    if one.difference:
        echo(f"{one.store}: differs at change {one.number:,}: {one.difference}")
    else:
        echo(f"{one.store}: {one.rows:,} rows, the same as in the site's log at {one.number:,}")


@site.command()
@click.argument("machine")
@pass_cli_context
def forget(context: CliContext, machine: str) -> None:
    """Forget a MACHINE that will not come back: the log is kept for it no longer, and another
    makes the moves of delivered mail that it has left undone.

    One that was heard of within a minute is not forgotten: stop it first.
    """
    link = read_link(context.state)
    if link is None:
        raise MembershipError("this machine is alone: it is of no site")
    log = ReplicationLog(link.address, link.machine)
    try:
        log.check(link.site)
        for one in log.machines():
            if one.name == machine and one.silent_s < FORGOTTEN_S:
                raise MembershipError(
                    f"{machine} was heard of {ago(one.silent_s)} ago, and may be moving mail: stop "
                    f"Oborona there, and forget it {FORGOTTEN_S:g} seconds later"
                )
        gone = log.forget_machine(machine, "")
    finally:
        log.close()
    if not gone:
        click.echo(f"oborona: there is no machine {machine} in the site", err=True)
        click.get_current_context().exit(1)


@site.command()
@click.option("--json", "as_json", is_flag=True, help="JSON, a machine a line.")
@pass_cli_context
def status(context: CliContext, as_json: bool) -> None:
    """Show the machines of the site and how far each is. Exit status 1 when one is silent
    or stuck.
    """
    found = list_machines(context, terminal_caller(), MachinesQuestion())
    if not found.machine:
        click.echo("this machine is alone: it is of no site", err=True)
        return
    for machine in found.machines:
        if as_json:
            echo_json(machine)
        else:
            _print(machine)
    if any(_is_troubled(machine) for machine in found.machines):
        click.get_current_context().exit(1)


def _is_troubled(machine: SiteMachine) -> bool:
    return machine.silent_s > SILENT_S or any(one.trouble for one in machine.stores)


def _print(machine: SiteMachine) -> None:
    here = " (this one)" if machine.here else ""
    silent = f", last heard of {ago(machine.silent_s)} ago" if machine.silent_s > SILENT_S else ""
    echo(f"{machine.name}{here}: Oborona {machine.version}{silent}")
    for one in machine.stores:
        behind = f", {one.behind:,} behind" if one.behind else ""
        trouble = f": {one.trouble}" if one.trouble else ""
        echo(f"    {one.store:16} {one.number:>10,}{behind}{trouble}")


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _stopped(state: Path, who: str) -> ExitStack:
    """Return what holds a state that no daemon uses, as its owner."""
    held = ExitStack()
    held.enter_context(as_owner_of(state))
    hold_stopped(state, who, held)
    return held
