"""The facts of messages of the corpus, for benchmarks of what judges facts."""

from __future__ import annotations

import asyncio
from typing import Final

from benchmarks.servers import ROOT
from oborona.counters.memory import MemoryCounters
from oborona.message.hashing import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.load import load_policy
from oborona.policy.scan import ScanSite, scan
from oborona.types import Envelope
from tests.letters import corpus

MESSAGES: Final = 1_000


def facts() -> list[Facts]:
    """Return the facts of `MESSAGES` messages, drawn by a seed, as the policy that ships gathers
    them.
    """
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    site = ScanSite(name="mx.example.org", hasher=Hasher(b"k" * 32), counters=MemoryCounters())

    async def all_of_them() -> list[Facts]:
        return [
            (
                await scan(
                    letter.raw, Envelope(sender=letter.sender), site, policy, NoInquiry(), now=1.7e9
                )
            ).facts
            for letter in corpus(MESSAGES, seed=1)
        ]

    return asyncio.run(all_of_them())
