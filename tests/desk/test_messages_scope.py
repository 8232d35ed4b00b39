"""No answer about messages holds an address beyond the caller's scope, whatever the journal has."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.desk.asks.messages import (
    MessageQuestion,
    OwnMailQuestion,
    ReferenceQuestion,
    explain_message,
    find_messages,
    list_own_mail,
    tell_message_story,
)
from oborona.desk.call import CallError
from oborona.desk.site import Site
from oborona.ident import to_text
from oborona.journal.entry import CopyDelivery, JournalEntry
from oborona.journal.refusal import Refusal
from oborona.people.caller import Caller
from oborona.types import Action, Finding, RuleHit, Stage
from tests.desk.messages_site import entry_of, fill, late_of, make_site, move, say, scoped
from tests.journal.refusals import make_refusal

PEOPLE = [
    "joe@example.test",
    "eve@example.test",
    "joe@other.test",
    "dan@other.test",
    "Dan.Low+tag@Other.Test",
    '"a b"@far.test',
    "ё@far.test",
]
SENDERS = ["ann@example.org", "joe@example.test", ""]
WORDS = ["{}", "for <{}>, once", "to={};", "'{}' ({})", "x{}y", "{}"]
people = st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=4, unique=True)


@st.composite
def texts(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(WORDS)).replace("{}", draw(st.sampled_from(PEOPLE)))


@st.composite
def entries(draw: st.DrawFn) -> JournalEntry:
    recipients = tuple(draw(people))
    inner = st.sampled_from(recipients)
    return entry_of(
        ago_s=draw(st.integers(10, 5000)),
        sender=draw(st.sampled_from(SENDERS)),
        recipients=recipients,
        verdict=draw(st.sampled_from(list(Action))),
        rules=(RuleHit(name="SAYS", score=50, say=draw(texts())),),
        findings=(Finding("names", f"of {draw(inner).upper()}"),),
        facts={"recipient": recipients[0], "recipients": len(recipients), "list_id": draw(inner)},
        message_id=f"<{draw(st.integers(1, 3))}@mail.example.org>",
        queue_id=f"Q{draw(st.integers(1, 3))}",
        subject="lunch",
    )


@st.composite
def refusals(draw: st.DrawFn) -> Refusal:
    return make_refusal(
        time=time.time() - draw(st.integers(1, 4000)),
        stage=draw(st.sampled_from([Stage.CONNECT, Stage.RECIPIENT])),
        client_ip=f"198.51.100.{draw(st.integers(1, 3))}",
        recipients=tuple(draw(people))[: draw(st.integers(0, 2))],
        rules=(RuleHit(name="ZEN", score=1, say=draw(texts())),),
    )


callers = st.builds(
    lambda addresses, domains: scoped(*addresses, domains=domains),
    st.sets(st.sampled_from([name.lower() for name in PEOPLE]), max_size=2),
    st.sets(st.sampled_from(["example.test", "other.test"]), max_size=1),
)


def answers(
    site: Site, caller: Caller, told: list[JournalEntry], references: list[str]
) -> Iterator[msgspec.Struct]:
    """Yield what every ask answers."""
    for query in ("", *(f"to:{name}" for name in PEOPLE[:3]), "lunch", "mail.example.org"):
        yield find_messages(site, caller, MessageQuestion(query=query))
    yield find_messages(site, caller, MessageQuestion(limit=1))
    names = [to_text(entry.id) for entry in told] + references
    for what in (*names, "Q1", "<1@mail.example.org>", "lunch"):
        for ask in (explain_message, tell_message_story):
            with suppress(CallError):  # it is not there
                yield ask(site, caller, ReferenceQuestion(what=what))
    if caller.scope.addresses:
        yield list_own_mail(site, caller, OwnMailQuestion())


@settings(max_examples=20, deadline=None)
@given(
    told=st.lists(entries(), min_size=1, max_size=5),
    refused=st.lists(refusals(), max_size=4),
    caller=callers,
)
def test_no_answer_holds_an_address_beyond_the_scope(
    told: list[JournalEntry], refused: list[Refusal], caller: Caller
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = make_site(Path(folder))
        references = fill(
            site,
            *told,
            refusals=refused,
            late=[late_of(told[0])],
            went=[
                CopyDelivery(id=entry.id, recipient=name, spam=True, time=entry.time)
                for entry in told
                for name in entry.recipients
            ],
        )
        for entry in told[:2]:
            say(site, entry, *entry.recipients)
            move(site, entry, *entry.recipients)
        beyond = [name for name in PEOPLE if not caller.scope.covers(name)]
        senders = {sender.lower() for sender in SENDERS}
        for answer in answers(site, caller, told, references):
            text = msgspec.json.encode(answer).decode().lower().replace('\\"', '"')
            for name in beyond:
                if name.lower() not in senders:
                    assert name.lower() not in text, (name, text)
