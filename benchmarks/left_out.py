"""What trees over clean facts know of a source that they were not taught with.

    python benchmarks/left_out.py --mail DIR [--corpus DIR] > left_out.json

Mail as for `sources.py`.  Each source is left out once: trees are taught with all others, and asked
about it.  Good mail is dealt in two by the domain of its author, and one half is never taught, so
that sources of spam alone have good mail beside them that the trees do not know.

Told are the score of the rules alone, trees alone, and trees that add to the score: their log-odds
begin with the score's, and a rule or finding may move them only the way it speaks itself.

A feature is clean if it tells of the message and not of how a collection was made: nothing of
authentication as recorded, of lists, of counts of header fields, of sizes and charsets, of client
and envelope, and no rule that asks for one of these.  One line of JSON on standard output, a table
on standard error.  Takes the extra `ml`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks import sources  # noqa: E402
from oborona.feedback.final.train import boosted_trees  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.models.final.examples import (  # noqa: E402
    ExampleBuilder,
    FinalExample,
    example_table,
)

LOSSES: Final = (0.001, 0.003, 0.01)  # shares of the good mail that may be lost
TREES: Final = 250
ADDED: Final = 150  # trees that add to the rules
EVEN: Final = 70.0  # score that is held to be as likely spam as not
POINTS: Final = 25.0  # of a score, to one of log-odds
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


class SourcedTable:
    """Examples of several sources, clean.

    Args:
        examples: of all sources.
        names: of the numbers of each.
    """

    def __init__(self, examples: Sequence[SourcedExample], names: Sequence[str]) -> None:
        places = [place for place, name in enumerate(names) if is_clean(name)]
        self.table = example_table(
            [_clean(example, places) for _, _, example in examples],
            [names[place] for place in places],
        )
        self.source = np.array([source for source, _, _ in examples])
        self.untaught = np.array([untaught for _, untaught, _ in examples])

    def left_out(self, source: str) -> dict[str, Any]:
        """Return how trees that were taught with the other sources judge one, in percent."""
        out = self.source == source
        taught = ~out & ~self.untaught
        spam = self.table.spam
        good = ~spam & (self.untaught | out)
        row: dict[str, Any] = {
            "source": source,
            "taught_spam": int((taught & spam).sum()),
            "taught_ham": int((taught & ~spam).sum()),
            "spam": int((out & spam).sum()),
            "ham": int(good.sum()),
        }
        for way, scores in self._scores(taught).items():
            for loss in LOSSES:
                line = np.sort(scores[good])[::-1][int(loss * good.sum())]
                caught = float((scores[out & spam] > line).mean())
                row[f"{way}_at_{100 * loss:g}"] = round(100 * caught, 1)
        return row

    def _scores(self, taught: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
        """Return each message's scores: of the rules, of trees, and of trees that add to the rules
        and may not turn one of them round.
        """
        from catboost import Pool  # noqa: PLC0415 - the extra `ml`

        table = self.table
        over = (table.scores - EVEN) / POINTS
        directions = {
            place: -1 if name in FOR_MAIL else 1
            for place, name in enumerate(table.features)
            if name.startswith(("rule ", "found("))
        }
        alone = boosted_trees(table, taught, trees=TREES)
        added = boosted_trees(table, taught, trees=ADDED, over=over, directions=directions)
        return {
            "rules": table.scores,
            "trees": alone.predict(table.numbers, prediction_type="RawFormulaVal"),
            "both": added.predict(
                Pool(table.numbers, baseline=over), prediction_type="RawFormulaVal"
            ),
        }


def _clean(example: FinalExample, places: Sequence[int]) -> FinalExample:
    return msgspec.structs.replace(
        example,
        numbers=example.numbers[places],
        marks=frozenset(mark for mark in example.marks if not NOT_CLEAN_MARK.search(mark)),
    )


def is_clean(feature: str) -> bool:
    """Tell whether a number tells of the message, and nothing of how it was collected."""
    return feature in CLEAN_LENGTHS or not NOT_CLEAN.match(feature)


async def examples(
    rules: Policy, mail: Iterator[sources.SourcedMessage], builder: ExampleBuilder
) -> list[SourcedExample]:
    """Return the example of each message; good mail is dealt by the domain of its author."""
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
        dealt.append(SourcedExample(message.source, untaught, example))
    return dealt


def main() -> None:
    """Leave each source of spam out once, and print what was caught of it."""
    parser = sources.mail_options(__doc__ or "")
    options = parser.parse_args()
    if options.mail is None:
        parser.error("name mail of several sources by --mail")
    builder = ExampleBuilder(SCHEMA)
    rules = load_policy(options.policy, SCHEMA)
    dealt = asyncio.run(examples(rules, sources.messages(options), builder))
    table = SourcedTable(dealt, builder.names)
    spammed = sorted({source for source, _, example in dealt if example.spam})
    rows = [table.left_out(source) for source in spammed]
    Console(stderr=True).print(_table(rows))
    features = len(table.table.features)
    print(json.dumps({"benchmark": "left_out", "features": features, "rows": rows}))


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="a source that was not taught: spam caught, % at a loss of good mail")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name == "source" else "right")
    for row in rows:
        table.add_row(*map(str, row.values()))
    return table


if __name__ == "__main__":
    main()
