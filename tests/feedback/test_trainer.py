"""The trainer: learns what is written down once, takes back exactly, goes back and forth, and keeps
to its room.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback import snapshots
from oborona.feedback.label import Label, LabelKind, LabelState
from oborona.feedback.label_store import LabelStore
from oborona.feedback.trainer import Trainer
from oborona.feedback.weights_file import HEADER_BYTES, WeightsFile
from oborona.policy.models.content.features import ContentFeatures
from tests.feedback.words import NOW, mixed, settle, teach, trainer, word


def learned(state: Path, words: list[Label], *, kept: int = 1000) -> Trainer:
    """Teach words to a new trainer of a folder, and return it."""
    state.mkdir(exist_ok=True)
    teach(state, words)
    return settle(trainer(state, kept=kept))


def weights(state: Path) -> bytes:
    """The weights that workers see."""
    return WeightsFile(state / state_files.WEIGHTS).image()[HEADER_BYTES:]


def test_what_is_written_down_is_learned_in_order_and_told(tmp_path: Path) -> None:
    one = learned(tmp_path, mixed(30))
    assert (one.header.spam, one.header.ham, one.header.position) == (15, 15, 30)
    assert any(weights(tmp_path))
    idents = teach(tmp_path, mixed(10, first=30))
    before = weights(tmp_path)
    settle(one)
    assert weights(tmp_path) != before
    assert WeightsFile(tmp_path / state_files.WEIGHTS).header == one.header
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        assert set(store.states(idents).values()) == {LabelState.LEARNED}
        assert all(store.get(ident).margin is not None for ident in idents)
    one.close()


def test_the_same_words_in_the_same_order_give_the_same_weights(tmp_path: Path) -> None:
    a, b = learned(tmp_path / "a", mixed(60)), learned(tmp_path / "b", mixed(60))
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert a.header.calibration == b.header.calibration
    a.close()
    b.close()


@pytest.mark.parametrize("snapshot", [False, True], ids=["from scratch", "from a snapshot"])
def test_what_is_taken_back_leaves_no_trace_bit_for_bit(tmp_path: Path, *, snapshot: bool) -> None:
    words = mixed(80)
    gone = [40, 41, 55] if snapshot else [3, 40, 55]
    state = tmp_path / "a"
    if snapshot:
        learned(state, words[:20]).close()
        one = learned(state, words[20:])
    else:
        one = learned(state, words)
    before = weights(state)
    with LabelStore(state / state_files.FEEDBACK) as store:
        assert store.take_back(
            [number + 1 for number in gone], reason="test", by="ann", now=NOW
        ) == [number + 1 for number in gone]
    settle(one)
    other = learned(
        tmp_path / "b", [each for number, each in enumerate(words) if number not in gone]
    )
    assert weights(state) == weights(tmp_path / "b")
    assert weights(state) != before
    assert one.header.calibration == other.header.calibration
    assert (one.header.spam, one.header.ham) == (other.header.spam, other.header.ham)
    assert one.header.epoch == 1
    one.close()
    other.close()
    again = trainer(state)
    assert weights(state) == weights(tmp_path / "b")
    again.close()


def test_learning_goes_on_while_weights_are_made_anew_and_is_in_them(tmp_path: Path) -> None:
    words = mixed(90)
    one = learned(tmp_path / "a", words[:60])
    with LabelStore(tmp_path / "a" / state_files.FEEDBACK) as store:
        store.take_back([5], reason="test", by="ann", now=NOW)
    one.step()
    assert one.relearning is not None
    teach(tmp_path / "a", words[60:])
    one.step()
    assert one.header.position > 60
    settle(one)
    other = learned(tmp_path / "b", words[:4] + words[5:])
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    one.close()
    other.close()


def test_the_opposite_word_of_the_same_person_replaces_the_first_exactly(tmp_path: Path) -> None:
    words = mixed(40)
    wrong = word(7, LabelKind.SPAM, person="ann@b.example")
    right = Label(
        **{name: getattr(wrong, name) for name in wrong.__struct_fields__} | {"kind": LabelKind.HAM}
    )
    one = learned(tmp_path / "a", [*words[:20], wrong, *words[20:], right])
    other = learned(tmp_path / "b", [*words, right])
    settle(one)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    one.close()
    other.close()


def test_a_roll_back_gives_the_weights_of_then_and_can_be_undone(tmp_path: Path) -> None:
    learned(tmp_path, mixed(30)).close()
    then = weights(tmp_path)
    one = learned(tmp_path, mixed(30, first=30))
    one.close()
    later = weights(tmp_path)
    one = trainer(tmp_path)
    newest, first = one.lessons.snapshots()
    assert (first.position, newest.position) == (30, 60)
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        assert store.roll_back(first.id, by="ann", now=NOW) == (30, 0)
        settle(one)
        assert weights(tmp_path) == then
        assert store.get(31).state is LabelState.SET_ASIDE
        assert store.roll_back(newest.id, by="ann", now=NOW) == (0, 30)
        one.close()
        one = settle(trainer(tmp_path))
        assert weights(tmp_path) == later
        with pytest.raises(KeyError):
            store.roll_back(999, by="ann", now=NOW)
    one.close()


def test_a_roll_back_does_not_bring_back_what_was_taken_back(tmp_path: Path) -> None:
    learned(tmp_path / "a", mixed(30)).close()
    one = learned(tmp_path / "a", mixed(10, first=30))
    (first,) = one.lessons.snapshots()
    with LabelStore(tmp_path / "a" / state_files.FEEDBACK) as store:
        store.take_back([5], reason="test", by="ann", now=NOW)
        store.roll_back(first.id, by="ann", now=NOW)
    settle(one)
    words = mixed(30)
    other = learned(tmp_path / "b", words[:4] + words[5:])
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    one.close()
    other.close()


def test_weights_from_scratch_are_of_the_examples_that_are_kept_alone(tmp_path: Path) -> None:
    """What there was no room for leaves no trace, nor does it when one of those kept is taken
    back.
    """
    words = mixed(300)
    state = tmp_path / "a"
    learned(state, words, kept=100).close()  # its snapshot lets examples go
    one = trainer(state, kept=100)
    for _ in range(20):
        one.lessons.forget_examples(100, 300, 50)
    assert {kind: len(one.lessons.kept(kind, 1000)) for kind in LabelKind} == {
        LabelKind.SPAM: 110,
        LabelKind.HAM: 110,
    }
    gone = one.lessons.kept(LabelKind.SPAM, 100)[:5]
    with LabelStore(state / state_files.FEEDBACK) as store:
        store.take_back(gone, reason="test", by="ann", now=NOW)
    one.lessons.request_rebuild()
    settle(one)
    other = learned(
        tmp_path / "b", [each for number, each in enumerate(words) if number + 1 not in gone]
    )
    other.lessons.request_rebuild()
    other.close()
    other = settle(trainer(tmp_path / "b", kept=100))
    assert (one.header.spam, one.header.ham) == (100, 100)
    assert weights(state) == weights(tmp_path / "b")
    one.close()
    other.close()


def test_a_damaged_snapshot_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learned(tmp_path, mixed(30)).close()
    learned(tmp_path, mixed(10, first=30)).close()
    wanted = weights(tmp_path)
    newest = max((tmp_path / state_files.WEIGHTS_SNAPSHOTS).iterdir())
    newest.write_bytes(newest.read_bytes()[:-10])
    one = trainer(tmp_path)
    assert "passed over" in caplog.text
    assert weights(tmp_path) == wanted
    for each in (tmp_path / state_files.WEIGHTS_SNAPSHOTS).iterdir():
        each.write_bytes(b"nothing")
    one.close()
    settle(trainer(tmp_path)).close()
    assert weights(tmp_path) == wanted


def test_features_of_another_version_are_refused(tmp_path: Path) -> None:
    (ident,) = teach(tmp_path, mixed(1))
    one = trainer(tmp_path)
    with one.lessons.transaction() as db:
        db.execute("UPDATE example SET layout = 'older'")
    settle(one)
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        found = store.get(ident)
    assert (found.state, found.reason) == (
        LabelState.REFUSED,
        "its features are those of another version of Oborona",
    )
    assert one.header.position == 0
    one.close()


def test_damaged_features_are_refused_and_the_next_word_is_learned(tmp_path: Path) -> None:
    idents = teach(tmp_path, mixed(3))
    one = trainer(tmp_path)
    with one.lessons.transaction() as db:
        db.execute("UPDATE example SET features = ? WHERE id = ?", (b"\xff" * 9, idents[1]))
    settle(one)
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        states = store.states(idents)
    assert [states[ident] for ident in idents] == [
        LabelState.LEARNED,
        LabelState.REFUSED,
        LabelState.LEARNED,
    ]
    assert one.header.spam + one.header.ham == 2
    one.close()


def test_a_base_is_learned_on_top_of(tmp_path: Path) -> None:
    there = learned(tmp_path / "there", mixed(40))
    here = tmp_path / "here"
    here.mkdir()
    image = WeightsFile(tmp_path / "there" / state_files.WEIGHTS).image()
    snapshots.write(here / state_files.WEIGHTS_BASE, snapshots.packed(image, b""))
    one = learned(here, mixed(6, first=40))
    assert (one.header.base_spam, one.header.base_ham, one.header.spam, one.header.ham) == (
        20,
        20,
        3,
        3,
    )
    assert one.header.base == there.header.version
    assert weights(here) != weights(tmp_path / "there")
    with LabelStore(here / state_files.FEEDBACK) as store:
        store.take_back(range(1, 7), reason="test", by="ann", now=NOW)
    settle(one)
    assert weights(here) == weights(tmp_path / "there")
    one.close()
    there.close()


def test_a_store_that_fails_between_is_no_word_lost_and_none_learned_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = learned(tmp_path / "a", mixed(20))
    teach(tmp_path / "a", mixed(10, first=20))

    def full(margins: object, now: float) -> None:
        raise StoreError("no room left on the disk")

    monkeypatch.setattr(one.lessons, "learned", full)
    with pytest.raises(StoreError):
        one.step()
    one.close()
    one = settle(trainer(tmp_path / "a"))
    other = learned(tmp_path / "b", mixed(30))
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    one.close()
    other.close()


def test_mail_that_is_taught_sorted_is_learned_mixed(tmp_path: Path) -> None:
    """Weights of mail taught one class after the other judge as those of mail taught in turn."""
    words = mixed(240)
    one = learned(tmp_path / "a", sorted(words[:160], key=lambda each: each.kind))
    assert one.header.epoch == 1
    in_turn = learned(tmp_path / "b", words[:160])
    for header, state in ((one.header, tmp_path / "a"), (in_turn.header, tmp_path / "b")):
        file = WeightsFile(state / state_files.WEIGHTS)
        wrong = [
            each
            for each in words[160:]
            if (file.weights.margin(ContentFeatures.from_bytes(each.features)) > 0)
            is not (each.kind is LabelKind.SPAM)
        ]
        assert not wrong
        assert header.spam == header.ham == 80
    one.close()
    in_turn.close()


def test_what_people_change_rests_between_and_what_an_admin_asks_for_does_not(
    tmp_path: Path,
) -> None:
    now = [0.0]
    teach(tmp_path, mixed(40))
    one = Trainer(tmp_path, kept=1000, retention_s=1e9, clock=lambda: NOW, monotonic=lambda: now[0])
    settle(one)
    for number in (1, 3):
        wrong = word(100 + number, LabelKind.SPAM, person="ann@b.example")
        right = msgspec.structs.replace(wrong, kind=LabelKind.HAM)
        teach(tmp_path, [wrong])
        settle(one)
        teach(tmp_path, [right])
        one.step()
        now[0] += 10.0  # what it takes
        settle(one)
    assert one.header.epoch == 1  # the second time it rests
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        store.take_back([1], reason="test", by="ann", now=NOW)
    settle(one)
    assert one.header.epoch == 2
    one.close()
