"""What the policy that ships costs a message: CPU of judging, of its checks, and of its signatures.

    python benchmarks/rule_cost.py                     the policy that ships
    python benchmarks/rule_cost.py --policy DIR        another one, in the same run

1,000 messages of the corpus in a fixed random order, parsed before; microseconds of CPU a message,
the best of five rounds.  Judging is all that a scan does after parsing and before the answer:
pieces, counters (empty, in memory), checks, signatures, facts, rules, verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.new_site import STRANGER  # noqa: E402
from benchmarks.rule_samples import Sample, samples  # noqa: E402
from benchmarks.rule_verdicts import verdicts  # noqa: E402
from benchmarks.rules import CORPUS  # noqa: E402
from oborona.policy.checks import CHECKS  # noqa: E402
from oborona.policy.checks.context import CheckContext  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402
from oborona.policy.signatures import LiveSignatures  # noqa: E402
from oborona.types import Envelope  # noqa: E402

MESSAGES: Final = 1000
ROUNDS: Final = 5


def best(work: Callable[[], object]) -> float:
    """Return microseconds of CPU a message, the best of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        work()
        rounds.append((time.process_time_ns() - began) / 1000 / MESSAGES)
    return round(min(rounds), 1)


def cost(sample: list[Sample], folder: Path) -> dict[str, object]:
    """Return the figures of one policy."""
    policy = load_policy(folder, SCHEMA)
    live = LiveSignatures(policy.signatures)
    envelope = Envelope(client=STRANGER)
    contexts = [
        CheckContext(
            message=one.message,
            envelope=envelope,
            site="mx.example.test",
            now=one.arrived,
            brands=policy.brands,
            people=policy.people,
        )
        for one in sample
    ]
    return {
        "policy": str(folder),
        "rules": len(policy.rules),
        "signatures": len(policy.signatures),
        "judging_us": best(lambda: asyncio.run(verdicts(sample, policy))),
        "checks_us": best(lambda: [check(context) for context in contexts for check in CHECKS]),
        "signatures_us": best(lambda: [live.find(one.message, one.arrived) for one in sample]),
    }


def main() -> None:
    """Print one JSON object for each policy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--policy", type=Path, action="append", help="policy folder; default: the one that ships"
    )
    parser.add_argument("--cache", type=Path, help="as of benchmarks/rules.py")
    asked = parser.parse_args()
    sample = samples(CORPUS, asked.cache)
    random.Random(1).shuffle(sample)  # noqa: S311 - an order, not a secret
    for folder in asked.policy or [ROOT / "etc/policy.d"]:
        sys.stdout.write(json.dumps(cost(sample[:MESSAGES], folder)) + "\n")


if __name__ == "__main__":
    main()
