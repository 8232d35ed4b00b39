"""What rules cost a message, by how many there are and of what they ask: the figures of
docs/policy/policy.md.

    python benchmarks/rules_cost.py [--json]

The facts of 1,000 messages of the corpus, drawn by a seed, judged by 500 rules of each sort, of
eight sorts in turns, and of these with a pattern and a list of domains among every fifty; in one
process, its processor time, the best of nine rounds.  What reading the facts costs is told apart:
the same rules whose conditions are false at once read all that they name.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.gathered import MESSAGES, facts  # noqa: E402
from oborona.policy.expression import CompiledRules, compile_rules  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.facts import Facts  # noqa: E402
from oborona.policy.rules import Rule  # noqa: E402
from oborona.types import Stage  # noqa: E402

ROUNDS: Final = 9
RULES: Final = 500
SORTS: Final = {
    "two numbers": "text.words > {n} and links > 3",
    "a share that may be none": "date.age_hours > {n} and subject.capitals > 0.9",
    "a text in a list": "mailer in ('x{n}', 'y{n}', 'z{n}')",
    "a member of a set": "'x{n}.example' in links.domains",
    "a finding": "found('hidden-text') and pictures > {n}",
    "counts": "count[From].day.seen >= {n} and count[From].day.spam_share > 0.9",
    "counts calculated with": "count[FromDomain].hour.seen * 5 > count[FromDomain].day.seen + {n}",
    "a word in the subject": "contains(subject, 'offer {n}')",
    "the end of a domain": "in_domains(from.domain, 'x{n}.example')",
    "a pattern on the subject": "matches(subject, 'win.*{n}')",
}
SELDOM: Final = ("a pattern on the subject", "the end of a domain")


def mixture(every: int) -> list[str]:
    """Return rules as sites have them: numbers, words, findings and counts in turns.

    Args:
        every: which one is a pattern or a list of domains, by turns; 0 = none.
    """
    often = [text for name, text in SORTS.items() if name not in SELDOM]
    seldom = [SORTS[name] for name in SELDOM]
    texts = [
        seldom[n // every % 2] if every and n % every == every - 1 else often[n % len(often)]
        for n in range(RULES)
    ]
    return [text.format(n=n) for n, text in enumerate(texts)]


def compiled(conditions: Sequence[str]) -> CompiledRules:
    """Return rules with these conditions."""
    return compile_rules(
        [Rule(name=f"R{number}", when=when, score=1.0) for number, when in enumerate(conditions)],
        SCHEMA,
    )


def cost_us(rules: CompiledRules, sample: Sequence[Facts]) -> float:
    """Return microseconds of processor time a message, the best of all rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for one in sample:
            rules.run(one, Stage.CONTENT)
        best = min(best, time.process_time() - start)
    return best / len(sample) * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    as_json = parser.parse_args().json
    sample = facts()
    rows: list[dict[str, Any]] = []
    cases = {
        "no rules": [],
        "eight sorts in turns": mixture(0),
        "these, and 10 patterns, 10 lists of domains": mixture(25),
        **{name: [text.format(n=n) for n in range(RULES)] for name, text in SORTS.items()},
    }
    for name, conditions in cases.items():
        start = time.process_time()
        rules = compiled(conditions)
        took = time.process_time() - start
        reading = cost_us(compiled([f"false and {when}" for when in conditions]), sample)
        cost = cost_us(rules, sample)
        rows.append(
            {
                "rules": name,
                "us": round(cost, 1),
                "reading_us": round(reading, 1),
                "compiled_s": round(took, 3),
            }
        )
    if as_json:
        print(msgspec.json.encode({"messages": MESSAGES, "rules": RULES, "rows": rows}).decode())
        return
    table = Table("500 rules", "µs a message", "of it, false at once", "compiled in s")
    for row in rows:
        table.add_row(row["rules"], str(row["us"]), str(row["reading_us"]), str(row["compiled_s"]))
    Console().print(table)


if __name__ == "__main__":
    main()
