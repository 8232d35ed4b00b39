"""`messages.mine`: what was kept from a reader, in words for readers, and nothing of others."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.desk.asks.messages import OwnMailQuestion, list_own_mail
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.messages.reader_words import (
    AGAIN,
    AT_THE_DOOR,
    NOT_ACCEPTED,
    OF_GROUPS,
    OTHERWISE,
)
from oborona.errors import PolicyError
from oborona.ident import to_text
from oborona.journal.entry import CopyDelivery
from oborona.journal.refusal import Told
from oborona.people.rights import Role
from oborona.recheck.moves import MoveState, MoveStore
from oborona.types import Action, RuleHit, Stage
from tests.desk.messages_site import (
    DAN,
    EVE,
    JOE,
    TERMINAL,
    entry_of,
    fill,
    make_site,
    move,
    scoped,
)
from tests.journal.refusals import make_refusal

RULES = (
    '[[group]]\nname = "MASS"\ncap = 190\n'
    '[[rule]]\nname = "MASS_TEXT"\nwhen = "links > 9"\nscore = 30\ngroup = "MASS"\n'
    '[[rule]]\nname = "OTHER"\nwhen = "links > 8"\nscore = 30\n'
    '[[rule]]\nname = "TRAPPED"\nwhen = "recipients.traps > 0"\nscore = 90\n'
)
READER = scoped(JOE, role=Role.READER)


def mine(**asked: object) -> OwnMailQuestion:
    return msgspec.convert(asked, OwnMailQuestion)


def hit(name: str, score: float = 120) -> tuple[RuleHit, ...]:
    return (RuleHit(name=name, score=score, say=f"seen by {name} for {DAN}"),)


def test_a_rule_has_words_of_its_own_for_readers(tmp_path: Path) -> None:
    words = "most of what this sender writes is unwanted"
    site = make_site(
        tmp_path, RULES.replace('group = "MASS"', f'group = "MASS"\nreader = "{words}"')
    )
    mass = entry_of(ago_s=90, recipients=(JOE,), rules=hit("MASS_TEXT"))
    fill(site, mass)
    (message,) = list_own_mail(site, READER, mine()).messages
    assert message.because == words
    for wrong in ("x" * 201, "a\\nb"):
        with pytest.raises(PolicyError):
            make_site(
                tmp_path / str(len(wrong)),
                RULES.replace('group = "MASS"', f'group = "MASS"\nreader = "{wrong}"'),
            ).policy()


def test_a_reader_sees_fates_and_words_and_no_rule_score_or_list(tmp_path: Path) -> None:
    site, now = make_site(tmp_path, RULES), time.time()
    mass = entry_of(
        ago_s=90, recipients=(JOE, DAN), rules=(*hit("TRAPPED", 200), *hit("MASS_TEXT"))
    )
    other = entry_of(ago_s=80, recipients=(JOE,), rules=hit("OTHER"), verdict=Action.REJECT)
    again = entry_of(ago_s=70, recipients=(JOE,), rules=hit("GREY"), verdict=Action.TEMPFAIL)
    moved = entry_of(ago_s=60, recipients=(JOE,), rules=hit("GONE"))
    good = entry_of(ago_s=50, recipients=(JOE,), verdict=Action.ACCEPT)
    inbox = entry_of(ago_s=45, recipients=(JOE,))
    others = entry_of(ago_s=44, recipients=(DAN, EVE))
    fill(
        site, mass, other, again, moved, good, inbox, others,
        went=[
            CopyDelivery(id=inbox.id, recipient=JOE, spam=False, time=now),
            CopyDelivery(id=mass.id, recipient=JOE, spam=True, time=now),
        ],
        refusals=[
            make_refusal(time=now - 40, recipients=(JOE,), told=Told.CONNECT),
            make_refusal(time=now - 30, recipients=(DAN,)),
            make_refusal(time=now - 20, recipients=(JOE,), stage=Stage.RECIPIENT, score=0.0),
        ],
    )  # fmt: skip
    move(site, moved, JOE)
    answer = list_own_mail(site, READER, mine())
    told = [(one.id, one.fate.value, one.because) for one in answer.messages]
    assert told[2:] == [
        (to_text(moved.id), "moved", OTHERWISE),
        (to_text(again.id), "deferred", AGAIN),
        (to_text(other.id), "refused", OTHERWISE),
        (to_text(mass.id), "junk", OF_GROUPS["MASS"]),
    ]
    assert [(fate, words) for _, fate, words in told[:2]] == [
        ("refused", NOT_ACCEPTED),
        ("refused", AT_THE_DOOR),
    ]
    assert {one.recipients for one in answer.messages} == {(JOE,)}
    assert answer.messages[2].where == "INBOX"
    text = msgspec.json.encode(answer).decode()
    for word in (DAN, EVE, "MASS_TEXT", "TRAPPED", "OTHER", "ZEN", "score", "seen by", "rules"):
        assert word not in text


def test_what_was_let_in_and_moved_to_junk_later_is_in_junk(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    later, back, others = (
        entry_of(ago_s=900 - n, recipients=(JOE, DAN), verdict=Action.ACCEPT) for n in range(3)
    )
    fill(site, later, back, others)
    move(site, later, JOE, to="Junk")
    move(site, back, JOE, to="Junk", undo=True)
    with MoveStore(site.state / state_files.MOVES) as moves:
        (due,) = moves.due(time.time(), 9, back=True)
        moves.issue([due.id], now=time.time())
        moves.settle(due.id, MoveState.DONE, now=time.time())
    move(site, others, DAN, to="Junk")
    (message,) = list_own_mail(site, READER, mine()).messages
    assert (message.id, message.fate, message.where) == (to_text(later.id), "junk", "Junk")
    assert list_own_mail(site, READER, mine(older=to_text(later.id))).messages == ()


def test_pages_follow_each_other(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    entries = [entry_of(ago_s=900 - n, recipients=((JOE, EVE)[n % 2],)) for n in range(7)]
    fill(site, *entries, *(entry_of(ago_s=n, recipients=(DAN,)) for n in range(50)))
    seen, older = list[str](), ""
    for _ in range(9):
        page = list_own_mail(site, scoped(JOE, EVE), mine(limit=2, older=older))
        seen += [one.id for one in page.messages]
        older = page.older
        if not older:
            break
    assert seen == [to_text(entry.id) for entry in reversed(entries)]


def test_days_bound_how_far_back_it_goes(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of(ago_s=3 * 86_400, recipients=(JOE,)), entry_of(recipients=(JOE,)))
    assert len(list_own_mail(site, READER, mine()).messages) == 2
    assert len(list_own_mail(site, READER, mine(days=1)).messages) == 1
    with pytest.raises(msgspec.ValidationError):
        mine(days=15)


def test_an_address_that_is_not_ones_own_is_not_there(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    fill(site, entry_of())
    with pytest.raises(NotFoundError):
        list_own_mail(site, READER, mine(address=DAN))
    with pytest.raises(CallError, match="name an address"):
        list_own_mail(site, TERMINAL, mine())
    with pytest.raises(CallError, match="name an address"):
        list_own_mail(site, scoped(domains=["example.test"]), mine())
    with pytest.raises(CallError, match="is no ID"):
        list_own_mail(site, READER, mine(older="x"))
    assert len(list_own_mail(site, TERMINAL, mine(address=JOE.upper())).messages) == 1
    assert list_own_mail(site, TERMINAL, mine(address="\ud800@x")).messages == ()


def test_a_broken_policy_and_damaged_rows_leave_the_rest(tmp_path: Path) -> None:
    site = make_site(tmp_path, "[[rule]]\nnonsense")
    first, second = entry_of(recipients=(JOE,)), entry_of(recipients=(JOE,), subject="\ud800")
    fill(site, first, second)
    with closing(sqlite3.connect(site.state / state_files.JOURNAL)) as db, db:
        db.execute("UPDATE verdict SET rules = '[' WHERE id = ?", (first.id,))
    answer = list_own_mail(site, READER, mine())
    assert [one.id for one in answer.messages] == [to_text(second.id)]
    assert answer.messages[0].because == OTHERWISE
    assert site.notices  # type: ignore[attr-defined]
    msgspec.json.encode(answer)
