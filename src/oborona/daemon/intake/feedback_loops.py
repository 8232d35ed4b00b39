"""Feedback loops: a report of another site, matched to the message of ours that it is about.

    X-Mras-Id in the reported message, signed by us → the journal's entry     or else
    Message-ID in it                                → the latest entry with it, which no signature
                                                    proves

Anybody can send a report. What makes one worth anything is that the message in it left us: only its
recipients have the signed id of it. An event without a signed id is written down all the same, and
is not believed; a report about what the journal doesn't know, or what did not leave us, is none.

Who complained is the recipient that the report names, if the message went there. Most sites blank
it out: then it is one of the recipients at the reporting site, or else the first of all. So a
message has as many voices there as the reports tell apart. Our own people never speak by the report
of another site: a recipient in the domain that sent the message is none of its voices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from oborona.daemon.intake.arf import ArfReport
from oborona.domains import registrable
from oborona.feedback.events.message_reference import read_reference
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.journal.entry import JournalEntry
from oborona.message import headers as fields
from oborona.message.findings import Findings
from oborona.message.limits import DEFAULT
from oborona.message.mailboxes import parse as mailboxes
from oborona.message.report_mail import AttachedMessage, ReportMail
from oborona.reputation.personal import mail_address

# where a message in a report names its own
RECIPIENT: Final = ("x-hmxmroriginalrecipient", "x-original-to")


class EntryFinder(Protocol):
    """The journal."""

    async def get(self, number: int) -> JournalEntry | None:
        """Return one entry; None when there is none (yet, or any more)."""
        ...

    async def find(self, *, queue_id: str = "", message_id: str = "") -> list[int]:
        """Return ids of entries, newest first."""
        ...


class LoopMatch(NamedTuple):
    """The result of matching one report."""

    event: FeedbackEvent | None
    why: str = ""  # there is none


async def match_report(
    mail: ReportMail,
    report: ArfReport | None,
    entries: EntryFinder,
    ours: Callable[[JournalEntry], bool],
    *,
    key: bytes,
    once: bytes,
    now: float,
) -> LoopMatch:
    """Return what a report of another site says.

    Args:
        mail: the report.
        report: its fields; None where a site sends the message alone.
        entries: the journal.
        ours: tells whether one of our own people sent a message.
        key: of the site, for signatures.
        once: names this report: what comes twice under it is written down once.
        now: Unix seconds.

    Raises:
        StoreError: the journal can't be read.
    """
    kind = EventKind.COMPLAINT if report is None else report.says
    if kind is None:
        return LoopMatch(None, "no report of a message")
    if not mail.messages:
        return LoopMatch(None, "without the message")
    reported = mail.messages[0]
    name = read_reference(reported.raw, key)
    numbers = [] if name.ident is None else [name.ident]
    if name.ident is None and name.message_id:
        numbers = await entries.find(message_id=name.message_id)
    for number in numbers:
        entry = await entries.get(number)
        if entry is not None and entry.recipients and ours(entry):
            break
    else:
        return LoopMatch(None, "not about our mail")
    source = _domain(mail)
    person = _person(_elsewhere(entry), report, reported, source)
    if not person:
        return LoopMatch(None, "without a recipient elsewhere")
    return LoopMatch(
        FeedbackEvent(
            what=kind,
            way=EventChannel.REPORT,
            time=now,
            person=person,
            ident=name.ident,
            message_id=name.message_id,
            raw=reported.raw if reported.whole and name.ident is not None else b"",
            source=source,
            key=once,
        )
    )


def _elsewhere(entry: JournalEntry) -> list[str]:
    """Return the recipients of a message of ours that are in other domains than its sender, in
    their normal form.
    """
    ours = {_site(address) for address in (entry.sender, entry.login) if "@" in address}
    return [
        address
        for address in map(mail_address, entry.recipients)
        if address and _site(address) not in ours
    ]


def _site(address: str) -> str:
    return registrable(address.rpartition("@")[2].lower())


def _person(
    went: Sequence[str], report: ArfReport | None, reported: AttachedMessage, source: str
) -> str:
    """Return who complained: one of the recipients elsewhere."""
    named_by = (*(report.persons if report else ()), *_recipients_in(reported))
    for person in named_by:
        if person in went:
            return person
    at_source = [recipient for recipient in went if source and _site(recipient) == source]
    return next(iter((*at_source, *went)), "")


def _recipients_in(reported: AttachedMessage) -> list[str]:
    data = reported.raw[: DEFAULT.header_octets]
    headers, _ = fields.split(data, 0, len(data), DEFAULT, Findings())
    values = [header.value.strip("<> ") for header in headers if header.name in RECIPIENT]
    return [address for address in map(mail_address, values[:4]) if address]


def _domain(mail: ReportMail) -> str:
    """Return the registrable domain of the site that reports, as it calls itself in From.

    Empty where it does not.
    """
    boxes = mailboxes(mail.get("from")[:1000], 1, Findings())
    return registrable(boxes[0].domain) if boxes and boxes[0].domain else ""
