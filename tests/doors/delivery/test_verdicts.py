"""Each reader's own verdict: what their lists say of what the journal knows, who shares a copy, and
what an id of another message proves.
"""

from __future__ import annotations

import email
from email.header import decode_header, make_header
from typing import Any

import msgspec
import pytest

from oborona.doors.delivery.copies import with_folder_suffix
from oborona.doors.delivery.entry_lookup import (
    ClaimedIdentity,
    claimed_identity,
    delivered_by_marks,
    entry_matches,
)
from oborona.doors.delivery.handover import DELIVERIES
from oborona.doors.delivery.header_marks import HeaderMarks
from oborona.errors import StoreError
from oborona.ident import EPOCH, sign
from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence
from oborona.metrics import REGISTRY
from oborona.policy.counts import MessageCounts
from oborona.policy.fact_table import KEPT
from oborona.policy.facts import Facts
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.reputation.personal import (
    NOBODY,
    EntryAction,
    PersonalEntryKind,
    PersonalEntrySource,
    PersonalProfile,
    entry,
)
from oborona.types import Action, RuleHit, Verdict
from tests.doors.delivery.scripted import KEY, NOW, Hop, Written, door, shipped

IDENT = int((NOW - EPOCH) * 1000) << 22 | 7
ANN = "ann@a.example"
JOE, AMY, MAX, EVE = "joe@x.test", "amy@x.test", "max@x.test", "eve@x.test"
SPAM = (RuleHit(name="A", score=110.0, say="seen before"), RuleHit(name="B", score=5.0, say=""))
GOOD = (RuleHit(name="B", score=5.0, say=""),)
FACTS: dict[str, object] = {
    name: value
    for name, value in msgspec.structs.asdict(
        Facts(known=MessageCounts(), from_address=ANN, sender=ANN)
    ).items()
    if name in KEPT
}


class People:
    """What is known of some."""

    def __init__(self, **of: PersonalProfile) -> None:
        self._of = {f"{name}@x.test": person for name, person in of.items()}

    async def of(self, address: str) -> PersonalProfile:
        return self._of.get(address, NOBODY)


def says(side: EntryAction) -> PersonalProfile:
    return PersonalProfile(
        "x",
        1.0,
        [entry(side, PersonalEntryKind.ADDRESS, ANN, time=NOW, source=PersonalEntrySource.COMMAND)],
    )


LISTS = People(
    joe=says(EntryAction.ALLOW),
    amy=says(EntryAction.DENY),
    max=PersonalProfile("max", 2.0),
    eve=NOBODY,
)


def judged(
    action: Action, rules: tuple[RuleHit, ...], *, proved: bool = True, **more: Any
) -> JournalEntry:
    score = sum(rule.score for rule in rules)
    line = (
        shipped().verdict.reject_score if action is Action.REJECT else shipped().verdict.spam_score
    )
    facts = FACTS | (
        {"author": ANN, "author_domain": "a.example", "sender_proved": ANN} if proved else {}
    )
    known: dict[str, Any] = {
        "message_id": "1@a.example", "queue_id": "4QUEUE0000", "recipients": (JOE, AMY, MAX, EVE), "sender": ANN, "facts": facts, "kept": VerdictEvidence(),
    }  # fmt: skip
    return JournalEntry(
        id=IDENT, time=NOW, verdict=action, score=score, line=line, decided_by=rules[0].name if rules else "below-threshold", rules=rules, **(known | more)
    )  # fmt: skip


