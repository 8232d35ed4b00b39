"""Messages that rules are measured on: read, dated, and put into clusters of what belongs together.

Two messages belong together that share sender, thread or text: by From, by the subject's template,
by the text's, its opening's or closing's template, or by a quarter of the fingerprint.  A cluster
is never split between what is fitted and what is tested: a rule that knows one copy of a campaign,
or one letter of a thread, would know the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.labelled import Labelled, read
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, ShingleType, shingles
from oborona.types import Client, Envelope

QUARTER: Final = 4  # of the values of a fingerprint, as `mass.*` counts near-duplicates
MANY: Final = 200  # messages with one value of a fingerprint: a footer, which makes nothing alike
KEY: Final = b"a benchmark's messages only"[:32]
SHARED: Final = (
    ShingleType.FROM, ShingleType.SUBJECT_TEMPLATE, ShingleType.TEXT, ShingleType.TEMPLATE, ShingleType.OPENING, ShingleType.CLOSING,
)  # fmt: skip


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a corpus."""

    name: str  # its path in the corpus
    spam: bool
    arrived: float  # Unix seconds; 0 = not known
    cluster: int  # of those that belong together
    message: Message


def samples(corpus: Path, cache: Path | None = None) -> list[Sample]:
    """Return the messages of a corpus as they were when they came.

    Args:
        corpus: a folder or an index, as `benchmarks.labelled` reads them.
        cache: where they are kept parsed, and found again if the list of names is the same.
    """
    mail = sorted(read(corpus, clean=True), key=lambda one: one.path)
    if cache is not None and cache.exists():
        kept = msgspec.msgpack.decode(cache.read_bytes(), type=list[Sample])
        if [(one.name, one.spam) for one in kept] == [(one.path, one.spam) for one in mail]:
            return kept
    messages = [_parsed(one) for one in mail]
    found = [
        Sample(name=one.path, spam=one.spam, arrived=one.arrived, cluster=cluster, message=message)
        for one, message, cluster in zip(mail, messages, _clusters(messages), strict=True)
    ]
    if cache is not None:
        cache.write_bytes(msgspec.msgpack.encode(found))
    return found


def _parsed(mail: Labelled) -> Message:
    """Parse a message; where From was written above what a mailbox noted, and so is gone, as it is
    kept.
    """
    message = parse(mail.raw)
    return message if message.from_count else parse(Path(mail.path).read_bytes())


def _clusters(messages: Sequence[Message]) -> list[int]:
    """Return the number of each message's cluster: that of its first message."""
    root = list(range(len(messages)))

    def find(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    def join(one: int, other: int) -> None:
        first, second = sorted((find(one), find(other)))
        root[second] = first

    envelope, hasher = Envelope(client=Client(ip="192.0.2.1")), Hasher(KEY.ljust(32, b"."))
    first: dict[tuple[int, int], int] = {}
    holders: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        alike: Counter[int] = Counter()
        values = 0
        for shingle in shingles(message, envelope, hasher).shingles:
            key = (shingle.type, shingle.hash)
            if shingle.type in SHARED:
                join(first.setdefault(key, place), place)
            elif shingle.type in (ShingleType.WORDS, ShingleType.CHARACTERS):
                values += 1
                others = holders[key]
                if len(others) < MANY:
                    alike.update(others)
                    others.append(place)
        for other, shared in alike.items():
            if shared * QUARTER >= values:
                join(other, place)
    return [find(place) for place in range(len(messages))]
