"""The events in one mail to the door, for each address that it came to, or why there is none.

    a report of one of our own people   each message attached to it: spam, or none, by the address;
                                        or by what an ARF report says
    a report of another site            the message in it, if it is ours
                                        (`oborona.daemon.intake.feedback_loops`)
    mail to a trap                      the mail itself
    anything else                       nothing: it is taken, counted and forgotten

Nobody is answered with mail, and nothing is refused for what is in it: who sent it is not to be
believed, and a refusal would go to somebody else.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from oborona.daemon.intake.arf import arf_report
from oborona.daemon.intake.feedback_loops import EntryFinder, match_report
from oborona.daemon.intake.reporters import LocalReporters, entry_of_mail
from oborona.doors.delivery import header_marks
from oborona.doors.delivery.entry_lookup import JournalTiming
from oborona.feedback.events.message_reference import read_reference
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.journal.entry import JournalEntry
from oborona.message.report_mail import ReportMail, report_mail
from oborona.policy.traps import Traps

LARGE: Final = 256 * 1024  # octets: what is larger is taken apart in another thread


class AddressRole(StrEnum):
    """The purpose of an address."""

    SPAM = "spam"
    HAM = "ham"
    LOOP = "loop"
    TRAP = "trap"


class MailEvents(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a mail for one address."""

    events: tuple[FeedbackEvent, ...] = ()
    why: str = ""  # there are none, or some are missing
    person: str = ""  # of ours, who said it


class IntakeMailServices(msgspec.Struct, frozen=True, kw_only=True):
    """What all mails are read with."""

    roles: dict[str, AddressRole]  # by address, lower case
    traps: Callable[[], Traps]
    entries: EntryFinder
    reporters: LocalReporters
    expected: JournalTiming  # of the journal
    key: bytes  # of the site, for signatures
    clock: Callable[[], float]  # Unix seconds

    def role(self, address: str) -> AddressRole | None:
        """Return what an address is for; None where it is no business of ours."""
        role = self.roles.get(address.lower())
        if role is None and self.traps().has(address):
            return AddressRole.TRAP
        return role


class ReceivedMail(msgspec.Struct, frozen=True, kw_only=True):
    """One mail, as it was delivered to us."""

    sender: str  # of its envelope
    recipients: tuple[str, ...]
    header: bytes
    raw: bytes  # whole, or its head


async def mail_events(
    services: IntakeMailServices, letter: ReceivedMail
) -> dict[AddressRole, MailEvents]:
    """Return what a mail says, for each role that its recipients have.

    Raises:
        StoreError: the journal can't be read.
    """
    now, events = services.clock(), dict[AddressRole, MailEvents]()
    roles = {
        role for recipient in letter.recipients if (role := services.role(recipient)) is not None
    }
    if not roles:
        return events
    marked = header_marks.read_marks(letter.header)
    entry = await entry_of_mail(
        services.entries,
        marked,
        letter.header,
        letter.recipients,
        key=services.key,
        expected=services.expected,
        now=now,
    )
    if AddressRole.TRAP in roles:
        roles.discard(AddressRole.TRAP)
        events[AddressRole.TRAP] = _trap_events(services, letter, entry, now)
    if roles:
        if len(letter.raw) > LARGE:
            mail = await asyncio.to_thread(report_mail, letter.raw)
        else:
            mail = report_mail(letter.raw)
        for role in sorted(roles):
            events[role] = await _loop_events(services, mail, role, entry, now)
    return events


def _trap_events(
    services: IntakeMailServices, letter: ReceivedMail, entry: JournalEntry | None, now: float
) -> MailEvents:
    if not letter.sender:
        return MailEvents(why="without a sender")
    if entry is not None and (
        entry.facts.get("recipients_traps") or services.reporters.ours(entry)
    ):
        return MailEvents(why="of our own people" if services.reporters.ours(entry) else "known")
    traps = [
        recipient for recipient in letter.recipients if services.role(recipient) is AddressRole.TRAP
    ]
    name = read_reference(letter.raw, services.key)
    return MailEvents(
        events=(
            FeedbackEvent(
                what=EventKind.TRAP,
                way=EventChannel.TRAP,
                time=now,
                ident=None if entry is None else entry.id,
                message_id=name.message_id,
                raw=letter.raw,
                mailbox=traps[0],
                source="" if entry is None else entry.client_ip,
                key=_key(b"trap", *sorted(trap.encode() for trap in traps), letter.raw),
            ),
        )
    )


async def _loop_events(
    services: IntakeMailServices,
    mail: ReportMail,
    role: AddressRole,
    entry: JournalEntry | None,
    now: float,
) -> MailEvents:
    report = None if mail.feedback is None else arf_report(mail.feedback)
    person = "" if entry is None else services.reporters.person(entry)
    if person:
        return _reader_events(services, mail, role, person, entry, now)
    if report is None and role is not AddressRole.LOOP:
        return MailEvents(why="not of our own people")
    message = mail.messages[0].raw if mail.messages else b""
    once = _key(b"loop", mail.get("message-id").encode(), mail.feedback or b"", message)
    event, why = await match_report(
        mail,
        report,
        services.entries,
        services.reporters.ours,
        key=services.key,
        once=once,
        now=now,
    )
    return MailEvents(events=() if event is None else (event,), why=why)


def _reader_events(
    services: IntakeMailServices,
    mail: ReportMail,
    role: AddressRole,
    person: str,
    entry: JournalEntry | None,
    now: float,
) -> MailEvents:
    """Return what one of our own people says of the messages attached to a mail."""
    report = None if mail.feedback is None else arf_report(mail.feedback)
    automatic = mail.get("auto-submitted").lower()
    if report is None and automatic and not automatic.startswith("no"):
        return MailEvents(why="written by a program", person=person)
    kind = (
        {AddressRole.SPAM: EventKind.COMPLAINT, AddressRole.HAM: EventKind.PARDON}.get(role)
        if report is None
        else report.says
    )
    if kind is None:
        return MailEvents(why="no report of a message", person=person)
    events = []
    for number, message in enumerate(mail.messages):
        name = read_reference(message.raw, services.key)
        if not message.whole and name.ident is None:
            continue
        events.append(
            FeedbackEvent(
                what=kind,
                way=EventChannel.FORWARD,
                time=now,
                person=person,
                ident=name.ident,
                message_id=name.message_id,
                raw=message.raw if message.whole else b"",
                source="" if entry is None else entry.client_ip,
                key=_key(
                    b"forward",
                    str(0 if entry is None else entry.id).encode(),
                    str(number).encode(),
                    kind.encode(),
                ),
            )
        )
    why = "" if events else "without a message"
    return MailEvents(
        events=tuple(events), why="more messages than are read" if mail.more else why, person=person
    )


def _key(*parts: bytes) -> bytes:
    """Return what a mail has each time that it is delivered."""
    digest = hashlib.blake2b(digest_size=16, person=b"oborona reports")
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
