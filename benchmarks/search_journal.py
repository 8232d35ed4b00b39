"""A made-up journal for searches: many senders, subjects of two alphabets, addresses of many
networks; verdicts alone, since nothing else is searched.

Senders and words are drawn by Zipf's law, so a few are in much of the mail and most in little.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np

from oborona.ident import JournalIdGenerator
from oborona.journal import rows, schema, texts

SENDERS: Final = 400_000
DOMAINS: Final = 60_000
PEOPLE: Final = 20_000
OWN: Final = 40  # domains of recipients
WORDS: Final = 40_000
NETWORKS: Final = 30_000
RULES: Final = 120
BATCH: Final = 5000

_LATIN: Final = [first + second for first in "bcdfghjklmnprstvwz" for second in "aeiou"]
_CYRILLIC: Final = [first + second for first in "бвгджзклмнпрстфхчш" for second in "аеио"]


class SearchedMail:
    """Draws rows of the table of verdicts.

    Args:
        seed: of the draw.
    """

    def __init__(self, seed: int = 1) -> None:
        self._draw = np.random.default_rng(seed)
        self._ids = JournalIdGenerator(1)
        self.words = [*self._names(_LATIN, WORDS // 2), *self._names(_CYRILLIC, WORDS // 2)]
        self._draw.shuffle(self.words)
        self.domains = [
            f"{name}.{'example' if place % 3 else 'mail.example'}"
            for place, name in enumerate(self._names(_LATIN, DOMAINS))
        ]
        self._people = self._names(_LATIN, PEOPLE)
        self._locals = self._names(_LATIN, SENDERS)
        self._homes = self._zipf(DOMAINS, SENDERS)
        self._nets = self._draw.integers(0, 1 << 24, NETWORKS).tolist()

    def rows(self, start: float, span_s: float, number: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield batches in the order of `rows.VERDICT_COLUMNS`."""
        step, made = span_s / number, 0
        while made < number:
            size = min(BATCH, number - made)
            yield self._batch(start + made * step, step, size)
            made += size

    def _batch(self, start: float, step: float, size: int) -> list[tuple[Any, ...]]:
        draw = self._draw
        senders, people = self._zipf(SENDERS, size), self._zipf(PEOPLE, size)
        words = self._zipf(WORDS, (size, 6))
        lengths = draw.integers(2, 7, size)
        rules = self._zipf(RULES, (size, 8))
        hits = draw.integers(2, 9, size)
        nets, hosts = self._zipf(NETWORKS, size), draw.integers(1, 255, size)
        scores = np.round(draw.gamma(1.2, 40.0, size), 1)
        tokens, octets = draw.bytes(size * 16).hex(), draw.integers(2_000, 400_000, size)
        found = []
        for place in range(size):
            when = start + place * step
            sender = int(senders[place])
            domain = self.domains[self._homes[sender]]
            address = f"{self._locals[sender]}@{domain}"
            net = self._nets[nets[place]]
            client = f"{net >> 16}.{net >> 8 & 255}.{net & 255}.{hosts[place]}"
            score = float(scores[place])
            verdict = "accept" if score < 100 else "spam" if score < 180 else "reject"
            token = tokens[place * 32 : place * 32 + 32]
            message = f"<{token[:20]}.{place}@{domain}>"
            names = dict.fromkeys(rules[place, : hits[place]].tolist())
            found.append(
                (
                    self._ids.next(when),
                    when,
                    verdict,
                    score,
                    100.0,
                    "below-line" if score < 100 else rule_name(next(iter(names))),
                    0,
                    "v1",
                    int(octets[place]),
                    f"4{token[20:32].upper()}",
                    message,
                    texts.message_key(message),
                    client,
                    f"mx{net & 7}.{domain}",
                    address,
                    "",
                    f'["{self._people[people[place]]}@own{people[place] % OWN}.example"]',
                    " ".join(self.words[word] for word in words[place, : lengths[place]]),
                    "["
                    + ",".join(f'{{"name":"{rule_name(one)}","score":12.5}}' for one in names)
                    + "]",
                    None,
                    f"{self._locals[sender].title()} <{address}>",
                    "milter",
                )
            )
        return found

    def _zipf(self, most: int, size: int | tuple[int, int]) -> Any:
        """Draw numbers below `most`, of which the first are common."""
        return np.minimum(most ** self._draw.random(size), most - 1).astype(np.int64)

    def _names(self, syllables: list[str], number: int) -> list[str]:
        parts = self._draw.integers(0, len(syllables), (number, 5))
        lengths = self._draw.integers(2, 6, number)
        return [
            "".join(syllables[part] for part in parts[place, : lengths[place]])
            for place in range(number)
        ]


def rule_name(number: int) -> str:
    """Return the name of a rule."""
    return f"{_LATIN[number % len(_LATIN)]}{_LATIN[number * 7 % len(_LATIN)]}_RULE_{number}".upper()


def fill(path: Path, mail: SearchedMail, start: float, span_s: float, number: int) -> None:
    """Write a journal."""
    schema.prepare(path)
    columns = rows.VERDICT_COLUMNS
    places = ", ".join("?" * len(columns.split(",")))
    with closing(schema.open_writer(path)) as db:
        for batch in mail.rows(start, span_s, number):
            db.execute("BEGIN")
            db.executemany(f"INSERT INTO verdict ({columns}) VALUES ({places})", batch)  # noqa: S608 - names of ours
            db.execute("UPDATE tally SET rows = rows + ?", (len(batch),))
            db.execute("COMMIT")
