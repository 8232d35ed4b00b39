"""How the answers of each call that all machines are asked become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from oborona.console.machines.page_merge import Answer, PageMerge, Place, Row
from oborona.console.machines.sum_merge import SumMerge, join_series, sum_charts, sum_overview
from oborona.ident import HIGHEST, from_text


def _ident(text: str) -> Place:
    """Return the place of an id, signed or bare: the newest first."""
    number = from_text(text.partition(".")[0])
    return (-HIGHEST if number is None else -number,)


def _newest(field: str) -> Callable[[Row], Place]:
    return lambda row: (-row[field],)


def _rest(rows: str, told: str) -> Callable[[Answer, int], str]:
    """Return what takes the next page's cursor of an answer that names it."""
    assert rows != told
    return lambda answer, _left_out: _text(answer.get(told))


def _loudest(row: Row) -> Place:
    """Return the place of a campaign's case, as the desk orders them."""
    summary = row["summary"]
    weight = summary["complaints"]["weight"] + summary["pardons"]["weight"]
    return (row["urgency"], -weight, -summary["last"])


def _find_messages(answers: Mapping[str, Answer]) -> Answer:
    reached = [one["reached"] for one in answers.values() if one.get("reached")]
    return {
        **_first(answers),
        "reached": min(reached, key=_ident, default=""),  # the newest: above it all were searched
        "read_whole": sorted(
            {day for one in answers.values() for day in one.get("read_whole", ())}
        ),
        "since": _least(one.get("since") for one in answers.values()),
        "refusals_since": _least(one.get("refusals_since") for one in answers.values()),
    }


def _find_acts(answers: Mapping[str, Answer]) -> Answer:
    """Numbers of acts are each machine's own: what may be taken back stands by machine, too."""
    return {
        "undoable": [],
        "undoable_at": {machine: one["undoable"] for machine, one in answers.items()},
        "own": any(one["own"] for one in answers.values()),
        "more": any(one["more"] for one in answers.values()),
    }


def _numbered(rows: str, time: str, usual: int, *, common: bool = False) -> PageMerge:
    """Return the merge of a call whose rows have numbers of their own, the newest first.

    Args:
        rows: field of its answer.
        time: field of a row.
        usual: how many rows, where the question does not say.
        common: machines of one site have them all.
    """
    return PageMerge(
        rows=rows,
        cursor="before",
        number=True,
        most="most",
        usual=usual,
        place=_newest(time),
        behind=lambda row: str(row["id"]),
        rest=_rest(rows, "next"),
        same=(lambda row: (row["id"], row[time])) if common else None,
        fold=_first_of,
    )


def _messages(rows: str, most: int) -> PageMerge:
    return PageMerge(
        rows=rows,
        cursor="older",
        number=False,
        most="limit",
        usual=most,
        place=lambda row: _ident(row["id"]),
        behind=lambda row: str(row["id"]),
        rest=_rest(rows, "older"),
        reached=_ident,
        told="older",
        fold=_find_messages,
    )


def _first_of(answers: Mapping[str, Answer]) -> Answer:
    return dict(_first(answers))


def _first(answers: Mapping[str, Answer]) -> Answer:
    return next(iter(answers.values()))


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _text(cursor: Any) -> str:
    return "" if cursor is None else str(cursor)


MERGES: Final[Mapping[str, PageMerge | SumMerge]] = {
    "audit.find": PageMerge(
        rows="acts",
        cursor="before",
        number=True,
        most="most",
        usual=50,
        place=_newest("at"),
        behind=lambda row: str(row["number"]),
        rest=lambda answer, _left_out: str(answer["acts"][-1]["number"]) if answer["more"] else "",
        fold=_find_acts,
    ),
    "campaigns.list": PageMerge(
        rows="campaigns",
        cursor="after",
        number=True,
        most="most",
        usual=50,
        place=_loudest,
        behind=None,
        same=lambda row: (row["summary"]["id"], row["summary"]["first"]),
        rest=lambda answer, left_out: (
            str(left_out + len(answer["campaigns"])) if answer["more"] else ""
        ),
        fold=_first_of,
    ),
    "charts.read": SumMerge(sum_charts),
    "charts.series": SumMerge(join_series),
    "events.list": _numbered("events", "time", 20, common=True),
    "incident.list": _numbered("incidents", "opened", 50, common=True),
    "messages.find": _messages("hits", 50),
    "messages.mine": _messages("messages", 100),
    "own.said": _numbered("words", "time", 50, common=True),
    "overview.read": SumMerge(sum_overview),
    "recheck.moves": _numbered("moves", "time", 20),
}
"""All of `oborona.call_places.ASKED_OF_ALL`."""
