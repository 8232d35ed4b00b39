"""What one mail to the door says, for each address that it came to: events, or why there is none.

    a report of one of our own people   each message attached to it: spam, or none, by the address;
                                        or by what an ARF report says
    a report of another site            the message in it, if it is ours
                                        (`oborona.daemon.intake.loops`)
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

from oborona.daemon.intake.arf import report
from oborona.daemon.intake.forwarded import Mail, opened
from oborona.daemon.intake.loops import Entries, matched
from oborona.daemon.intake.reporters import Reporters, entry_of
from oborona.doors.delivery import marks
from oborona.doors.delivery.judged import Expected
from oborona.feedback.events.model import Event, Way, What
from oborona.feedback.events.spoken import named
from oborona.journal.entry import Entry
from oborona.policy.traps import Traps

LARGE: Final = 256 * 1024  # octets: what is larger is taken apart in another thread


class Role(StrEnum):
    """What an address is for."""

    SPAM = "spam"
    HAM = "ham"
    LOOP = "loop"
    TRAP = "trap"


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a mail says to one address."""

    events: tuple[Event, ...] = ()
    why: str = ""  # there are none, or some are missing
    person: str = ""  # of ours, who said it


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What all mails are read with."""

    roles: dict[str, Role]  # by address, lower case
    traps: Callable[[], Traps]
    entries: Entries
    reporters: Reporters
    expected: Expected  # of the journal
    key: bytes  # of the site, for signatures
    clock: Callable[[], float]  # Unix seconds

    def role(self, address: str) -> Role | None:
        """Return what an address is for; None where it is no business of ours."""
        found = self.roles.get(address.lower())
        if found is None and self.traps().has(address):
            return Role.TRAP
        return found


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """One mail, as it was delivered to us."""

    sender: str  # of its envelope
    recipients: tuple[str, ...]
    header: bytes
    raw: bytes  # whole, or its head


async def said(bench: Bench, letter: Letter) -> dict[Role, Said]:
    """Return what a mail says, for each role that its recipients have.

    Raises:
        StoreError: the journal can't be read.
    """
    now, found = bench.clock(), dict[Role, Said]()
    roles = {role for one in letter.recipients if (role := bench.role(one)) is not None}
    if not roles:
        return found
    marked = marks.read(letter.header)
    entry = await entry_of(
        bench.entries,
        marked,
        letter.header,
        letter.recipients,
        key=bench.key,
        expected=bench.expected,
        now=now,
    )
    if Role.TRAP in roles:
        roles.discard(Role.TRAP)
        found[Role.TRAP] = _trapped(bench, letter, entry, now)
    if roles:
        if len(letter.raw) > LARGE:
            mail = await asyncio.to_thread(opened, letter.raw)
        else:
            mail = opened(letter.raw)
        for role in sorted(roles):
            found[role] = await _reported(bench, mail, role, entry, now)
    return found


def _trapped(bench: Bench, letter: Letter, entry: Entry | None, now: float) -> Said:
    if not letter.sender:
        return Said(why="without a sender")
    if entry is not None and (entry.facts.get("recipients_traps") or bench.reporters.ours(entry)):
        return Said(why="of our own people" if bench.reporters.ours(entry) else "known")
    traps = [one for one in letter.recipients if bench.role(one) is Role.TRAP]
    name = named(letter.raw, bench.key)
    return Said(
        events=(
            Event(
                what=What.TRAP,
                way=Way.TRAP,
                time=now,
                ident=None if entry is None else entry.id,
                message_id=name.message_id,
                raw=letter.raw,
                mailbox=traps[0],
                source="" if entry is None else entry.client_ip,
                key=_key(b"trap", *sorted(one.encode() for one in traps), letter.raw),
            ),
        )
    )


async def _reported(bench: Bench, mail: Mail, role: Role, entry: Entry | None, now: float) -> Said:
    found = None if mail.feedback is None else report(mail.feedback)
    person = "" if entry is None else bench.reporters.person(entry)
    if person:
        return _forwarded(bench, mail, role, person, entry, now)
    if found is None and role is not Role.LOOP:
        return Said(why="not of our own people")
    message = mail.messages[0].raw if mail.messages else b""
    once = _key(b"loop", mail.get("message-id").encode(), mail.feedback or b"", message)
    event, why = await matched(
        mail, found, bench.entries, bench.reporters.ours, key=bench.key, once=once, now=now
    )
    return Said(events=() if event is None else (event,), why=why)


def _forwarded(
    bench: Bench, mail: Mail, role: Role, person: str, entry: Entry | None, now: float
) -> Said:
    """Return what one of our own people says of the messages attached to a mail."""
    found = None if mail.feedback is None else report(mail.feedback)
    automatic = mail.get("auto-submitted").lower()
    if found is None and automatic and not automatic.startswith("no"):
        return Said(why="written by a program", person=person)
    what = (
        {Role.SPAM: What.COMPLAINT, Role.HAM: What.PARDON}.get(role)
        if found is None
        else found.says
    )
    if what is None:
        return Said(why="no report of a message", person=person)
    events = []
    for number, one in enumerate(mail.messages):
        name = named(one.raw, bench.key)
        if not one.whole and name.ident is None:
            continue
        events.append(
            Event(
                what=what,
                way=Way.FORWARD,
                time=now,
                person=person,
                ident=name.ident,
                message_id=name.message_id,
                raw=one.raw if one.whole else b"",
                source="" if entry is None else entry.client_ip,
                key=_key(
                    b"forward",
                    str(0 if entry is None else entry.id).encode(),
                    str(number).encode(),
                    what.encode(),
                ),
            )
        )
    why = "" if events else "without a message"
    return Said(
        events=tuple(events), why="more messages than are read" if mail.more else why, person=person
    )


def _key(*parts: bytes) -> bytes:
    """Return what a mail has each time that it is delivered."""
    digest = hashlib.blake2b(digest_size=16, person=b"oborona reports")
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
