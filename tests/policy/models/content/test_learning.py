"""Learning: what is taught is known, in any balance of classes, the same each time, and a person's
word is that person's.
"""

import random

import numpy as np
import pytest

from oborona.message.parse import parse
from oborona.policy.models.content.features import ContentFeatures, features
from oborona.policy.models.content.learner import LOOK_BACK, MOST, ContentExample, ContentLearner
from oborona.policy.models.content.weights import Weights

SPAM_WORDS = [
    "cheap",
    "pills",
    "winner",
    "prize",
    "casino",
    "loan",
    "million",
    "transfer",
    "urgent",
    "click",
    "offer",
    "bonus",
]
HAM_WORDS = [
    "meeting",
    "agenda",
    "patch",
    "review",
    "lunch",
    "tickets",
    "minutes",
    "draft",
    "kernel",
    "invoice",
    "notes",
    "thanks",
]
COMMON = [
    "the",
    "a",
    "of",
    "to",
    "and",
    "in",
    "is",
    "for",
    "on",
    "that",
    "with",
    "you",
    "this",
    "be",
    "are",
    "have",
    "it",
    "not",
    "as",
    "at",
]


def mail(spam: bool, chance: random.Random) -> ContentFeatures:
    own = SPAM_WORDS if spam else HAM_WORDS
    words = chance.choices(COMMON, k=40) + chance.choices(own, k=8)
    chance.shuffle(words)
    number = chance.randrange(10**6)
    return features(
        parse(
            f"From: Someone <s{number}@d{number % 50}.example>\r\nTo: bob@b.example\r\nSubject: "
            f"{chance.choice(COMMON)} {number}\r\n"
            f"Message-ID: <{number}@d{number % 50}.example>\r\n\r\n{' '.join(words)}\r\n".encode()
        )
    )


def examples(count: int, spam_share: float, seed: int) -> list[ContentExample]:
    chance = random.Random(seed)
    drawn = [chance.random() < spam_share for _ in range(count)]
    return [ContentExample(mail(spam, chance), spam) for spam in drawn]


def right(weights: Weights, tested: list[ContentExample], *, spam: bool) -> float:
    kind = [one for one in tested if one.spam is spam]
    return sum((weights.margin(one.features) > 0) is spam for one in kind) / len(kind)


def test_untaught_weights_say_nothing() -> None:
    assert Weights.new().margin(examples(1, 1, 1)[0].features) == 0
    assert Weights.new().margin(ContentFeatures(np.empty(0, np.uint32))) == 0


def test_a_message_that_was_taught_is_known() -> None:
    for example in examples(6, 0.5, 2):
        learner = ContentLearner(Weights.new())
        assert learner.learn(example.features, example.spam) == 0
        margin = learner.weights.margin(example.features)
        assert margin > 0.5 if example.spam else margin < -0.5


@pytest.mark.parametrize("spam_share", [0.05, 0.5, 0.95])
def test_classes_of_any_share_are_learned(spam_share: float) -> None:
    learner = ContentLearner.rebuilt(examples(300, spam_share, 3))
    tested = examples(200, 0.5, 4)
    assert right(learner.weights, tested, spam=True) > 0.9
    assert right(learner.weights, tested, spam=False) > 0.9


def test_one_wrong_word_in_twenty_does_little_harm() -> None:
    taught = examples(400, 0.5, 5)
    wrong = [
        one._replace(spam=not one.spam) if not number % 20 else one
        for number, one in enumerate(taught)
    ]
    weights = ContentLearner.rebuilt(wrong).weights
    tested = examples(200, 0.5, 6)
    assert right(weights, tested, spam=True) > 0.95
    assert right(weights, tested, spam=False) > 0.95


def test_the_same_examples_give_the_same_weights_bit_for_bit() -> None:
    taught = examples(120, 0.4, 7)
    first, second = Weights(one := bytearray(Weights.SIZE)), Weights(two := bytearray(Weights.SIZE))
    for weights in (first, second):
        learner = ContentLearner(weights)
        for example in taught:
            learner.learn(example.features, example.spam)
    assert one == two
    assert any(one)


