"""`oborona address`: is an address of ours clean, who had it, what was it complained of for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import click
import msgspec

from oborona.accounts.addresses.address_report import AddressView
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain as printable
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.addresses import AddressOrder, assign_address
from oborona.desk.asks.addresses import (
    AddressQuestion,
    ListedAddressesQuestion,
    list_listed_addresses,
    show_address,
)

TAKEN: Final = 1  # exit status of --assign: it is listed, or an incident is open
_ASSIGN: Final = {True: os.EX_OK, False: TAKEN, None: os.EX_TEMPFAIL}


@click.command()
@click.argument("address", required=False)
@click.option(
    "--assign",
    is_flag=True,
    help="Say whether it may be given to somebody, by the exit status: 0 yes, 1 it is listed or an "
    "incident is open, 75 that is not known.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON.")
@pass_cli_context
def address(context: CliContext, address: str | None, assign: bool, as_json: bool) -> None:
    """Show what is known of ADDRESS, of ours or not: what DNS lists say of it now, who has and had
    it, its incidents, what it sent and was complained of for.

    Without ADDRESS: which of our own addresses are listed, as the last rounds found
    (docs/people/addresses.md).
    """
    if address is None:
        if assign:
            raise click.UsageError("--assign is asked of one ADDRESS")
        _overview(context, as_json=as_json)
        return
    caller = terminal_caller()
    if assign:
        found = assign_address(context, caller, AddressOrder(address=address))
    else:
        found = show_address(context, caller, AddressQuestion(address=address))
    if as_json:
        echo_json(msgspec.to_builtins(found))
    else:
        for line in _lines(found):
            echo(printable(line))
    if assign:
        click.get_current_context().exit(_ASSIGN[found.clean])


def _overview(context: CliContext, *, as_json: bool) -> None:
    question = ListedAddressesQuestion()
    listed = list_listed_addresses(context, terminal_caller(), question).listings
    for one in listed:
        if as_json:
            echo_json(msgspec.to_builtins(one))
        else:
            echo(printable(f"{one.address}  {one.list} since {shown_time(one.since)}: {one.say}"))
    if not listed:
        click.echo("no address of ours is listed", err=True)


def _lines(found: AddressView) -> Iterator[str]:
    """Yield a report for people."""
    if not found.lists:
        yield f"{found.address}: no DNS list is asked about it"
    for word in found.lists:
        since = found.listed_since.get(word.list)
        when = f" since {shown_time(since)}" if since else ""
        yield f"{found.address}  {word.list}: {word.state}{when}{f': {word.say}' if word.say else ''}"
    for holder in found.holders:
        customer = f" of customer {holder.customer}" if holder.customer else ""
        until = f"until {shown_time(holder.ended)}" if holder.ended else "now"
        yield f"  {holder.account}{customer} has {holder.network} from {shown_time(holder.begun)}, {until}"
    for incident in found.incidents:
        verdict = incident.verdict or "open"
        yield f"  incident {incident.id} of {incident.account}: {incident.limit}, {shown_time(incident.opened)}, {verdict}"
    if any(found.counted.values()):
        numbers = ", ".join(
            f"{number:,} {name}" for name, number in found.counted.items() if number
        )
        yield f"  messages of two weeks: {numbers}"
    if found.streams is not None:
        yield f"  {found.streams:,} streams of SMTP within a day"
