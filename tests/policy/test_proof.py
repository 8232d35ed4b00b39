"""Proof says who, not whether good: SPF, DKIM and DMARC of a domain that nobody here knows take
nothing off a score.

The property, over all golden mails, those of a first day, the public corpus and letters made of
what rules look for: judged by the policy that ships with an empty state, a message scores with any
proof no less than without.  One thing asks for a proof, since anybody can write it:
List-Unsubscribe and its like excuse what is usual in newsletters, of senders who are borne out.
Mail that has them is held to what it scores where they are believed from everybody.  Large free
mailbox providers are nobody's throw-away domain: there a proof refutes what FREEMAIL_FOREIGN_ID
says, that the provider did not send this.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.counters.memory import MemoryCounters
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import ScanSite, scan
from oborona.policy.signatures import LiveSignatures
from oborona.types import Client, Envelope, Verdict
from tests.event_loop import finished
from tests.letters import CORPUS
from tests.peers.oborona import SETTINGS
from tests.policy.shipped import shipped
from tests.whole.golden import GOLDEN

SHIPPED: Final = SETTINGS.parent / "policy.d"
NOW: Final = 1_795_430_000.0  # 2026-11-23
MAILS: Final = sorted(GOLDEN.glob("mails/*.eml")) + sorted(GOLDEN.glob("first_day/*/*.eml"))
OF_CORPUS: Final = 100  # messages; the same in each run
WAYS: Final = ("spf", "dkim", "both")


class Proving(NoInquiry):
    """An inquiry that finds a message proved in one way."""

    def __init__(self, way: str) -> None:
        self._way = way

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        """Say that SPF, DKIM or both passed for From's domain."""
        domain = message.from_.domain if message.from_ else ""
        if not domain or not self._way:
            return SenderEvidence()
        spf, dkim = self._way in ("spf", "both"), self._way in ("dkim", "both")
        return SenderEvidence(
            identity=AuthIdentity(
                spf=Spf(result=AuthResult.PASS, domain=domain) if spf else Spf(),
                dkim=(DkimSignature(result=AuthResult.PASS, domain=domain),) if dkim else (),
                dmarc=Dmarc(
                    result=AuthResult.PASS,
                    domain=domain,
                    organisational=domain,
                    spf_aligned=spf,
                    dkim_aligned=dkim,
                ),
            )
        )


@cache
def site() -> ScanSite:
    return ScanSite(
        name="mx.firm.test",
        hasher=Hasher(b"k" * 32),
        counters=MemoryCounters(),
        signatures=LiveSignatures(shipped().signatures),
    )


