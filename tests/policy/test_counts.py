"""What counters say of a message: by type, the worst of several, and a share of a fingerprint."""

from oborona.message.shingles import ShingleType
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.ports import Totals
from oborona.types import CountedPieces, Metric, Shingle, UniquePair, Window


def row(seen: int, spam: int = 0) -> list[list[int]]:
    return [[seen, spam, 0, 0, 0, 0] for _ in Window]


def known(kind: ShingleType, *rows: list[list[int]]) -> MessageCounts:
    totals: Totals = list(rows)
    return MessageCounts([Shingle(kind, number) for number in range(len(rows))], totals)


def test_a_type_that_the_message_has_not_counts_nothing() -> None:
    nothing = MessageCounts()
    assert nothing.count(ShingleType.FROM, Window.DAY, Metric.SEEN) == 0
    assert nothing.spam_share(ShingleType.FROM, Window.DAY) == 0.5
    assert not nothing.has(ShingleType.FROM)


def test_several_pieces_of_a_type_answer_with_the_worst() -> None:
    links = known(ShingleType.URL, row(1000, 1), row(20, 15), row(5, 0))
    assert links.count(ShingleType.URL, Window.DAY, Metric.SEEN) == 20
    assert links.ham(ShingleType.URL, Window.DAY) == 5
    assert 0.7 < links.spam_share(ShingleType.URL, Window.DAY) < 0.75


def test_without_spam_the_one_seen_most_answers() -> None:
    assert (
        known(ShingleType.URL, row(3), row(8), row(1)).count(
            ShingleType.URL, Window.HOUR, Metric.SEEN
        )
        == 8
    )


def test_a_fingerprint_answers_with_what_a_quarter_of_its_values_reach() -> None:
    values = [row(0)] * 12 + [row(9), row(30), row(31), row(7)]
    assert (
        known(ShingleType.WORDS, *values, *values).count(
            ShingleType.WORDS, Window.HOUR, Metric.SEEN
        )
        == 7
    )
    assert (
        known(ShingleType.WORDS, *values, *[row(0)] * 16).count(
            ShingleType.WORDS, Window.HOUR, Metric.SEEN
        )
        == 0
    )
    assert known(ShingleType.WORDS, *values).count(ShingleType.WORDS, Window.HOUR, Metric.SEEN) == 7
    assert (
        known(ShingleType.TEXT_IPS, *values[8:]).count(
            ShingleType.TEXT_IPS, Window.HOUR, Metric.SEEN
        )
        == 30
    )
    # three shared values, a common phrase's worth, are nothing
    assert (
        known(ShingleType.WORDS, *[row(0)] * 13, *[row(500)] * 3).count(
            ShingleType.WORDS, Window.HOUR, Metric.SEEN
        )
        == 0
    )


def test_of_the_values_of_characters_six_must_be_shared() -> None:
    totals: Totals = [row(0)] * 10 + [row(count) for count in (1, 2, 3, 4, 5, 6)]
    assert (
        known(ShingleType.CHARACTERS, *totals).count(
            ShingleType.CHARACTERS, Window.HOUR, Metric.SEEN
        )
        == 1
    )
    assert known(ShingleType.WORDS, *totals).count(ShingleType.WORDS, Window.HOUR, Metric.SEEN) == 3


def shown(*values: tuple[ShingleType, list[int]]) -> MessageCounts:
    """Return what is known of a message whose values of each type were seen so often."""
    shingles = [Shingle(kind, number) for kind, counts in values for number in range(len(counts))]
    return MessageCounts(shingles, [row(count) for _, counts in values for count in counts])


def test_copies_are_counted_by_the_fingerprint_that_knows_more_of_them() -> None:
    both = shown(
        (ShingleType.CHARACTERS, [9] * 16),
        (ShingleType.WORDS, [4] * 16),
        (ShingleType.TEMPLATE, [70]),
    )
    assert both.copies(Window.DAY, Metric.SEEN) == 9
    assert shown((ShingleType.WORDS, [4] * 16)).copies(Window.DAY, Metric.SEEN) == 4
    assert shown((ShingleType.TEMPLATE, [70])).copies(Window.DAY, Metric.SEEN) == 70
    assert MessageCounts().copies(Window.DAY, Metric.SEEN) == 0


def test_unique_counts_hang_on_either_fingerprint() -> None:
    def ips(kinds: tuple[ShingleType, ...], counts: list[int]) -> int:
        values = [(kind, [1] * 16) for kind in kinds]
        return shown(*values, (ShingleType.TEXT_IPS, counts)).count(
            ShingleType.TEXT_IPS, Window.DAY, Metric.SEEN
        )

    assert ips((ShingleType.WORDS,), [9, 8, 7, 0, 0, 0, 0, 0]) == 8
    assert ips((ShingleType.CHARACTERS,), [9, 8, 7, 0, 0, 0, 0, 0]) == 7
    assert ips((ShingleType.CHARACTERS, ShingleType.WORDS), [0] * 8 + [9, 8, 7, 0, 0, 0, 0, 0]) == 7
    assert ips((), [5]) == 5  # of a template


def test_a_message_asks_for_its_pieces_and_for_what_its_pairs_count_each_once() -> None:
    own, unique = Shingle(14, 1), Shingle(31, 2)
    pieces = CountedPieces(
        shingles=(own,),
        pairs=(UniquePair(Shingle(30, 3), unique), UniquePair(Shingle(30, 4), unique)),
    )
    assert shingles_to_read(pieces) == (own, unique)