def letter(
    one: JournalEntry,
    *,
    signed: str = "",
    more: bytes = b"",
    queue: str = "4QUEUE0000",
    detail: HeaderDetail = HeaderDetail.FULL,
) -> bytes:
    """Return a message as the mail server hands it over, once the milter has seen it."""
    verdict = Verdict(
        action=one.verdict,
        score=one.score,
        line=one.line,
        decided_by=one.decided_by,
        rules=one.rules,
    )
    lines = "".join(
        f"{name}: {value}\n".replace("\n", "\r\n")
        for name, value in our_headers(verdict, signed or sign(one.id, KEY), detail)
    )
    return (
        b"Received: from a.example\r\n\tby mx.test (Postfix) with ESMTP id %s\r\n\tfor <x>; "
        b"date\r\nFrom: Ann <ann@a.example>\r\n"
        b"Message-ID: <1@a.example>\r\n%s%s\r\nhello\r\n" % (queue.encode(), more, lines.encode())
    )


async def delivered(
    message: bytes,
    *recipients: str,
    hop: Hop | None = None,
    looked: Written | None = None,
    persons: Any = LISTS,
    **more: Any,
) -> dict[str, Any]:
    """Return the headers that each recipient got."""
    hop = hop or Hop()
    async with door(hop, persons=persons, entries=looked or Written(), **more) as opened:
        await (await opened.connect()).send(message, *recipients)
        return {
            name.decode(): email.message_from_bytes(copy) for name, copy in hop.received().items()
        }


async def test_one_message_to_four_people_has_four_verdicts_by_their_lists() -> None:
    one, hop = judged(Action.SPAM, SPAM), Hop()
    found = await delivered(letter(one), JOE, AMY, MAX, EVE, hop=hop, looked=Written(one))
    said = {
        name: (copy["X-Mras"], copy["X-Mras-Score"], copy["X-Spam-Flag"])
        for name, copy in found.items()
    }
    assert said == {
        JOE: ("Ok", "115.0 / 100", None),  # he allows her
        AMY: ("Probable", "115.0 / 100", "YES"),  # she denies her
        MAX: ("Ok", "115.0 / 200", None),  # he is patient
        EVE: ("Probable", "115.0 / 100", "YES"),  # she has said nothing
    }
    assert found[JOE]["X-Mras-Reason"].startswith("PERSONAL=0.0(their list: ")
    assert found[JOE]["X-Mras-Reason"].endswith("A=110.0(seen before) B=5.0")
    assert found[EVE]["X-Mras-Reason"] == "A=110.0(seen before) B=5.0"
    assert {copy["X-Mras-Id"] for copy in found.values()} == {sign(IDENT, KEY)}
    assert hop.connections == 1


@pytest.mark.parametrize(
    ("detail", "score", "joe", "eve"),
    [
        (HeaderDetail.NAMES, "115.0 / 100", "PERSONAL A B", "A B"),
        (HeaderDetail.NONE, None, "PERSONAL", None),
    ],
)
@pytest.mark.parametrize("journaled", [True, False])
async def test_a_copy_says_no_more_than_the_message_may(
    detail: HeaderDetail, score: str | None, joe: str, eve: str | None, journaled: bool
) -> None:
    one = judged(Action.SPAM, SPAM)
    looked = Written(one) if journaled else None
    found = await delivered(letter(one, detail=detail), JOE, AMY, EVE, looked=looked, detail=detail)
    assert {name: copy["X-Mras"] for name, copy in found.items()} == {
        JOE: "Ok" if journaled else "Probable",
        AMY: "Probable",
        EVE: "Probable",
    }
    assert (found[EVE]["X-Mras-Score"], found[EVE]["X-Mras-Reason"]) == (score, eve)
    if journaled:
        assert (found[JOE]["X-Mras-Score"], found[JOE]["X-Mras-Reason"]) == (score, joe)
    hits = (RuleHit(name="PERSONAL", score=0.0, say="the mildest for 2 recipients"), *SPAM)
    mildest = judged(Action.ACCEPT, hits)
    found = await delivered(
        letter(mildest, detail=detail), EVE, looked=Written(mildest), detail=detail
    )
    assert found[EVE]["X-Mras"] == "Probable", "another reader's list decides for nobody else"


