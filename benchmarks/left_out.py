"""What trees over clean facts know of a source that they were not taught with.

    python benchmarks/left_out.py --mail DIR [--corpus DIR] > left_out.json

Mail as for `sources.py`.  Each source is left out once: trees are taught with all others, and asked
about it.  Good mail is dealt in two by the domain of its author, and one half is never taught, so
that sources of spam alone have good mail beside them that the trees do not know.

A feature is clean if it tells of the message and not of how a collection was made: nothing of
authentication as recorded, of lists, of counts of header fields, of sizes and charsets, of client
and envelope, and no rule that asks for one of these.  One line of JSON on standard output, a table
on standard error.  Takes the extra `ml`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks import sources  # noqa: E402
from oborona.counters.memory import MemoryCounters  # noqa: E402
from oborona.message.shingles import Hasher  # noqa: E402
from oborona.policy.evidence import NoInquiry  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.models.final.examples import ExampleBuilder, FinalExample  # noqa: E402
from oborona.policy.scan import ScanSite, scan  # noqa: E402
from oborona.policy.signatures import LiveSignatures  # noqa: E402

LOSSES: Final = (0.001, 0.003, 0.01)  # shares of the good mail that may be lost
TREES: Final = 250
DEPTH: Final = 5
RATE: Final = 0.06
RARE: Final = 8  # messages with a mark, or it tells of those messages alone
THREADS: Final = 2
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


class Examples:
    """Messages as trees see them.

    Args:
        mail: with its source, and whether it is never taught.
        names: of the numbers of each example.
    """

    def __init__(
        self, mail: Sequence[tuple[str, bool, FinalExample]], names: Sequence[str]
    ) -> None:
        numbers = [place for place, name in enumerate(names) if is_clean(name)]
        seen = Counter(mark for _, _, example in mail for mark in example.marks)
        marks = {
            mark: place
            for place, mark in enumerate(
                sorted(m for m, n in seen.items() if n >= RARE and not NOT_CLEAN_MARK.search(m))
            )
        }
        table = np.zeros((len(mail), len(marks)), np.float32)
        for row, (_, _, example) in enumerate(mail):
            table[row, [marks[mark] for mark in example.marks if mark in marks]] = 1.0
        self.values = np.hstack(
            (np.array([example.numbers[numbers] for _, _, example in mail], np.float32), table)
        )
        self.features = (*(names[place] for place in numbers), *marks)
        self.source = np.array([source for source, _, _ in mail])
        self.untaught = np.array([untaught for _, untaught, _ in mail])
        self.spam = np.array([example.spam for _, _, example in mail])

    def left_out(self, source: str) -> dict[str, Any]:
        """Return how trees that were taught with the other sources judge one, in percent."""
        out = self.source == source
        taught = ~out & ~self.untaught
        good = ~self.spam & (self.untaught | out)
        model = self._taught(taught)
        raw = model.predict(self.values, prediction_type="RawFormulaVal")
        row: dict[str, Any] = {
            "source": source,
            "taught_spam": int((taught & self.spam).sum()),
            "taught_ham": int((taught & ~self.spam).sum()),
            "spam": int((out & self.spam).sum()),
            "ham": int(good.sum()),
        }
        for loss in LOSSES:
            line = np.sort(raw[good])[::-1][int(loss * good.sum())]
            row[f"caught_at_{100 * loss:g}"] = round(
                100 * float((raw[out & self.spam] > line).mean()), 1
            )
        return row

    def _taught(self, which: NDArray[np.bool_]) -> Any:
        from catboost import CatBoostClassifier, Pool  # noqa: PLC0415 - the extra `ml`

        spam = self.spam[which]
        weights = np.where(spam, 0.5 / spam.sum(), 0.5 / (~spam).sum()) * spam.size
        model = CatBoostClassifier(
            iterations=TREES, depth=DEPTH, learning_rate=RATE, random_seed=1, thread_count=THREADS, verbose=False, allow_writing_files=False
        )  # fmt: skip
        return model.fit(Pool(self.values[which], spam.astype(int), weight=weights))


def is_clean(feature: str) -> bool:
    """Tell whether a number tells of the message, and nothing of how it was collected."""
    return feature in CLEAN_LENGTHS or not NOT_CLEAN.match(feature)


async def examples(
    rules: Policy, mail: Iterator[sources.SourcedMessage], builder: ExampleBuilder
) -> list[tuple[str, bool, FinalExample]]:
    """Return each message's source, whether it is good mail that is never taught, and example."""
    signatures = LiveSignatures(rules.signatures)
    found = []
    for message in mail:
        site = ScanSite(
            name="mx.example.test",
            hasher=Hasher(b"k" * 32),
            counters=MemoryCounters(),
            signatures=signatures,
        )
        scanned = await scan(
            message.raw, message.envelope, site, rules, NoInquiry(), now=sources.NOW
        )
        author = scanned.message.from_
        domain = author.address.rpartition("@")[2].lower() if author else ""
        untaught = not message.spam and bool(hashlib.blake2b(domain.encode()).digest()[0] & 1)
        example = builder.example(
            scanned.facts,
            scanned.verdict.rules,
            name=message.path,
            time=0.0,
            spam=message.spam,
            score=scanned.verdict.score,
        )
        found.append((message.source, untaught, example))
    return found


def main() -> None:
    """Leave each source of spam out once, and print what was caught of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mail", type=Path, required=True, help="folder with index.tsv")
    parser.add_argument(
        "--corpus", type=Path, help="folders of ham and spam, a source of their own"
    )
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d")
    options = parser.parse_args()
    builder = ExampleBuilder(SCHEMA)
    rules = load_policy(options.policy, SCHEMA)
    found = asyncio.run(examples(rules, sources.messages(options), builder))
    table = Examples(found, builder.names)
    spammed = sorted({source for source, _, example in found if example.spam})
    rows = [table.left_out(source) for source in spammed]
    Console(stderr=True).print(_table(rows))
    print(json.dumps({"benchmark": "left_out", "features": len(table.features), "rows": rows}))


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="a source that was not taught: spam caught, % at a loss of good mail")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name == "source" else "right")
    for row in rows:
        table.add_row(*map(str, row.values()))
    return table


if __name__ == "__main__":
    main()
