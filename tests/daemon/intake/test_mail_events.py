"""What a mail to the door says: who may speak, of which message, and what comes twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oborona.daemon.intake.mail_events import (
    AddressRole,
    IntakeMailServices,
    MailEvents,
    ReceivedMail,
    mail_events,
)
from oborona.daemon.intake.reporters import BEHIND_S, LocalReporters
from oborona.doors.delivery.entry_lookup import JournalTiming
from oborona.errors import StoreError
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import JournalIdGenerator, sign
from oborona.journal.entry import JournalEntry
from oborona.policy.traps import Traps
from oborona.session.judge import REPORT
from oborona.types import Action
from tests.daemon.intake.letters import ABUSE, KEY, arf, forwarded, spam

NOW = 1_795_170_000.0
QUEUE = "4ABCDEF123"
# a message that ann sent to two people elsewhere
SENT = JournalIdGenerator(3, start=lambda: 0).next(NOW - 3600)
OURS = JournalIdGenerator(1, start=lambda: 0).next(
    NOW - 1
)  # the report itself, as the milter has seen it


class Journal:
    """The journal, as far as it goes."""

    def __init__(self, *entries: JournalEntry) -> None:
        self.entries = {one.id: one for one in entries}
        self.away = False

    async def get(self, number: int) -> JournalEntry | None:
        if self.away:
            raise StoreError("away")
        return self.entries.get(number)

    async def find(self, *, queue_id: str = "", message_id: str = "") -> list[int]:
        assert message_id
        return sorted(
            (one.id for one in self.entries.values() if one.message_id == message_id), reverse=True
        )


def entry(ident: int, **more: object) -> JournalEntry:
    values = {
        "verdict": Action.ACCEPT,
        "score": 0.0,
        "line": 100.0,
        "decided_by": "below-threshold",
    } | more
    return JournalEntry(id=ident, time=NOW, **values)  # type: ignore[arg-type]


def report_entry(**more: object) -> JournalEntry:
    """Return the entry of a report that ann hands in with a login."""
    values: dict[str, object] = {
        "decided_by": REPORT,
        "queue_id": QUEUE,
        "login": "ann@B.example",
        "client_ip": "203.0.113.5",
        "sender": "ann@b.example",
        "recipients": ("spam@b.example",),
    }
    return entry(OURS, **(values | more))


SENT_ENTRY = entry(
    SENT,
    login="ann@b.example",
    message_id="sent@b.example",
    recipients=("User@yahoo.example", "two@yahoo.example"),
    facts={"client_own": True},
)


def bench(
    *entries: JournalEntry, traps: Traps | None = None, template: str = "{user}"
) -> IntakeMailServices:
    found = traps or Traps()
    return IntakeMailServices(
        roles={
            "spam@b.example": AddressRole.SPAM,
            "ham@b.example": AddressRole.HAM,
            "loops@b.example": AddressRole.LOOP,
        },
        traps=lambda: found,
        entries=Journal(*entries),
        reporters=LocalReporters("198.51.100.0/24", template),
        expected=JournalTiming(retention_s=86_400, wait_s=0),
        key=KEY,
        clock=lambda: NOW,
    )


def letter(
    raw: bytes,
    to: Sequence[str] = ("spam@b.example",),
    *,
    sender: str = "ann@b.example",
    ident: str | None = None,
    queue: str = QUEUE,
) -> ReceivedMail:
    """Return a mail as Postfix delivers it: its own Received above, the milter's headers below."""
    header, _, body = raw.partition(b"\r\n\r\n")
    head = (
        f"Received: from x (x [203.0.113.5])\r\n\tby mx.test (Postfix) with ESMTPSA id "
        f"{queue}\r\n\tfor <spam@b.example>; now\r\n"
    )
    marks = f"\r\nX-Mras: Ok\r\nX-Mras-Id: {sign(OURS, KEY) if ident is None else ident}\r\n\r\n"
    whole = head.encode() + header + marks.encode()
    return ReceivedMail(sender=sender, recipients=tuple(to), header=whole, raw=whole + body)


async def one(
    found: IntakeMailServices, mail: ReceivedMail, role: AddressRole = AddressRole.SPAM
) -> MailEvents:
    return (await mail_events(found, mail))[role]


async def event(
    found: IntakeMailServices, mail: ReceivedMail, role: AddressRole = AddressRole.SPAM
) -> FeedbackEvent:
    (event,) = (await one(found, mail, role)).events
    return event


