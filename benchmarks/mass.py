"""How many copies of a campaign reach the inbox, and what mass rules say of legitimate bulk mail:
the tables of docs/measured/campaigns.md.

    python benchmarks/mass.py [--seeds 5] [--policy DIR] [--mail DIR]

Judges messages one after the other under a policy, with counters in memory that start empty, no
mail server, and authentication as it would be in life.  1. Campaigns of all kinds
(tests/campaign_kinds.py), 300 copies each.  2. 2,000 legitimate bulk letters (tests/bulk.py) within
an hour and within a day, after two days of past.  3. With `--mail`, the ham of a folder that
`benchmarks/sources.py` reads, within an hour and a day: as proved in life (SPF for MAIL FROM, the
DKIM signatures that it carries), and with nothing proved though the DNS answered.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Sequence
from email.message import Message
from email.utils import parseaddr
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.sources import SourcedMessage, head_of, indexed  # noqa: E402
from oborona.authentication.model import (  # noqa: E402
    AuthIdentity,
    AuthResult,
    DkimSignature,
    Dmarc,
    Spf,
)
from oborona.domains import registrable  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.scan import Scan  # noqa: E402
from oborona.types import Action  # noqa: E402
from tests.bulk import bulk  # noqa: E402
from tests.campaign_kinds import (  # noqa: E402
    START,
    CampaignKind,
    Senders,
    campaign_of,
    people_of,
)
from tests.letters import Kind, Letter  # noqa: E402
from tests.posted import UNPROVED, PostedLetter, judged, mass_hits  # noqa: E402

LEGITIMATE: Final = 2000
PAST: Final = 150  # letters of the two days before
DAY: Final = 86_400.0
SPANS: Final = (("an hour", 3600.0), ("a day", DAY))
MAX_SIGNATURES: Final = 4
_SIGNER: Final = re.compile(r"\bd=\s*([\w.-]+)")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="campaigns of each kind")
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d")
    parser.add_argument("--mail", type=Path, help="folder with index.tsv")
    options = parser.parse_args()
    rules, console = load_policy(options.policy, SCHEMA), Console(width=110)
    console.print(_campaigns(rules, options.seeds))
    for name, span_s in SPANS:
        for seed in range(1, options.seeds + 1):
            past = bulk(PAST, seed=100 + seed, start=START - 2 * DAY, span_s=DAY)
            today = bulk(LEGITIMATE, seed=seed, start=START, span_s=span_s)
            scans = _judged([*past, *today], rules, seed)[PAST:]
            console.print(f"bulk mail within {name}, seed {seed}: {_hits(today, scans)}")
    if options.mail is None:
        return
    mail = [message for message in indexed(options.mail) if not message.spam]
    for name, span_s in SPANS:
        for proof, in_life in (("as in life", True), ("nothing proved", False)):
            posted = [
                _posted(message, START + place * span_s / len(mail), in_life=in_life)
                for place, message in enumerate(mail)
            ]
            console.print(
                f"{options.mail.name} within {name}, {proof}: "
                f"{_hits(posted, _judged(posted, rules, 1))}"
            )


def _campaigns(rules: Policy, seeds: int) -> Table:
    table = Table(title="copies of 300 in the inbox: median and most of the seeds")
    table.add_column("in common")
    for senders in Senders:
        table.add_column(senders, justify="right")
    for kind in CampaignKind:
        cells = []
        for senders in Senders:
            inbox = [_inbox(kind, senders, seed, rules) for seed in range(1, seeds + 1)]
            cells.append(f"{median(inbox):g} / {max(inbox)}")
        table.add_row(kind, *cells)
    return table


def _inbox(kind: CampaignKind, senders: Senders, seed: int, rules: Policy) -> int:
    before = people_of(senders, seed=seed)
    scans = _judged([*before, *campaign_of(kind, senders, seed=seed)], rules, seed)
    return sum(scan.verdict.action is Action.ACCEPT for scan in scans[len(before) :])


def _judged(posted: Sequence[PostedLetter], rules: Policy, seed: int) -> list[Scan]:
    return asyncio.run(judged(posted, rules, key=bytes([106 + seed]) * 32))


def _hits(posted: Sequence[PostedLetter], scans: Sequence[Scan]) -> str:
    """Return how many letters have points of mass rules, how many these file, and which kinds and
    rules they are.
    """
    kinds, names, filed = Counter[str](), Counter[str](), 0
    for post, scan in zip(posted, scans, strict=True):
        hits = mass_hits(scan)
        kinds[post.kind] += bool(hits)
        names.update(hit.name for hit in hits)
        without = scan.verdict.score - sum(hit.score for hit in hits)
        spam_score = scan.policy.verdict.spam_score
        filed += scan.verdict.score >= spam_score > without
    return (
        f"{kinds.total()} of {len(posted)} hit, {filed} filed by it; {dict(+kinds)}; {dict(names)}"
    )


def _posted(message: SourcedMessage, at: float, *, in_life: bool) -> PostedLetter:
    envelope = message.envelope
    letter = Letter(
        kind=Kind.HAM,
        raw=message.raw,
        client_ip=envelope.client.ip,
        helo=envelope.helo,
        sender=envelope.sender,
        recipient=envelope.recipients[0],
    )
    return PostedLetter(
        letter=letter,
        at=at,
        kind=message.source,
        identity=_in_life(message) if in_life else UNPROVED,
        client_name=envelope.client.name,
    )


def _in_life(message: SourcedMessage) -> AuthIdentity:
    """Return what authentication found when it came: SPF passed, and so did each signature."""
    head = head_of(message.raw)
    author = parseaddr(str(head.get("From", "")))[1].rpartition("@")[2].lower()
    sender = message.envelope.sender.rpartition("@")[2].lower()
    signers = _signers(head)
    return AuthIdentity(
        iprev=UNPROVED.iprev,
        spf=Spf(result=AuthResult.PASS, domain=sender) if sender else Spf(),
        dkim=tuple(DkimSignature(result=AuthResult.PASS, domain=signer) for signer in signers),
        dmarc=Dmarc(
            domain=author,
            spf_aligned=bool(sender) and registrable(sender) == registrable(author),
            dkim_aligned=any(registrable(signer) == registrable(author) for signer in signers),
        ),
    )


def _signers(head: Message) -> list[str]:
    fields = head.get_all("DKIM-Signature", [])[:MAX_SIGNATURES]
    return [found[1].lower() for field in fields if (found := _SIGNER.search(str(field)))]


if __name__ == "__main__":
    main()
