"""A site whose rules see nothing and whose people have spoken: it is known what can be learned."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.counters.memory import MemoryCounters
from oborona.daemon.state import prepare_state
from oborona.feedback.label import Label, LabelKind, LabelSource
from oborona.feedback.label_store import LabelStore
from oborona.ident import JournalIdGenerator
from oborona.journal.journal import JournalWriter
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import ScanSite, scan
from oborona.session.journal_entry import entry_of
from oborona.types import Client, Envelope
from tests.policy.models.final.made import leave_to_rules

DAYS: Final = 20
DAY_S: Final = 86_400.0
RULES: Final = (
    "[verdict]\nspam_score = 100\nreject_score = 200\n"
    '[[rule]]\nname = "ONE_LINK"\nwhen = "links == 1"\nscore = 20\n'
)
WORDS: Final = tuple(f"{one}{two}ing" for one in "bdfghklmnprst" for two in ("ar", "en", "ol", "u"))


def letter(number: int, chance: random.Random, *, spam: bool) -> bytes:
    """Return a letter that is like no other: spam has two links and HTML, good mail neither."""
    words = " ".join(chance.choices(WORDS, k=40))
    kind = "html" if spam else "plain"
    text = f"<p>{words} <a href='https://a{number}.example/'>1</a> <a href='https://b{number}.example/'>2</a></p>"
    return (
        f"From: Ann <ann{number}@a{number}.example>\r\nTo: bob@b.example\r\n"
        f"Subject: {chance.choice(WORDS)} {number}\r\nMessage-ID: <{number}@a.example>\r\n"
        f"MIME-Version: 1.0\r\nContent-Type: text/{kind}\r\n"
        f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{text if spam else words}\r\n"
    ).encode()


def rules(folder: Path) -> Policy:
    """Write a policy folder, and return its policy."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "10.toml").write_text(RULES)
    return load_policy(folder, SCHEMA)


def made_site(
    state: Path, policy: Policy, *, spam: int, ham: int, now: float, seed: int = 1
) -> list[int]:
    """Make a state folder with a journal and people's word of all that is in it.

    Args:
        state: the folder.
        policy: that judges.
        spam: messages.
        ham: messages.
        now: Unix seconds, at which the last of them came.
        seed: of their texts and order.

    Returns:
        The ids of the messages.
    """
    prepare_state(state)
    leave_to_rules(state)
    chance = random.Random(seed)
    kinds = [True] * spam + [False] * ham
    chance.shuffle(kinds)
    idents = asyncio.run(_journaled(state, policy, kinds, now, chance, seed))
    labels = [
        Label(
            kind=LabelKind.SPAM if kind else LabelKind.HAM,
            source=LabelSource.COMPLAINT if kind else LabelSource.PARDON,
            time=now - DAYS * DAY_S * (1 - place / len(kinds)),
            digest=ident.to_bytes(16),
            features=b"",
            person=f"p{place % 7}@b.example",
            journal=ident,
        )
        for place, (kind, ident) in enumerate(zip(kinds, idents, strict=True))
    ]
    with LabelStore(state / state_files.FEEDBACK) as store:
        store.add(labels, now=now)
    return idents


async def _journaled(
    state: Path, policy: Policy, kinds: Sequence[bool], now: float, chance: random.Random, seed: int
) -> list[int]:
    numbers, idents = JournalIdGenerator(start=lambda: 0), []
    site = ScanSite(name="mx.b.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters())
    async with await JournalWriter.open(state / state_files.JOURNAL) as journal:
        for place, spam in enumerate(kinds):
            when = now - DAYS * DAY_S * (1 - place / len(kinds))
            envelope = Envelope(
                client=Client(ip="198.51.100.7"),
                sender="ann@a.example",
                recipients=(f"p{place % 7}@b.example",),
            )
            raw = letter(seed * 100_000 + place, chance, spam=spam)
            result = await scan(raw, envelope, site, policy, NoInquiry(), now=when)
            ident = numbers.next(when)
            journal.append(
                entry_of(ident, when, policy, envelope, len(raw), result.verdict, result)
            )
            idents.append(ident)
    return idents