async def test_one_of_our_people_forwards_spam() -> None:
    found = await one(bench(report_entry()), letter(forwarded(spam(5), spam(6), spam(None))))
    assert found.person == "ann@b.example"
    assert [each.ident for each in found.events] == [5, 6, None]
    assert {(each.what, each.way, each.person) for each in found.events} == {
        (EventKind.COMPLAINT, EventChannel.FORWARD, "ann@b.example")
    }
    assert found.events[0].raw == spam(5).replace(b"\r\n", b"\n")
    assert found.events[0].message_id == "spam-1@bad.example"
    assert len({each.key for each in found.events}) == 3


async def test_the_address_says_what_is_said() -> None:
    mail = letter(forwarded(spam()), ("ham@b.example",))
    assert (
        await event(bench(report_entry(recipients=("ham@b.example",))), mail, AddressRole.HAM)
    ).what is EventKind.PARDON


async def test_a_program_s_report_says_it_itself() -> None:
    mail = letter(arf(spam(), "Feedback-Type: not-spam"))
    found = await event(bench(report_entry()), mail)
    assert (found.what, found.way, found.person) == (
        EventKind.PARDON,
        EventChannel.FORWARD,
        "ann@b.example",
    )


async def test_a_second_delivery_has_the_same_keys() -> None:
    mail = letter(forwarded(spam(5), spam(6)))
    first, second = [await one(bench(report_entry()), mail) for _ in range(2)]
    assert [each.key for each in first.events] == [each.key for each in second.events]


@pytest.mark.parametrize(
    ("more", "person"),
    [
        ({"login": "ann"}, ""),  # no address, and no template that makes one of it
        ({"login": ""}, ""),  # from anywhere: MAIL FROM is what anybody writes
        ({"login": "", "client_ip": "198.51.100.7"}, "ann@b.example"),  # a network of the site
        ({"login": "", "client_ip": "127.0.0.1"}, "ann@b.example"),
        ({"login": "", "client_ip": "10.0.0.7"}, ""),  # a private network may be a gateway's
        ({"login": "", "client_ip": "198.51.100.7", "sender": ""}, ""),
        ({"queue_id": "OTHER12345"}, ""),  # an id out of another message
        ({"decided_by": "below-threshold", "message_id": "other@b.example"}, ""),
    ],
)
async def test_who_speaks_is_who_handed_it_in(more: dict[str, object], person: str) -> None:
    found = await one(bench(report_entry(**more)), letter(forwarded(spam())))
    assert found.person == person
    assert bool(found.events) == bool(person)
    if not person:
        assert found.why == "not of our own people"


async def test_a_login_without_a_domain_has_a_template() -> None:
    found = await one(
        bench(report_entry(login="ann"), template="{user}@b.example"), letter(forwarded(spam()))
    )
    assert found.person == "ann@b.example"


@pytest.mark.parametrize(
    "ident",
    ["", "0000000000007.AAAAAAAAAAAAAAAA", sign(OURS, b"x" * 32), sign(999, KEY)],
    ids=["none", "unsigned", "of another key", "of no entry"],
)
async def test_a_report_without_our_id_is_nobody_s(ident: str) -> None:
    assert not (await one(bench(report_entry()), letter(forwarded(spam()), ident=ident))).events


async def test_holidays_and_mail_without_a_message_say_nothing() -> None:
    answer = forwarded(spam(), head=b"Auto-Submitted: auto-replied\r\n")
    assert (await one(bench(report_entry()), letter(answer))).why == "written by a program"
    assert (await one(bench(report_entry()), letter(spam()))).why == "without a message"
    assert (
        await one(bench(report_entry()), letter(arf(spam(), "Feedback-Type: opt-out")))
    ).why == ("no report of a message")


async def loop(
    *fields: str, message: bytes | None = None, kind: bytes = b"message/rfc822"
) -> MailEvents:
    raw = arf(spam(SENT) if message is None else message, *(fields or ABUSE), kind=kind)
    journal = bench(SENT_ENTRY, report_entry(login="", decided_by=REPORT))
    return await one(journal, letter(raw, ("loops@b.example",), sender=""), AddressRole.LOOP)


async def test_a_loop_s_report_is_matched_by_our_signed_id() -> None:
    """A null sender is what reports have."""
    found = await loop(*ABUSE, "Original-Rcpt-To: two@yahoo.example")
    (event,) = found.events
    assert (event.what, event.way, event.ident) == (EventKind.COMPLAINT, EventChannel.REPORT, SENT)
    assert event.person == "two@yahoo.example"
    assert event.source == "yahoo.example"
    assert event.raw


@pytest.mark.parametrize(
    "fields",
    [
        (),
        ("Original-Rcpt-To: somebody@else.example",),
        ("Original-Rcpt-To: redacted@yahoo.example",),
    ],
)
async def test_a_person_who_is_blanked_out_is_one_of_the_recipients(
    fields: tuple[str, ...],
) -> None:
    (event,) = (await loop(*ABUSE, *fields)).events
    assert event.person == "user@yahoo.example"


