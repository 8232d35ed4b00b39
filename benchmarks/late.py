"""What becomes of mail that wants to make the daemon late: so many large and small letters at once,
through a real Postfix, and honest mail beside.

    python -m benchmarks.late [--big 40] [--small 150] [--workers 2]

As root.  Each hostile letter holds GTUBE and forged headers in our name.  Rows: what SMTP said to
how many; what was delivered, and how.
"""

from __future__ import annotations

import argparse

from tests.whole.flood import Outcome, big, gate, small


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", type=int, default=40)
    parser.add_argument("--small", type=int, default=150)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with gate({"worker.processes": asked.workers}) as site:
        for name, letters in (
            ("big", [big(number) for number in range(asked.big)]),
            ("small", [small(number) for number in range(asked.small)]),
        ):
            if letters:
                show(name, sum(map(len, letters)), site.flood(letters))


def show(name: str, octets: int, outcome: Outcome) -> None:
    """Print a row."""
    print(
        f"{name}: {sum(outcome.told.values())} letters, {octets / 1e6:.1f} MB, "
        f"{outcome.took_s:.1f} s"
    )
    print(f"  SMTP's last word          {dict(outcome.told)}")
    print(
        f"  GTUBE delivered           {len(outcome.hostile)}, {len(outcome.inbox)} of them "
        f"not as spam"
    )
    print(f"  forged headers delivered  {len(outcome.forged)}")
    print(f"  honest mail beside        {dict(outcome.friends)}", flush=True)


if __name__ == "__main__":
    main()
