"""The work queue: every change becomes a job, which goes in steps through the messages that carry
its hashes, newest first; pure.

A report on a campaign of 100,000 messages is a job of minutes, and the next report on it comes
within a second.  So a job has two positions in the messages:

    head   begins at the newest with every new report, and goes down to where the tail began
    tail   goes on from where the head was; it gets a third of all steps, the head two thirds

so that a new report meets the newest messages at once, and the oldest are reached however often
somebody reports.  Jobs of one cause that share a hash are joined.  Of several jobs the newest gets
two steps of three, the others the third, in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from oborona.recheck.engine.model import RecheckCause
from oborona.types import Shingle

MOST_JOBS: Final = 200  # above it the oldest two are made one
MOST_PIECES: Final = 512  # that one job asks for
# pieces of jobs that were made one; beyond, the clock finds what they would have
MOST_JOINED: Final = 20_000
TURNS: Final = 3  # one of so many steps is not the newest's


class RecheckStep(NamedTuple):
    """One step of a job: the newest messages below a place that carry any of its pieces."""

    job: RecheckJob
    before: int | None  # exclusive; None = from the newest on
    until: int  # no lower than this id
    tail: bool


class RecheckJob:
    """A change, and how far its messages are looked at.

    Args:
        cause: what changed.
        pieces: the messages that carry any of these; empty = all messages of the window.
    """

    __slots__ = ("_head", "_joint", "_steps", "_tail", "cause", "pieces")

    def __init__(self, cause: RecheckCause, pieces: Iterable[Shingle]) -> None:
        self.cause = cause
        self.pieces: dict[Shingle, None] = dict.fromkeys(pieces)
        self._head: int | None = None  # the next message is below this; None = the newest
        self._tail: int | None = None  # the same; None = there is no tail
        self._joint = 0  # the head goes down to this
        self._steps = 0

    @property
    def done(self) -> bool:
        """Whether everything is looked at."""
        return self._head == 0 and self._tail is None

    def room(self, pieces: Iterable[Shingle]) -> bool:
        """Tell whether it can take some pieces up."""
        return len(self.pieces.keys() | set(pieces)) <= MOST_PIECES

    def again(self, pieces: Iterable[Shingle]) -> None:
        """Begin at the newest again: something else is known of these pieces."""
        self.pieces.update(dict.fromkeys(pieces))
        if self._tail is None and self._head:  # where the head was is where the tail begins
            self._tail = self._head
        self._joint = self._tail or 0
        self._head = None

    def step(self) -> RecheckStep:
        """Return what is to be looked at next."""
        self._steps += 1
        if self._tail is not None and (self._head == 0 or self._steps % TURNS == 0):
            return RecheckStep(self, self._tail, 0, tail=True)
        return RecheckStep(self, self._head, self._joint, tail=False)

    def came(self, step: RecheckStep, lowest: int | None) -> None:
        """Note how far a step has come.

        Args:
            step: that was made.
            lowest: id of the last message that was found; None = there were no more.
        """
        if step.tail:
            if self._tail == step.before:  # else another word came meanwhile
                self._tail = lowest
        elif self._head == step.before:
            self._head = lowest if lowest is not None and lowest > self._joint else 0


class RecheckQueue:
    """All pending jobs."""

    def __init__(self) -> None:
        self._jobs: list[RecheckJob] = []  # the newest last
        self._of: dict[tuple[RecheckCause, Shingle], RecheckJob] = {}
        self._steps = 0
        self._turn = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, cause: RecheckCause, pieces: Iterable[Shingle]) -> None:
        """Take a change up.

        Args:
            cause: what changed.
            pieces: the messages that carry any of these, at most `MOST_PIECES`; empty = all
                messages.
        """
        pieces = tuple(pieces)[:MOST_PIECES]
        keys = [(cause, piece) for piece in pieces]
        jobs = (self._of[key] for key in keys if key in self._of)
        if not pieces:
            jobs = (job for job in self._jobs if job.cause is cause and not job.pieces)
        job = next((job for job in jobs if job.room(pieces)), None)
        if job is None:
            job = RecheckJob(cause, pieces)
        else:
            self._jobs.remove(job)
            job.again(pieces)
        self._jobs.append(job)
        self._of.update(dict.fromkeys(keys, job))
        if len(self._jobs) > MOST_JOBS:
            self._join()

    def next(self) -> RecheckStep | None:
        """Return the next step; None where there is nothing to do."""
        while self._jobs:
            self._steps += 1
            others = len(self._jobs) - 1
            at = others
            if others and self._steps % TURNS == 0:
                self._turn = (self._turn + 1) % others
                at = self._turn
            job = self._jobs[at]
            if not job.done:
                return job.step()
            self._drop(job)
        return None

    def came(self, step: RecheckStep, lowest: int | None) -> None:
        """Note how far a step has come; arguments as of `RecheckJob.came`."""
        step.job.came(step, lowest)
        if step.job.done and step.job in self._jobs:
            self._drop(step.job)

    def _drop(self, job: RecheckJob) -> None:
        self._jobs.remove(job)
        for key in ((job.cause, piece) for piece in job.pieces):
            if self._of.get(key) is job:
                del self._of[key]

    def _join(self) -> None:
        """Make one job of the two oldest, so that their number is bounded.

        It may go through more messages than it must.
        """
        first, second = self._jobs[:2]
        pieces = [] if not first.pieces or not second.pieces else [*second.pieces, *first.pieces]
        joined = RecheckJob(second.cause, pieces[:MOST_JOINED])
        place = self._jobs.index(second)
        self._drop(first)
        self._drop(second)
        self._jobs.insert(place - 1, joined)
        self._of.update(dict.fromkeys(((joined.cause, piece) for piece in joined.pieces), joined))
