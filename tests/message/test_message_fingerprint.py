"""Near-duplicates meet, different people do not."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from oborona.message import templates
from oborona.message.fingerprint import COUNTED, MIN_WORDS, VALUES, Fingerprinter
from oborona.message.normalise import normalise
from oborona.message.parse import parse

PRINTER = Fingerprinter(b"0123456789abcdef")
SLOTS = [  # a quarter of the words differ between two copies
    "{Dear|Hello|Greetings} {friend|customer|client|partner}, {we|our company|our team} {are glad|are happy|would like} to {offer|present|propose} you",
    "{a great|an amazing|an excellent|a unique} loan opportunity with {low|small|minimal} monthly payments and {no|zero|without any} hidden {fees|charges|costs}",
    "{Simply|Just|Please} {visit|open|see} our {site|page|website} and complete the {form|application|request}, it takes only five minutes of your time",
    "our financial {managers|consultants|experts} will {contact|call|reach} you within one working day and {answer|explain} {all|any} questions about the loan",
    "{Thousands|Hundreds|Many} of satisfied {people|clients|customers} have already {received|got|obtained} their money {quickly|fast|easily} without leaving home",
    "{do not|never} {miss|lose} this chance because the {offer|campaign|promotion} {ends|expires|finishes} {soon|this week|shortly}",
]  # fmt: skip


def variant(chance: random.Random) -> list[str]:
    text = []
    for sentence in SLOTS:
        rest = sentence
        while "{" in rest:
            before, _, rest = rest.partition("{")
            choice, _, rest = rest.partition("}")
            text += [before, chance.choice(choice.split("|"))]
        text.append(rest + ". ")
    link = f"http://{chance.randrange(10**9)}.example.com/ "
    return templates.words(normalise("".join(text) + link + f"ref {chance.randrange(10**6)}"))


def fourth_counts(messages: list[list[str]]) -> list[int]:
    """Return, for each message in turn, how often its 4th most common value was counted before it."""
    counts: list[Counter[int]] = [Counter() for _ in range(COUNTED)]
    fourth = []
    for words in messages:
        values = PRINTER.values(words)[:COUNTED]
        fourth.append(sorted(counts[slot][value] for slot, value in enumerate(values))[-4])
        for slot, value in enumerate(values):
            counts[slot][value] += 1
    return fourth


def test_shape() -> None:
    words = [f"word{chr(97 + number)}" for number in range(26)]
    values = PRINTER.values(words)
    assert len(values) == VALUES
    assert all(0 <= value < 1 << 64 for value in values)
    assert values == PRINTER.values(words)
    assert Fingerprinter(b"another key 16 o").values(words) != values
    assert PRINTER.values(words[: MIN_WORDS - 1]) == ()
    assert PRINTER.values(["a"] * 100)  # short words alone are taken, then
    assert len(PRINTER.values(["\ud800long"] * 100_000)) == VALUES


def test_shared_values_follow_similarity() -> None:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(400)]
    half = words[:200] + [f"other{number}" for number in range(200)]
    shared = sum(a == b for a, b in zip(PRINTER.values(words), PRINTER.values(half), strict=True))
    assert 3 <= shared <= 20  # Jaccard a third: 11 of 32 expected, within 3 standard deviations
    chance.shuffle(half)
    assert sum(a == b for a, b in zip(PRINTER.values(words), PRINTER.values(half), strict=True)) <= 3


def test_a_campaign_of_varied_texts_meets_itself() -> None:
    chance = random.Random(20240607)
    messages = [variant(chance) for _ in range(300)]
    assert len({tuple(words) for words in messages}) == 300
    values = [PRINTER.values(words)[:COUNTED] for words in messages]
    modal = [Counter(each[slot] for each in values).most_common(1)[0][0] for slot in range(COUNTED)]
    shared = [sum(a == b for a, b in zip(each, modal, strict=True)) for each in values]
    assert sum(shared) / len(shared) >= COUNTED / 3
    fourth = fourth_counts(messages)
    assert next(place for place, count in enumerate(fourth) if count >= 8) < 40
    assert min(fourth[100:]) >= 8


@pytest.mark.slow
def test_good_mail_of_different_people_shares_little(corpus: list[Path]) -> None:
    ham = [path for path in corpus if "ham" in path.parent.name]
    random.Random(5).shuffle(ham)
    seen: list[defaultdict[int, set[str]]] = [defaultdict(set) for _ in range(COUNTED)]
    common = total = 0
    for path in ham[:2000]:
        message = parse(path.read_bytes())
        values = PRINTER.values(templates.words(normalise(message.text)))[:COUNTED]
        if not values or message.from_ is None:
            continue
        total += 1
        common += sorted(len(seen[slot][value]) for slot, value in enumerate(values))[-4] >= 8
        for slot, value in enumerate(values):
            seen[slot][value].add(message.from_.address)
    assert total > 1500
    assert common / total < 0.05  # footers of mailing lists
