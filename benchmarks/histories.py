"""What is said of each history of tests/golden/reputation: trust, flag and karma, in the order of
the tables.

python benchmarks/histories.py
python benchmarks/histories.py --say      with the evidence
python benchmarks/histories.py --unread   as where nobody tells what is read or deleted unread
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from pathlib import Path
from typing import Final

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests has their reader

from oborona.reputation.judgement.judge import judge
from tests.reputation.histories import counted, histories

_READ: Final = re.compile(r"\d+ (reads?|deleted)(, )?")


def unread(events: list[str]) -> list[str]:
    """Return events without what readers did."""
    left = (_READ.sub("", event).rstrip(", ") for event in events)
    return [event for event in left if not event.endswith(":")]


async def show(*, say: bool, told: bool) -> None:
    """Judge all, and print."""
    print("trust  flag     karma  at connect  history")
    for table in histories():
        history = table
        if not told:
            history = msgspec.structs.replace(
                table, own=unread(table.own), around=unread(table.around)
            )
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
    parser.add_argument(
        "--unread", action="store_true", help="nobody tells what is read or deleted unread"
    )
    asked = parser.parse_args()
    asyncio.run(show(say=asked.say, told=not asked.unread))


if __name__ == "__main__":
    main()
