"""What counters say of a message: by type, the worst of several, and a share of a fingerprint."""

from oborona.message.shingles import Type
from oborona.policy.known import Known, asked
from oborona.policy.ports import Totals
from oborona.types import Metric, Pair, Pieces, Shingle, Window


def row(seen: int, spam: int = 0) -> list[list[int]]:
    return [[seen, spam, 0, 0, 0, 0] for _ in Window]


def known(kind: Type, *rows: list[list[int]]) -> Known:
    totals: Totals = list(rows)
    return Known([Shingle(kind, number) for number in range(len(rows))], totals)


def test_a_type_that_the_message_has_not_counts_nothing() -> None:
    nothing = Known()
    assert nothing.count(Type.FROM, Window.DAY, Metric.SEEN) == 0
    assert nothing.spam_share(Type.FROM, Window.DAY) == 0.5
    assert not nothing.has(Type.FROM)


def test_several_pieces_of_a_type_answer_with_the_worst() -> None:
    links = known(Type.URL, row(1000, 1), row(20, 15), row(5, 0))
    assert links.count(Type.URL, Window.DAY, Metric.SEEN) == 20
    assert links.ham(Type.URL, Window.DAY) == 5
    assert 0.7 < links.spam_share(Type.URL, Window.DAY) < 0.75


def test_without_spam_the_one_seen_most_answers() -> None:
    assert known(Type.URL, row(3), row(8), row(1)).count(Type.URL, Window.HOUR, Metric.SEEN) == 8


def test_a_fingerprint_answers_with_what_a_quarter_of_its_values_reach() -> None:
    values = [row(0)] * 12 + [row(9), row(30), row(31), row(7)]
    assert known(Type.WORDS, *values, *values).count(Type.WORDS, Window.HOUR, Metric.SEEN) == 7
    assert (
        known(Type.WORDS, *values, *[row(0)] * 16).count(Type.WORDS, Window.HOUR, Metric.SEEN) == 0
    )
    assert known(Type.WORDS, *values).count(Type.WORDS, Window.HOUR, Metric.SEEN) == 7
    assert known(Type.TEXT_IPS, *values[8:]).count(Type.TEXT_IPS, Window.HOUR, Metric.SEEN) == 30
    # three shared values, a common phrase's worth, are nothing
    assert (
        known(Type.WORDS, *[row(0)] * 13, *[row(500)] * 3).count(
            Type.WORDS, Window.HOUR, Metric.SEEN
        )
        == 0
    )


def test_of_the_values_of_characters_six_must_be_shared() -> None:
    totals: Totals = [row(0)] * 10 + [row(count) for count in (1, 2, 3, 4, 5, 6)]
    assert known(Type.CHARACTERS, *totals).count(Type.CHARACTERS, Window.HOUR, Metric.SEEN) == 1
    assert known(Type.WORDS, *totals).count(Type.WORDS, Window.HOUR, Metric.SEEN) == 3


def shown(*values: tuple[Type, list[int]]) -> Known:
    """Return what is known of a message whose values of each type were seen so often."""
    shingles = [Shingle(kind, number) for kind, counts in values for number in range(len(counts))]
    return Known(shingles, [row(count) for _, counts in values for count in counts])


def test_copies_are_counted_by_the_fingerprint_that_knows_more_of_them() -> None:
    both = shown((Type.CHARACTERS, [9] * 16), (Type.WORDS, [4] * 16), (Type.TEMPLATE, [70]))
    assert both.copies(Window.DAY, Metric.SEEN) == 9
    assert shown((Type.WORDS, [4] * 16)).copies(Window.DAY, Metric.SEEN) == 4
    assert shown((Type.TEMPLATE, [70])).copies(Window.DAY, Metric.SEEN) == 70
    assert Known().copies(Window.DAY, Metric.SEEN) == 0


def test_unique_counts_hang_on_either_fingerprint() -> None:
    def ips(kinds: tuple[Type, ...], counts: list[int]) -> int:
        values = [(kind, [1] * 16) for kind in kinds]
        return shown(*values, (Type.TEXT_IPS, counts)).count(Type.TEXT_IPS, Window.DAY, Metric.SEEN)

    assert ips((Type.WORDS,), [9, 8, 7, 0, 0, 0, 0, 0]) == 8
    assert ips((Type.CHARACTERS,), [9, 8, 7, 0, 0, 0, 0, 0]) == 7
    assert ips((Type.CHARACTERS, Type.WORDS), [0] * 8 + [9, 8, 7, 0, 0, 0, 0, 0]) == 7
    assert ips((), [5]) == 5  # of a template


def test_a_message_asks_for_its_pieces_and_for_what_its_pairs_count_each_once() -> None:
    own, unique = Shingle(14, 1), Shingle(31, 2)
    pieces = Pieces(
        shingles=(own,), pairs=(Pair(Shingle(30, 3), unique), Pair(Shingle(30, 4), unique))
    )
    assert asked(pieces) == (own, unique)
