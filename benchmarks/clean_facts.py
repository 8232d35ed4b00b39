"""Messages of several sources as trees see them, by clean facts alone.

A feature is clean if it tells of the message and not of how a collection was made: nothing of
authentication as recorded, of lists, of counts of header fields, of sizes and charsets, of client
and envelope, and no rule that asks for one of these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import Final, NamedTuple

import msgspec
import numpy as np

from benchmarks import sources
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy
from oborona.policy.models.final.examples import (
    ExampleBuilder,
    FinalExample,
    example_table,
)
from oborona.policy.models.final.law import added

FOR_MAIL: Final = frozenset({"rule ANSWER", "rule PROVED_BULK", "rule SIGNED_TEXT"})
"""Rules that speak for a message."""
NOT_CLEAN: Final = re.compile(
    r"score$|count\[|len\(|(?:account|arc|auth|cc|client|contact|date|dkim|dmarc|envelope|first_contact|headers?|helo"
    r"|iprev|karma|known|list|mass|message|model|partial|queue|received|recipients?|repip|sender|site|size|spf"
    r"|text\.charset|thread|tls|to|user)(?:[._]|$)"
)
"""Numbers that carry traces of a collection."""
CLEAN_LENGTHS: Final = ("len(links.domains)", "len(links.hosts)", "len(attachments.kinds)")
NOT_CLEAN_MARK: Final = re.compile(
    r"dmarc|dkim|spf|arc|iprev|client|repip|charset|known|proved|dnsbl|list|newsletter|helo|rdns|"
    r"received|bulk|final|content_",
    re.IGNORECASE,
)


class SourcedExample(NamedTuple):
    """A message as trees see it, and what is done with it."""

    source: str
    untaught: bool  # good mail that is never taught
    example: FinalExample
    room: float  # points that the model that comes with Oborona may add at most


class SourcedTable:
    """Examples of several sources, clean.

    Args:
        examples: of all sources.
        names: of the numbers of each.
        without: expression for names of numbers that are left out, too; empty = for none.
    """

    def __init__(
        self, examples: Sequence[SourcedExample], names: Sequence[str], without: str = ""
    ) -> None:
        places = [
            place
            for place, name in enumerate(names)
            if is_clean(name) and not (without and re.fullmatch(without, name))
        ]
        self.table = example_table(
            [_clean(each.example, places) for each in examples],
            [names[place] for place in places],
        )
        self.source = np.array([each.source for each in examples])
        self.untaught = np.array([each.untaught for each in examples])
        self.room = np.array([each.room for each in examples])

    @property
    def directions(self) -> dict[int, int]:
        """Columns of rules and findings, and the way each may move the log-odds: its own."""
        return {
            place: -1 if name in FOR_MAIL else 1
            for place, name in enumerate(self.table.features)
            if name.startswith(("rule ", "found("))
        }


def _clean(example: FinalExample, places: Sequence[int]) -> FinalExample:
    return msgspec.structs.replace(
        example,
        numbers=example.numbers[places],
        marks=frozenset(filter(is_clean_mark, example.marks)),
    )


def is_clean(feature: str) -> bool:
    """Tell whether a number tells of the message, and nothing of how it was collected."""
    return feature in CLEAN_LENGTHS or not NOT_CLEAN.match(feature)


def is_clean_mark(feature: str) -> bool:
    """Tell the same of a rule, a finding or a member of a set."""
    return not NOT_CLEAN_MARK.search(feature)


async def examples(
    rules: Policy, mail: Iterator[sources.SourcedMessage]
) -> tuple[list[SourcedExample], tuple[str, ...]]:
    """Return the example of each message, and the names of its numbers.

    Good mail is dealt in two by the domain of its author.
    """
    builder = ExampleBuilder(SCHEMA)
    dealt = []
    async for message, scanned in sources.scans(rules, mail):
        author = scanned.message.from_
        domain = author.address.rpartition("@")[2].lower() if author else ""
        example = builder.example(
            scanned.facts,
            scanned.verdict.rules,
            name=message.path,
            time=0.0,
            spam=message.spam,
            score=scanned.verdict.score,
        )
        untaught = not message.spam and bool(hashlib.blake2b(domain.encode()).digest()[0] & 1)
        room = added(
            inf,
            rules.final.shipped_points,
            scanned.verdict.rules,
            rules.verdict,
            rules.final.overrules,
            rules.groups,
        )
        dealt.append(SourcedExample(message.source, untaught, example, room))
    return dealt, builder.names
