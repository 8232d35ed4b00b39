"""What is to be looked at: every message that carries a piece is met after the last word on it, the
newest first, and nobody waits for ever.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.engine.work_queue import MOST_JOBS, MOST_PIECES, RecheckQueue, RecheckStep
from oborona.types import Shingle

A, B, C = Shingle(2, 1), Shingle(2, 2), Shingle(2, 3)
AT_ONCE = 3


class Messages:
    """Messages by their pieces, as the index finds them."""

    def __init__(self, pieces: dict[int, set[Shingle]]) -> None:
        self.pieces = pieces

    def find(self, step: RecheckStep) -> list[int]:
        found = [
            one
            for one in sorted(self.pieces, reverse=True)
            if (step.before is None or one < step.before)
            and (not step.job.pieces or self.pieces[one] & step.job.pieces.keys())
        ]
        return found[:AT_ONCE]

    def step(self, work: RecheckQueue) -> list[int] | None:
        """Take a step; return the messages that were met, None where there is nothing to do."""
        step = work.next()
        if step is None:
            return None
        found = self.find(step)
        work.came(step, found[-1] if len(found) == AT_ONCE else None)
        return [one for one in found if one >= step.until]


def all_of(work: RecheckQueue, messages: Messages) -> list[int]:
    met: list[int] = []
    for _ in range(10_000):
        some = messages.step(work)
        if some is None:
            return met
        met += some
    raise AssertionError("it never comes to an end")


def test_the_newest_come_first_and_each_once() -> None:
    work, messages = RecheckQueue(), Messages({one: {A} for one in range(1, 20)})
    work.add(RecheckCause.WORD, [A])
    assert all_of(work, messages) == list(range(19, 0, -1))
    assert len(work) == 0


def test_another_word_meets_the_newest_at_once_and_the_oldest_are_still_reached() -> None:
    """A word after each step: the head begins again and again, and the tail comes to the end."""
    work, messages = RecheckQueue(), Messages({one: {A} for one in range(1, 200)})
    work.add(RecheckCause.WORD, [A])
    oldest = 0
    for number in range(1000):
        met = messages.step(work)
        assert met is not None
        if 1 in met:
            oldest = number
            break
        work.add(RecheckCause.WORD, [A])
        following = work.next()
        assert following is not None
    assert oldest, "the oldest message was never met"


def test_words_on_one_campaign_are_one_job_and_others_are_others() -> None:
    work = RecheckQueue()
    work.add(RecheckCause.WORD, [A, B])
    work.add(RecheckCause.WORD, [B])
    work.add(RecheckCause.WORD, [C])
    work.add(RecheckCause.PARDON, [B])
    assert len(work) == 3


def test_the_newest_job_does_not_starve_the_others() -> None:
    work = RecheckQueue()
    messages = Messages({one: {A} if one % 2 else {B} for one in range(1, 2000)})
    work.add(RecheckCause.WORD, [A])
    work.add(RecheckCause.WORD, [B])
    met = [messages.step(work) or [] for _ in range(30)]
    odd = sum(one % 2 for some in met for one in some)
    assert 20 <= odd <= 40, "a third of the steps"


def test_a_change_of_everything_is_one_job() -> None:
    work, messages = RecheckQueue(), Messages({one: {A} for one in range(1, 8)})
    work.add(RecheckCause.POLICY, [])
    work.add(RecheckCause.POLICY, [])
    assert len(work) == 1
    assert all_of(work, messages) == list(range(7, 0, -1))


def test_their_number_is_bounded_and_nothing_is_passed_over() -> None:
    number = MOST_JOBS + 50
    work = RecheckQueue()
    messages = Messages({one: {Shingle(2, one)} for one in range(1, number + 1)})
    for one in range(1, number + 1):
        work.add(RecheckCause.WORD, [Shingle(2, one)])
        assert len(work) <= MOST_JOBS
    assert set(all_of(work, messages)) == set(range(1, number + 1))


def test_a_job_takes_only_so_many_pieces() -> None:
    work = RecheckQueue()
    for one in range(MOST_PIECES + 10):
        work.add(RecheckCause.WORD, [A, Shingle(2, 100 + one)])
    assert all(len(step.job.pieces) <= MOST_PIECES for step in [work.next()] if step is not None)
    assert len(work) > 1


WORDS = st.lists(
    st.tuples(st.integers(0, 6), st.sets(st.sampled_from([A, B, C]), min_size=1)), max_size=12
)


@given(
    pieces=st.dictionaries(st.integers(1, 60), st.sets(st.sampled_from([A, B, C])), max_size=40),
    words=WORDS,
)
def test_every_message_is_met_after_the_last_word_on_it(
    pieces: dict[int, set[Shingle]], words: list[tuple[int, set[Shingle]]]
) -> None:
    """Invariant: when there is nothing left to do, each message was met after the last word on any
    of its pieces.
    """
    work, messages = RecheckQueue(), Messages(pieces)
    met_at: dict[int, int] = {}
    said_at: dict[Shingle, int] = {}
    now = 0
    for steps, said in words:
        for _ in range(steps):
            now += 1
            met_at.update(dict.fromkeys(messages.step(work) or [], now))
        now += 1
        work.add(RecheckCause.WORD, sorted(said))
        said_at.update(dict.fromkeys(said, now))
    while (some := messages.step(work)) is not None:
        now += 1
        met_at.update(dict.fromkeys(some, now))
        assert now < 10_000, "it never comes to an end"
    for ident, own in pieces.items():
        last = max((said_at[one] for one in own if one in said_at), default=0)
        assert met_at.get(ident, 0) >= last, "a message was passed over"
