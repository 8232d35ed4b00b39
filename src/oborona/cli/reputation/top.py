"""`oborona reputation top`: the worst, best, loudest and most changed."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Final

import click
from rich.table import Table
from rich.text import Text

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.reputation.entity import KINDS, EntityName
from oborona.cli.reputation.flagged_entities import with_history
from oborona.cli.reputation.history import EntityRecord, Reading, entity_records, totals
from oborona.cli.reputation.names import NAMED, entities, of_journal
from oborona.cli.reputation.pin_store import pins_for_reading
from oborona.cli.reputation.show import COLOURS
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.counters.heavy_hitters import NOTE_ROOM
from oborona.counters.window import DAY_S, DAYS
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher, ShingleType
from oborona.stores.counters import open_readonly
from oborona.types import Metric, Shingle, Window

# entities whose time-lines are judged: those with the most mail, and the most that speaks against
# them
LOOKED_AT: Final = 2000
LIMIT: Final = 20
_BY: Final = ("worst", "best", "loudest", "changed")
_WINDOWS: Final = {"hour": Window.HOUR, "day": Window.DAY, "fortnight": Window.FORTNIGHT}
_SKETCHED: Final = (Metric.SEEN, Metric.SPAM, Metric.COMPLAINTS, Metric.TRAPS)


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)), default="address")
@click.option("--by", type=click.Choice(_BY), default="worst", show_default=True)
@click.option(
    "--window",
    type=click.Choice(list(_WINDOWS)),
    default="day",
    show_default=True,
    help="Mail came within it; and which the loudest are counted in.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=LIMIT, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def top(context: CliContext, kind: str, by: str, window: str, limit: int, as_json: bool) -> None:
    """Show the entities of a KIND that stand out: worst and best by trust points, most messages,
    most changed against their own history.

    Names come from the journal and from manual overrides; what counted much and has no name there
    is shown by its hash.
    """
    now, within, hasher = time.time(), _WINDOWS[window], Hasher(context.keys().shingles)
    type_ = ShingleType(KINDS[kind])
    with pins_for_reading(context) as pinned:
        pins = [] if pinned is None else pinned.all(now)
    names = of_journal(
        context.state / state_files.JOURNAL, now - DAYS * DAY_S, [type_] if type_ in NAMED else []
    )
    named = {
        entity.shingle: entity for entity in entities(names, pins, hasher) if entity.type == type_
    }
    with open_readonly(context.loaded.settings, context.state) as store:
        ranked = asyncio.run(_ranked(store, type_, named, by, within, hasher, now))[:limit]
    flags = {pin.shingle: pin.flag for pin in pins}
    if as_json:
        for record in ranked:
            judgement = record.judgement
            echo_json(
                {
                    "entity": record.entity.name, "shingle": name_of(record.entity.shingle),
                    "flag": judgement.flag, "pinned": flags.get(record.entity.shingle),
                    "trust": judgement.trust, "change": _change(record), "seen": _seen_within(record, within), "say": judgement.say,
                }
            )  # fmt: skip
        return
    if not ranked:
        echo(f"no {kind} had mail in that time")
        return
    table = Table(kind, "flag", show_edge=False)
    for column in ("trust", "change", f"in a {window}"):
        table.add_column(column, justify="right")
    table.add_column("evidence", overflow="fold")
    for record in ranked:
        pin = flags.get(record.entity.shingle)
        flag = Text(
            f"{pin} by hand" if pin else record.judgement.flag.value,
            COLOURS[pin or record.judgement.flag],
        )
        numbers = (
            f"{record.judgement.trust:+.0f}",
            f"{_change(record):.1f}",
            str(_seen_within(record, within)),
        )
        table.add_row(
            Text(plain(record.entity.name)), flag, *numbers, Text(plain(record.judgement.say))
        )
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)


async def _ranked(
    store: Reading,
    kind: ShingleType,
    named: dict[Shingle, EntityName],
    by: str,
    within: Window,
    hasher: Hasher,
    now: float,
) -> list[EntityRecord]:
    by_shingle = dict(named)
    for metric in _SKETCHED:
        for shingle, _ in await store.top(kind, metric, within, now, limit=NOTE_ROOM):
            by_shingle.setdefault(shingle, EntityName(kind, "", shingle))
    candidates = await _heaviest(
        store, await with_history(store, list(by_shingle.values()), now), within, now
    )
    records = [
        record
        for record in await entity_records(store, candidates, hasher, now)
        if _seen_within(record, within)
    ]
    match by:
        case "worst":
            return sorted(
                records, key=lambda record: (record.judgement.trust, -_seen_within(record, within))
            )
        case "best":
            return sorted(
                records, key=lambda record: (-record.judgement.trust, -_seen_within(record, within))
            )
        case "changed":
            return sorted(records, key=lambda record: (-_change(record), record.judgement.trust))
        case _:
            return sorted(records, key=lambda record: -_seen_within(record, within))


async def _heaviest(
    store: Reading, names: Sequence[EntityName], within: Window, now: float
) -> list[EntityName]:
    """Return the `LOOKED_AT` with the most mail in a window, what speaks against them included."""
    if len(names) <= LOOKED_AT:
        return list(names)
    rows = await totals(store, [entity.shingle for entity in names], now)
    weights = [
        row[within][Metric.SEEN]
        + 10
        * (row[within][Metric.SPAM] + row[within][Metric.COMPLAINTS] + row[within][Metric.TRAPS])
        for row in rows
    ]
    order = sorted(range(len(names)), key=lambda place: -weights[place])
    return [names[place] for place in order[:LOOKED_AT]]


def _seen_within(record: EntityRecord, within: Window) -> int:
    past = record.past
    match within:
        case Window.HOUR:
            return past.hour.seen
        case Window.DAY:
            return past.day.seen
        case _:
            return past.fortnight.seen


def _change(record: EntityRecord) -> float:
    return next(
        (measure.value for measure in record.judgement.measures if measure.name == "change"), 0.0
    )
