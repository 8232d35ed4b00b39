"""What every message of the corpus gets, as text: the outputs of two states of the program can be
compared with `diff`.

    python -m tests.whole.verdicts FILE                 all 6,046 messages, some minutes of one core
    python -m tests.whole.verdicts FILE --count 500     the first 500 of the same order

One process, one clock, one key, counters in memory and a DNS that knows no name: nothing but the
program decides what is written.  Each message comes with the envelope that it had when it arrived.
It passes the stages before the content and a real session, is counted, and is judged again: with
evidence that came late, from its journal entry by the facts of then, and as the keeper does, with
the counts of a day later.  The policy is the one that ships, with `SITE` over it: what a site may
add to the order of a verdict and the shipped policy leaves empty (`tests.whole.verdicts_site`).
Durations are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from oborona.config import WorkerSettings
from oborona.counters.memory import MemoryCounters
from oborona.doors.reply import AddHeader, SessionReply
from oborona.doors.rfc5322 import raw_message_of
from oborona.journal.entry import JournalEntry
from oborona.message.shingles import Hasher
from oborona.policy.envelope_stages import check_envelope
from oborona.policy.evidence import NoInquiry
from oborona.policy.headers import HeaderDetail
from oborona.policy.load import Policy
from oborona.policy.ports import PictureView
from oborona.policy.scan import Scan, ScanSite, rescan
from oborona.recheck.facts_at_delivery import facts_then
from oborona.recheck.facts_today import facts_now, pieces_of
from oborona.recheck.rejudgement import Rejudger
from oborona.recheck.rule_fingerprints import rule_fingerprints
from oborona.session.services import SessionServices
from oborona.session.session import Session
from oborona.telemetry.log import logfmt
from oborona.types import Client, Envelope, Stage, Verdict
from tests.asking import inquirer
from tests.letters import CORPUS, Kind, Letter, as_it_arrived
from tests.whole.verdicts_site import (
    WORDS,
    OnePolicy,
    PlainNumbers,
    TellingInquiry,
    TellingModel,
    WordyEngines,
    policy,
)

START: Final = 1_795_170_000.0  # Unix seconds of the first message
STEP_S: Final = 20.0  # to the next one
SEED: Final = 1
KEY: Final = b"k" * 32
BEFORE_CONTENT: Final = (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT)
LATE_S: Final = 60.0
DAY_S: Final = 86_400.0


class _Lines(logging.Handler):
    """Takes log lines, without what they say of time."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = {
            name: value for name, value in getattr(record, "fields", {}).items() if name != "ms"
        }
        fault = f" {record.exc_info[1]!r}" if record.exc_info else ""
        self.lines.append(f"{record.levelname} {record.getMessage()} {logfmt(fields)}{fault}")


