"""One message through the delivery door: whose verdict is what, who shares a copy, and what each
recipient is answered.

    headers → journal, where a reader has entries → a verdict for each → copies → next hop → an
    answer for each

Nobody is answered 250 before the next hop said so, and no recipient is tried twice: whoever has no
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

from oborona.config.delivery import Delivery
from oborona.doors.arguments import text
from oborona.doors.delivery import copies, judged, marks
from oborona.doors.delivery.copies import Copy, Given
from oborona.doors.delivery.judged import Entries, Expected
from oborona.doors.delivery.marks import Marks
from oborona.doors.delivery.next_hop import Envelope, NextHop
from oborona.doors.smtp.answers import Answer, own
from oborona.doors.smtp.spooled import Spooled
from oborona.errors import PeerError, StoreError
from oborona.ident import Numbers, to_text, verify
from oborona.journal.entry import Went
from oborona.metrics import Counter
from oborona.policy.headers import Detail
from oborona.policy.load import Policy
from oborona.policy.personal import Persons, outcome
from oborona.reputation.personal import Personal
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


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What all connections of a worker work with."""

    settings: Delivery
    detail: Detail = Detail.NAMES  # how much headers say of why
    name: str  # ours
    signing_key: bytes
    entries: Entries
    expected: Expected
    persons: Persons
    policy: Callable[[], Policy]  # in force
    numbers: Numbers
    clock: Callable[[], float]  # Unix seconds
    went: Callable[[Went], None]  # is told where each copy went, for who looks at it again


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """One message as the mail server handed it to us."""

    envelope: Envelope
    recipients: tuple[bytes, ...]
    message: Spooled


async def deliver(bench: Bench, handed: Handover) -> list[Answer]:
    """Hand a message on; return the last word on each recipient, in order.

    Args:
        bench: of the worker.
        handed: whole.
    """
    began, now = time.monotonic(), bench.clock()
    found = marks.read(handed.message.header)
    number = verify(found.ident, bench.signing_key) if found.ident else None
    reference = to_text(bench.numbers.next(now) if number is None else number)
    every = await _verdicts(bench, handed, found, number, reference, now)
    answers: list[Answer | None] = [None] * len(every)
    places = []
    for place, one in enumerate(every):
        if one.action is Action.REJECT and bench.settings.on_reject == "refuse":
            answers[place] = own(550, "5.7.1", f"Message refused as spam, reference {reference}")
        else:
            places.append(place)
    trouble = ""
    if places:
        trouble = await _hand_on(bench, handed, copies.shared(every, places), answers, reference)
    no_answer = own(451, "4.4.2", f"No answer of the mailbox host, reference {reference}")
    final = [no_answer if one is None else one for one in answers]
    try:
        if number is not None:
            _note_places(bench, handed, every, final, number)
        _tell(
            handed,
            every,
            final,
            reference,
            trouble,
            queue=found.queue_id,
            took_s=time.monotonic() - began,
        )
    except Exception:  # what was answered stands
        log.exception("fault id=%s", reference)
    return final


def _tell(
    handed: Handover,
    every: Sequence[Given],
    final: Sequence[Answer],
    reference: str,
    trouble: str,
    *,
    queue: str,
    took_s: float,
) -> None:
    """Count and log a message."""
    verdicts = ["unjudged" if one.action is None else one.action.value for one in every]
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
        changed=sum(one.mark is not None for one in every),
        answers=Tally(str(one.code) for one in final),
        answer=final[0].text,
        size=handed.message.size,
        ms=round(took_s * 1000, 1),
        **({"trouble": trouble} if trouble else {}),
    )


def _note_places(
    bench: Bench, handed: Handover, every: Sequence[Given], final: Sequence[Answer], number: int
) -> None:
    """Write down where the copies went that were taken."""
    now = bench.clock()
    for recipient, one, answer in zip(handed.recipients, every, final, strict=True):
        if answer.good and one.action is not None:
            bench.went(
                Went(id=number, recipient=text(recipient), spam=one.action in copies.SPAM, time=now)
            )


async def _verdicts(
    bench: Bench, handed: Handover, found: Marks, number: int | None, reference: str, now: float
) -> list[Given]:
    """Return what each recipient gets; as the headers have it, where anything goes wrong."""
    if number is None or found.action is None:
        return [Given(action=None)] * len(handed.recipients)
    try:
        async with asyncio.timeout(bench.settings.journal_wait_s + JUDGE_S):
            return await _for_readers(bench, handed, found, number, now)
    except Exception as error:  # the crash barrier: mail goes on
        if isinstance(error, StoreError):
            event(log, logging.ERROR, "delivered as it was judged", id=reference, error=error)
        else:
            log.exception("fault id=%s", reference)
        return [Given(action=found.action)] * len(handed.recipients)


async def _for_readers(
    bench: Bench, handed: Handover, found: Marks, number: int, now: float
) -> list[Given]:
    addresses = [text(one) for one in handed.recipients]
    people: list[Personal] = [await bench.persons.of(one) for one in addresses]
    if all(one.empty for one in people) and not copies.personal(found):
        return [Given(action=found.action)] * len(addresses)  # nobody has said anything: most mail
    policy = bench.policy()
    entry = await judged.find(bench.entries, number, bench.expected, now)
    shown = judged.shows(handed.message.header, text(handed.envelope.sender))
    of_marks = judged.of_marks(found, shown, policy)
    of_entry = None if entry is None else judged.of_entry(entry, shown, policy)
    every = []
    for address, person in zip(addresses, people, strict=True):
        speaks = entry is not None and judged.speaks(entry, shown, found, address)
        message = of_entry if speaks and of_entry is not None else of_marks
        every.append(
            copies.given(
                found,
                outcome(message, person, now),
                entry if speaks else None,
                bench.detail,
                policy,
            )
        )
    return every


async def _hand_on(
    bench: Bench,
    handed: Handover,
    every: Sequence[Copy],
    answers: list[Answer | None],
    reference: str,
) -> str:
    """Hand the copies over and write down what each recipient is answered.

    Return what went wrong, if anything did.
    """
    hop = None
    step = "connect"
    suffix = bench.settings.spam_suffix.encode()
    try:
        async with asyncio.timeout(bench.settings.deadline_s):
            async with asyncio.timeout(bench.settings.connect_s):
                hop = await NextHop.open(bench.settings.hop, bench.name)
            step = "session"
            for copy in every:
                header = handed.message.header
                if copy.mark is not None:
                    header = marks.marked(header, copy.mark)
                names = [handed.recipients[place] for place in copy.places]
                if copy.spam and suffix:
                    names = [copies.suffixed(one, suffix) for one in names]
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


def _note(answers: list[Answer | None], copy: Copy) -> Callable[[int, Answer], None]:
    def note(place: int, answer: Answer) -> None:
        answers[copy.places[place]] = answer

    return note
