"""The trainer: the one process that learns from labels, and the only one that writes the weights.

    begin     load the newest readable snapshot, learn the labels since it in order: these are the
              weights as they were; publish them under a new file
    step      learn some queued labels: the weights first, then the header, then the store, so that
              workers have it before the store says so
    rebuild   after labels were withdrawn or came sorted: from the newest snapshot that never saw
              them, else from the kept examples, some lessons a step beside live learning; publish
              when it has caught up
    snapshot  every hour in which something was learned, after every `SNAPSHOT_WORDS`, before
              weights are replaced, and at the end

The store and the snapshots are authoritative, the mapped file follows from them: after kill -9 at
any moment each label is learned exactly once.  If a store fails, mail goes on: the weights stay,
the log says so once, and the trainer begins again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.feedback.training_order import LabelRuns
from oborona.feedback.training_state import UnfitExample
from oborona.feedback.training_store import TrainingStore, WeightsSnapshot
from oborona.feedback.weights_file import WeightsHeader, publish_weights
from oborona.feedback.weights_rebuild import WeightsRebuild, header_of

# words learned in one transaction: who writes meanwhile waits for some 20 ms, 100 where all of them
# are new to the weights
AT_ONCE: Final = 8
SNAPSHOT_S: Final = 3600.0
SNAPSHOT_WORDS: Final = 2000  # a start learns at most so many again: some seconds
TIDY_S: Final = 60.0
FORGET_ROWS: Final = 500  # at once
FORGET_S: Final = 86_400.0  # between looks for words of long ago
# weights that were made anew stay for so many times as long as that took, unless an admin asks
REST: Final = 4.0

log = logging.getLogger("oborona.trainer")


class Trainer:
    """The trainer's state; for one thread.

    Args:
        state: the state folder.
        kept: examples of a class that weights are made anew from.
        retention_s: seconds that a word is remembered once its example is gone.
        begun: weights to go on from, with the store that they were learned from; None = none.
        hold: lets the store be written as long as this is who trains.
        clock: Unix seconds.
        monotonic: seconds that never go back.
        goes_on: called again and again while the weights are made.

    Raises:
        StoreError: the store or the weights can't be used.

    Attributes:
        lessons: people's word.
    """

    def __init__(
        self,
        state: Path,
        *,
        kept: int,
        retention_s: float,
        begun: WeightsRebuild | None = None,
        hold: Callable[[TrainingStore], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        goes_on: Callable[[], None] = lambda: None,
    ) -> None:
        self._state = state
        self._kept = kept
        self._retention_s = retention_s
        self._clock = clock
        self._monotonic = monotonic
        self.lessons = (
            TrainingStore(state / state_files.FEEDBACK) if begun is None else begun.lessons
        )
        hold(self.lessons)
        try:
            self._seen = -1  # version of the store that nothing more was to be done for
            self._relearning: WeightsRebuild | None = None
            self._rests_until = float("-inf")
            self._snapshot_at = self._tidied_at = monotonic()
            self._forgot_at = float("-inf")
            self._whole = True
            self._runs = LabelRuns()
            self._newest = max(
                (snapshot.position for snapshot in self.lessons.snapshots()), default=0
            )
            if begun is None or not begun.is_of(self.lessons.standing()):
                begun = WeightsRebuild(self.lessons, state, kept=kept)
            while not begun.step(AT_ONCE):
                goes_on()
            self._replace(begun)
        except BaseException:
            self.lessons.close()
            raise

    @property
    def header(self) -> WeightsHeader:
        """Of the weights in force."""
        return self._file.header

    @property
    def relearning(self) -> float | None:
        """How far making the weights anew has come, 0..1; None: it is not being done."""
        return None if self._relearning is None else self._relearning.share

    def step(self) -> bool:
        """Do a little of what there is to do; return whether there is more.

        Raises:
            StoreError: the store can't be used; the trainer is to be closed, and begun again.
        """
        busy = self._learn()
        busy |= self._relearn()
        self._tidy()
        return busy

    def close(self) -> None:
        """Make a last snapshot, and let the files go.

        Without one the next start takes longer, and nothing is lost.
        """
        try:
            if self._whole and self.header.position > self._newest:
                self._snapshot("stopped")
        except StoreError as error:
            log.warning("no snapshot at the end: %s", error)
        finally:
            self.lessons.close()

    def _learn(self) -> bool:
        """Learn what waits; return whether more may."""
        version = self.lessons.data_version()
        if version == self._seen:
            return False
        now, margins, position = self._clock(), list[tuple[int, float]](), self.header.position
        self._whole = False  # until the store knows what the weights do
        with self.lessons.transaction():
            waiting = self.lessons.waiting(position, AT_ONCE)
            for lesson in waiting:
                position = lesson.id
                try:
                    margins.append((lesson.id, self._course.take(lesson)))
                except UnfitExample as error:
                    self.lessons.refuse(lesson.id, str(error), now)
            if margins:
                self._file.write(
                    header_of(
                        self.header,
                        self._course,
                        epoch=self.header.epoch,
                        position=position,
                        now=now,
                    )
                )
            self.lessons.learned(margins, now)
        self._whole = True
        for lesson in waiting:
            self._runs.add(lesson.kind)
        if len(waiting) == AT_ONCE:
            return True
        self._seen = version
        if (
            self._runs.sorted(self._course.spam + self._course.ham)
            and self._course.spam
            and self._course.ham
        ):
            self._runs = LabelRuns()
            self.lessons.request_rebuild()
        return False

    def _relearn(self) -> bool:
        """Make the weights anew where words were taken back; return whether it is being done."""
        if self._relearning is None:
            standing = self.lessons.standing()
            rests = standing.hurry <= standing.exact and self._monotonic() < self._rests_until
            if standing.edits == standing.exact or rests:
                return False
            self._snapshot("before the weights were computed again")
            self._relearning = WeightsRebuild(self.lessons, self._state, kept=self._kept)
            self._began = self._monotonic()
        if self._relearning.step(AT_ONCE):
            done, self._relearning = self._relearning, None
            self._replace(done)
            now = self._monotonic()
            self._rests_until = now + REST * (now - self._began)
        return True

    def _replace(self, done: WeightsRebuild) -> None:
        """Put new weights in the place of the old: published first, then in a snapshot, then noted
        in the store.
        """
        epoch = done.standing.epoch + (not done.same)
        self._file = done.finished(epoch, self._clock())
        self._course = done.course
        publish_weights(self._file, self._state / state_files.WEIGHTS)
        if not done.same:
            self._snapshot("computed again", exact=done.exact)
            self.lessons.note_rebuilt(done.margins, done.exact, epoch)
            log.info(
                "weights computed again from %d messages of spam and %d of ham",
                self.header.spam,
                self.header.ham,
            )

    def _tidy(self) -> None:
        """Make snapshots on the clock, and forget what there is no room for."""
        now, learned = self._monotonic(), self.header.position - self._newest
        if learned >= SNAPSHOT_WORDS or (learned > 0 and now - self._snapshot_at >= SNAPSHOT_S):
            self._snapshot("on the clock")
        if self._relearning is not None or now - self._tidied_at < TIDY_S:
            return
        if self.lessons.forget_examples(self._kept, self._newest, FORGET_ROWS) < FORGET_ROWS:
            self._tidied_at = now
        if now - self._forgot_at >= FORGET_S and not self.lessons.forget_words(
            self._clock() - self._retention_s, FORGET_ROWS
        ):
            self._forgot_at = now

    def _snapshot(self, why: str, exact: int | None = None) -> None:
        """Keep the weights as they are.

        Args:
            why: for those who choose one.
            exact: the edit that the weights follow, where the store does not say so yet.
        """
        header, ident = self.header, self.lessons.next_snapshot()
        octets = snapshots.packed(self._file.image(), self._course.state())
        snapshots.write(snapshots.path_of(self._state, ident), octets)
        snapshot = WeightsSnapshot(
            id=ident,
            time=self._clock(),
            why=why,
            position=header.position,
            epoch=header.epoch,
            spam=header.spam,
            ham=header.ham,
        )
        self.lessons.add_snapshot(
            snapshot, self.lessons.standing().exact if exact is None else exact
        )
        self._newest, self._snapshot_at = header.position, self._monotonic()
        surplus = snapshots.surplus_snapshots(self.lessons.snapshots())
        self.lessons.drop_snapshots(surplus)
        for surplus_id in surplus:
            snapshots.remove(snapshots.path_of(self._state, surplus_id))
