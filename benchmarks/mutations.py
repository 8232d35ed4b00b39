"""How much a spammer may change and still be counted as one with his other copies: the tables of
docs/measured/likeness.md.

    python benchmarks/mutations.py [--shared 8] [--values 32] [--keys 5]

1. Real spam, each message changed by every trick of tricks.py: how many of the copies still count
   as near-duplicates of their original.
2. The same for single sentences of spam.  3. Good messages that count as near-duplicates of one
   another under different senders, by how
much of their text they really share.  4. HTML skeletons that messages have in common.  5. Pictures,
drawn anew in every copy.  "Count" is what `mass.day` says: the copy is parsed and taken apart like
any message, and asks counters that hold its original alone (`MessageCounts.copies`).
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from email.header import Header
from pathlib import Path
from typing import Final, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.pictured import pictures_table  # noqa: E402
from benchmarks.tricks import PAGES, Trick, excesses, tricks  # noqa: E402
from oborona.domains import registrable  # noqa: E402
from oborona.message import fingerprint, templates, text_minima  # noqa: E402
from oborona.message.model import Message  # noqa: E402
from oborona.message.normalise import normalise  # noqa: E402
from oborona.message.parse import parse  # noqa: E402
from oborona.message.shingles import Hasher, ShingleType, shingles  # noqa: E402
from oborona.policy import counts  # noqa: E402
from oborona.policy.counts import MessageCounts, shared_values, shingles_to_read  # noqa: E402
from oborona.types import CountedPieces, Envelope, Metric, Shingle, Window  # noqa: E402
from tests.letters import CORPUS  # noqa: E402

SEED: Final = 20
ORIGINALS: Final = 50
COPIES: Final = 10  # of each original by each trick
GOOD: Final = 4000
MIN_WORDS: Final = 5  # of a template: what has fewer is no text to change
SENTENCE: Final = range(6, 26)  # words of a template
PARAGRAPH: Final = range(30, 61)  # words
WINDOW: Final = 3  # words, of the direct comparison of two texts
SHARES: Final = (0.05, 0.1, 0.2, 0.5, 1.01)  # of the shorter text's windows
HASHERS: Final[list[Hasher]] = []  # of each key, made by `main`: what meets by chance depends on it
TEXT_TYPES: Final = (ShingleType.WORDS, ShingleType.CHARACTERS, ShingleType.TEMPLATE)


class Original(NamedTuple):
    """A text to change, and for whom it was."""

    text: str
    to: str
    counted: tuple[frozenset[Shingle], ...]  # under each key


def pieces(message: Message, hasher: Hasher) -> CountedPieces:
    """Return what a message counts under."""
    return shingles(message, Envelope(), hasher)


def template(message: Message) -> list[str]:
    """Return the words of what a sender wrote himself."""
    return templates.words(normalise(message.own_text))


def original(message: Message) -> Original:
    """Return a message as a text to change."""
    to = message.recipients[0].address if len(message.recipients) == 1 else ""
    return Original(
        message.text,
        to,
        tuple(frozenset(shingles_to_read(pieces(message, hasher))) for hasher in HASHERS),
    )


def written(text: str, to: str, *, page: bool = False) -> Message:
    """Return a new message of a text, parsed."""
    kind = "html" if page else "plain"
    raw = (
        f"From: a@a.example\nTo: {Header(to).encode()}\nContent-Type: text/{kind}; "
        f"charset=utf-8\n\n{text}"
    )
    return parse(raw.encode("utf-8", "replace"))


def meets(copy: Message, counted: frozenset[Shingle], hasher: Hasher) -> bool:
    """Tell whether `mass.day` of a copy counts its original."""
    wanted = shingles_to_read(pieces(copy, hasher))
    totals = [[[int(each in counted)] * len(Metric) for _ in Window] for each in wanted]
    return MessageCounts(wanted, totals).copies(Window.DAY, Metric.SEEN) > 0


def kept(originals: list[Original], by: dict[str, Trick], *, seed: int) -> dict[str, float]:
    """Return, for each trick, the share of copies that meet their original."""
    shares = {}
    for name, trick in by.items():
        chance = random.Random(f"{seed} {name}")  # noqa: S311 - the same copies on every run
        met = 0
        for text, to, counted in originals:
            for copy in range(COPIES):
                key = copy % len(HASHERS)
                message = written(trick(text, chance), to, page=name in PAGES)
                met += meets(message, counted[key], HASHERS[key])
        shares[name] = met / (len(originals) * COPIES)
    return shares


def tricks_table(
    spam: list[Original], sentences: list[Original], by: dict[str, Trick], title: str
) -> Table:
    """Return the share of copies that meet their original, by trick."""
    table = Table("trick", "messages", "one sentence", title=title, box=box.MARKDOWN)
    columns = [kept(originals, by, seed=SEED) for originals in (spam, sentences)]
    for name in by:
        table.add_row(name, *(f"{100 * column[name]:.1f}" for column in columns))
    table.add_row("all", *(f"{100 * sum(column.values()) / len(column):.1f}" for column in columns))
    return table


def sentences_of(messages: list[Message]) -> list[Original]:
    """Return the sentences of some texts that are long enough to say something."""
    found = []
    for message in messages:
        for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", message.text):
            line = " ".join(sentence.split())
            if len(templates.words(normalise(line))) in SENTENCE:
                found.append(original(written(line, "")))
    return found


def windows(message: Message) -> frozenset[tuple[str, ...]]:
    """Return the windows of words that two texts are compared by."""
    words = template(message)
    return frozenset(
        tuple(words[place : place + WINDOW]) for place in range(len(words) - WINDOW + 1)
    )


def near_duplicates(messages: list[Message], hasher: Hasher) -> Iterable[tuple[int, int]]:
    """Give every two messages of which the first would count the second as nearly its text."""
    own: list[dict[ShingleType, list[Shingle]]] = []
    holders: defaultdict[Shingle, list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        by_type: dict[ShingleType, list[Shingle]] = {}
        for shingle in pieces(message, hasher).shingles:
            if shingle.type in TEXT_TYPES:
                by_type.setdefault(ShingleType(shingle.type), []).append(shingle)
                holders[shingle].append(place)
        own.append(by_type)
    for place, by_type in enumerate(own):
        needed: dict[ShingleType, int] = {
            kind: shared_values(kind, len(by_type[kind]))
            for kind in (ShingleType.WORDS, ShingleType.CHARACTERS)
            if kind in by_type
        }
        met: set[int] = set()
        for kind, number in (needed or dict.fromkeys(by_type, 1)).items():
            shared = Counter(other for shingle in by_type[kind] for other in holders[shingle])
            met.update(other for other, times in shared.items() if times >= number)
        yield from ((place, other) for other in met if other != place)


def good_table(good: list[Message]) -> Table:
    """Return how many good messages meet one of another sender, by how much text the two share."""
    compared = [windows(message) for message in good]
    senders = [registrable(message.from_.domain) if message.from_ else "" for message in good]
    found: Counter[int] = Counter()
    pairs: Counter[int] = Counter()
    for hasher in HASHERS:
        met: defaultdict[int, set[int]] = defaultdict(set)
        for one, other in near_duplicates(good, hasher):
            if senders[one] == senders[other]:
                continue
            shorter = min(len(compared[one]), len(compared[other]))
            share = len(compared[one] & compared[other]) / shorter if shorter else 1.0
            place = next(place for place, most in enumerate(SHARES) if share < most)
            met[place].update((one, other))
            pairs[place] += 1
        found.update({place: len(messages) for place, messages in met.items()})
    table = Table(
        "of the shorter text",
        "messages",
        "% of all",
        "pairs",
        title=f"{len(good)} good messages, mean of {len(HASHERS)} keys",
        box=box.MARKDOWN,
    )
    least = 0.0
    for place, most in enumerate(SHARES):
        table.add_row(
            f"{least:.0%} to {min(1, most):.0%}",
            f"{found[place] / len(HASHERS):.1f}",
            f"{100 * found[place] / len(HASHERS) / len(good):.3f}",
            f"{pairs[place] / 2 / len(HASHERS):.1f}",
        )
        least = most
    return table


def layouts_table(spam: list[Message], good: list[Message]) -> Table:
    """Return how many messages have a skeleton, and how many share it with one of another
    domain.
    """
    table = Table(
        "",
        "HTML",
        "with a skeleton",
        "met",
        "under another domain",
        "not by their text",
        box=box.MARKDOWN,
    )
    for name, messages in (("spam", spam), ("good", good)):
        by_text: defaultdict[int, set[int]] = defaultdict(set)
        for one, other in near_duplicates(messages, HASHERS[0]):
            by_text[one].add(other)
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for place, message in enumerate(messages):
            if message.skeleton:
                groups[message.skeleton].append(place)
        met = elsewhere = anew = 0
        for group in groups.values():
            for place in group:
                from_ = messages[place].from_
                others = [
                    other
                    for other in group
                    if (box_ := messages[other].from_)
                    and from_
                    and registrable(box_.domain) != registrable(from_.domain)
                ]
                met += len(group) > 1
                elsewhere += bool(others)
                anew += bool(others) and not by_text[place] & set(others)
        html = sum(
            any(part.content_type == "text/html" for part in message.parts) for message in messages
        )
        table.add_row(name, *map(str, (html, sum(map(len, groups.values())), met, elsewhere, anew)))
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--values", type=int, default=text_minima.WORD_VALUES, help="of the fingerprint of words"
    )
    parser.add_argument(
        "--shared", type=int, default=0, help="of them, that texts must share; 0 = as it is"
    )
    parser.add_argument("--keys", type=int, default=5)
    given = parser.parse_args()
    if given.shared:
        counts.SHARED_WORDS = given.shared / given.values  # type: ignore[misc]  # tried in its place
    text_minima.WORD_VALUES = given.values  # type: ignore[misc]
    fingerprint.TextMinima = text_minima.TextMinima  # type: ignore[attr-defined]  # native: fixed
    HASHERS[:] = [Hasher(bytes([number]) * 32) for number in range(given.keys)]
    console = Console(width=160)
    spam = [parse(file.read_bytes()) for file in sorted(CORPUS.glob("spam-*/*.txt"))]
    good = [parse(file.read_bytes()) for file in sorted(CORPUS.glob("*-ham-*/*.txt"))]
    vocabulary = Counter(
        word
        for message in good
        for word in set(re.findall(r"\b[a-z]{4,10}\b", message.normal_text))
    )
    words = sorted(word for word, times in vocabulary.items() if times >= 5)
    paragraphs = [
        paragraph
        for message in good
        for paragraph in re.split(r"\n\s*\n", message.own_text)
        if len(paragraph.split()) in PARAGRAPH and not re.search(r"[<>@/|]", paragraph)
    ]
    chance = random.Random(SEED)  # noqa: S311 - the same messages on every run
    readable = [message for message in spam if len(template(message)) >= MIN_WORDS]
    originals = [original(message) for message in chance.sample(readable, ORIGINALS)]
    sentences = chance.sample(sentences_of(spam), ORIGINALS)
    for title, by in (
        ("tricks", tricks(words, paragraphs)),
        ("excesses", excesses(words, paragraphs)),
    ):
        console.print(
            tricks_table(originals, sentences, by, f"{title}: % of copies that meet their original")
        )
    console.print(good_table(chance.sample(good, GOOD)))
    console.print(layouts_table(spam, good))
    console.print(pictures_table([each.text for each in originals], seed=SEED))


if __name__ == "__main__":
    main()
