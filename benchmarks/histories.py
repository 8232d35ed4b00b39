"""What is said of each history of tests/golden/reputation: trust, flag and karma, in the order of the tables.

python benchmarks/histories.py
python benchmarks/histories.py --say      with the evidence
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests has their reader

from oborona.reputation.judgement.judge import judge
from tests.reputation.histories import counted, histories


async def show(*, say: bool) -> None:
    """Judge all, and print."""
    print("trust  flag     karma  at connect  history")
    for history in histories():
        past, around, repip, karma = await counted(history)
        found = judge(past, around if history.around else None)
        connect = repip.flag if history.entity == "address" else ""
        print(f"{found.trust:5.0f}  {found.flag:8} {karma:5}  {connect:10}  {history.what}")
        if say and found.say:
            print(f"{'':33}{found.say}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--say", action="store_true", help="with the evidence")
    asyncio.run(show(say=parser.parse_args().say))


if __name__ == "__main__":
    main()
