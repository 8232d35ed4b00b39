"""Delivery of steps: each tag receives the steps that it lacks, in order, until it confirms them.

The last confirmation of a tag is its state. If a tag falls behind an earlier confirmation, a
primary died before its replica had everything: the kept steps are sent again from there. If a
missing step is not kept any more, the loss is reported and the tag goes on with the kept ones.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

import hiredis
import numpy as np

from oborona.counters.cluster import add_function, steps
from oborona.counters.cluster.blocking_client import BlockingClusterClient, Command
from oborona.counters.cluster.layout import APPLIED_KEYS, SLOT_OF_TAG, TAGS
from oborona.counters.cluster.outbox import Outbox, all_done
from oborona.counters.cluster.wire import NO_FUNCTION, Reply
from oborona.errors import StoreError, StoreVersion

ROUND_BYTES: Final = 8 << 20  # of steps in one go
# in one call: a slot that moved, a function that is missing, a replica that lacks something
ROUNDS: Final = 8
PATIENCE_S: Final = 3.0  # what passes by itself, such as a slot that moves, is not reported before


class OutboxDelivery:
    """Sends what an outbox keeps.

    Args:
        outbox: its `applied` is kept up to date here.
        shards: of the cluster.
        retain_s: so long a step is kept after the cluster had it, seconds.
        report: told what is lost, and what waits.
    """

    def __init__(
        self,
        outbox: Outbox,
        shards: BlockingClusterClient,
        retain_s: float,
        report: Callable[[str], None],
    ) -> None:
        self._outbox = outbox
        self._shards = shards
        self._retain_s = retain_s
        self._report = report
        # by tag that lost what is not kept: the step it is to go on from
        self._has: dict[int, int] = {}
        self._verified = np.zeros(TAGS, np.uint64)
        self._checks: deque[tuple[float, int]] = deque()  # when, and up to which step all was there
        self._long_there = 0  # up to which step all was there when `retain_s` had not begun
        self._fallen_back: set[int] = set()  # tags that have less than they had
        self._waits_since: float | None = None
        self._told = False

    def send(self) -> None:
        """Send what is lacking wherever a node can be reached.

        Raises:
            StoreVersion: a newer Oborona counts in the cluster.
            StoreError: the outbox cannot be read, or the cluster has more of it than it knows
                itself.
        """
        trouble = ""
        for _ in range(ROUNDS):
            lacking = np.flatnonzero(self._outbox.applied < self._outbox.last).tolist()
            if not lacking:
                break
            before = self._outbox.applied.copy()
            trouble, loaded = self._round(
                [tag for tag in lacking if self._shards.reaches(SLOT_OF_TAG[tag])]
            )
            if not loaded and np.array_equal(before, self._outbox.applied):
                break
        self._tell(trouble)

    def check(self) -> None:
        """Ask each tag what it has, and drop steps that all have had for long enough.

        Raises:
            StoreError: the outbox cannot be written.
        """
        outbox = self._outbox
        tags = np.flatnonzero(outbox.last).tolist()
        commands: list[Command] = [
            (SLOT_OF_TAG[tag], (b"HGET", APPLIED_KEYS[tag], outbox.id)) for tag in tags
        ]
        for tag, answer in zip(tags, self._shards.ask(commands), strict=True):
            if answer is None or isinstance(answer, bytes):
                has = int(answer.split()[0]) if answer else 0
                if self._has.get(tag) != has:
                    self._note_applied(tag, has)
                self._verified[tag] = outbox.applied[tag]
        now = time.monotonic()
        delivered = all_done(outbox.last, self._verified)
        self._checks.append((now, delivered))
        while self._checks and self._checks[0][0] <= now - self._retain_s:
            self._long_there = self._checks.popleft()[1]
        outbox.note(outbox.steps_up_to(min(delivered, self._long_there)))

    def _round(self, tags: list[int]) -> tuple[str, bool]:
        """Send to these tags once.

        Returns what is wrong, in words, and whether a function was loaded.
        """
        outbox = self._outbox
        has = {tag: self._has.get(tag, int(outbox.applied[tag])) for tag in tags}
        sent: list[tuple[int, int]] = []
        commands: list[Command] = []
        lost: list[int] = []
        room = ROUND_BYTES
        least = min((int(outbox.applied[tag]) for tag in tags), default=0)
        for number in outbox.steps_after(least):
            lacking = [tag for tag in tags if outbox.applied[tag] < number <= outbox.last[tag]]
            if not lacking:
                continue
            step = outbox.step(number)
            for share in steps.decode(step, lacking):
                if share.before > has[share.tag] and share.tag not in self._has:
                    lost.append(share.tag)
                    self._has[share.tag] = has[share.tag]
                arguments = share.arguments(add_function.ADD, number, has[share.tag])
                commands.append((SLOT_OF_TAG[share.tag], arguments))
                sent.append((share.tag, number))
                has[share.tag] = number
            room -= len(step)
            if room <= 0:
                break
        else:
            for tag in set(tags) - {tag for tag, _number in sent}:  # nothing that it lacks is kept
                lost.append(tag)
                self._has[tag] = has[tag]
                outbox.applied[tag] = outbox.last[tag]
        if lost:
            self._report(
                f"the cluster lost counts of {len(lost)} of {TAGS} parts that it had, and "
                f"they are not kept any more"
            )
        return self._answered(sent, self._shards.ask(commands))

    def _answered(self, sent: list[tuple[int, int]], answers: list[Reply]) -> tuple[str, bool]:
        trouble = ""
        missing = False
        for (tag, number), answer in zip(sent, answers, strict=True):
            if isinstance(answer, int):
                self._note_applied(tag, answer)
                if answer >= number:
                    self._has.pop(tag, None)
                elif tag in self._has:
                    self._has[tag] = answer
            elif isinstance(answer, hiredis.ReplyError) and str(answer) == NO_FUNCTION:
                missing = True
            else:
                trouble = str(answer)
        if missing:
            for node in self._shards.nodes():
                try:
                    add_function.load(self._shards, node)
                except StoreVersion:
                    raise
                except StoreError as error:
                    trouble = str(error)
        return trouble, missing

    def _note_applied(self, tag: int, step: int) -> None:
        """Note what a tag says that it has."""
        last = int(self._outbox.last[tag])
        if step > last:
            raise StoreError(
                f"the cluster has step {step} of the outbox in {self._outbox.directory}, which "
                f"made only {last}: an old"
                " copy of it? Remove it, and what the spools hold is sent under a new one"
            )
        if step < int(self._outbox.applied[tag]):
            self._fallen_back.add(tag)
        self._outbox.applied[tag] = step

    def _tell(self, trouble: str) -> None:
        """Report what shards had forgotten.

        Once, that something waits, and once that nothing does any more.
        """
        if self._fallen_back:
            self._report(
                f"{len(self._fallen_back)} of {TAGS} parts of the cluster had not kept the last "
                f"of what they"
                " acknowledged; it is sent again"
            )
            self._fallen_back.clear()
        if not (self._outbox.applied < self._outbox.last).any():
            if self._told:
                self._report("the cluster has all counts again")
            self._waits_since, self._told = None, False
            return
        now = time.monotonic()
        if self._waits_since is None:
            self._waits_since = now
        if not self._told and now - self._waits_since >= PATIENCE_S:
            self._report(f"counts wait for the cluster: {trouble or self._shards.trouble}")
            self._told = True
