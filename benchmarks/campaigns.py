"""How soon a campaign of near-duplicates is seen, and what that costs good mail: the tables of
docs/adr/0005.

    python benchmarks/campaigns.py [--key 107]

Judges messages one after the other under the policy that ships, with counters in memory that start
empty; no mail server, and a clock of its own.  1. A campaign (tests/letters.py) mixed with as many
good messages of the corpus, several seeds.  2. A year of the corpus's mail in one day and in one
hour.  3. Copies of a random text, each word replaced by one of four others with probability p, from
200 clients of one /24; two copies then differ in nearly 2p of their words.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import string
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.authentication.model import AuthIdentity  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402
from oborona.types import Action  # noqa: E402
from tests.letters import Kind, Letter, campaign, corpus, mixed  # noqa: E402
from tests.posted import PostedLetter, judgements  # noqa: E402

COPIES: Final = 300
START: Final = 1_800_000_000.0
SEEDS: Final = range(1, 15)
POLICY: Final = load_policy(ROOT / "etc/policy.d", SCHEMA)


async def outcomes(
    letters: Iterable[Letter], *, gap_s: float, key: bytes
) -> Counter[tuple[Kind, Action]]:
    """Judge letters one every `gap_s` seconds, and count what became of each kind."""
    posted = (
        PostedLetter(
            letter=letter, at=START + place * gap_s, kind=letter.kind, identity=AuthIdentity()
        )
        for place, letter in enumerate(letters)
    )
    outcome: Counter[tuple[Kind, Action]] = Counter()
    async for post, scan in judgements(posted, POLICY, key=key):
        outcome[post.letter.kind, scan.verdict.action] += 1
    return outcome


def copies(words: int, chance: float, *, one_sender: bool) -> list[Letter]:
    """Return copies of one random text, each word replaced by one of four others with a chance."""
    draw = random.Random(1)  # noqa: S311 - the same texts on every run
    language = [
        "".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 9))) for _ in range(4000)
    ]
    text = draw.choices(language, k=words)
    others = {word: draw.choices(language, k=4) for word in text}
    letters = []
    for number in range(COPIES):
        body = " ".join(
            draw.choice(others[word]) if draw.random() < chance else word for word in text
        )
        sender = (
            "one@sender.example" if one_sender else f"u{number}@d{draw.randrange(10**6)}.example"
        )
        raw = (
            f"From: {sender}\nTo: u{number}@example.test\nSubject: {number} "
            f"{draw.choice(language)}\n"
            f"Date: Fri, 15 Jan 2027 08:00:00 +0000\nMessage-ID: "
            f"<{number}@d.example>\n\nHello,\n{body}\n"
            f"http://x{draw.randrange(10**6)}.example/{draw.randrange(10**9)}\n"
        )
        letters.append(
            Letter(
                kind=Kind.CAMPAIGN,
                raw=raw.encode(),
                client_ip=f"198.18.0.{number % 200 + 1}",
                helo="x",
                sender=sender,
                recipient=f"u{number}@example.test",
            )
        )
    return letters


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--key", type=int, default=107, help="octet that the site's secret is made of"
    )
    key = bytes([parser.parse_args().key]) * 32
    console = Console()
    inbox: list[int] = []
    lost = 0
    for seed in SEEDS:
        letters = mixed(
            [*corpus(COPIES, seed=seed, spam_share=0), *campaign(COPIES, seed=seed)], seed=seed
        )
        outcome = asyncio.run(outcomes(letters, gap_s=0.1, key=key))
        inbox.append(outcome[Kind.CAMPAIGN, Action.ACCEPT])
        lost += COPIES - outcome[Kind.HAM, Action.ACCEPT]
    console.print(
        f"{len(inbox)} campaigns of {COPIES} among {COPIES} good messages: {min(inbox)} to "
        f"{max(inbox)} copies in the inbox,"
        f" {lost} of {COPIES * len(inbox)} good messages filed"
    )
    for name, seconds in (("a day", 86_400), ("an hour", 3_600)):
        outcome = asyncio.run(outcomes(corpus(4700, seed=3), gap_s=seconds / 4700, key=key))
        good = sum(number for (kind, _), number in outcome.items() if kind is Kind.HAM)
        console.print(
            f"the corpus within {name}: {good - outcome[Kind.HAM, Action.ACCEPT]} of "
            f"{good} good messages filed"
        )
    table = Table(
        "words", "p", "many senders", "one sender", title=f"of {COPIES} copies in the inbox"
    )
    for words in (10, 20, 60, 120, 200):
        for chance in (0.0, 0.1, 0.2, 0.3):
            row = [
                asyncio.run(outcomes(copies(words, chance, one_sender=one), gap_s=1.0, key=key))[
                    Kind.CAMPAIGN, Action.ACCEPT
                ]
                for one in (False, True)
            ]
            table.add_row(str(words), f"{chance:g}", *map(str, row))
    console.print(table)


if __name__ == "__main__":
    main()
