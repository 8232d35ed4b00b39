"""What senders of mass mail do to a text so that no two copies are equal: the tricks of
docs/measured/likeness.md.

Each takes a text and a source of chance and returns a text, or HTML where its name is in `PAGES`.
Strengths are those at which a reader still reads on without effort: one word in ten spaced out, one
in five with digits for letters. `excesses` are tricks that go further.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from typing import Final

from tests.letters import NAMES

Trick = Callable[[str, random.Random], str]

# no part of a link or an address
_WORD: Final = re.compile(r"(?<![\w@./:=-])[A-Za-z]{4,}(?![\w@/:=-])")
_LINK: Final = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_LOOK_ALIKE: Final = dict(zip("aceiopsxyABCEHIKMOPTX", "асеіорѕхуАВСЕНІКМОРТХ", strict=True))  # noqa: RUF001 - the trick
_DIGIT: Final = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7", "l": "1"}
_SYNONYMS: Final = [
    group.split()
    for group in (
        "free gratis complimentary", "offer proposal deal", "money cash funds", "buy purchase order", "click press hit", "here below",
        "receive get obtain", "email mail message", "list roster register", "please kindly", "information details facts", "business company firm",
        "best finest greatest", "today immediately", "save keep", "price cost rate", "people persons folks", "home house", "make produce create",
        "work job labour", "help assist support", "want wish desire", "need require", "send mail deliver", "removed deleted erased", "remove delete erase",
        "site page website", "visit open see", "your the", "great excellent superb", "amazing incredible stunning", "guaranteed assured certain",
        "simple easy effortless", "quickly fast rapidly", "start begin", "future coming", "program plan scheme", "product item article",
        "credit loan", "account profile", "call phone ring", "contact reach", "thousands hundreds", "year annum", "month moon", "every each", "many numerous",
        "more additional", "large big huge", "small little tiny", "important vital", "quality grade", "service support", "customers clients buyers",
        "personal private", "world globe", "online connected", "internet web", "computer machine", "opportunity chance",
    )
]  # fmt: skip
_OTHER: Final = {
    word: [other for other in group if other != word] for group in _SYNONYMS for word in group
}


def some_words(text: str, share: float, chance: random.Random, change: Callable[[str], str]) -> str:
    """Return `text` with a share of its words of four letters and more changed, one at least.

    Args:
        text: any.
        share: 0..1.
        chance: draws them.
        change: gives another word for a word.
    """
    places = list(_WORD.finditer(text))
    if not places:
        return text
    drawn = chance.sample(places, max(1, round(share * len(places))))
    for place in sorted(drawn, key=lambda found: -found.start()):
        text = text[: place.start()] + change(place[0]) + text[place.end() :]
    return text


def _letters(text: str, share: float, chance: random.Random, other: dict[str, str]) -> str:
    return "".join(
        other[each] if each in other and chance.random() < share else each for each in text
    )


def _after_letters(text: str, share: float, chance: random.Random, marks: str) -> str:
    return "".join(
        each + chance.choice(marks) if each.isalpha() and chance.random() < share else each
        for each in text
    )


def _styled(word: str) -> str:
    return "".join(
        chr(ord(each) + (0x1D41A - 97 if each.islower() else 0x1D400 - 65)) for each in word
    )


def _with_digits(word: str, chance: random.Random) -> str:
    return "".join(
        chance.choice(_DIGIT[each])
        if 0 < place < len(word) - 1 and each in _DIGIT and chance.random() < 0.6
        else each
        for place, each in enumerate(word)
    )


def _mistyped(word: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(word) - 1)
    return chance.choice(
        (
            word[:place] + word[place + 1] + word[place] + word[place + 2 :],
            word[:place] + word[place] + word[place:],
            word[:place] + word[place + 1 :],
        )
    )


def _synonyms(text: str, chance: random.Random) -> str:
    def other(found: re.Match[str]) -> str:
        known = _OTHER.get(found[0].lower())
        return chance.choice(known) if known and chance.random() < 0.5 else found[0]

    return re.sub(r"[A-Za-z]+", other, text)


def _links(text: str, chance: random.Random) -> str:
    def link(_: re.Match[str] | None = None) -> str:
        return f"http://{chance.choice(NAMES).lower()}{chance.randrange(10**5)}.example/{chance.getrandbits(40):x}"

    return _LINK.sub(link, text) + f"\n\n{link()}\n"


def _reordered(text: str, chance: random.Random) -> str:
    sentences = _SENTENCE_END.split(text)
    chance.shuffle(sentences)
    return "\n".join(sentences)


def _numbers(text: str, chance: random.Random) -> str:
    text = re.sub(r"\d", lambda _: str(chance.randrange(10)), text)
    return f"{text}\n\nref {chance.randrange(10**8)}-{chance.getrandbits(32):08x}\n"


def _case(text: str, chance: random.Random) -> str:
    return "".join(chance.choice((each.upper(), each.lower())) for each in text)


def _punctuation(text: str, chance: random.Random) -> str:
    text = re.sub(
        r"[,;!?](?=\s)|\.(?=\s)", lambda _: chance.choice(("", ".", "!!!", " -", " ...", ";")), text
    )
    return re.sub(r"(?<=[a-z]) (?=[a-z])", lambda _: chance.choice((" ",) * 9 + (", ",)), text)


def _greeted(text: str, chance: random.Random) -> str:
    name, other = chance.sample(NAMES, 2)
    return (
        f"{chance.choice(('Dear', 'Hello', 'Hi'))} {name},\n\n{text}\n\nKind "
        f"regards,\n{other} {chance.choice(NAMES)}son\n"
    )


def _rewrapped(text: str, chance: random.Random) -> str:
    width = chance.randrange(30, 120)
    return re.sub(rf"(.{{{width},}}?)\s+", r"\1\n", " ".join(text.split()))


def _page(text: str, chance: random.Random) -> str:
    """Return HTML that looks like the text: other elements around its lines, comments and empty
    elements inside its words.
    """

    def cut(word: str) -> str:
        place = chance.randrange(1, len(word))
        return word[:place] + chance.choice(("\1", "\2", "\3")) + word[place:]

    around = chance.choice(("p", "div", "td", "li"))
    lines = html.escape(some_words(text, 0.2, chance, cut)).splitlines()
    page = "\n".join(f"<{around} class=c{chance.randrange(99)}>{line}</{around}>" for line in lines)
    for mark, tag in (
        ("\1", f"<!-- {chance.random()} -->"),
        ("\2", "<b></b>"),
        ("\3", "<font size=2></font>"),
    ):
        page = page.replace(mark, tag)
    return f"<html><body bgcolor=#{chance.getrandbits(24):06x}>{page}</body></html>"


def _hidden(text: str, chance: random.Random, words: list[str]) -> str:
    """Return HTML with a text that nobody sees after every line."""
    lines = "".join(
        (
            f"<p>{html.escape(line)}<span "
            f"style='display:none'>{' '.join(chance.choices(words, k=8))}</span></p>"
        )
        for line in text.splitlines()
    )
    return f"<html><body>{lines}</body></html>"


def _added(text: str, share: float, chance: random.Random, words: list[str]) -> str:
    return some_words(text, share, chance, lambda word: f"{word} {chance.choice(words)}")


PAGES: Final = frozenset({"HTML around and inside words", "hidden text between the lines"})


def tricks(words: list[str], paragraphs: list[str]) -> dict[str, Trick]:
    """Return every trick by its name.

    Args:
        words: that random words are drawn from.
        paragraphs: that padding is drawn from.
    """

    def padded(text: str, chance: random.Random, *, before: bool) -> str:
        padding = chance.choice(paragraphs)
        return f"{padding}\n\n{text}" if before else f"{text}\n\n{padding}"

    return {
        "look-alike letters, two in five": lambda text, chance: _letters(
            text, 0.4, chance, _LOOK_ALIKE
        ),
        "styled letters, a third of the words": lambda text, chance: some_words(
            text, 1 / 3, chance, _styled
        ),
        "accents, a fifth of the letters": lambda text, chance: _after_letters(
            text, 0.2, chance, "\u0301\u0308\u0323\u0336"
        ),
        "zero-width characters, a fifth of the letters": lambda text, chance: _after_letters(
            text, 0.2, chance, "\u200b\u200d\u00ad\u2060"
        ),
        "digits for letters, a fifth of the words": lambda text, chance: some_words(
            text, 0.2, chance, lambda word: _with_digits(word, chance)
        ),
        "spaces inside words, a tenth of them": lambda text, chance: some_words(
            text, 0.1, chance, " ".join
        ),
        "marks inside words, a tenth of them": lambda text, chance: some_words(
            text, 0.1, chance, lambda word: chance.choice(".-_*").join(word)
        ),
        "typing errors, a tenth of the words": lambda text, chance: some_words(
            text, 0.1, chance, lambda word: _mistyped(word, chance)
        ),
        "synonyms": _synonyms,
        "words added, one after every tenth": lambda text, chance: _added(text, 0.1, chance, words),
        "words left out, a tenth": lambda text, chance: some_words(text, 0.1, chance, lambda _: ""),
        "new links": _links,
        "sentences in another order": _reordered,
        "other numbers": _numbers,
        "HTML around and inside words": _page,
        "hidden text between the lines": lambda text, chance: _hidden(text, chance, words),
        "upper and lower case": _case,
        "punctuation": _punctuation,
        "greeting and names": _greeted,
        "a paragraph before": lambda text, chance: padded(text, chance, before=True),
        "a paragraph after": lambda text, chance: padded(text, chance, before=False),
        "other line breaks": _rewrapped,
    }


def excesses(words: list[str], paragraphs: list[str]) -> dict[str, Trick]:
    """Return tricks that change more than a reader likes, or that a sender pays for with a text
    that says less; see `tricks`.
    """

    def buried(text: str, chance: random.Random) -> str:
        around = chance.sample(paragraphs, 6)
        return "\n\n".join((*around[:3], text, *around[3:]))

    def quoted(text: str, chance: random.Random) -> str:
        return (
            chance.choice(paragraphs)
            + "\n\n"
            + "\n".join(f"> {line}" for line in text.splitlines())
        )

    return {
        "digits for letters, half of the words": lambda text, chance: some_words(
            text, 0.5, chance, lambda word: _with_digits(word, chance)
        ),
        "spaces inside every word": lambda text, chance: some_words(text, 1, chance, " ".join),
        "typing errors, a third of the words": lambda text, chance: some_words(
            text, 1 / 3, chance, lambda word: _mistyped(word, chance)
        ),
        "other words for a quarter of them": lambda text, chance: some_words(
            text, 1 / 4, chance, lambda _: chance.choice(words)
        ),
        "other words for half of them": lambda text, chance: some_words(
            text, 1 / 2, chance, lambda _: chance.choice(words)
        ),
        "six paragraphs around it": buried,
        "a paragraph, and the text as its quotation": quoted,
    }
