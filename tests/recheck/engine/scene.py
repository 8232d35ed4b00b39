"""A small site after delivery, for tests of the second look: scanned and journaled messages, their
counts, an index, moves, mailboxes that note what is asked of them.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from oborona.counters.memory import MemoryCounters
from oborona.ident import JournalIdGenerator, from_text
from oborona.journal import schema
from oborona.journal.entry import JournalEntry, LateFindings
from oborona.journal.index.index import JournalIndex
from oborona.journal.index.pieces import indexed_pieces
from oborona.journal.journal import JournalWriter
from oborona.message.shingles import Hasher
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.local_clients import direction
from oborona.policy.personal_list_match import NoPersons, Persons
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.recheck.engine.delivered_messages import DeliveredMessages
from oborona.recheck.engine.limits import RecheckLimits
from oborona.recheck.engine.loop import IDLE_S, RecheckEngine
from oborona.recheck.engine.model import ReaderAction, RecheckCause, RecheckResult
from oborona.recheck.engine.mover import CopyMover
from oborona.recheck.engine.rescorer import Rescorer
from oborona.recheck.engine.signature_changes import SignatureChanges
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, MoveResult
from oborona.recheck.moves import Move, MoveStore
from oborona.reputation.pins import NoPins, Pins
from oborona.session.journal_entry import entry_of
from oborona.session.policy_log import PolicyLog
from oborona.types import Amounts, Client, CountedPieces, Envelope, Shingle

NOW = 1_795_170_000.0
ROOT = Path(__file__).resolve().parents[3]
SHIPPED = load_policy(ROOT / "etc/policy.d", SCHEMA)
LINES = "[verdict]\nspam_score = 100\nreject_score = 200\n"
COMPLAINED = (
    '[[rule]]\nname = "COMPLAINED"\nwhen = "mass.complaints >= 3"\nscore = 120\nsay = '
    '"{mass.complaints} complained"\n'
)


def letter(number: int, text: str, *, sender: str = "ann@a.example") -> bytes:
    """Return a message."""
    return (
        f"From: Ann <{sender}>\r\nTo: bob@b.example\r\nSubject: about number "
        f"{number}\r\nMessage-ID: <{number}@a.example>\r\n"
        f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{text}\r\n"
    ).encode()


CAMPAIGN = (
    "Dear friend, our laboratory has made a wonderful medicine that takes away all pain within "
    "three days, and only this week you can"
    " order it without any prescription from our house in the mountains, where my grandmother "
    "found the herbs long ago."
)


def another(number: int) -> str:
    """Return a text that is like no other."""
    chance = random.Random(number)
    return " ".join("".join(chance.choices("abcdefghiklmnoprstu", k=7)) for _ in range(40))


class Recorded:
    """Mailboxes that note what is asked of them, and answer as they are told."""

    def __init__(self) -> None:
        self.asked: list[tuple[MailboxItem, str, str, bool]] = []
        self.answers: dict[str, MoveOutcome] = {}  # by user
        self.broken = False

    async def look(self, letters: Sequence[MailboxItem], source: str) -> list[MoveResult]:
        """Say what a move would do."""
        del source
        return [MoveResult(self.answers.get(one.user, MoveOutcome.MOVED)) for one in letters]

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Note, and answer."""
        if self.broken:
            raise OSError("the mailboxes have burned down")
        self.asked += [(one, source, target, force) for one in letters]
        return [MoveResult(self.answers.get(one.user, MoveOutcome.MOVED)) for one in letters]

    async def close(self) -> None:
        """Do nothing."""

    @property
    def moved(self) -> list[int]:
        """The messages that were to be moved, in order."""
        return [from_text(one.ident) or 0 for one, *_ in self.asked]


class People:
    """What persons did, as a test says."""

    def __init__(self) -> None:
        self.hands: dict[int, list[ReaderAction]] = {}

    def touched(self, ident: int) -> Sequence[ReaderAction]:
        """Return what a test says."""
        return self.hands.get(ident, ())