async def test_a_header_alone_is_enough() -> None:
    header = spam(SENT).partition(b"\r\n\r\n")[0] + b"\r\n"
    (event,) = (await loop(message=header, kind=b"text/rfc822-headers")).events
    assert (event.ident, event.raw) == (SENT, b"")


async def test_a_message_id_alone_is_written_down_without_our_signature() -> None:
    (event,) = (await loop(message=spam(None, message_id="sent@b.example"))).events
    assert (event.ident, event.message_id, event.raw) == (None, "sent@b.example", b"")


@pytest.mark.parametrize(
    "message",
    [
        spam(None),
        spam(SENT, key=b"x" * 32),
        spam(JournalIdGenerator(5).next(NOW)),  # the journal doesn't know it
        spam(OURS),  # came in, and never left us
    ],
)
async def test_a_report_about_others_mail_is_none(message: bytes) -> None:
    found = await loop(message=message)
    assert (found.events, found.why) == ((), "not about our mail")


async def test_a_site_may_send_the_message_alone() -> None:
    """As Microsoft's junk mail reporting does."""
    raw = forwarded(spam(SENT, more=b"X-HmXmrOriginalRecipient: two@yahoo.example\r\n"))
    found = await one(
        bench(SENT_ENTRY), letter(raw, ("loops@b.example",), ident=""), AddressRole.LOOP
    )
    (event,) = found.events
    assert (event.person, event.ident) == ("two@yahoo.example", SENT)
    assert not (await one(bench(SENT_ENTRY), letter(raw, ident=""))).events, (
        "not where people report"
    )


async def test_mail_to_a_trap_is_the_word_itself() -> None:
    trapped = bench(traps=Traps(domains=[".trap.example"]))
    mail = letter(
        spam(None), ("a@trap.example", "b@x.trap.example"), ident="", sender="x@bad.example"
    )
    found = await event(trapped, mail, AddressRole.TRAP)
    assert (found.what, found.way, found.person, found.mailbox) == (
        EventKind.TRAP,
        EventChannel.TRAP,
        "",
        "a@trap.example",
    )
    assert b"Cheap pills" in found.raw
    bounce = letter(spam(None), ("a@trap.example",), ident="", sender="")
    assert (await one(trapped, bounce, AddressRole.TRAP)).events == ()


async def test_what_the_milter_has_written_down_is_not_written_twice() -> None:
    seen = report_entry(login="", recipients=("a@trap.example",), facts={"recipients_traps": 1})
    trapped = bench(seen, traps=Traps(domains=["trap.example"]))
    mail = letter(spam(None), ("a@trap.example",), sender="x@bad.example")
    assert (await one(trapped, mail, AddressRole.TRAP)).why == "known"


async def test_an_address_of_nobody_has_no_role() -> None:
    assert (
        await mail_events(bench(report_entry()), letter(forwarded(spam()), ("bob@b.example",)))
        == {}
    )


async def test_a_journal_that_is_away_is_said() -> None:
    journal = bench(report_entry())
    assert isinstance(journal.entries, Journal)
    journal.entries.away = True
    with pytest.raises(StoreError):
        await mail_events(journal, letter(forwarded(spam())))


async def test_a_report_whose_entry_is_still_to_be_written_is_put_off() -> None:
    """It says who reports; without it the report would be taken and forgotten."""
    with pytest.raises(StoreError):
        await mail_events(bench(), letter(forwarded(spam())))
    lost = sign(JournalIdGenerator(1).next(NOW - BEHIND_S - 1), KEY)
    assert (
        await one(bench(), letter(forwarded(spam()), ident=lost))
    ).why == "not of our own people"


async def test_our_own_people_do_not_speak_by_another_site_s_report() -> None:
    """Who got the message, too, would speak for a colleague."""
    sent = entry(
        SENT,
        login="ann@b.example",
        sender="ann@mail.b.example",
        message_id="sent@b.example",
        recipients=("joe@b.example", "user@yahoo.example"),
        facts={"client_own": True},
    )
    raw = arf(spam(SENT), *ABUSE, "Original-Rcpt-To: joe@b.example")
    mail = letter(raw, ("loops@b.example",), ident="", sender="")
    assert (await event(bench(sent), mail, AddressRole.LOOP)).person == "user@yahoo.example"
    within = entry(
        SENT, login="ann@b.example", recipients=("joe@b.example",), facts={"client_own": True}
    )
    assert (await one(bench(within), mail, AddressRole.LOOP)).why == "without a recipient elsewhere"
