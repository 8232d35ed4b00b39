"""What a mail server lists as held: whole, broken, hostile and huge lists, none of which raises."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.desk.outgoing.queue_listing import (
    EXIM_ID,
    POSTFIX_ID,
    QueuedMessage,
    exim_listing,
    postfix_listing,
)

NEWER = "4hG5kz1nYwzB9x"
OLDER = "A1B2C3D4E5"
FROZEN = "1tF3aB-0000Qx-2k"


def row(**changes: Any) -> str:
    usual = {
        "queue_name": "hold",
        "queue_id": NEWER,
        "arrival_time": 1_800_000_000,
        "message_size": 431,
        "forced_expire": False,
        "sender": "ann@example.test",
        "recipients": [{"address": "bo@b.example", "delay_reason": "later"}],
    }
    return json.dumps(usual | changes)


def test_what_is_on_hold_is_listed_the_oldest_first_and_each_once() -> None:
    lines = (
        row(),
        row(queue_name="deferred", queue_id="4hG5kz1nYwzB9y"),
        row(queue_id=OLDER, arrival_time=1_700_000_000, recipients=[], new_field={"a": [1]}),
        row(),
        row(queue_name="maildrop", queue_id="4hG5kz1nYwzB9z"),
    )
    whole = postfix_listing("\n".join(lines) + "\n")
    assert [message.queue_id for message in whole.messages] == [OLDER, NEWER, "4hG5kz1nYwzB9y"]
    assert whole.unreadable == 0
    listing = whole.held
    assert [message.queue_id for message in listing.messages] == [OLDER, NEWER]
    assert listing.messages[1] == QueuedMessage(
        queue_id=NEWER,
        since=1_800_000_000.0,
        sender="ann@example.test",
        recipients=("bo@b.example",),
    )


def test_nothing_is_held_in_an_empty_queue() -> None:
    assert postfix_listing("") == exim_listing("") == exim_listing("\n\n")
    assert postfix_listing("").messages == ()


@pytest.mark.parametrize(
    "line",
    [
        "postqueue: warning: Mail system is down",
        row()[:-20],
        "[]",
        "null",
        "[" * 100_000,
        '{"a":' * 100_000,
        row(recipients=None),
        row(recipients=["bo@b.example"]),
        row(sender=7),
        row(queue_id="ALL"),
        row(queue_id="-"),
        row(queue_id="../../../etc/passwd"),
        row(queue_id=f"{NEWER}\n"),
        row(queue_id=f"{NEWER}\nALL"),
        row(queue_id="A" * 33),
        row(queue_id=""),
        row(arrival_time=-1),
        row(arrival_time=1e300),
        row(arrival_time="now"),
        row().replace("1800000000", "9" * 5_000),
        row().replace("1800000000", "NaN"),
        row().replace("ann@", "\\ud800@"),
    ],
)
def test_a_line_that_is_no_message_is_counted_and_the_rest_is_listed(line: str) -> None:
    listing = postfix_listing(f"{line}\n{row(queue_id=OLDER)}\n")
    assert [message.queue_id for message in listing.messages] == [OLDER]
    assert listing.unreadable == 1


def test_a_message_to_very_many_is_listed_whole() -> None:
    many = [{"address": f"r{number}@{'x' * 200}.example"} for number in range(50_000)]
    (message,) = postfix_listing(row(recipients=many)).messages
    assert len(message.recipients) == 50_000


EXIM_LIST = f"""\
 0m   431 {FROZEN} <ann@a.example> (ann) *** frozen ***
          joe@example.test
        D bob@example.test
          eve@example.test

 25m  2.9K 1tF3aB-0000Qx-2l <"> *** frozen ***"@a.example>
          joe@example.test

 3d   11M 1tF2aB-00000001234-0abC <> *** frozen ***
          joe@example.test

"""


def test_what_exim_has_frozen_is_told_from_other_mail() -> None:
    whole = exim_listing(EXIM_LIST)
    assert (whole.unreadable, len(whole.messages)) == (0, 3)
    listing = whole.held
    first, second = listing.messages
    assert (first.queue_id, first.sender) == ("1tF2aB-00000001234-0abC", "")
    assert (second.queue_id, second.sender) == (FROZEN, "ann@a.example")
    assert second.recipients == ("joe@example.test", "eve@example.test")
    # by an independent way: 1 and t, F, 3, a, B as digits of base 62
    digits = (1, 55, 15, 3, 36, 11)
    assert second.since == sum(digit * 62 ** (5 - place) for place, digit in enumerate(digits))
    assert time.localtime(second.since).tm_year > 2020


@pytest.mark.parametrize(
    "head",
    [
        "exim: permission denied",
        " 0m     ? 1tF3aB-0000Qx-2m *** spool read error: No such file ***",
        f" 0m   431 {FROZEN}; rm <ann@a.example> *** frozen ***",
        " 0m   431 ../../x <ann@a.example> *** frozen ***",
        " 0m   431 -Mrm <ann@a.example> *** frozen ***",
        " 0m   431 1tF3aB-0000Qx-2ⅷ <ann@a.example> *** frozen ***",
        f" 0m   431 {FROZEN}",
        "<" * 1_000_000,
        " " * 1_000_000 + "x",
    ],
)
def test_a_paragraph_of_exim_that_is_no_message_is_counted(head: str) -> None:
    listing = exim_listing(f"{head}\n          joe@example.test\n\n{EXIM_LIST}")
    assert len(listing.held.messages) == 2
    assert listing.unreadable == 1


@given(st.text() | st.lists(st.sampled_from([row(), EXIM_LIST, *EXIM_LIST, "\n"])).map("".join))
def test_whatever_is_listed_nothing_raises_and_ids_are_ids(output: str) -> None:
    for message in postfix_listing(output).messages:
        assert POSTFIX_ID.fullmatch(message.queue_id)
    for message in exim_listing(output).messages:
        assert EXIM_ID.fullmatch(message.queue_id)
        time.localtime(message.since)