async def test_who_has_the_same_headers_shares_a_copy_and_it_is_the_message_as_it_came() -> None:
    one, hop = judged(Action.ACCEPT, GOOD), Hop()
    people = People(amy=says(EntryAction.DENY), max=says(EntryAction.DENY))
    await delivered(letter(one), JOE, AMY, EVE, MAX, hop=hop, looked=Written(one), persons=people)
    assert hop.commands.count(b"DATA") == 2
    got = hop.received()
    assert got[JOE.encode()] == got[EVE.encode()] == letter(one)
    assert got[AMY.encode()] == got[MAX.encode()] != letter(one)


async def test_where_nobody_has_said_anything_the_journal_is_not_asked() -> None:
    one = judged(Action.SPAM, SPAM)
    looked = Written(one)
    found = await delivered(letter(one), EVE, "bob@x.test", looked=looked)
    assert looked.looks == 0
    assert found[EVE]["X-Mras"] == "Probable"


async def test_another_readers_list_decides_for_nobody_else() -> None:
    """The milter took the mildest verdict; who has no list gets what the policy says."""
    hits = (
        RuleHit(
            name="PERSONAL", score=0.0, say="the mildest for 2 recipients, by a list of theirs"
        ),
        *SPAM,
    )
    one = judged(Action.ACCEPT, hits)
    found = await delivered(letter(one), JOE, EVE, looked=Written(one))
    assert (found[JOE]["X-Mras"], found[EVE]["X-Mras"]) == ("Ok", "Probable")
    assert found[JOE]["X-Mras-Reason"].startswith("PERSONAL=0.0(their list: ")
    assert found[EVE]["X-Mras-Reason"] == "score A=110.0(seen before) B=5.0"
    # and without the journal, by the score that the headers have
    found = await delivered(letter(one), JOE, EVE)
    assert (found[JOE]["X-Mras"], found[EVE]["X-Mras"]) == ("Probable", "Probable")
    assert "PERSONAL" not in found[EVE]["X-Mras-Reason"]


@pytest.mark.parametrize("proved_by_the_journal", [True, False])
async def test_a_reason_in_any_language_tells_that_anothers_list_decided(
    proved_by_the_journal: bool,
) -> None:
    """It is an encoded word then, and goes to Eve by a delivery of her own: who has said nothing
    gets what the policy says.
    """
    hits = (
        RuleHit(
            name="PERSONAL",
            score=0.0,
            say="the mildest of 2 recipients' verdicts, by a list of theirs",
        ),
        RuleHit(name="A", score=110.0, say="«выигрыш»"),
    )
    one = judged(Action.ACCEPT, hits)
    assert b"PERSONAL" not in letter(one)
    found = await delivered(
        letter(one), EVE, looked=Written(one) if proved_by_the_journal else None
    )
    reason = str(make_header(decode_header(found[EVE]["X-Mras-Reason"])))
    assert (found[EVE]["X-Mras"], reason.removeprefix("score ")) == (
        "Probable",
        "A=110.0(«выигрыш»)",
    )


async def test_an_entry_that_is_being_written_is_waited_for_and_one_that_never_comes_proves_nothing() -> (
    None
):
    one = judged(Action.SPAM, SPAM)
    looked = Written(one, after=3)
    assert (await delivered(letter(one), JOE, looked=looked))[JOE]["X-Mras"] == "Ok"
    assert looked.looks == 4
    assert (await delivered(letter(one), JOE))[JOE]["X-Mras"] == "Probable"


@pytest.mark.parametrize(
    ("more", "to", "proves"),
    [
        ({}, JOE, True),
        ({"recipients": ("alias@x.test",)}, JOE, True),  # the queue id is that of the entry
        ({"recipients": ("JOE@X.test",), "queue_id": "4ANOTHER00"}, JOE, True),
        ({"recipients": (EVE,), "queue_id": "4ANOTHER00"}, JOE, False),  # taken out of Eve's mail
        ({"message_id": "2@a.example"}, JOE, False),
        ({"message_id": ""}, JOE, True),  # the mail server gave it one later
        ({"message_id": "", "queue_id": ""}, JOE, False),
        ({"queue_id": ""}, JOE, True),
    ],
)
async def test_an_id_proves_something_in_its_own_message_alone(
    more: dict[str, Any], to: str, proves: bool
) -> None:
    one = judged(Action.SPAM, SPAM, **more)
    found = await delivered(letter(one), to, looked=Written(one))
    assert found[to]["X-Mras"] == ("Ok" if proves else "Probable")


