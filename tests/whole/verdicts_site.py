"""The site whose verdicts `tests.whole.verdicts` writes: its policy, and stand-ins for what a
network would say.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona.authentication.model import AuthIdentity, AuthResult, Dmarc, Spf
from oborona.ident import TIME_SHIFT, JournalIdGenerator
from oborona.policy.engines import EngineOpinion, PendingOpinions, RememberedEngines
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.groups import RuleGroups
from oborona.policy.load import Policy, load_policy
from oborona.policy.models.final.features import NAME as FINAL_MODEL
from oborona.policy.models.final.model import decides
from oborona.policy.models.ports import NoModels
from oborona.policy.rules import VerdictLines
from oborona.reputation.dnsbl import DnsblListing
from oborona.reputation.subject import ListSubject
from oborona.types import Envelope, RuleHit, RuleMode, Stage

SITE: Final = {
    "90-site.toml": """
[verdict]
shadow_spam_score = 80
[repip]
bad = "reject"
[final]
mode = "live"
[[group]]
name = "SITE"
cap = 30
[[rule]]
name = "SITE_LINKS"
when = "links > 3"
score = 20
group = "SITE"
[[rule]]
name = "SITE_WORDS"
when = "text.words > 100"
score = 15
group = "SITE"
[[rule]]
name = "SITE_TRIAL"
when = "fired(SITE_LINKS) or found('site-lines')"
score = 60
mode = "shadow"
[[rule]]
name = "SITE_CLIENT"
when = "endswith(client.ip, '.1')"
score = 90
stage = "connect"
[[local_list]]
name = "SITE_DENIED"
action = "deny"
of = ["client", "sender"]
entries = ["64.0.0.0/6", ".msn.com"]
[[local_list]]
name = "SITE_ALLOWED"
action = "allow"
of = ["helo", "from"]
entries = [".net", ".com"]
[[local_list]]
name = "SITE_TRIED"
action = "deny"
of = ["sender"]
entries = [".org"]
mode = "shadow"
[[dns_list]]
name = "SITE_LISTED"
zone = "listed.example"
of = ["client"]
scores = { "127.0.0.2" = 40, "127.0.0.3" = 25 }
""",
    "91-site.lua": """
oborona.check { name = "site-lines", run = function() return facts.links > 5 and tostring(facts.links) end }
oborona.rule { name = "SITE_LUA", score = 12, when = function() return facts.links / 10 end }
oborona.rule { name = "SITE_LUA_CLIENT", score = 3, stage = "connect",
    when = function() return endswith(facts.client.ip, "7") end }
""",
}
WORDS: Final = (
    EngineOpinion(
        engine="rspamd", action="add header", score=7.5, line=15.0, symbols=("BAYES_SPAM",)
    ),
    EngineOpinion(engine="spamd", action="ham", score=0.3, line=5.0),
    EngineOpinion(engine="clamd", action="found", virus="Win.Test.EICAR_HDB-1"),
    EngineOpinion(engine="rspamd", unknown="timeout"),
)
"""Of other engines, in turn; every other message has none."""


class TellingInquiry(NoInquiry):
    """Evidence of what a DNS list says of some clients, and of an SPF that passes for others."""

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> SenderEvidence:
        ip = envelope.client.ip
        listing = DnsblListing(
            name="SITE_LISTED",
            of=ListSubject.CLIENT,
            asked=ip,
            codes=("127.0.0.2",),
            score=40.0,
            say=ip,
        )
        domain = envelope.sender.rpartition("@")[2]
        identity = AuthIdentity(
            spf=Spf(result=AuthResult.PASS, domain=domain),
            dmarc=Dmarc(result=AuthResult.PASS, domain=domain),
        )
        return SenderEvidence(
            listings=(listing,) if ip.endswith(("3", "8")) else (),
            identity=identity if ip.endswith(("2", "4")) else AuthIdentity(),
            unanswered=("dkim",) if ip.endswith("5") else (),
        )


class WordyEngines:
    """Engines beside ours whose words are those of `WORDS`."""

    def __init__(self) -> None:
        self.words: tuple[EngineOpinion, ...] = ()

    def ask(
        self, raw: bytes, envelope: Envelope, size: int, policy: Policy
    ) -> PendingOpinions | None:
        return RememberedEngines(self.words) if self.words else None


class TellingModel(NoModels):
    """A final model that tells what it was given."""

    def weigh(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        seen = " ".join(f"{hit.name}={hit.score:g}" for hit in hits)
        return (
            RuleHit(
                name=FINAL_MODEL,
                score=len(seen) % 7 - 3.0,
                say=seen,
                mode=RuleMode.LIVE if decides(table, better=True) else RuleMode.SHADOW,
            ),
        )


class PlainNumbers(JournalIdGenerator):
    """Ids without chance."""

    def next(self, now: float) -> int:
        return int(now) << TIME_SHIFT


class OnePolicy:
    """One policy for all messages."""

    def __init__(self, policy: Policy) -> None:
        self.current = policy

    async def now(self) -> Policy:
        return self.current


def policy() -> Policy:
    """Return the policy that ships, with `SITE` over it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SITE.items():
            Path(folder, name).write_text(text)
        return load_policy(PolicyFolders(own=Path(folder), shipped=PACKAGED), SCHEMA)
