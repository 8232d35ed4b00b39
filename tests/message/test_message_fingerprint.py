"""Near-duplicates meet, different people do not."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from oborona.message import templates
from oborona.message.fingerprint import Fingerprinter, TextFingerprints
from oborona.message.hashing import ShingleType
from oborona.message.normalise import normalise
from oborona.message.parse import parse
from oborona.message.text_minima import (
    MAX_LETTERS,
    MIN_LETTERS,
    MIN_LONG_WORDS,
    VALUES,
    WORD_VALUES,
)
from oborona.policy.counts import shared_values

PRINTER = Fingerprinter(b"0123456789abcdef")
SLOTS = [  # a quarter of the words differ between two copies
    ("{Dear|Hello|Greetings} {friend|customer|client|partner}, {we|our company|our team} "
        "{are glad|are happy|would like} to {offer|present|propose} you"),
    ("{a great|an amazing|an excellent|a unique} loan opportunity with {low|small|minimal} "
        "monthly payments and {no|zero|without any} hidden {fees|charges|costs}"),
    ("{Simply|Just|Please} {visit|open|see} our {site|page|website} and complete the "
        "{form|application|request}, it takes only five minutes of your time"),
    ("our financial {managers|consultants|experts} will {contact|call|reach} you within "
        "one working day and {answer|explain} {all|any} questions about the loan"),
    ("{Thousands|Hundreds|Many} of satisfied {people|clients|customers} have already "
        "{received|got|obtained} their money {quickly|fast|easily} without leaving home"),
    ("{do not|never} {miss|lose} this chance because the {offer|campaign|promotion} "
        "{ends|expires|finishes} {soon|this week|shortly}"),
]  # fmt: skip


def common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


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


SHARED = shared_values(ShingleType.WORDS, WORD_VALUES)


def shared_counts(messages: list[list[str]]) -> list[int]:
    """Return, for each message in turn, how often as many of its values as must be shared were
    counted before it.
    """
    counts: list[Counter[int]] = [Counter() for _ in range(WORD_VALUES)]
    found = []
    for words in messages:
        values = PRINTER.likeness(words).words
        found.append(sorted(counts[slot][value] for slot, value in enumerate(values))[-SHARED])
        for slot, value in enumerate(values):
            counts[slot][value] += 1
    return found


def test_shape() -> None:
    words = [f"word{chr(97 + number)}" for number in range(26)]
    found = PRINTER.likeness(words)
    assert (len(found.words), len(found.characters)) == (WORD_VALUES, 0)
    assert all(0 <= value < 1 << 64 for value in found.words)
    assert found == PRINTER.likeness(words)
    assert Fingerprinter(b"another key 16 o").likeness(words) != found
    assert PRINTER.likeness(words[: MIN_LONG_WORDS - 1]).words == ()
    assert len(PRINTER.likeness(words[:MIN_LONG_WORDS]).characters) == VALUES
    assert len(PRINTER.likeness(["\ud800long"] * 100_000).words) == WORD_VALUES
    assert PRINTER.likeness([]) == PRINTER.likeness(["short", "text"]) == TextFingerprints()


def test_shared_values_follow_similarity() -> None:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(400)]
    half = words[:200] + [f"other{number}" for number in range(200)]
    shared = common(PRINTER.likeness(words).words, PRINTER.likeness(half).words)
    assert 3 <= shared <= 18  # Jaccard a third: 10.7 of 32 expected, within 3 standard deviations
    chance.shuffle(half)
    assert common(PRINTER.likeness(words).words, PRINTER.likeness(half).words) < SHARED


def test_a_campaign_of_varied_texts_meets_itself() -> None:
    chance = random.Random(20240607)
    messages = [variant(chance) for _ in range(300)]
    assert len({tuple(words) for words in messages}) == 300
    values = [PRINTER.likeness(words).words for words in messages]
    modal = [
        Counter(each[slot] for each in values).most_common(1)[0][0] for slot in range(WORD_VALUES)
    ]
    shared = [sum(a == b for a, b in zip(each, modal, strict=True)) for each in values]
    assert sum(shared) / len(shared) >= WORD_VALUES / 3
    counts = shared_counts(messages)
    assert next(place for place, count in enumerate(counts) if count >= 8) < 40
    assert min(counts[100:]) >= 8


@pytest.mark.parametrize(
    "copy",
    [
        "Cheap watches and g00d pills at h@lf the price, order now at http://x.example",
        "C h e a p watches and good p.i.l.l.s at half the price, order now",
        "Cheap wathces and good pills at half the price, order now",
        "Really cheap watches and good pills at half the price, order now",
        "Dear Anna, cheap watches and good pills at half the price, order now",
        "Order now! Cheap watches and good pills at half the price",
        (
            "\u0421\u200bh\u0435\u0430\u0440 watches \u0430nd good pills at half the price, "
            "order n\u03bfw 4711"
        ),
    ],
)
def test_one_line_in_another_dress_meets_itself(copy: str) -> None:
    line = "Cheap watches and good pills at half the price, order now"
    one, other = (PRINTER.likeness(templates.words(normalise(text))) for text in (line, copy))
    assert one.words == ()
    assert common(one.characters, other.characters) >= shared_values(ShingleType.CHARACTERS, VALUES)


def test_other_lines_do_not_meet() -> None:
    lines = [
        "Cheap watches and good pills at half the price, order now",
        "Thanks for the watches, I think they are good for the price",
        "Could you send me the order for the pills by tomorrow?",
        "The meeting is now at half past nine, in the usual room",
    ]
    found = [PRINTER.likeness(templates.words(normalise(line))).characters for line in lines]
    assert all(len(values) == VALUES for values in found)
    assert (
        max(common(one, other) for place, one in enumerate(found) for other in found[:place]) <= 2
    )


def test_characters_need_letters_that_differ() -> None:
    assert PRINTER.likeness(["a" * (MIN_LETTERS - 1)]).characters == ()
    assert PRINTER.likeness(["ha"] * 200).characters == ()  # two windows
    letters = [chr(0x4E00 + number) for number in range(MAX_LETTERS + 500)]
    assert len(PRINTER.likeness(["".join(letters[:MIN_LETTERS])]).characters) == VALUES
    assert len(PRINTER.likeness(["\ud800", *letters[:MIN_LETTERS]]).characters) == VALUES
    assert PRINTER.likeness(["".join(letters)]) == PRINTER.likeness(
        ["".join(letters[:MAX_LETTERS])]
    )


@pytest.mark.slow
def test_good_mail_of_different_people_shares_little(corpus: list[Path]) -> None:
    ham = [path for path in corpus if "ham" in path.parent.name]
    random.Random(5).shuffle(ham)
    seen: list[defaultdict[int, set[str]]] = [defaultdict(set) for _ in range(WORD_VALUES)]
    common = total = 0
    for path in ham[:2000]:
        message = parse(path.read_bytes())
        values = PRINTER.likeness(templates.words(normalise(message.text))).words
        if not values or message.from_ is None:
            continue
        total += 1
        common += sorted(len(seen[slot][value]) for slot, value in enumerate(values))[-SHARED] >= 8
        for slot, value in enumerate(values):
            seen[slot][value].add(message.from_.address)
    assert total > 1500
    assert common / total < 0.05  # footers of mailing lists
