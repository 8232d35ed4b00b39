"""Training: the same each time, in time order, and honest about what it can't do."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from oborona.feedback.final import train as training_of
from oborona.feedback.final.train import FOLDS, NotTrainable, train
from oborona.policy.models.final.examples import RARE, example_table
from oborona.policy.models.final.file import encode
from tests.policy.models.final.made import examples


def test_the_same_examples_give_the_same_file_octet_by_octet() -> None:
    made, names = examples(600)
    first, second = (train(made, names, policy="p", now=1.0) for _ in range(2))
    assert encode(first.model) == encode(second.model)
    assert (first.judged.probabilities == second.judged.probabilities).all()


def test_every_message_that_is_judged_came_after_those_that_were_learned() -> None:
    made, names = examples(600)
    said: list[tuple[str, int, int]] = []
    found = train(made, names, policy="p", now=1.0, progress=lambda *step: said.append(step))
    assert list(found.judged.places) == sorted(found.judged.places)
    assert found.judged.places[0] >= 600 // (FOLDS + 1)  # the first part is judged by nobody
    assert len(found.judged.folds) == FOLDS
    assert found.model.summary.judged == found.judged.spam.size
    assert [made[place].spam for place in found.judged.places] == found.judged.spam.tolist()
    assert said[-1] == ("folds", FOLDS + 1, FOLDS + 1)


def test_labels_of_what_came_later_change_nothing_of_what_was_judged_before() -> None:
    made, names = examples(600)
    other = [
        msgspec.structs.replace(one, spam=not one.spam) if place >= 500 else one
        for place, one in enumerate(made)
    ]
    first, second = (train(each, names, policy="p", now=1.0).judged for each in (made, other))
    early = first.places < 500
    assert early.any()
    assert (first.probabilities[early] == second.probabilities[early]).all()


def test_it_judges_better_than_the_rules_it_sees_and_says_how_sure_that_is() -> None:
    made, names = examples(900)
    summary = train(made, names, policy="p", now=1.0).model.summary
    assert summary.score is not None
    assert summary.final is not None
    assert summary.final.loss < summary.score.loss
    assert abs(sum(share for _, share in summary.importance) - 1) < 1e-6


def test_labels_by_chance_give_no_catch() -> None:
    """What leaks a label would be found here: nothing can be learned, so nothing may be told."""
    made, names = examples(900)
    draw = np.random.default_rng(5)
    summary = train(
        [msgspec.structs.replace(one, spam=bool(draw.random() < 0.5)) for one in made],
        names,
        policy="p",
        now=1.0,
    ).model.summary
    assert summary.final is not None
    assert 40 < summary.final.loss < 60


def test_too_little_mail_and_mail_of_one_kind_are_refused() -> None:
    made, names = examples(600)
    with pytest.raises(NotTrainable, match="80 of each"):
        train(made[:60], names, policy="p", now=1.0)
    with pytest.raises(NotTrainable, match="80 of each"):
        train([one for one in made if one.spam], names, policy="p", now=1.0)
    parted = sorted(made, key=lambda one: one.spam)  # all good mail first, all spam last
    with pytest.raises(NotTrainable, match="shuffle"):
        train(parted, names, policy="p", now=1.0)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_of, "find_spec", lambda _: None)
    with pytest.raises(NotTrainable, match=r"\./setup ml"):
        train([], (), policy="p", now=1.0)


def test_what_is_rare_or_the_same_everywhere_is_not_trained_on() -> None:
    made, names = examples(200)
    odd = [
        msgspec.structs.replace(
            one, marks=one.marks | {"rule ONCE"} | ({"rule OFTEN"} if place < RARE else set())
        )
        for place, one in enumerate(made)
    ]
    odd[0] = msgspec.structs.replace(odd[0], marks=odd[0].marks | {"rule FEW"})
    table = example_table(odd, names)
    assert "rule OFTEN" in table.features
    assert "rule ONCE" not in table.features  # all have it
    assert "rule FEW" not in table.features
    assert table.numbers.shape == (200, len(table.features))