@cache
def believing() -> Policy:
    """Return the policy that ships, but for whom it believes that his mail goes to many."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "90-believed.toml").write_text(
            '[[condition]]\nname = "BULK_PROVED"\nwhen = "bulk and not FROM_CHEAP_ENDING"\n'
        )
        return load_policy(PolicyFolders(own=Path(folder), shipped=SHIPPED), SCHEMA)


def judged(raw: bytes, way: str, policy: Policy) -> Verdict:
    message = parse(raw)
    sender = message.from_.address if message.from_ else ""
    envelope = Envelope(
        client=Client(ip="198.51.100.9", name="mail.stranger.test"),
        helo="mail.stranger.test",
        sender=sender,
        recipients=(
            "reader@house.test",
        ),  # our own domain proved is somebody known: nobody here writes from it
    )
    return finished(scan(raw, envelope, site(), policy, Proving(way), now=NOW)).verdict


def of_a_large_provider(verdict: Verdict) -> bool:
    return any(rule.name == "FREEMAIL_FOREIGN_ID" for rule in verdict.rules)


def holds(raw: bytes) -> None:
    without = judged(raw, "", shipped())
    least = min(without.score, judged(raw, "", believing()).score)
    if of_a_large_provider(without):
        return
    for way in WAYS:
        proved = judged(raw, way, shipped())
        lost = {rule.name: rule.score for rule in without.rules} | {"proved by": way}
        assert proved.score >= least, (lost, [rule.name for rule in proved.rules])


@pytest.mark.parametrize("path", MAILS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_golden_mails(path: Path) -> None:
    holds(path.read_bytes())


def test_the_public_corpus() -> None:
    mails = sorted(path for path in CORPUS.rglob("*.txt") if path.is_file())
    assert len(mails) > OF_CORPUS, "npm ci in tests/corpus"
    for path in random.Random(7).sample(mails, OF_CORPUS):
        holds(path.read_bytes())


def phrases(name: str) -> list[str]:
    lines = (GOLDEN.parents[1] / f"etc/policy.d/marks-{name}.list").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


TRADES: Final = (
    "account", "adult", "advance-fee", "blackmail", "boss", "cold", "excuse", "gambling", "goods", "lottery", "money", "pharmacy",
    "riches", "sales", "weight",
)  # fmt: skip
DOMAINS: Final = ("throw-away.top", "fresh.test", "paypal-service.xyz", "m.day-old.click")
HOSTS: Final = (
    "throw-away.top",
    "bit.ly",
    "x.web.app",
    "hsbc-uk.fresh.test",
    "198.51.100.7",
    "www.hsbc.co.uk",
    "fresh.test",
)


@st.composite
def letters(draw: st.DrawFn) -> bytes:
    """Letters of what rules look for: names, addresses, headers, phrases of a trade, links that
    lie.
    """
    domain = draw(st.sampled_from(DOMAINS))
    local = draw(st.sampled_from(("info", "anna", "x81k22p9", "bcdfghklm")))
    name = draw(
        st.sampled_from(("", "Ann", "HSBC Online Banking", "FREE PRIZE", "PayPal", "x@bank.test"))
    )
    fields = [f"From: {name} <{local}@{domain}>"]
    fields.append(
        "To: "
        + draw(
            st.sampled_from(("anna@firm.example", f"{local}@{domain}", "undisclosed-recipients:;"))
        )
    )
    fields.append(
        "Subject: "
        + draw(
            st.sampled_from(
                ("hello", "DOUBLE YOUR MONEY!!", "Re: your account", "Your Netflix plan", "80% off")
            )
        )
    )
    options = (
        "List-Unsubscribe: <https://fresh.test/u>", "List-Id: <l.fresh.test>", "Reply-To: a@gmail.com", "X-Priority: 1", "Precedence: bulk",
        "Auto-Submitted: auto-generated", "Message-ID: <1@localhost>", "References: <1@a.test>", "Date: Mon, 23 Nov 2026 09:00:00 +0000",
    )  # fmt: skip
    fields += draw(st.lists(st.sampled_from(options), unique=True))
    trade = phrases(draw(st.sampled_from(TRADES)))
    words = draw(st.lists(st.sampled_from(trade), max_size=9))
    links = [
        f'<a href="https://{draw(st.sampled_from(HOSTS))}/a">{draw(st.sampled_from((*HOSTS, "https://www.hsbc.co.uk/in", "here")))}</a>'
        for _ in range(draw(st.integers(0, 3)))
    ]
    body = "<p>" + ". ".join(words) + "</p>" + " ".join(links)
    fields += [
        "MIME-Version: 1.0",
        "Content-Type: text/html; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
    ]
    return ("\n".join(fields) + "\n\n" + body + "\n").encode()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(letters())
def test_letters_made_of_what_rules_look_for(raw: bytes) -> None:
    holds(raw)


def test_no_rule_asks_for_proof_alone() -> None:
    """But those that say that somebody did not send it, which a proof refutes."""
    relieved = [rule.name for rule in shipped().rules if "not dmarc.aligned" in rule.when]
    assert sorted(relieved) == ["FREEMAIL_FOREIGN_ID", "SPF_FAIL", "SPF_SOFTFAIL"]
