"""`oborona reputation show`: one entity, with its past and all that is said of it."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, Final

import click
import msgspec
from rich.table import Table
from rich.text import Text

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo_json
from oborona.cli.reputation.entity import EntityName, entity_named
from oborona.cli.reputation.history import (
    EntityRecord,
    Reading,
    entity_records,
    network_of,
    octets,
    repips,
)
from oborona.cli.reputation.history_chart import picture
from oborona.cli.reputation.pin_store import (
    change_line,
    change_object,
    note_line,
    pin_line,
    pin_object,
    pins_for_reading,
)
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.ports import GeoIpLookup
from oborona.reputation.address import RepIP
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.geoip import NoGeoIp
from oborona.reputation.judgement.model import EntityJudgement
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_readonly
from oborona.stores.pins.rows import PinChange, PinNote

COLOURS: Final = {
    ReputationFlag.GOOD: "green",
    ReputationFlag.UNKNOWN: "",
    ReputationFlag.POOR: "yellow",
    ReputationFlag.BAD: "red",
}
LAST: Final = 5  # changes that are shown


class _PeopleReports(msgspec.Struct, frozen=True):
    """What people said of an entity."""

    pin: Pin | None = None
    network: Pin | None = None  # of an address without one: its network's
    notes: tuple[PinNote, ...] = ()
    changes: tuple[PinChange, ...] = ()


@click.command()
@click.argument("entity")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def show(context: CliContext, entity: str, as_json: bool) -> None:
    """Draw the counts of ENTITY over time, and show its reputation.

    ENTITY is an address 192.0.2.1, network 192.0.2.0/24, AS64496, author ann@example.org, his
    domain example.org, or KIND:VALUE: sender, account, link, host, url, phone, wallet, handle,
    contact, list, file, picture.
    """
    now, hasher = time.time(), Hasher(context.keys().shingles)
    named = entity_named(entity, hasher)
    places: GeoIpLookup = context.places() if named.type == ShingleType.CLIENT_IP else NoGeoIp()
    with open_readonly(context.loaded.settings, context.state) as store:
        [record], history = asyncio.run(_read(store, named, hasher, places, now))
        size = octets(store, named, now)
    reports = _people_reports(context, named, hasher, now)
    if as_json:
        echo_json(_object(record, history, reports, size, now))
    else:
        _print(record, history, reports, size, now)


async def _read(
    store: Reading, named: EntityName, hasher: Hasher, places: GeoIpLookup, now: float
) -> tuple[list[EntityRecord], RepIP | None]:
    addresses = [named.piece] if named.type == ShingleType.CLIENT_IP and named.piece else []
    histories = await repips(store, addresses, hasher, places, now)
    return await entity_records(store, [named], hasher, now), next(iter(histories), None)


def _people_reports(
    context: CliContext, named: EntityName, hasher: Hasher, now: float
) -> _PeopleReports:
    with pins_for_reading(context) as store:
        if store is None:
            return _PeopleReports()
        pin, home = store.of(named.shingle, now), network_of(named, hasher)
        return _PeopleReports(
            pin,
            None if pin is not None or home is None else store.of(home.shingle, now),
            tuple(store.notes(named.shingle)),
            tuple(store.changes(named.shingle, LAST)),
        )


def _print(
    record: EntityRecord,
    history: RepIP | None,
    reports: _PeopleReports,
    size: int | None,
    now: float,
) -> None:
    terminal = Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED)
    entity, judgement = record.entity, record.judgement
    head = Text(f"{plain(entity.name)}  {entity.kind}  ", "bold")
    pin = reports.pin or reports.network
    head.append(_flagged(pin.flag if pin else judgement.flag))
    terminal.print(head)
    if reports.pin is not None:
        terminal.print(Text(plain(pin_line(reports.pin))))
    if reports.network is not None:
        terminal.print(
            Text(
                plain(
                    f"its network {reports.network.name or name_of(reports.network.shingle)} is "
                    f"{pin_line(reports.network)}"
                )
            )
        )
    if history is not None:
        counted = "at connect, without the manual override: " if pin else "at connect: "
        terminal.print(Text.assemble(counted, _flagged(history.flag), _words(history.say)))
    terminal.print()
    for line in picture(record.past, now):
        terminal.print(line)
    terminal.print()
    _print_judgement(terminal, judgement)
    for title, lines in (
        ("notes", [note_line(note) for note in reports.notes]),
        ("last changes", [change_line(change) for change in reports.changes]),
    ):
        if lines:
            terminal.print(Text(f"\n{title}", "bold"))
            for text in lines:
                terminal.print(Text(f"  {plain(text)}"))
    if size is not None:
        terminal.print(
            Text(f"\n{size:,} octets in the counters, as {name_of(entity.shingle)}", "dim")
        )


def _print_judgement(terminal: Terminal, judgement: EntityJudgement) -> None:
    line = Text.assemble(
        ("judgement: ", "bold"), _flagged(judgement.flag), f", trust {judgement.trust:+.0f}"
    )
    terminal.print(line.append(_words(judgement.say)))
    table = Table("measure", show_edge=False)
    for column in ("value", "confidence", "points"):
        table.add_column(column, justify="right")
    table.add_column("evidence", overflow="fold")
    for measure in judgement.measures:
        table.add_row(
            measure.name,
            f"{measure.value:.3g}",
            f"{measure.confidence:.0%}",
            f"{measure.points:+.0f}",
            measure.say,
        )
    terminal.print(table)


def _flagged(flag: ReputationFlag) -> Text:
    return Text(flag.value, COLOURS[flag])


def _words(say: str) -> str:
    return f": {plain(say)}" if say else ""


def _object(
    record: EntityRecord,
    history: RepIP | None,
    reports: _PeopleReports,
    size: int | None,
    now: float,
) -> dict[str, Any]:
    entity = record.entity
    return {
        "entity": entity.name,
        "kind": entity.kind,
        "shingle": name_of(entity.shingle),
        "now": now,
        "buckets": [bucket._asdict() for bucket in record.past.buckets],
        "days": [day._asdict() for day in record.past.days],
        "connect": None if history is None else msgspec.structs.asdict(history),
        "judgement": msgspec.to_builtins(record.judgement),
        "pin": None if reports.pin is None else pin_object(reports.pin),
        "network_pin": None if reports.network is None else pin_object(reports.network),
        "notes": [msgspec.structs.asdict(note) for note in reports.notes],
        "changes": [change_object(change) for change in reports.changes],
        "octets": size,
    }
