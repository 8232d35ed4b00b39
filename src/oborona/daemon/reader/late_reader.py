"""Pictures that are read after the answer was given: their findings are counted, judged and
journaled, a message at a time.

    settled message with unread pictures → queue → look, read (again where the reader was busy or
    away) → judge again → count the new pieces as the message was counted → journal

The queue is bounded by messages and by octets; where it is full the oldest go, and are counted. A
stop leaves them some time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from operator import attrgetter
from typing import Final

import msgspec

from oborona.daemon.reader.picture_client import PictureClient
from oborona.daemon.reader.wire import ReaderTask
from oborona.ident import time_of_id, to_text
from oborona.journal.entry import LateFindings
from oborona.message.model import Picture
from oborona.metrics import Counter, Gauge
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import Inquiry
from oborona.policy.fact_table import KEPT
from oborona.policy.local_clients import direction
from oborona.policy.models.meaning import wants_meaning
from oborona.policy.ports import CounterAdder, PictureView
from oborona.policy.scan import Scan, ScanSite, rescan
from oborona.policy.signatures import Signature
from oborona.telemetry.log import event
from oborona.types import CountedPieces, Stage

AT_ONCE: Final = 2  # messages of a worker; the reader has a queue of its own
QUEUE_BYTES: Final = 64 << 20  # of pictures, in one worker's memory
PAUSES_S: Final = (0.0, 2.0, 10.0, 60.0)  # before each attempt, where the reader is busy or away
NEWS: Final = tuple(name for name in KEPT if name not in ("date_age_hours", "time_now"))
"""Facts that the journal keeps, but for those that tell how much time has passed."""
LATE: Final = Counter(
    "oborona_late",
    (
        "Messages whose pictures were read after the answer, by what came of it; dropped: too "
        "many waited."
    ),
    ("outcome",),
)
WAITING: Final = Gauge("oborona_late_waiting", "Messages whose pictures wait to be read.", ())
AGE: Final = Gauge(
    "oborona_late_age_seconds",
    "How long the first of these messages has waited; 0 where none waits.",
    (),
)

log = logging.getLogger("oborona.late")

_NEWS: Final = attrgetter(*NEWS)


class UnreadMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was answered before its pictures were read."""

    ident: int
    scan: Scan
    octets: int  # of its pictures


