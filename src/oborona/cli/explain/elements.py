"""What both kinds of explanations consist of: named facts and opinions, lines, counts of pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from oborona.cli.explain.model import CountedPiece, DecidingScores
from oborona.desk.shingle import name_of
from oborona.errors import StoreError, StorePartial
from oborona.journal.evidence import Rows
from oborona.policy.fact_table import TABLE
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.models.opinion import UNTAUGHT, ContentOpinion
from oborona.policy.ports import Totals
from oborona.policy.scan import ScanSite
from oborona.recheck.facts_at_delivery import UnkeptFact
from oborona.types import CounterPrefix, Metric, Shingle, Window

_TEXTS: Final = frozenset({"text", "text.raw"})


def by_name(facts: Facts | Mapping[str, object]) -> dict[str, Any]:
    """Return facts by their dotted names, but for the text and what is not kept; sets in order.

    Args:
        facts: of a scan, or as a journal entry has them.
    """
    values = msgspec.structs.asdict(facts) if isinstance(facts, Facts) else facts
    return {
        fact.name: _plain(values[fact.attribute])
        for fact in TABLE
        if fact.attribute in values
        and fact.name not in _TEXTS
        and not isinstance(values[fact.attribute], UnkeptFact)
    }


def lines_of(policy: Policy) -> DecidingScores:
    """Return the scores that decide."""
    table = policy.verdict
    return DecidingScores(
        spam=table.spam_score,
        reject=table.reject_score,
        shadow_spam=table.shadow_spam_score,
        shadow_reject=table.shadow_reject_score,
    )


def opinion_of(opinion: ContentOpinion) -> dict[str, Any]:
    """Return what the content model said; empty where it said nothing."""
    return {} if opinion == UNTAUGHT else msgspec.structs.asdict(opinion)


def rows_then(
    counts: Sequence[tuple[int, Rows]], shingles: Sequence[Shingle]
) -> list[dict[str, int] | None]:
    """Return what was counted of each piece then, in the order in which it was asked for."""
    left = {kind: iter(rows) for kind, rows in counts}
    taken_rows = (next(left.get(shingle.type, iter(())), None) for shingle in shingles)
    return [None if row is None else _row(row) for row in taken_rows]


async def rows_now(
    site: ScanSite,
    shingles: Sequence[Shingle],
    now: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> list[dict[str, int] | None]:
    """Return what is counted of each piece now.

    What does not answer is a word on standard error.
    """
    totals: Totals
    try:
        totals = await site.counters.read(shingles, now, prefix)
    except StorePartial as error:
        click.echo(f"oborona: {error}; these counts may be too low", err=True)
        totals = error.totals
    except StoreError as error:
        click.echo(f"oborona: {error}; nothing is known of counts", err=True)
        return [None] * len(shingles)
    return [_row(row) for row in totals]


def piece_counts(
    shingles: Sequence[Shingle],
    then: Sequence[dict[str, int] | None],
    now: Sequence[dict[str, int] | None],
) -> tuple[CountedPiece, ...]:
    """Return pieces with their counts."""
    return tuple(
        CountedPiece(piece=name_of(shingle), then=before, now=after)
        for shingle, before, after in zip(shingles, then, now, strict=True)
    )


def _row(row: Sequence[Sequence[int]]) -> dict[str, int]:
    last = row[Window.FORTNIGHT]
    return {
        "hour": row[Window.HOUR][Metric.SEEN],
        "day": row[Window.DAY][Metric.SEEN],
        "fortnight": last[Metric.SEEN],
        "spam": last[Metric.SPAM],
        "complaints": last[Metric.COMPLAINTS],
    }


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset | set | list | tuple) else value
