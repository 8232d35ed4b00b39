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
from oborona.accounts.addresses.holders import AddressHolder, holders, incidents_at
from oborona.accounts.addresses.listing import ListingState, OwnListing
from oborona.accounts.addresses.store import AddressStore
from oborona.accounts.flows.store import DAY_S, FlowStore
from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli.address.questions import AddressState, ListWord, ask_lists
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.state_folder import open_store
from oborona.cli.terminal import plain as printable
from oborona.errors import StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.reputation.dnsbl import public
from oborona.reputation.networks import plain
from oborona.stores.counters import open_readonly
from oborona.types import CounterPrefix, Metric, Window

INCIDENTS: Final = 10
TAKEN: Final = 1  # exit status of --assign: it is listed, or an incident is open


class AddressReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of an address; the JSON of the command."""

    address: str
    lists: list[ListWord]  # what they say now
    listed_since: dict[str, float]  # by list, Unix seconds, as the watch knows
    holders: list[AddressHolder]
    incidents: list[Incident]
    counted: dict[str, int]  # of its messages in two weeks, by metric
    streams: int | None  # of SMTP within a day; None: no flows are counted

    @property
    def listed(self) -> bool:
        """Whether a list has it."""
        return any(word.state is AddressState.LISTED for word in self.lists)

    @property
    def known(self) -> bool:
        """Whether lists were asked, and all of them answered."""
        return bool(self.lists) and all(w.state is not AddressState.UNKNOWN for w in self.lists)

    @property
    def disputed(self) -> bool:
        """Whether an incident is open."""
        return any(incident.verdict is None for incident in self.incidents)


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
        echo_json(msgspec.to_builtins(found))
    else:
        for line in _lines(found):
            echo(printable(line))
    if assign:
        taken = found.listed or found.disputed
        status = TAKEN if taken else os.EX_OK if found.known else os.EX_TEMPFAIL
        click.get_current_context().exit(status)


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
    known = _stored(context, text)
    have, incidents = _of_accounts(context, text)
    return AddressReport(
        address=text,
        lists=ask_lists(context.loaded.settings, context.policy().dns_lists, text) if ask else [],
        listed_since={one.list: one.since for one in known if one.state is ListingState.LISTED},
        holders=have,
        incidents=incidents,
        counted=_counted(context, text),
        streams=_streams(context, text),
    )


def _stored(context: CliContext, text: str) -> list[OwnListing]:
    if not (context.state / state_files.ADDRESSES).exists():
        return []
    with open_store(context, AddressStore, state_files.ADDRESSES) as store:
        return store.listings(text)


def _of_accounts(context: CliContext, text: str) -> tuple[list[AddressHolder], list[Incident]]:
    if not (context.state / state_files.ACCOUNTS).exists():
        return [], []
    with open_store(context, IncidentStore, state_files.ACCOUNTS) as store:
        return holders(store, text), incidents_at(store, text, INCIDENTS)


def _counted(context: CliContext, text: str) -> dict[str, int]:
    """Return what was counted of its messages, in and out, in two weeks; nothing where none can be
    read.
    """
    total = dict[str, int]()
    try:
        shingle = Hasher(secret.load(context.state).shingles).shingle(ShingleType.CLIENT_IP, text)
        with open_readonly(context.loaded.settings, context.state) as store:
            for prefix in (CounterPrefix.IN, CounterPrefix.OUT):
                ((*windows,),) = asyncio.run(store.read([shingle], time.time(), prefix))
                for metric in Metric:
                    name = metric.name.lower()
                    total[name] = total.get(name, 0) + windows[Window.FORTNIGHT][metric]
    except StoreError as error:
        click.echo(f"oborona: {error}; what it sent is not known", err=True)
        return {}
    return total


def _streams(context: CliContext, text: str) -> int | None:
    if not (context.state / state_files.FLOWS).exists():
        return None
    with open_store(context, FlowStore, state_files.FLOWS) as store:
        windows = store.windows(int(time.time() - DAY_S))
    return sum(window.streams for window in windows if window.address == text)


def _lines(found: AddressReport) -> Iterator[str]:
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