class LateReader:
    """Reads the pictures of messages that were answered, in one worker.

    Args:
        pictures_client: with long deadlines.
        site: as of the scans.
        new_inquiry: makes the inquiry of a message.
        counters: get the new pieces.
        journal: gets what was found.
        signed: counts signatures that were found.
        clock: Unix seconds.
        most: messages that wait.
        pauses_s: before each attempt.
    """

    def __init__(
        self,
        pictures_client: PictureClient,
        site: ScanSite,
        *,
        new_inquiry: Callable[[], Inquiry],
        counters: CounterAdder,
        journal: Callable[[LateFindings], None],
        signed: Callable[[Iterable[Signature], float], None],
        clock: Callable[[], float],
        most: int,
        pauses_s: tuple[float, ...] = PAUSES_S,
    ) -> None:
        self._pictures = pictures_client
        self._site = site
        self._inquire = new_inquiry
        self._counters = counters
        self._journal = journal
        self._signed = signed
        self._clock = clock
        self._most = most
        self._pauses_s = pauses_s
        self._waiting: deque[UnreadMessage] = deque()
        self._octets = 0
        self._wake = asyncio.Event()
        self._busy = 0
        self._done = asyncio.Event()  # there is nothing to do
        self._done.set()
        WAITING.set_function(lambda: {(): self.waiting})
        AGE.set_function(lambda: {(): self.age_s})
        self._tasks = [
            asyncio.create_task(self._run(), name=f"late-{number}") for number in range(AT_ONCE)
        ]

    @property
    def waiting(self) -> int:
        """Messages that wait, those that are being read included."""
        return len(self._waiting) + self._busy

    @property
    def age_s(self) -> float:
        """How long the first message that nobody reads yet has waited, in seconds."""
        if not self._waiting:
            return 0.0
        return max(0.0, self._clock() - time_of_id(self._waiting[0].ident))

    def add(self, ident: int, scan: Scan) -> None:
        """Take a message that was counted and journaled; returns at once.

        One without unread pictures is none of ours.
        """
        if self._most == 0 or all(picture.looked and picture.read for picture in _looked_at(scan)):
            return
        # the whole message is held by what is looked for in it no more
        slim = msgspec.structs.replace(scan, message=msgspec.structs.replace(scan.message, raw=b""))
        octets = sum(len(picture.octets) for picture in _looked_at(scan))
        self._waiting.append(UnreadMessage(ident=ident, scan=slim, octets=octets))
        self._octets += octets
        while self._waiting and (len(self._waiting) > self._most or self._octets > QUEUE_BYTES):
            self._octets -= self._waiting.popleft().octets
            LATE.inc("dropped")
        self._done.clear()
        self._wake.set()

    async def close(self, grace_s: float) -> None:
        """Give what waits so many seconds, and drop the rest."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._done.wait()
        left = self.waiting
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._waiting.clear()
        if left:
            LATE.inc("dropped", by=left)
            event(log, logging.WARNING, "pictures were not read", messages=left)

    async def _run(self) -> None:
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            unread = self._waiting.popleft()
            self._octets -= unread.octets
            self._busy += 1
            try:
                outcome = await self._read(unread)
            except Exception:  # the barrier: one message's fault is not the next one's
                outcome = "failed"
                log.exception("fault id=%s in what was found late", to_text(unread.ident))
            finally:
                self._busy -= 1
                if not self.waiting:
                    self._done.set()
            LATE.inc(outcome)

    async def _read(self, unread: UnreadMessage) -> str:
        view, outcome = PictureView(pictures=_looked_at(unread.scan)), "unread"
        for pause_s in self._pauses_s:
            await asyncio.sleep(pause_s)
            view, again_later = await self._look_and_read(view)
            if not again_later:
                outcome = "nothing"
                break
        if view.pictures == _looked_at(unread.scan) and not view.findings:
            return outcome
        after = await rescan(
            unread.scan, view, self._site, self._inquire(), now=self._clock(), stage=Stage.RECHECK
        )
        return self._write(unread, await self._with_meaning(after))

    async def _with_meaning(self, scan: Scan) -> Scan:
        """Return the verdict that also knows what the text means, where it is in doubt and nobody
        has looked.
        """
        table, line = scan.policy.meaning, scan.policy.verdict.spam_score
        if scan.opinion.meaning is not None or not wants_meaning(
            scan.message, scan.verdict, table, spam_score=line
        ):
            return scan
        meaning = await self._site.meanings.read(scan.message)
        if meaning is None:
            return scan
        view = PictureView(pictures=scan.message.pictures)
        return await rescan(
            scan,
            view,
            self._site,
            self._inquire(),
            now=self._clock(),
            stage=Stage.RECHECK,
            meaning=meaning,
        )

    async def _look_and_read(self, before: PictureView) -> tuple[PictureView, bool]:
        looked, look_again = await self._pictures.tried(ReaderTask.LOOK, before.pictures)
        read, read_again = await self._pictures.tried(ReaderTask.READ, looked.pictures)
        findings = {
            finding.name: finding
            for finding in (*before.findings, *looked.findings, *read.findings)
        }
        return PictureView(
            pictures=read.pictures, findings=tuple(findings.values())
        ), look_again or read_again

    def _write(self, unread: UnreadMessage, after: Scan) -> str:
        """Count and journal what is new."""
        before = unread.scan
        shingles, pairs = frozenset(before.pieces.shingles), frozenset(before.pieces.pairs)
        new = CountedPieces(
            shingles=tuple(shingle for shingle in after.pieces.shingles if shingle not in shingles),
            pairs=tuple(pair for pair in after.pieces.pairs if pair not in pairs),
        )
        names = {finding.name for finding in before.verdict.findings}
        findings = tuple(finding for finding in after.verdict.findings if finding.name not in names)
        facts = {
            name: value
            for name, value, was in zip(NEWS, _NEWS(after.facts), _NEWS(before.facts), strict=True)
            if value != was
        }
        now, verdict = self._clock(), before.counted  # the site's, as the later one
        known_ids = {signature.id for signature in before.signatures.signatures}
        self._signed(
            [
                signature
                for signature in after.signatures.signatures
                if signature.id not in known_ids
            ],
            now,
        )
        if not (new.shingles or findings or facts):
            return "nothing"
        record_verdict(new, verdict, self._counters, now=now, prefix=direction(before.envelope))
        self._journal(
            LateFindings(
                id=unread.ident,
                time=now,
                before=verdict.action,
                score_before=verdict.score,
                verdict=after.verdict.action,
                score=after.verdict.score,
                line=after.verdict.line,
                decided_by=after.verdict.decided_by,
                rules=after.verdict.rules,
                findings=findings,
                facts=facts,
                shingles=new.shingles,
            )
        )
        event(
            log,
            logging.INFO,
            "found late",
            id=to_text(unread.ident),
            was=verdict.action,
            verdict=after.verdict.action,
            score=after.verdict.score,
            line=after.verdict.line,
            pieces=len(new.shingles),
        )
        return "found"


def _looked_at(scan: Scan) -> tuple[Picture, ...]:
    """Return what is looked at in a message: its pictures and its PDFs."""
    return (*scan.message.pictures, *scan.message.documents)
