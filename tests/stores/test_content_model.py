"""A worker's content model: follows the weights as they are taught, replaced and broken, and never
raises.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona import state_files
from oborona.feedback.label import LabelKind
from oborona.feedback.label_store import LabelStore
from oborona.message.parse import parse
from oborona.policy.models.opinion import UNTAUGHT, ContentOpinion
from oborona.stores.content_model import FollowedContentModel
from oborona.types import Envelope
from tests.feedback.words import NOW, letter, mixed, said, settle, teach, trainer

SPAM, HAM = parse(letter(901, LabelKind.SPAM)), parse(letter(900, LabelKind.HAM))
NOBODY = Envelope()


@pytest.fixture
def model(tmp_path: Path) -> FollowedContentModel:
    return FollowedContentModel(tmp_path / state_files.WEIGHTS, least=10)


def probability(opinion: ContentOpinion) -> float:
    assert opinion.probability is not None
    return opinion.probability


def test_without_weights_it_says_nothing(model: FollowedContentModel) -> None:
    assert model.read(SPAM, NOBODY) == UNTAUGHT
    assert (model.trouble, model.version) == ("", "")


def test_it_is_silent_until_it_has_learned_enough_and_says_how_much_it_has(
    tmp_path: Path, model: FollowedContentModel
) -> None:
    teach(tmp_path, mixed(19))
    one = settle(trainer(tmp_path))
    opinion = model.read(SPAM, NOBODY)
    assert (opinion.probability, opinion.spam_learned, opinion.ham_learned) == (None, 9, 10)
    teach(tmp_path, mixed(1, first=19))
    settle(one)
    opinion = model.read(SPAM, NOBODY)
    assert (opinion.spam_learned, opinion.ham_learned) == (10, 10)
    assert opinion.version == one.header.version == model.version
    assert probability(opinion) > 0.5 > probability(model.read(HAM, NOBODY))
    one.close()


def test_it_follows_what_is_learned_and_weights_that_are_made_anew(
    tmp_path: Path, model: FollowedContentModel
) -> None:
    teach(tmp_path, mixed(40))
    one = settle(trainer(tmp_path))
    before = model.read(SPAM, NOBODY)
    (ident,) = teach(tmp_path, [said(letter(901, LabelKind.SPAM), LabelKind.HAM)])
    settle(one)
    after = model.read(SPAM, NOBODY)
    assert after.margin < before.margin
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        store.take_back([ident], reason="test", by="ann", now=NOW)
    settle(one)
    again = model.read(SPAM, NOBODY)
    assert again.margin == before.margin
    assert again.version != before.version
    one.close()


def test_a_persons_own_words_count_for_that_person_more_than_for_others(
    tmp_path: Path, model: FollowedContentModel
) -> None:
    teach(
        tmp_path,
        [*mixed(60), said(letter(901, LabelKind.SPAM), LabelKind.HAM, person="ann@b.example")],
    )
    settle(trainer(tmp_path)).close()
    ann = model.read(SPAM, Envelope(recipients=("Ann@b.example",)))
    assert ann.personal < 0
    assert ann.margin == pytest.approx(model.read(SPAM, NOBODY).margin + ann.personal)
    for others in (("bob@b.example",), ("ann@b.example", "bob@b.example")):
        assert model.read(SPAM, Envelope(recipients=others)).personal == 0


@pytest.mark.parametrize(
    "octets", [b"", b"nothing", b"OBORONAW" + bytes(100), b"\xff" * 20_000_000]
)
def test_a_file_that_is_none_makes_it_silent_and_a_whole_one_speak_again(
    tmp_path: Path, model: FollowedContentModel, octets: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    teach(tmp_path, mixed(40))
    settle(trainer(tmp_path)).close()
    spoken = model.read(SPAM, NOBODY)
    whole = (tmp_path / state_files.WEIGHTS).read_bytes()
    fresh = tmp_path / "fresh"
    fresh.write_bytes(octets)
    fresh.replace(tmp_path / state_files.WEIGHTS)
    for _ in range(3):
        assert model.read(SPAM, NOBODY) == UNTAUGHT
    assert model.trouble
    assert len(caplog.records) == 1
    fresh.write_bytes(whole)
    fresh.replace(tmp_path / state_files.WEIGHTS)
    assert model.read(SPAM, NOBODY) == spoken
    assert not model.trouble


def test_a_file_cut_short_in_place_is_noticed_before_it_is_read(
    tmp_path: Path, model: FollowedContentModel
) -> None:
    """Reading behind the end of a mapped file would end the worker."""
    teach(tmp_path, mixed(40))
    settle(trainer(tmp_path)).close()
    assert model.read(SPAM, NOBODY).probability is not None
    with (tmp_path / state_files.WEIGHTS).open("r+b") as file:
        file.truncate(8192)
    assert model.read(SPAM, NOBODY) == UNTAUGHT
    (tmp_path / state_files.WEIGHTS).unlink()
    assert model.read(SPAM, NOBODY) == UNTAUGHT


@pytest.mark.parametrize(
    "raw", [b"", b"\0" * 5000, b"From: \xff\xfe\r\n\r\n" + b"\xf0\x9f" * 4000, b"\n" * 10_000]
)
def test_it_has_an_opinion_of_any_octets(
    tmp_path: Path, model: FollowedContentModel, raw: bytes
) -> None:
    teach(tmp_path, mixed(40))
    settle(trainer(tmp_path)).close()
    assert 0 <= probability(model.read(parse(raw), NOBODY)) <= 1