async def test_an_old_id_proves_nothing() -> None:
    one = judged(Action.SPAM, SPAM)
    assert (await delivered(letter(one), JOE, looked=Written(one), clock=NOW + 86_300))[JOE][
        "X-Mras"
    ] == "Ok"
    assert (await delivered(letter(one), JOE, looked=Written(one), clock=NOW + 86_500))[JOE][
        "X-Mras"
    ] == "Probable"


async def test_headers_that_nobody_signed_are_not_believed_and_not_touched() -> None:
    one = judged(Action.SPAM, SPAM)
    for signed in ("0000000000000.AAAAAAAAAAAAAAAA", sign(IDENT, b"another key of a site"), "x"):
        hop, looked = Hop(), Written(one)
        raw = letter(one, signed=signed)
        async with door(hop, persons=LISTS, entries=looked) as opened:
            await (await opened.connect()).send(raw, JOE, AMY)
            assert DELIVERIES.values == {("unjudged", "2xx"): 2}
        REGISTRY.begin()
        assert set(hop.received().values()) == {raw}
        assert looked.looks == 0


async def test_who_is_not_proved_is_not_allowed() -> None:
    """A forged From gains nothing; to deny it is enough."""
    one = judged(Action.SPAM, SPAM, proved=False)
    found = await delivered(letter(one), JOE, AMY, looked=Written(one))
    assert (found[JOE]["X-Mras"], found[AMY]["X-Mras"]) == ("Probable", "Probable")


async def test_what_is_refused_at_delivery_is_refused_by_setting_alone() -> None:
    one = judged(Action.REJECT, (RuleHit(name="A", score=900.0, say=""),))
    hop = Hop()
    found = await delivered(letter(one), JOE, EVE, hop=hop, looked=Written(one))
    assert (found[JOE]["X-Mras"], found[EVE]["X-Mras"]) == ("Ok", "Spam"), "filed, never bounced"
    hop = Hop()
    async with door(hop, persons=LISTS, entries=Written(one), on_reject="refuse") as opened:
        answers = await (await opened.connect()).send(letter(one), EVE, JOE)
        assert answers[0].startswith("550 5.7.1 Message refused as spam, reference ")
        assert answers[1].startswith("250 ")
        assert set(hop.received()) == {JOE.encode()}
        answers = await (await opened.connect()).send(letter(one), EVE)
        assert [one[:3] for one in answers] == ["550"], "and nothing goes on where nobody is left"
        assert hop.connections == 1


