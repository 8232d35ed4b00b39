"""What trees over clean facts know of a source that they were not taught with.

    python benchmarks/left_out.py --mail DIR [--corpus DIR] > left_out.json

Mail as for `sources.py`.  Each source is left out once: trees are taught with all others, and asked
about it.  Good mail is dealt in two by the domain of its author, and one half is never taught, so
that sources of spam alone have good mail beside them that the trees do not know.

Told are the score of the rules alone, trees alone, and trees that add to the score, as the model
that comes with Oborona is made (`shipped_trees.py`).  Which facts are clean says `clean_facts.py`.
One line of JSON on standard output, a table on standard error.  Takes the extra `ml`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks import sources  # noqa: E402
from benchmarks.clean_facts import SourcedTable, examples  # noqa: E402
from benchmarks.shipped_trees import log_odds_of, rule_odds, taught_trees  # noqa: E402
from oborona.feedback.final.train import boosted_trees  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402

LOSSES: Final = (0.001, 0.003, 0.01)  # shares of the good mail that may be lost
TREES: Final = 250  # that stand alone


def left_out(dealt: SourcedTable, source: str) -> dict[str, Any]:
    """Return how trees that were taught with the other sources judge one, in percent."""
    out = dealt.source == source
    taught = ~out & ~dealt.untaught
    spam = dealt.table.spam
    good = ~spam & (dealt.untaught | out)
    row: dict[str, Any] = {
        "source": source,
        "taught_spam": int((taught & spam).sum()),
        "taught_ham": int((taught & ~spam).sum()),
        "spam": int((out & spam).sum()),
        "ham": int(good.sum()),
    }
    for way, scores in _scores(dealt, taught).items():
        for loss in LOSSES:
            line = np.sort(scores[good])[::-1][int(loss * good.sum())]
            caught = float((scores[out & spam] > line).mean())
            row[f"{way}_at_{100 * loss:g}"] = round(100 * caught, 1)
    return row


def _scores(dealt: SourcedTable, taught: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Return each message's scores: of the rules, of trees alone, and of rules and trees."""
    table = dealt.table
    alone = boosted_trees(table, taught, trees=TREES)
    added = log_odds_of(taught_trees(dealt, taught), dealt, np.ones(len(taught), np.bool_))
    return {
        "rules": table.scores,
        "trees": alone.predict(table.numbers, prediction_type="RawFormulaVal"),
        "both": rule_odds(table.scores) + added,
    }


def main() -> None:
    """Leave each source of spam out once, and print what was caught of it."""
    parser = sources.mail_options(__doc__ or "")
    options = parser.parse_args()
    if options.mail is None:
        parser.error("name mail of several sources by --mail")
    rules = load_policy(options.policy, SCHEMA)
    dealt = SourcedTable(*asyncio.run(examples(rules, sources.messages(options))))
    spammed = np.unique(dealt.source[dealt.table.spam]).tolist()
    rows = [left_out(dealt, source) for source in spammed]
    Console(stderr=True).print(_table(rows))
    features = len(dealt.table.features)
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
