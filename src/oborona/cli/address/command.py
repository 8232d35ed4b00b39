"""`oborona address`: is an address of ours clean, who had it, what was it complained of for."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Final

import click
import msgspec

from oborona import secret, state_files
from oborona.accounts.addresses.address_report import (
    AddressReport,
    count_address,
    stored_address,
)
from oborona.accounts.addresses.list_words import ListWord, ask_lists
from oborona.accounts.addresses.listing import ListingState
from oborona.accounts.addresses.store import AddressStore
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain as printable
from oborona.desk.owner import as_owner_of
from oborona.desk.state_folder import open_store, require_state
from oborona.errors import StoreError
from oborona.message.hashing import Hasher
from oborona.reputation.dnsbl import public
from oborona.reputation.networks import plain
from oborona.resolver import open_resolver
from oborona.stores.counters import open_readonly

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
    at = plain(address)
    if at is None:
        raise click.BadParameter(f"{address[:100]!r} is no address")
    found = _report(context, str(at), ask=public(at))
    if as_json:
        echo_json(msgspec.to_builtins(found.view()))
    else:
        for line in _lines(found):
            echo(printable(line))
    if assign:
        click.get_current_context().exit(_ASSIGN[found.clean])


def _overview(context: CliContext, *, as_json: bool) -> None:
    with open_store(context, AddressStore, state_files.ADDRESSES) as store:
        listed = store.listings(state=ListingState.LISTED)
    for one in listed:
        if as_json:
            echo_json(msgspec.to_builtins(one))
        else:
            echo(printable(f"{one.address}  {one.list} since {shown_time(one.since)}: {one.say}"))
    if not listed:
        click.echo("no address of ours is listed", err=True)


def _report(context: CliContext, text: str, *, ask: bool) -> AddressReport:
    require_state(context)
    with as_owner_of(context.state):
        stored = stored_address(context.state, text)
    return AddressReport(
        address=text,
        lists=asyncio.run(_ask(context, text)) if ask else [],
        stored=stored,
        counted=_counted(context, text),
    )


async def _ask(context: CliContext, text: str) -> list[ListWord]:
    async with open_resolver(context.loaded.settings.dns) as resolver:
        return await ask_lists(resolver, context.policy().dns_lists, text)


def _counted(context: CliContext, text: str) -> dict[str, int]:
    """Return what was counted of its messages; nothing where none can be read."""
    try:
        hasher = Hasher(secret.load(context.state).shingles)
        with open_readonly(context.loaded.settings, context.state) as store:
            return asyncio.run(count_address(store, hasher, text, time.time()))
    except StoreError as error:
        click.echo(f"oborona: {error}; what it sent is not known", err=True)
        return {}


def _lines(found: AddressReport) -> Iterator[str]:
    """Yield a report for people."""
    if not found.lists:
        yield f"{found.address}: no DNS list is asked about it"
    for word in found.lists:
        since = found.stored.listed_since.get(word.list)
        when = f" since {shown_time(since)}" if since else ""
        yield f"{found.address}  {word.list}: {word.state}{when}{f': {word.say}' if word.say else ''}"
    for holder in found.stored.holders:
        customer = f" of customer {holder.customer}" if holder.customer else ""
        until = f"until {shown_time(holder.ended)}" if holder.ended else "now"
        yield f"  {holder.account}{customer} has {holder.network} from {shown_time(holder.begun)}, {until}"
    for incident in found.stored.incidents:
        verdict = incident.verdict or "open"
        yield f"  incident {incident.id} of {incident.account}: {incident.limit}, {shown_time(incident.opened)}, {verdict}"
    if any(found.counted.values()):
        numbers = ", ".join(
            f"{number:,} {name}" for name, number in found.counted.items() if number
        )
        yield f"  messages of two weeks: {numbers}"
    if found.stored.streams is not None:
        yield f"  {found.stored.streams:,} streams of SMTP within a day"