class Broken:
    """Lists or a journal that can't be read."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def of(self, address: str) -> PersonalProfile:
        raise self._error

    async def get(self, number: int) -> JournalEntry:
        raise self._error


@pytest.mark.parametrize("error", [StoreError("journal.db: gone"), ValueError("a bug")])
async def test_where_lists_or_journal_cannot_be_read_mail_goes_on_as_it_was_judged(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    one = judged(Action.SPAM, SPAM)
    for more in ({"persons": Broken(error)}, {"looked": Broken(error)}):
        found = await delivered(letter(one), JOE, **more)  # type: ignore[arg-type]
        assert found[JOE]["X-Mras"] == "Probable"
    assert [record.levelname for record in caplog.records if record.levelname == "ERROR"] == [
        "ERROR"
    ] * 2


def test_what_a_header_shows_is_read_as_the_journal_does() -> None:
    header = (
        b"Message-ID:\r\n\t<1@a.example>  \r\nFrom: Ann <Ann@A.example>\r\nList-Id: Chess "
        b"<chess.a.example>\r\nMessage-ID: <2@a>\r\n\r\n"
    )
    shown = claimed_identity(header, ANN)
    assert shown == ClaimedIdentity(
        message_id="1@a.example", claimed="Ann@a.example", list_id="chess.a.example", sender=ANN
    )
    assert claimed_identity(b"\r\n", "") == claimed_identity(b"", "") == ClaimedIdentity()


def test_headers_alone_say_a_score_and_prove_nothing() -> None:
    marks = HeaderMarks(
        action=Action.REJECT, score=1.0, reason="OUR_FOES=0.0(deny 192.0.2.1) A=1.0"
    )
    found = delivered_by_marks(marks, ClaimedIdentity(claimed=ANN), shipped())
    assert (found.action, found.score, found.decided_by, found.malware) == (
        Action.REJECT,
        1.0,
        "OUR_FOES",
        True,
    )
    assert (found.author, found.text) == ("", ())
    one = judged(Action.SPAM, SPAM)
    assert not entry_matches(
        one,
        ClaimedIdentity(message_id="1@a.example"),
        HeaderMarks(queue_id="4FOREIGN00"),
        "nobody@x.test",
    )


async def test_who_is_denied_is_denied_without_the_journal() -> None:
    """By what the message shows.

    An allowed name lets nothing in, and a denial of a name that was forged hits no colleague.
    """
    one = judged(Action.ACCEPT, GOOD)
    claimed = PersonalProfile(
        "x", 1.0, [entry(EntryAction.DENY, PersonalEntryKind.CLAIMED, ANN, time=NOW)]
    )
    found = await delivered(
        letter(one), JOE, AMY, EVE, persons=People(joe=claimed, amy=says(EntryAction.DENY))
    )
    assert [found[name]["X-Mras"] for name in (JOE, AMY, EVE)] == ["Ok", "Probable", "Ok"]
    unscanned = judged(Action.ACCEPT, (), facts={}, kept=None)
    found = await delivered(letter(unscanned), AMY, looked=Written(unscanned))
    assert found[AMY]["X-Mras"] == "Probable"


async def test_mailboxes_without_sieve_know_the_folder_by_the_address() -> None:
    one, hop = judged(Action.SPAM, SPAM), Hop()
    async with door(hop, persons=LISTS, entries=Written(one), spam_suffix="+Junk") as opened:
        answers = await (await opened.connect()).send(letter(one), JOE, EVE, "bob+shop@x.test")
        assert [one.split(" ")[2] for one in answers] == [
            "<joe@x.test>",
            "<eve+Junk@x.test>",
            "<bob+Junk@x.test>",
        ]
    assert hop.commands.count(b"DATA") == 2


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (b"joe@x", b"joe+Spam@x"), (b"joe+a+b@x", b"joe+Spam@x"), (b"joe-a@x", b"joe-a+Spam@x"), (b"joe", b"joe+Spam"),
        (b'"a b"@x', b'"a b"@x'), (b"+joe@x", b"+joe+Spam@x"), ("вася@x".encode(), "вася+Spam@x".encode()),
    ],
)  # fmt: skip
def test_another_folder_of_the_same_person(address: bytes, found: bytes) -> None:
    assert with_folder_suffix(address, b"+Spam") == found


@pytest.mark.parametrize("ahead_s", [90.0, 400 * 86_400.0, 70 * 365 * 86_400.0])
async def test_a_message_judged_while_the_clock_was_ahead_has_its_readers_verdict(
    ahead_s: float,
) -> None:
    one = judged(Action.SPAM, SPAM)
    found = await delivered(letter(one), JOE, AMY, looked=Written(one), clock=NOW - ahead_s)
    assert {name: copy["X-Mras"] for name, copy in found.items()} == {JOE: "Ok", AMY: "Probable"}
