"""Every fact says what it is: its example and its empty value have its type, as have all that are
built.
"""

from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.counts import MessageCounts
from oborona.policy.evidence import SenderEvidence
from oborona.policy.expression.schema import Fact
from oborona.policy.fact_table import DISTINCT, SCHEMA, STAGES, TABLE
from oborona.policy.facts import Facts
from oborona.policy.facts.build import facts_of
from oborona.policy.facts.declaration import FactArea, FactDeclaration, by_area, declared
from oborona.policy.models.opinion import UNTAUGHT
from oborona.policy.signatures import SignatureMatches
from oborona.types import Client, Envelope, Stage

EMPTY = Facts()


def facts(raw: bytes, **envelope: Any) -> Facts:
    return facts_of(
        parse(raw),
        Envelope(**envelope),
        [],
        MessageCounts(),
        SenderEvidence(),
        SignatureMatches(),
        UNTAUGHT,
        now=1.7e9,
        size=len(raw),
        partial=False,
    )


def fits(value: object, fact: Fact) -> bool:
    if value is None:
        return fact.optional
    if fact.type == frozenset[str]:
        return isinstance(value, frozenset) and all(isinstance(one, str) for one in value)
    if fact.type is float:
        return type(value) in (float, int)
    return type(value) is fact.type


@pytest.mark.parametrize("fact", TABLE, ids=lambda fact: fact.name)
def test_a_fact_is_told_whole(fact: Fact) -> None:
    assert fact.example is not None
    assert fits(fact.example, fact)
    assert fact.doc
    assert not fact.doc.replace("...", "").endswith(".")
    empty = getattr(EMPTY, fact.attribute)
    assert (empty is None) is fact.optional
    assert fits(empty, fact)
    if fact.unit == "share 0 to 1" and isinstance(fact.example, float):
        assert 0 <= fact.example <= 1


def test_every_field_declares_a_fact() -> None:
    told = {fact.attribute for fact in TABLE}
    assert told | {"known"} == set(Facts.__struct_fields__)


def test_a_fact_has_the_name_of_its_field() -> None:
    class Wrong(msgspec.Struct):
        words: Annotated[
            int, FactDeclaration(FactArea.TEXT, Stage.CONTENT, "text.words", "words", 3)
        ] = 0

    with pytest.raises(ValueError, match=r"'text\.words' is declared as 'words'"):
        list(declared(Wrong))


def test_the_reference_has_its_own_order_where_a_fact_says_so() -> None:
    def text(name: str, before: str = "") -> FactDeclaration:
        return FactDeclaration(FactArea.TEXT, Stage.CONTENT, name, "words", 3, before=before)

    class Moved(msgspec.Struct):
        one: Annotated[int, text("one")] = 0
        two: Annotated[int, text("two")] = 0
        three: Annotated[int, text("three", before="two")] = 0

    assert [fact.name for fact in by_area(declared(Moved))[FactArea.TEXT]] == [
        "one",
        "three",
        "two",
    ]


def test_what_counts_distinct_things_has_a_name() -> None:
    paired = {kind for kind in STAGES if kind.name.endswith(("_SENDERS", "_IPS"))}
    assert paired <= set(DISTINCT)
    assert len(SCHEMA.by_pair) == len(DISTINCT)


HEADERS = (
    "From", "To", "Cc", "Reply-To", "Subject", "Date", "Message-ID", "X-Priority", "Importance", "List-Unsubscribe", "Received", "Precedence", "Content-Type",
)  # fmt: skip
LETTERS = st.lists(st.tuples(st.sampled_from(HEADERS), st.text(max_size=60)), max_size=12)


@given(
    LETTERS, st.text(max_size=200), st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3)
)
def test_facts_of_any_letter_have_their_types(
    header: list[tuple[str, str]], body: str, sender: str, recipients: list[str]
) -> None:
    raw = "".join(f"{name}: {value}\r\n" for name, value in header) + "\r\n" + body
    found = facts(
        raw.encode("utf-8", "surrogatepass"),
        client=Client(ip="192.0.2.1"),
        sender=sender,
        recipients=tuple(recipients),
    )
    for fact in TABLE:
        value = getattr(found, fact.attribute)
        assert fits(value, fact), fact.name
        if fact.unit == "share 0 to 1" and value is not None:
            assert 0 <= value <= 1


LETTER = b"""Received: from a
Received: from b
From: "Anna anna@bank.example" <Anna@Mail.Example.org>
To: bob@example.com, anna@mail.example.org
Reply-To: office@elsewhere.example
Subject: WIN 1000 now
Message-ID: <1@mx.example.org>
Date: Tue, 14 Nov 2023 21:13:20 +0000
X-Priority: 1 (Highest)
List-Unsubscribe: <https://example.org/u>
List-Unsubscribe-Post: List-Unsubscribe=One-Click
Content-Type: text/html

<p>Dear friend, <a href="https://www.example.org/a">here</a> and <a href="https://other.example.net/b">there</a>
<form action="https://form.example.net/c"><img src="https://pictures.example.info/p.png"></form>
"""


def test_a_letter_is_told() -> None:
    found = facts(LETTER, sender="anna@mail.example.org", recipients=("Bob@Example.com",))
    told = {
        "received.count": 2,
        "headers.count": 12,
        "subject.capitals": 0.5,
        "subject.digits": 4 / 12,
        "subject.words": 3,
        "from.is_sender": True,
        "from.domain_is_sender": True,
        "from.name_has_address": True,
        "reply_to.differs": True,
        "to.has_recipient": True,
        "to.is_from": True,
        "message_id.domain": "mx.example.org",
        "message_id.is_from": True,
        "date.age_hours": 1.0,
        "urgent": True,
        "unsubscribe": True,
        "unsubscribe.one_click": True,
        "bulk": True,
        "html.only": True,
        "html.share": 1.0,
        "links.anchors": 2,
        "links.forms": 1,
        "links.pictures": 1,
        "links.foreign": 2,
        "recipient.domain": "example.com",
        "time.now": 1.7e9,
    }
    assert {name: getattr(found, SCHEMA.by_name[name].attribute) for name in told} == told


def test_what_a_letter_does_not_tell_is_none() -> None:
    found = facts(b"\n\n")
    unknown = {
        "date.age_hours", "subject.capitals", "subject.digits", "text.language", "text.own_share", "client.country", "client.as_number",
        "client.as_name", "model.content", "model.meaning",
    }  # fmt: skip
    assert unknown <= {fact.name for fact in TABLE if getattr(found, fact.attribute) is None}
    assert found.html_share in (None, 0.0)
    assert (found.from_is_sender, found.from_domain_is_sender, found.reply_to_differs) == (
        False,
        False,
        False,
    )


def test_counts_are_none_while_the_counters_are_away() -> None:
    found = msgspec.structs.replace(facts(LETTER), known=MessageCounts(away=True))
    assert (
        found.count(14, 2, 0)
        is found.ham(14, 2)
        is found.spam_share(14, 2)
        is found.robotic(14)
        is None
    )