class Scene:
    """The site; use it as a context.

    Args:
        folder: of its stores.
        policy: in force.
    """

    def __init__(self, folder: Path, policy: Policy, **limits: object) -> None:
        self.folder = folder
        self.policy = policy
        self.judged_by = policy
        self.counters = MemoryCounters()
        self.persons: Persons = NoPersons()
        self.pins: Pins = NoPins()
        self.people = People()
        self.boxes = Recorded()
        self.signed: SignatureChanges | None = None
        self.now = NOW
        self.hasher = Hasher(b"k" * 32)
        self.alarms: list[str] = []
        self.decided: list[RecheckResult] = []
        self.entries: dict[int, JournalEntry] = {}
        self._numbers = JournalIdGenerator()
        self._limits = RecheckLimits(**{"looks_s": (), "runaway_share": 1.0} | limits)  # type: ignore[arg-type]
        schema.prepare(folder / "journal.db")

    @property
    def site(self) -> ScanSite:
        """As scans and second looks have it."""
        return ScanSite(
            name="mx.b.example",
            hasher=self.hasher,
            counters=self.counters,
            persons=self.persons,
            pins=self.pins,
        )

    async def __aenter__(self) -> Self:
        self.journal = await JournalWriter.open(self.folder / "journal.db", batch_s=0.01)
        self._ruled = PolicyLog(self.journal)
        await self.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.end()
        await self.journal.close()

    async def begin(self) -> None:
        """Open what a process that looks has open."""
        self.reader = await DeliveredMessages.open(self.folder / "journal.db")
        self.index = JournalIndex(self.folder / "index", self.folder / "journal.db")
        self.moves = MoveStore(self.folder / "recheck.db")
        self.asked: dict[str, Mapping[str, str]] = {}
        self.engine = RecheckEngine(
            journal=self.reader,
            index=self.index,
            moves=self.moves,
            rescorer=self.rescorer,
            limits=self._limits,
            asked=self.asked,
            stopped=self._stopped,
            decided=self._decided,
            clock=lambda: self.now,
        )
        self.mover = CopyMover(
            self.moves,
            self.boxes,
            user=lambda address: address.partition("@")[0],
            message_id=self._message_id,
            window_s=self._limits.window_s,
            clock=lambda: self.now,
        )
        await self.engine.begin()

    async def end(self) -> None:
        """Close what it had open."""
        self.index.close()
        self.moves.close()
        await self.reader.close()

    def rescorer(self) -> Rescorer:
        """Return who judges now."""
        return Rescorer(
            self.site,
            self.policy,
            asked=self.asked,
            people=self.people,
            made=self.moves,
            folders=self._limits.folders,
            signed=self.signed,
        )

    async def deliver(
        self,
        raw: bytes,
        *,
        recipients: tuple[str, ...] = ("bob@b.example",),
        sender: str = "ann@a.example",
        ip: str = "198.51.100.7",
        change: Callable[[JournalEntry], JournalEntry] = lambda one: one,
    ) -> JournalEntry:
        """Judge a message by the policy of then, count and journal it."""
        envelope = Envelope(
            client=Client(ip=ip), helo="x.example", sender=sender, recipients=recipients
        )
        result = await scan(raw, envelope, self.site, self.judged_by, NoInquiry(), now=self.now)
        return self.journaled(result, envelope, len(raw), change)

    def journaled(
        self,
        result: Scan,
        envelope: Envelope,
        size: int,
        change: Callable[[JournalEntry], JournalEntry] = lambda one: one,
    ) -> JournalEntry:
        """Count and journal what was scanned."""
        record_verdict(
            result.pieces,
            result.counted,
            self.counters,
            now=self.now,
            prefix=direction(result.envelope),
        )
        self._ruled.note(self.judged_by)
        ident = self._numbers.next(self.now)
        entry = change(
            entry_of(ident, self.now, self.judged_by, envelope, size, result.verdict, result)
        )
        self.journal.append(entry)
        self.entries[entry.id] = entry
        return entry

    def later(self, late: LateFindings) -> None:
        """Journal what was found late."""
        self.journal.append_late(late)

    def say(
        self, entry: JournalEntry, times: int = 1, *, pardon: bool = False, tell: bool = True
    ) -> None:
        """Count complaints of a message, or pardons, and tell the second look."""
        amounts = Amounts(pardons=times) if pardon else Amounts(complaints=times)
        self.counters.add(CountedPieces(shingles=entry.shingles, pairs=()), amounts, self.now)
        if tell:
            self.engine.add(
                RecheckCause.PARDON if pardon else RecheckCause.WORD, indexed_pieces(entry.shingles)
            )

    async def look(self, most: int = 1000) -> None:
        """Bring the index up, and take steps until there is nothing to do, or moves have
        stopped.
        """
        await self.journal.flush()
        while self.index.follow(self.now):
            pass
        for _ in range(most):
            rest_s = await self.engine.step()
            if self.engine.paused or (rest_s == IDLE_S and not self.engine.waiting):
                return
        raise AssertionError("it never comes to an end")

    async def move(self) -> None:
        """Make the moves that are due."""
        while await self.mover.step():
            pass

    def made(self, entry: JournalEntry) -> list[Move]:
        """Return the moves of a message."""
        return self.moves.of(entry.id)

    async def _message_id(self, number: int) -> str:
        entry = await self.reader.get(number)
        return "" if entry is None else entry.message_id

    async def _stopped(self, why: str) -> None:
        self.alarms.append(why)

    async def _decided(self, found: Sequence[RecheckResult]) -> None:
        self.decided += found


@asynccontextmanager
async def scene(folder: Path, *pieces: str, **limits: object) -> AsyncIterator[Scene]:
    """A site whose policy is made of these pieces, or the one that ships where there are none."""
    policy = written(folder / "policy", *pieces) if pieces else SHIPPED
    async with Scene(folder, policy, **limits) as made:
        yield made


def written(folder: Path, *pieces: str) -> Policy:
    """Return a policy that is made of these pieces."""
    folder.mkdir(exist_ok=True)
    (folder / "1.toml").write_text(LINES + "\n".join(pieces))
    return load_policy(folder, SCHEMA)


def shingle(entry: JournalEntry, kind: int) -> Shingle:
    """Return a piece of a message."""
    return next(one for one in entry.shingles if one.type == kind)


def replaced(entry: JournalEntry, **changes: object) -> JournalEntry:
    """Return an entry that is another in some fields."""
    return msgspec.structs.replace(entry, **changes)