class Corpus:
    """Judges messages one after the other, and tells all that came of each.

    Args:
        policy: of all of them.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._counters = MemoryCounters()
        self._now = START
        self._log = _Lines()
        self._engines = WordyEngines()
        self._entries: list[JournalEntry] = []
        self._scans: list[Scan] = []
        self._judge = Rejudger(policy, TellingModel())
        self._asks = rule_fingerprints(policy)
        self._site = ScanSite(
            name="mx.b.example",
            hasher=Hasher(KEY),
            counters=self._counters,
            engines=self._engines,
            final=TellingModel(),
        )
        self._session = Session(
            SessionServices(
                site=self._site,
                settings=WorkerSettings(deadline_s=600.0, scan_cpu_s=300.0),
                contact="https://b.example/mail",
                detail=HeaderDetail.FULL,
                policy=OnePolicy(policy),
                counters=self._counters,
                journal=self._entries.append,
                numbers=PlainNumbers(),
                signing_key=KEY,
                clock=lambda: self._now,
                new_inquiry=lambda: inquirer(now=self._now),
                own=lambda _ip, _port: False,
                late=lambda _ident, scanned: self._scans.append(scanned),
            )
        )
        logger = logging.getLogger("oborona")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(self._log)

    async def told(self, letter: Letter, place: int) -> list[str]:
        """Judge a message; return what came of it, line by line."""
        self._now = START + STEP_S * place
        self._engines.words = (WORDS[place // 2 % len(WORDS)],) if place % 2 else ()
        for waiting in (self._entries, self._scans, self._log.lines):
            waiting.clear()
        envelope = Envelope(
            client=Client(ip=letter.client_ip),
            helo=letter.helo,
            sender=letter.sender,
            recipients=(letter.recipient,),
            queue_id=f"Q{place}",
        )
        lines = [line async for line in self._before_content(envelope)]
        lines += replied(
            await self._session.whole(
                envelope, raw_message_of(letter.wire, WorkerSettings().max_message_bytes), "25"
            )
        )
        await asyncio.sleep(0)  # the line of the log comes after the answer
        for entry in self._entries:
            lines += [
                f"journal {entry.verdict} {entry.score} {entry.decided_by} would={entry.would}"
            ]
            lines += [f"  {one}" for one in (*entry.rules, *entry.findings)]
            lines += [line async for line in self._second(entry)]
        for scanned in self._scans:
            late = await rescan(
                scanned,
                PictureView(pictures=scanned.message.pictures),
                self._site,
                NoInquiry(),
                now=self._now + LATE_S,
                stage=Stage.RECHECK,
            )
            lines += shown("late", late.verdict)
        return lines + self._log.lines

    async def _before_content(self, envelope: Envelope) -> AsyncIterator[str]:
        for stage in BEFORE_CONTENT:
            seen = await check_envelope(
                envelope, stage, self._site, self._policy, TellingInquiry(), now=self._now
            )
            for line in shown(str(stage), seen.verdict):
                yield line
            yield f"  wait_s={seen.wait_s:g} karma={seen.karma} faults={seen.faults}"

    async def _second(self, entry: JournalEntry) -> AsyncIterator[str]:
        """Yield what the entry gives by the facts of then, and as the keeper judges it by the
        counts of tomorrow.
        """
        then = facts_then(entry)
        if then is None:
            yield "  no facts are kept"
            return
        later = self._now + DAY_S
        today, _ = await facts_now(then, pieces_of(entry, None), self._policy, self._site, later)
        for name, stage, facts in (
            ("again", Stage.CONTENT, then),
            ("keeper", Stage.RECHECK, today),
        ):
            found = self._judge.judge(entry, self._asks, facts, stage=stage)
            if found is not None:
                for line in shown(name, found.verdict):
                    yield line
                yield (
                    f"  {found.mildest}..{found.severest} {found.lowest:g}..{found.highest:g} "
                    f"{found.unjudged}"
                )


def shown(name: str, verdict: Verdict) -> list[str]:
    """Return a verdict, line by line."""
    head = (
        f"{name} {verdict.action} {verdict.score} of {verdict.line} {verdict.decided_by} "
        f"would={verdict.would}"
    )
    return [head, *(f"  {one}" for one in (*verdict.rules, *verdict.findings))]


def replied(reply: SessionReply) -> list[str]:
    """Return an answer, line by line."""
    edits = (
        f"  {edit.name}: {edit.value}" if isinstance(edit, AddHeader) else f"  - {edit}"
        for edit in reply.edits
    )
    return [f"answer {reply.answer} {reply.code} {reply.enhanced} {reply.text}", *edits]


def letters() -> Iterator[tuple[str, Letter]]:
    """Yield all messages of the corpus as they arrived, with their names, in an order that chance
    drew once.
    """
    paths = sorted(CORPUS.glob("*/*.txt"))
    random.Random(SEED).shuffle(paths)
    for place, path in enumerate(paths):
        kind = Kind.SPAM if path.parent.name.startswith("spam-") else Kind.HAM
        yield (
            str(path.relative_to(CORPUS)),
            as_it_arrived(path.read_bytes(), kind, f"reader{place % 40}"),
        )


async def written(file: Path, count: int) -> int:
    """Write what messages get; return how many there were."""
    corpus, place = Corpus(policy()), 0
    with file.open("w", encoding="utf-8", errors="backslashreplace") as out:
        for place, (name, letter) in enumerate(islice(letters(), count), 1):
            out.write("\n".join([f"== {name}", *await corpus.told(letter, place), ""]))
    return place


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=1 << 30, help="messages; by default all")
    arguments = parser.parse_args()
    print(asyncio.run(written(arguments.file, arguments.count)), "messages")


if __name__ == "__main__":
    main()
