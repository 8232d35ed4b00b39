"""What follows from a person's word: by what was proved, by the list, by the text, and never by a
name that anybody can write.
"""

from __future__ import annotations

from typing import Any

import pytest

from oborona.feedback.label import LabelKind as Said
from oborona.feedback.personal_entries import (
    LabelOrigin,
    entries_from_label,
    origin_from_journal,
    origin_from_message,
)
from oborona.message.parse import parse
from oborona.reputation.personal import EntryAction, PersonalEntryKind
from oborona.types import ProvedIdentity, Shingle

NOW = 1_795_170_000.0
JOE, ANN = "joe@b.example", "ann@a.example"
TEXT = (Shingle(1, 7), *(Shingle(5, number) for number in range(32)))
PROVED = ProvedIdentity(author=ANN, author_domain="a.example", sender="bounce-7@a.example")


def follows(
    said: Said, origin: LabelOrigin, pieces: tuple[Shingle, ...] = (), person: str = JOE
) -> list[str]:
    found = entries_from_label(said, origin, pieces, person=person, word=5, now=NOW)
    assert all((one.word, one.time) == (5, NOW) for one in found)
    return [f"{one.say}{f' beside {one.beside}' if one.beside else ''}" for one in found]


@pytest.mark.parametrize(
    ("origin", "spam", "ham"),
    [
        (
            LabelOrigin(claimed=ANN, proved=PROVED),
            [f"deny address {ANN}"],
            [f"allow address {ANN}"],
        ),
        (
            LabelOrigin(claimed=ANN),
            [f"deny claimed {ANN}"],
            [f"lift claimed {ANN}", f"lift address {ANN}"],
        ),
        (
            LabelOrigin(claimed=ANN, proved=ProvedIdentity(sender="b@s.example")),
            [f"deny claimed {ANN}", "deny sender b@s.example"],
            [f"lift claimed {ANN}", f"lift address {ANN}", "allow sender b@s.example"],
        ),
        (
            LabelOrigin(
                claimed=ANN, proved=PROVED, list_id="chess.a.example", list_domain="a.example"
            ),
            [f"deny address {ANN}", "deny list chess.a.example"],
            [f"allow address {ANN}", "allow list chess.a.example beside a.example"],
        ),
        (
            LabelOrigin(list_id="chess.a.example"),
            ["deny list chess.a.example"],
            ["lift list chess.a.example"],
        ),
        (LabelOrigin(claimed="undisclosed"), [], []),
        (LabelOrigin(claimed="\x00@\x00", list_id="\x00 \x00"), [], []),
    ],
)
def test_by_what_was_proved(origin: LabelOrigin, spam: list[str], ham: list[str]) -> None:
    assert follows(Said.SPAM, origin) == spam
    assert follows(Said.HAM, origin) == ham


def test_texts_follow_by_their_fingerprints_alone() -> None:
    assert follows(Said.SPAM, LabelOrigin(), TEXT) == ["deny a text like this"]
    assert follows(Said.HAM, LabelOrigin(), TEXT) == ["allow a text like this"]
    assert follows(Said.SPAM, LabelOrigin(), TEXT[:1]) == []


def test_nobody_denies_themselves() -> None:
    own = LabelOrigin(claimed=JOE, proved=ProvedIdentity(author=JOE, author_domain="b.example"))
    assert follows(Said.SPAM, own) == []
    assert follows(Said.SPAM, LabelOrigin(claimed=JOE)) == [f"deny claimed {JOE}"], (
        "a forged own name is spam"
    )


LETTER = (
    b"%bFrom: Ann <ann@a.example>\r\nTo: joe@b.example\r\nList-Id: Chess <chess.a.example>\r\n"
    b"Message-ID: <1@a.example>\r\n\r\nAt noon?\r\n"
)
PASS = b"Authentication-Results: mx.test; dmarc=pass header.from=a.example\r\n"
FAIL = b"Authentication-Results: mx.test; dmarc=fail header.from=a.example\r\n"


@pytest.mark.parametrize(
    ("head", "ours", "author"),
    [
        (PASS, True, ANN),
        (PASS, False, ""),
        (PASS.replace(b"mx.test", b"other.test"), True, ""),
        (FAIL + PASS, True, ""),
        (PASS + FAIL, True, ANN),
        (b"", True, ""),
        (PASS.replace(b"from=a.", b"from=e."), True, ""),
        (b"Authentication-Results: ((((\r\n", True, ""),
        (PASS + b"From: eve@e.example\r\n", True, ""),
    ],
)
def test_what_a_message_says_of_itself_is_believed_where_it_is_ours(
    head: bytes, ours: bool, author: str
) -> None:
    found = origin_from_message(parse(LETTER % head), "mx.test", ours=ours)
    assert found.proved.author == author
    assert found.list_id == "chess.a.example"
    assert found.list_domain == ("a.example" if author else "")


@pytest.mark.parametrize(
    ("facts", "author", "domain"),
    [
        ({"author": ANN, "author_domain": "a.example", "list_id": "l.a.example"}, ANN, "a.example"),
        (
            {"author": "", "dkim_domains": ["mail.a.example"], "list_id": "l.a.example"},
            "",
            "a.example",
        ),
        (
            {
                "author": "",
                "dkim_domains": ["a.example"],
                "dkim_unsigned": 9,
                "list_id": "l.a.example",
            },
            "",
            "",
        ),
        ({"author": "", "sender_proved": "b@s.example", "list_id": "l.a.example"}, "", "s.example"),
        ({"author": ANN, "author_domain": None, "dkim_domains": 7, "list_id": None}, ANN, ""),
    ],
)
def test_what_the_journal_says(facts: dict[str, Any], author: str, domain: str) -> None:
    found = origin_from_journal(facts)
    assert found is not None
    assert (found.proved.author, found.list_domain) == (author, domain)


def test_a_journal_that_does_not_say_what_was_proved_is_not_asked() -> None:
    assert origin_from_journal({}) is None
    assert origin_from_journal({"author": None}) is None


def test_kinds_that_follow_are_never_a_domain() -> None:
    """A domain is denied or allowed where a person says so, and never because of one message."""
    origin = LabelOrigin(
        claimed=ANN, proved=PROVED, list_id="chess.a.example", list_domain="a.example"
    )
    for said in Said:
        found = entries_from_label(said, origin, TEXT, person=JOE, word=1, now=NOW)
        assert PersonalEntryKind.DOMAIN not in {one.kind for one in found}
        assert EntryAction.CONTACT not in {one.side for one in found}
