"""Pages of several machines: whatever they have, in whatever pages, and whoever is silent now and
then: no row is lost, none comes twice, and they come in order.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.call_places import ASKED_OF_ALL, ASKED_OF_OWNER, SOUGHT
from oborona.console.machines.cursor import HOME, read_cursor, write_cursor
from oborona.console.machines.merges import MERGES
from oborona.console.machines.page_merge import PageMerge
from oborona.desk.calls import CALLS
from oborona.ident import to_text

NAMES = (HOME, "mx2", "mx3.example.org")
FIND, MOVES, CASES, AUDIT = (
    MERGES[name] for name in ("messages.find", "recheck.moves", "campaigns.list", "audit.find")
)


def find(rows: list[int], asked: dict[str, Any], cut: int) -> dict[str, Any]:
    """Answer as `messages.find` does; `cut`: rows that are searched until the time is over."""
    older = asked.get("older", "")
    left = [one for one in rows if not older or to_text(one) < older]
    seen = left[:cut] if cut else left
    hits = seen[: asked["limit"]]
    full = len(hits) == asked["limit"]
    reached = to_text(seen[-1]) if cut and not full and len(seen) < len(left) else ""
    return {
        "hits": [{"id": to_text(one)} for one in hits],
        "older": reached or (to_text(hits[-1]) if full else ""),
        "reached": reached,
    }


def moves(rows: list[int], asked: dict[str, Any], _cut: int) -> dict[str, Any]:
    before = asked.get("before")
    left = [one for one in rows if before is None or one < before][: asked["most"]]
    # a clock that was set back: times do not follow the numbers
    told = [{"id": one, "time": one // 3} for one in left]
    return {"moves": told, "next": left[-1] if len(left) == asked["most"] else None}


def acts(rows: list[int], asked: dict[str, Any], _cut: int) -> dict[str, Any]:
    before = asked.get("before")
    left = [one for one in rows if before is None or one < before]
    told = [{"number": one, "at": one / 7} for one in left[: asked["most"]]]
    more = len(left) > asked["most"]
    return {"acts": told, "more": more, "undoable": [], "own": False}


def cases(rows: list[int], asked: dict[str, Any], _cut: int) -> dict[str, Any]:
    after, most = asked.get("after", 0), asked["most"]
    none = {"weight": 0}
    own = {"complaints": none, "pardons": none, "first": id(rows)}  # of this machine alone
    told = [
        {"urgency": 0, "summary": own | {"id": one, "last": one}}
        for one in rows[after : after + most]
    ]
    return {"campaigns": told, "more": len(rows) > after + most}


KINDS: dict[str, tuple[Any, Any, str, Any]] = {
    "find": (FIND, find, "limit", lambda row: row["id"]),
    "moves": (MOVES, moves, "most", lambda row: row["id"]),
    "acts": (AUDIT, acts, "most", lambda row: row["number"]),
    "cases": (CASES, cases, "most", lambda row: row["summary"]["last"]),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_no_row_is_lost_none_comes_twice_and_all_in_order(kind: str, data: st.DataObject) -> None:
    merge, answer, most, named = KINDS[kind]
    assert isinstance(merge, PageMerge)
    numbers = st.integers(1, 10**6 if kind != "find" else (1 << 62))
    stores = {
        name: sorted(data.draw(st.sets(numbers, max_size=12)), reverse=True) for name in NAMES
    }
    limit = data.draw(st.integers(1, 7))
    silent_too = data.draw(st.booleans())
    shown, cursor, was_silent = list[tuple[str, Any]](), "", False
    for _ in range(400):
        asked = {most: limit, merge.cursor: cursor}
        questions = merge.questions(asked, NAMES)
        silent = data.draw(st.sets(st.sampled_from(NAMES[1:]))) if silent_too else set[str]()
        was_silent |= bool(silent)
        cut = data.draw(st.integers(0, 5))
        answers = {
            name: answer(stores[name], question, cut)
            for name, question in questions.items()
            if name not in silent
        }
        if not answers:  # the page says so, and is asked again
            continue
        merged = merge.merge(asked, answers)
        rows = merged[merge.rows]
        assert len(rows) <= limit
        places = [merge.place(row) for row in rows]
        if kind != "moves":
            assert places == sorted(places)
        shown += [(row["desk"], named(row)) for row in rows]
        cursor = merged[merge.told]
        if not cursor:
            break
    else:
        pytest.fail("it has no end")
    assert len(shown) == len(set(shown))
    text = to_text if kind == "find" else int
    there = {(name, text(one)) for name in NAMES for one in stores[name]}
    if not silent_too:
        assert set(shown) == there
        if kind != "moves":
            key = [one for _, one in shown]
            assert key == sorted(key, reverse=True)
    else:
        assert set(shown) <= there
        last = set(shown) | {pair for pair in there if pair[0] in NAMES[1:] and was_silent}
        assert there <= last  # only of one that was silent may anything be missing
    # each machine's own order is kept
    for name in NAMES:
        own = [one for whose, one in shown if whose == name]
        assert own == sorted(own, reverse=True)


@pytest.mark.parametrize(
    ("call", "field", "time"),
    [("events.list", "events", "time"), ("incident.list", "incidents", "opened")],
)
@given(rows=st.sets(st.integers(1, 50), max_size=20), most=st.integers(1, 7))
def test_what_machines_of_one_site_have_in_common_is_shown_once(
    call: str, field: str, time: str, rows: set[int], most: int
) -> None:
    merge, shown, cursor = MERGES[call], list[int](), ""
    assert isinstance(merge, PageMerge)
    left = sorted(rows, reverse=True)
    for _ in range(60):
        asked: dict[str, Any] = {"most": most, "before": cursor}
        answers = {}
        for name, question in merge.questions(asked, NAMES).items():
            found = moves(left, {**question, "before": question.get("before") or None}, 0)
            told = [{"id": row["id"], time: row["time"]} for row in found["moves"]]
            answers[name] = {field: told, "next": found["next"]}
        merged = merge.merge(asked, answers)
        shown += [row["id"] for row in merged[field]]
        cursor = merged["next"]
        if not cursor:
            break
    assert shown == left


@given(st.dictionaries(st.sampled_from(NAMES), st.text("0123456789ABCXYZ.", max_size=40)))
def test_a_cursor_is_read_as_it_was_written(shown: dict[str, str]) -> None:
    assert read_cursor(write_cursor(shown)) == shown


@given(st.text(max_size=300))
def test_any_text_is_a_cursor(text: str) -> None:
    for merge in MERGES.values():
        if isinstance(merge, PageMerge):
            asked = {merge.cursor: text}
            for question in merge.questions(asked, NAMES).values():
                assert (
                    merge.cursor not in question
                    or not merge.number
                    or (isinstance(question[merge.cursor], int))
                )


def test_each_call_of_all_machines_has_its_merge() -> None:
    assert set(MERGES) == ASKED_OF_ALL
    assert not ASKED_OF_ALL & ASKED_OF_OWNER
    assert set(CALLS) >= ASKED_OF_ALL | ASKED_OF_OWNER
    assert SOUGHT <= ASKED_OF_OWNER
    for name, merge in MERGES.items():
        call = CALLS[name]
        assert not call.acts, f"{name}: acts are done on one machine"
        if isinstance(merge, PageMerge):
            fields = call.answer.__struct_fields__
            assert merge.rows in fields
            assert {merge.cursor, merge.most} <= set(call.asked.__struct_fields__)
            usual = {one.name: one.default for one in msgspec.structs.fields(call.asked)}
            assert usual[merge.most] == merge.usual
