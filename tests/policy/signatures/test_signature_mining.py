"""What is proposed: what spam has in common and good mail has not, a few for a campaign, in bounded
time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.policy.signatures import SignatureBook, SignatureKind
from oborona.policy.signatures.mining import (
    LEAST,
    SignatureProposal,
    closed_sequences,
    propose_signatures,
)
from oborona.policy.signatures.rarity import Rarity

WORDS = [f"word{number}" for number in range(400)]


def mail(text: str, subject: str = "hello") -> Message:
    return parse(f"From: a@b.example\nSubject: {subject}\n\n{text}\n".encode())


def noise(chance: random.Random, number: int = 30) -> str:
    return " ".join(chance.choices(WORDS, k=number))


def everything(candidates: Sequence[SignatureProposal]) -> Sequence[SignatureProposal]:
    return candidates


def test_a_campaign_is_covered_by_its_common_words_its_link_and_its_telephone() -> None:
    chance = random.Random(1)
    spam = [
        mail(
            f"{noise(chance)} cheap pills by post for you {noise(chance)} "
            f"http://x{number}.shop.example.com/ or +7 905 123-45-67"
        )
        for number in range(20)
    ]
    found = propose_signatures(spam, checked_by_ham=True, allowed=everything)
    best = found[0]
    assert (best.support, best.of) == (20, 20)
    assert len(found) == 1, "one covers all of them"
    assert best.signature.value in ("+79051234567", "example.com", "shop.example.com")

    def words_alone(candidates: Sequence[SignatureProposal]) -> list[SignatureProposal]:
        return [one for one in candidates if one.signature.kind is SignatureKind.PHRASE]

    (phrase,) = propose_signatures(spam, checked_by_ham=True, allowed=words_alone)
    assert phrase.signature.value == "cheap pills by post for you"
    assert all(SignatureBook.of([phrase.signature]).find(one, 0.0).signatures for one in spam)


def test_two_campaigns_have_a_signature_each_and_what_only_a_few_have_none() -> None:
    chance = random.Random(2)
    spam = [mail(f"{noise(chance)} cheap pills by post today") for _ in range(30)]
    spam += [mail(f"win a golden watch this week {noise(chance)}") for _ in range(20)]
    spam += [mail("lonely words that nobody else writes here") for _ in range(LEAST - 1)]
    found = propose_signatures(spam, checked_by_ham=True, allowed=everything)
    assert [(one.signature.value, one.fresh) for one in found] == [
        ("cheap pills by post today", 30),
        ("win a golden watch this week", 20),
    ]


def test_without_good_mail_only_long_phrases_are_proposed() -> None:
    chance = random.Random(3)
    spam = [mail(f"{noise(chance)} cheap pills by post {noise(chance)}") for _ in range(10)]
    assert propose_signatures(spam, checked_by_ham=False, allowed=everything) == []


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), min_size=1, max_size=6),
    st.integers(1, 3),
    st.integers(2, 4),
)
def test_closed_sequences_are_those_that_no_longer_one_implies(
    texts: list[list[str]], least: int, shortest: int
) -> None:
    every: dict[tuple[str, ...], set[int]] = {}
    for number, text in enumerate(texts):
        for start in range(len(text)):
            for end in range(start + 2, len(text) + 1):
                every.setdefault(tuple(text[start:end]), set()).add(number)
    frequent = {one: numbers for one, numbers in every.items() if len(numbers) >= least}
    implied = {
        part
        for one, numbers in frequent.items()
        if len(one) > 2
        for part in (one[1:], one[:-1])
        if len(frequent[part]) == len(numbers)
    }
    wanted = {
        one: frozenset(numbers)
        for one, numbers in frequent.items()
        if len(one) >= shortest and one not in implied
    }
    assert closed_sequences(texts, least, shortest) == wanted


def test_hundreds_of_copies_of_a_hostile_text_take_seconds() -> None:
    spam = [mail("a b " * 20_000)] * 200 + [mail(" ".join(WORDS * 30))] * 200
    began = time.process_time()
    propose_signatures(spam, checked_by_ham=True, allowed=everything)
    assert time.process_time() - began < 30


def test_rare_is_what_good_mail_and_the_counters_do_not_know() -> None:
    assert Rarity(support=20, ham=0, ham_of=1000).rare
    assert not Rarity(support=20, ham=1, ham_of=1000).rare
    assert not Rarity(support=20, seen=20, pardons=1).rare
    assert Rarity(support=20, seen=20).rare, "those that were given as spam came through the filter"
    assert Rarity(support=20, seen=500, spam=480).rare
    assert not Rarity(support=20, seen=500, spam=400).rare
    assert Rarity(support=20, ham_of=3000).share == 0.001
    assert Rarity(support=20).words() == "no good mail was looked at"
    assert (
        Rarity(support=20, ham_of=3000, seen=25, spam=4).words()
        == "0 of 3000 good messages (under 0.10%); 25 counted in two weeks, 4 of them spam"
    )
