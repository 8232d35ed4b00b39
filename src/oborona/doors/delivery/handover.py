"""One message through the delivery door: the verdict for each recipient, the recipients who share a
copy, and the reply for each recipient.

    headers → journal, where a reader has entries → a verdict for each → copies → next hop → an
    answer for each

No recipient is answered 250 before the next hop said so, and none is tried twice: one that has no
answer when the next hop breaks, or the deadline is past, is put off (451), and the mail server
comes again.  What is known of a message, or of a reader, only ever changes headers: where the
journal or the lists of persons can't be read, the message goes on as it is.

Known limits: a next hop that has taken a message and is lost before it could say so is asked to
take it again (RFC 1047).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter as Tally
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from oborona.config.delivery import DeliverySettings
from oborona.doors.arguments import peer_text
from oborona.doors.delivery import copies, entry_lookup, header_marks
from oborona.doors.delivery.copies import DeliveryCopy, RecipientResult
from oborona.doors.delivery.entry_lookup import EntryLookup, JournalTiming
from oborona.doors.delivery.header_marks import HeaderMarks
from oborona.doors.delivery.next_hop import LmtpEnvelope, LmtpNextHop
from oborona.doors.smtp.replies import SmtpReply, own_reply
from oborona.doors.smtp.spooled_message import SpooledMessage
from oborona.errors import PeerError, StoreError
from oborona.ident import JournalIdGenerator, to_text, verify
from oborona.journal.entry import CopyDelivery
from oborona.metrics import Counter
from oborona.policy.headers import HeaderDetail
from oborona.policy.load import Policy
from oborona.policy.personal_list_match import Persons, reader_verdict
from oborona.reputation.personal import PersonalProfile
from oborona.telemetry.log import event
from oborona.types import Action

# that finding out whose verdict is what may take beside the wait for the journal
JUDGE_S: Final = 10.0

DELIVERIES: Final = Counter(
    "oborona_deliveries",
    (
        "Recipients at the delivery listener, by the verdict of their copy and what the mail "
        "server was answered."
    ),
    ("verdict", "answer"),
)
NEXT_HOP: Final = Counter(
    "oborona_next_hop_trouble",
    (
        "Messages that met trouble at the next hop of the delivery listener; those without an "
        "answer were put off."
    ),
    ("step", "trouble"),
)

log = logging.getLogger("oborona.delivery")


class DeliveryServices(msgspec.Struct, frozen=True, kw_only=True):
    """What all connections of a worker work with."""

    settings: DeliverySettings
    detail: HeaderDetail = HeaderDetail.NAMES  # how much headers say of why
    name: str  # ours
    signing_key: bytes
    entries: EntryLookup
    expected: JournalTiming
    persons: Persons
    policy: Callable[[], Policy]  # in force
    numbers: JournalIdGenerator
    clock: Callable[[], float]  # Unix seconds
    went: Callable[[CopyDelivery], None]  # is told where each copy went, for who looks at it again


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """One message as the mail server handed it to us."""

    envelope: LmtpEnvelope
    recipients: tuple[bytes, ...]
    message: SpooledMessage


async def deliver(services: DeliveryServices, handed: Handover) -> list[SmtpReply]:
    """Hand a message on; return the last word on each recipient, in order.

    Args:
        services: of the worker.
        handed: whole.
    """
    began, now = time.monotonic(), services.clock()
    marks = header_marks.read_marks(handed.message.header)
    number = verify(marks.ident, services.signing_key) if marks.ident else None
    reference = to_text(services.numbers.next(now) if number is None else number)
    every = await _verdicts(services, handed, marks, number, reference, now)
    answers: list[SmtpReply | None] = [None] * len(every)
    places = []
    for place, result in enumerate(every):
        if result.action is Action.REJECT and services.settings.on_reject == "refuse":
            answers[place] = own_reply(
                550, "5.7.1", f"Message refused as spam, reference {reference}"
            )
        else:
            places.append(place)
    trouble = ""
    if places:
        trouble = await _hand_on(
            services, handed, copies.group_copies(every, places), answers, reference
        )
    no_answer = own_reply(451, "4.4.2", f"No answer of the mailbox host, reference {reference}")
    final = [no_answer if answer is None else answer for answer in answers]
    try:
        if number is not None:
            _note_places(services, handed, every, final, number)
        _tell(
            handed,
            every,
            final,
            reference,
            trouble,
            queue=marks.queue_id,
            took_s=time.monotonic() - began,
        )
    except Exception:  # what was answered stands
        log.exception("fault id=%s", reference)
    return final


def _tell(
    handed: Handover,
    every: Sequence[RecipientResult],
    final: Sequence[SmtpReply],
    reference: str,
    trouble: str,
    *,
    queue: str,
    took_s: float,
) -> None:
    """Count and log a message."""
    verdicts = ["unjudged" if result.action is None else result.action.value for result in every]
    for verdict, answer in zip(verdicts, final, strict=True):
        DELIVERIES.inc(verdict, f"{answer.code // 100}xx")
    event(
        log,
        logging.WARNING if trouble else logging.INFO,
        "delivery",
        id=reference,
        queue=queue,
        sender=handed.envelope.sender,
        recipients=len(handed.recipients),
        recipient=handed.recipients[0],
        verdicts=Tally(verdicts),
        changed=sum(result.mark is not None for result in every),
        answers=Tally(str(answer.code) for answer in final),
        answer=final[0].text,
        size=handed.message.size,
        ms=round(took_s * 1000, 1),
        **({"trouble": trouble} if trouble else {}),
    )


def _note_places(
    services: DeliveryServices,
    handed: Handover,
    every: Sequence[RecipientResult],
    final: Sequence[SmtpReply],
    number: int,
) -> None:
    """Write down where the copies went that were taken."""
    now = services.clock()
    for recipient, result, answer in zip(handed.recipients, every, final, strict=True):
        if answer.good and result.action is not None:
            services.went(
                CopyDelivery(
                    id=number,
                    recipient=peer_text(recipient),
                    spam=result.action in copies.SPAM,
                    time=now,
                )
            )


async def _verdicts(
    services: DeliveryServices,
    handed: Handover,
    marks: HeaderMarks,
    number: int | None,
    reference: str,
    now: float,
) -> list[RecipientResult]:
    """Return what each recipient gets; as the headers have it, where anything goes wrong."""
    if number is None or marks.action is None:
        return [RecipientResult(action=None)] * len(handed.recipients)
    try:
        async with asyncio.timeout(services.settings.journal_wait_s + JUDGE_S):
            return await _for_readers(services, handed, marks, number, now)
    except Exception as error:  # the crash barrier: mail goes on
        if isinstance(error, StoreError):
            event(log, logging.ERROR, "delivered as it was judged", id=reference, error=error)
        else:
            log.exception("fault id=%s", reference)
        return [RecipientResult(action=marks.action)] * len(handed.recipients)


async def _for_readers(
    services: DeliveryServices, handed: Handover, marks: HeaderMarks, number: int, now: float
) -> list[RecipientResult]:
    addresses = [peer_text(recipient) for recipient in handed.recipients]
    people: list[PersonalProfile] = [await services.persons.of(address) for address in addresses]
    if all(profile.empty for profile in people) and not copies.is_personal(marks):
        return [RecipientResult(action=marks.action)] * len(
            addresses
        )  # nobody has said anything: most mail
    policy = services.policy()
    entry = await entry_lookup.find_entry(services.entries, number, services.expected, now)
    shown = entry_lookup.claimed_identity(handed.message.header, peer_text(handed.envelope.sender))
    of_marks = entry_lookup.delivered_by_marks(marks, shown, policy)
    of_entry = None if entry is None else entry_lookup.delivered_by_entry(entry, shown, policy)
    every = []
    for address, person in zip(addresses, people, strict=True):
        speaks = entry is not None and entry_lookup.entry_matches(entry, shown, marks, address)
        message = of_entry if speaks and of_entry is not None else of_marks
        every.append(
            copies.recipient_result(
                marks,
                reader_verdict(message, person, now),
                entry if speaks else None,
                services.detail,
                policy,
            )
        )
    return every


async def _hand_on(
    services: DeliveryServices,
    handed: Handover,
    every: Sequence[DeliveryCopy],
    answers: list[SmtpReply | None],
    reference: str,
) -> str:
    """Hand the copies over and write down what each recipient is answered.

    Return what went wrong, if anything did.
    """
    hop = None
    step = "connect"
    suffix = services.settings.spam_suffix.encode()
    try:
        async with asyncio.timeout(services.settings.deadline_s):
            async with asyncio.timeout(services.settings.connect_s):
                hop = await LmtpNextHop.open(services.settings.hop, services.name)
            step = "session"
            for copy in every:
                header = handed.message.header
                if copy.mark is not None:
                    header = header_marks.with_mark(header, copy.mark)
                names = [handed.recipients[place] for place in copy.places]
                if copy.spam and suffix:
                    names = [copies.with_folder_suffix(name, suffix) for name in names]
                await hop.transaction(
                    handed.envelope,
                    names,
                    handed.message.pieces(header),
                    handed.message.copy_size(header),
                    _note(answers, copy),
                )
        hop.leave()
    except Exception as error:  # the crash barrier: who has no answer is put off
        if hop is not None:
            hop.cut()
        kind = (
            _KINDS.get(type(error), "lost") if isinstance(error, OSError | PeerError) else "fault"
        )
        if kind == "fault":
            log.exception("fault id=%s", reference)
        NEXT_HOP.inc(step, kind)
        return f"{step}: {str(error) or 'too late'}"
    except BaseException:
        if hop is not None:
            hop.cut()
        raise
    return ""


_KINDS: Final = {TimeoutError: "late", PeerError: "broken"}


def _note(answers: list[SmtpReply | None], copy: DeliveryCopy) -> Callable[[int, SmtpReply], None]:
    def note(place: int, answer: SmtpReply) -> None:
        answers[copy.places[place]] = answer

    return note