def test_a_learner_goes_on_where_another_ended() -> None:
    taught = examples(LOOK_BACK + 60, 0.4, 8)
    whole = ContentLearner.rebuilt(taught)
    begun = ContentLearner.rebuilt(taught[:-40])
    goes_on = ContentLearner(begun.weights, list(begun.recent))
    for example in taught[-40:]:
        goes_on.learn(example.features, example.spam)
    assert (goes_on.weights.pull == whole.weights.pull).all()
    assert (goes_on.weights.counts == whole.weights.counts).all()
    assert len(goes_on.recent) == LOOK_BACK


def test_learning_tells_what_was_said_before() -> None:
    learner = ContentLearner.rebuilt(examples(50, 0.5, 9))
    (example,) = examples(1, 1, 10)
    said = learner.weights.margin(example.features)
    assert learner.learn(example.features, example.spam) == said


def test_a_word_that_is_believed_less_pulls_less() -> None:
    taught = examples(40, 0.5, 11)
    (doubted,) = examples(1, 0, 12)
    margins = []
    for weight in (0.0, 0.2, 1.0):
        learner = ContentLearner.rebuilt(taught)
        learner.learn(doubted.features, spam=True, weight=weight)
        margins.append(learner.weights.margin(doubted.features))
    assert margins[0] < margins[1] < margins[2]
    assert all(0 <= example.pull <= MOST * example.weight for example in learner.recent)


def test_who_knows_much_spam_and_no_ham_says_less_than_who_knows_both() -> None:
    spams, (new,) = examples(60, 1, 17), examples(1, 1, 18)
    one_class, both = (
        ContentLearner.rebuilt(spams),
        ContentLearner.rebuilt([*spams, *examples(60, 0, 19)]),
    )
    assert one_class.weights.middle() > 0.1
    assert one_class.weights.product(one_class.weights.vector(new.features)) > 0.5
    assert 0 < one_class.weights.margin(new.features) < both.weights.margin(new.features)
    assert abs(both.weights.middle()) < one_class.weights.middle()


def test_the_line_moves_alike_whichever_class_is_known() -> None:
    middles = []
    for share in (0, 1):
        learner = ContentLearner.rebuilt(examples(60, share, 20))
        middles.append(learner.weights.middle())
    assert middles[0] < -0.1
    assert middles[1] > 0.1
    assert Weights.new().middle() == 0


def test_a_persons_word_holds_for_that_person_and_hardly_for_others() -> None:
    learner = ContentLearner.rebuilt(examples(300, 0.5, 13))
    (newsletter,) = examples(1, 1, 14)
    before = learner.weights.margin(newsletter.features)
    assert before > 0.5
    learner.learn(newsletter.features, spam=False, weight=0.0, person="ann@b.example")
    assert learner.weights.margin(newsletter.features, "ann@b.example") < 0
    assert learner.weights.margin(newsletter.features, "bob@b.example") == pytest.approx(
        before, abs=0.3
    )


def test_weights_over_a_read_only_buffer_are_asked_and_not_taught() -> None:
    taught = examples(30, 0.5, 15)
    learner = ContentLearner(Weights(table := bytearray(Weights.SIZE)))
    for example in taught:
        learner.learn(example.features, example.spam)
    reader = Weights(memoryview(table).toreadonly())
    assert reader.margin(taught[0].features) == learner.weights.margin(taught[0].features)
    with pytest.raises(ValueError, match="read-only"):
        ContentLearner(reader).learn(taught[0].features, taught[0].spam)


def test_a_rebuilt_learner_knows_persons_too() -> None:
    taught = [
        one._replace(person="ann@b.example" if number % 3 == 0 else "")
        for number, one in enumerate(examples(30, 0.5, 16))
    ]
    learner = ContentLearner(Weights.new())
    for one in taught:
        learner.learn(one.features, one.spam, person=one.person)
    assert learner.weights.personal.any()
    assert (ContentLearner.rebuilt(taught).weights.personal == learner.weights.personal).all()
