"""The quality benchmark measures what it says: curves with ties, order, delay, feedback, noise, and
mail as it was before delivery.
"""

from pathlib import Path

import pytest

from benchmarks import labelled, roc
from benchmarks.kept import Kept
from benchmarks.labelled import Labelled
from benchmarks.streams import Row, ordered, steps
from oborona.cli.mailboxes import UnreadableMail

MAIL = [
    Labelled(str(number), number % 3 == 0, b"", float(1000 - number) if number else 0.0)
    for number in range(400)
]


def row(**changes: float) -> Row:
    values = {"feedback": 1.0, "delay": 0, "noise": 0.0, **changes}
    return Row(
        order="random",
        seed=1,
        feedback=values["feedback"],
        delay=int(values["delay"]),
        noise=values["noise"],
    )


def test_the_area_counts_pairs_the_wrong_way_round_and_half_of_the_equal() -> None:
    assert roc.loss([0.1, 0.2, 0.9, 0.8], [False, False, True, True]) == 0
    assert roc.loss([0.9, 0.8, 0.1, 0.2], [False, False, True, True]) == 100
    assert roc.loss([0.5] * 4, [False, False, True, True]) == 50
    assert roc.loss([0.1, 0.5, 0.5, 0.9], [False, False, True, True]) == 12.5
    with pytest.raises(ValueError, match="ham and spam"):
        roc.loss([1.0], [True])


def test_spam_is_missed_at_and_below_the_first_ham_that_must_stay() -> None:
    hams = [number / 1000 for number in range(1000)]
    spams = [0.9985, 0.998, 2.0, 0.5]
    scores, kinds = hams + spams, [False] * 1000 + [True] * 4
    assert roc.missed(scores, kinds, 0.001) == 50  # 0.999 may be lost: the line is at 0.998
    assert roc.missed(scores, kinds, 0.0) == 75
    assert roc.missed([0.5] * 8, [False] * 4 + [True] * 4, 0.001) == 100


def test_a_message_is_taught_after_it_was_scored_and_as_late_as_the_delay_says() -> None:
    scored: list[int] = []
    taught: list[int] = []
    for step in steps(MAIL, row(delay=50)):
        scored.append(step.message)
        taught += [number for number, _ in step.taught]
        assert taught == scored[: max(0, len(scored) - 50)]
    assert sorted(scored) == list(range(len(MAIL)))


def test_who_is_taught_with_little_feedback_is_among_those_with_more() -> None:
    some, more = (
        {number for step in steps(MAIL, row(feedback=share)) for number, _ in step.taught}
        for share in (0.1, 0.5)
    )
    assert some < more
    assert 150 < len(more) < 250


def test_noise_turns_its_share_of_words_and_no_others() -> None:
    told = [each for step in steps(MAIL, row(noise=0.2)) for each in step.taught]
    wrong = sum(spam is not MAIL[number].spam for number, spam in told)
    assert 50 < wrong < 110
    assert all(
        spam is MAIL[number].spam for step in steps(MAIL, row()) for number, spam in step.taught
    )


def test_time_order_goes_by_arrival() -> None:
    assert ordered(MAIL, "time", 1) == [0, *range(399, 0, -1)]


def test_arrival_is_of_the_newest_hop_and_else_the_date() -> None:
    hop = b"Received: from a by b; Thu, 22 Aug 2002 13:36:23 +0100\n"
    date = b"Date: Thu, 22 Aug 2002 00:00:00 +0000\n"
    assert labelled.arrived(date + hop + b"\nbody") == 1030019783
    assert labelled.arrived(date + b"\nbody") == 1029974400
    assert labelled.arrived(b"Date: never\n\nbody") == 0
    assert labelled.arrived(b"") == 0


def test_folders_and_indexes_name_the_same_mail(tmp_path: Path) -> None:
    for name in ("easy-ham-1/1", "spam/2"):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text("Subject: x\n\n")
    (tmp_path / "index").write_text("ham easy-ham-1/1\nspam spam/2\n")
    assert labelled.read(tmp_path, clean=False) == labelled.read(tmp_path / "index", clean=False)
    (tmp_path / "index").write_text("ham easy-ham-1/1\nvirus spam/2\n")
    with pytest.raises(UnreadableMail, match="index:2"):
        labelled.read(tmp_path / "index", clean=False)
    with pytest.raises(ValueError, match="no folder of ham"):
        labelled.read(tmp_path / "spam", clean=False)


def test_a_finished_row_is_found_again_for_the_same_mail_filter_row_and_limit_only(
    tmp_path: Path,
) -> None:
    Kept(tmp_path / "rows", "mail").put("oborona", "1", row(), None, {"loss": 0.5})
    again = Kept(tmp_path / "rows", "mail")
    assert again.get("oborona", "1", row(), None) == {"loss": 0.5}
    assert again.get("oborona", "2", row(), None) is None
    assert again.get("bogofilter", "1", row(), None) is None
    assert again.get("oborona", "1", row(noise=0.05), None) is None
    assert again.get("oborona", "1", row(), 100) is None
    assert Kept(tmp_path / "rows", "other mail").get("oborona", "1", row(), None) is None
