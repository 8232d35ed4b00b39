"""What was learned by asking, in a whole scan: as facts, pieces, scores and findings."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from oborona.authentication.model import (
    Arc,
    AuthIdentity,
    AuthResult,
    DkimSignature,
    Dmarc,
    DmarcPolicy,
    IpRev,
    Spf,
)
from oborona.counters.memory import MemoryCounters
from oborona.errors import StoreError
from oborona.message.model import Message
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.evidence import Inquiry, NoInquiry, SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.policy.load import Policy, load_policy
from oborona.policy.ports import CounterReader, Totals
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.reputation.dnsbl import DnsblListing
from oborona.reputation.subject import ListSubject
from oborona.types import Action, Client, CounterPrefix, Envelope, Shingle, Stage

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = load_policy(ROOT / "etc/policy.d", SCHEMA)
NOW = 1_795_170_000.0
HASHER = Hasher(b"k" * 32)
ENVELOPE = Envelope(
    client=Client(ip="9.10.11.12", name="mail.a.example"),
    helo="mail.a.example",
    sender="ann@a.example",
    recipients=("bob@b.example",),
)
LETTER = (
    b"From: Ann <ann@a.example>\r\nSubject: lunch\r\nDate: Fri, 20 Nov 2026 10:00:00 "
    b"+0000\r\nMessage-ID: <1@a.example>\r\n\r\nAt noon?\r\n"
)
PASSED = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="a.example"),
    spf_helo=Spf(result=AuthResult.NONE, domain="mail.a.example", scope="helo"),
    dkim=(
        DkimSignature(result=AuthResult.PASS, domain="a.example", selector="m1", unsigned=7),
        DkimSignature(result=AuthResult.FAIL, domain="list.example", selector="m2"),
    ),
    dkim_more=3,
    dmarc=Dmarc(
        result=AuthResult.PASS, domain="a.example", policy=DmarcPolicy.REJECT, dkim_aligned=True
    ),
    arc=Arc(result=AuthResult.PASS, instances=2, trusted="list.example"),
    iprev=IpRev(result=AuthResult.PASS, name="mail.a.example"),
)
LINK = DnsblListing(
    name="DBL",
    of=ListSubject.LINKS,
    asked="x.example",
    codes=("127.0.1.2",),
    score=60.0,
    say="x.example on DBL",
)


class Told:
    """An inquiry that tells what a test says, and remembers how it was asked."""

    def __init__(self, evidence: SenderEvidence) -> None:
        self.evidence = evidence
        self.truncated: list[bool] = []

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> SenderEvidence:
        raise AssertionError("a scan asks for everything at once")

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        self.truncated.append(truncated)
        return self.evidence

    async def again(
        self, evidence: SenderEvidence, message: Message, envelope: Envelope, policy: Policy
    ) -> SenderEvidence:
        raise AssertionError("nothing is found later")


async def scanned(
    evidence: SenderEvidence | Inquiry,
    *,
    policy: Policy = SHIPPED,
    envelope: Envelope = ENVELOPE,
    raw: bytes = LETTER,
    counters: CounterReader | None = None,
    size: int = 0,
) -> Scan:
    site = ScanSite(name="mx.test", hasher=HASHER, counters=counters or MemoryCounters())
    inquiry = Told(evidence) if isinstance(evidence, SenderEvidence) else evidence
    return await scan(raw, envelope, site, policy, inquiry, now=NOW, size=size)


def policy_of(folder: Path, text: str) -> Policy:
    folder.mkdir(exist_ok=True)
    (folder / "10.toml").write_text("[verdict]\nreject_score = 200\n" + text)
    return load_policy(folder, SCHEMA)


async def test_what_was_proved_is_facts() -> None:
    facts = (await scanned(SenderEvidence(identity=PASSED, listings=(LINK,)))).facts
    told = {
        "spf_result": "pass",
        "spf_domain": "a.example",
        "spf_helo": "none",
        "iprev_result": "pass",
        "dkim_domains": {"a.example"},
        "dkim_results": {"pass", "fail"},
        "dkim_signatures": 5,
        "dkim_unsigned": 7,
        "dmarc_result": "pass",
        "dmarc_policy": "reject",
        "dmarc_disposition": "none",
        "dmarc_aligned": True,
        "arc_result": "pass",
        "arc_instances": 2,
        "arc_trusted": "list.example",
        "lists_content": {"DBL"},
        "lists_client": set(),
        "lists_sender": set(),
    }
    assert {name: getattr(facts, name) for name in told} == told


async def test_a_domain_is_counted_once_its_signature_passed() -> None:
    proved, claimed = (
        HASHER.shingle(ShingleType.DKIM_DOMAIN, "a.example"),
        HASHER.shingle(ShingleType.DKIM_DOMAIN, "list.example"),
    )
    shingles = (await scanned(SenderEvidence(identity=PASSED))).pieces.shingles
    assert proved in shingles
    assert claimed not in shingles
    assert proved not in (await scanned(SenderEvidence())).pieces.shingles


async def test_a_list_counts_once_by_what_weighs_most(tmp_path: Path) -> None:
    heavy = msgspec.structs.replace(LINK, asked="y.example", score=90.0, say="y.example on DBL")
    policy = policy_of(tmp_path, "")
    verdict = (await scanned(SenderEvidence(listings=(LINK, heavy, LINK)), policy=policy)).verdict
    assert [(hit.name, hit.score, hit.say) for hit in verdict.rules] == [
        ("DBL", 90.0, "y.example on DBL")
    ]


async def test_who_did_not_answer_is_a_finding(tmp_path: Path) -> None:
    result = await scanned(
        SenderEvidence(unanswered=("spf", "ZEN")), policy=policy_of(tmp_path, "")
    )
    assert [(one.name, one.evidence) for one in result.verdict.findings] == [
        ("temperror", "spf, ZEN")
    ]
    assert result.verdict.action is Action.ACCEPT
    assert result.facts.found("temperror")
    assert not result.facts.partial, "that is of the counters"


async def test_counters_and_dns_may_both_be_away(tmp_path: Path) -> None:
    class Away:
        async def read(
            self, shingles: list[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
        ) -> Totals:
            raise StoreError("away")

    away: CounterReader = Away()  # type: ignore[assignment]
    result = await scanned(
        SenderEvidence(unanswered=("dkim",)), policy=policy_of(tmp_path, ""), counters=away
    )
    assert [one.name for one in result.verdict.findings] == ["partial", "temperror"]
    assert result.faults == ("counters: away",)


async def test_a_message_that_is_not_whole_is_said_to_be() -> None:
    told = Told(SenderEvidence())
    for size, truncated in ((0, False), (len(LETTER), False), (len(LETTER) + 1, True)):
        await scanned(told, size=size)
        assert told.truncated[-1] is truncated


async def test_what_a_peer_wrote_is_one_printable_line_in_the_words_of_a_list(
    tmp_path: Path,
) -> None:
    """A quoted local part may hold anything."""
    mailbox = '"a\x1b[31m\r\nX-Spam-Flag: NO \u202e' + "b" * 400 + '"@x.example'
    listing = msgspec.structs.replace(
        LINK, of=ListSubject.FROM, asked=mailbox, say=f"{mailbox} on EBL"
    )
    (hit,) = (
        await scanned(SenderEvidence(listings=(listing,)), policy=policy_of(tmp_path, ""))
    ).verdict.rules
    assert hit.say.startswith('"a [31m  X-Spam-Flag: NO  bbb')
    assert hit.say.isprintable()
    assert len(hit.say) <= 200


AUTHOR = (
    '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["from"]\nentries = '
    '["ann@a.example"]\n'
)
SPAMMY = '[[rule]]\nname = "SPAMMY"\nwhen = "subject == \'lunch\'"\nscore = 300\n'


CLEAN = msgspec.structs.replace(
    PASSED, dkim=(DkimSignature(result=AuthResult.PASS, domain="a.example"),)
)


@pytest.mark.parametrize(
    ("identity", "action"),
    [(CLEAN, Action.ACCEPT), (PASSED, Action.REJECT), (AuthIdentity(), Action.REJECT)],
    ids=["signed", "signed in part", "not signed"],
)
async def test_an_author_is_let_in_once_it_is_proved_that_it_is_his(
    tmp_path: Path, identity: AuthIdentity, action: Action
) -> None:
    policy = policy_of(tmp_path, AUTHOR + SPAMMY)
    assert (
        await scanned(SenderEvidence(identity=identity), policy=policy)
    ).verdict.action is action


FAILED = AuthIdentity(
    spf=Spf(result=AuthResult.FAIL, domain="a.example"),
    dmarc=Dmarc(
        result=AuthResult.FAIL,
        domain="a.example",
        policy=DmarcPolicy.REJECT,
        disposition=DmarcPolicy.REJECT,
    ),
)
SAVED = msgspec.structs.replace(
    FAILED,
    arc=Arc(
        result=AuthResult.PASS,
        instances=1,
        sealers=("l.example",),
        trusted="l.example",
        dmarc=AuthResult.PASS,
    ),
)
SHIPPED_CASES = {
    "what a domain disowns is filed": (FAILED, Action.SPAM, {"DMARC_REJECT", "SPF_FAIL"}),
    "what a trusted forwarder saw pass is not": (SAVED, Action.ACCEPT, set()),
    "what is proved has no mark": (
        msgspec.structs.replace(PASSED, dkim=PASSED.dkim[1:]),
        Action.ACCEPT,
        set(),
    ),
    "what nobody published has none": (AuthIdentity(), Action.ACCEPT, set()),
}


@pytest.mark.parametrize(("identity", "action", "rules"), SHIPPED_CASES.values(), ids=SHIPPED_CASES)
async def test_the_policy_that_ships(
    identity: AuthIdentity, action: Action, rules: set[str]
) -> None:
    verdict = (await scanned(SenderEvidence(identity=identity))).verdict
    assert verdict.action is action
    about = {
        hit.name
        for hit in verdict.rules
        if hit.name.partition("_")[0] in ("DMARC", "SPF", "DKIM") or hit.name == "NO_NAME"
    }
    assert about == rules


UNANSWERED = AuthIdentity(
    spf=Spf(result=AuthResult.TEMPERROR, domain="a.example"),
    spf_helo=Spf(result=AuthResult.TEMPERROR, domain="mail.a.example", scope="helo"),
    dkim=(DkimSignature(result=AuthResult.TEMPERROR, domain="a.example"),),
    dmarc=Dmarc(result=AuthResult.TEMPERROR, domain="a.example"),
    arc=Arc(result=AuthResult.TEMPERROR, instances=1),
    iprev=IpRev(result=AuthResult.TEMPERROR),
)


async def test_a_dead_dns_costs_no_message_a_point() -> None:
    evidence = SenderEvidence(
        identity=UNANSWERED, unanswered=("spf", "dkim", "dmarc", "arc", "iprev", "ZEN")
    )
    for path in sorted((ROOT / "tests/golden/mails").glob("**/*.eml")):
        raw = path.read_bytes()
        unknown, unasked = await scanned(evidence, raw=raw), await scanned(NoInquiry(), raw=raw)
        assert unknown.verdict.score == unasked.verdict.score, path
        assert unknown.verdict.action is unasked.verdict.action


RESULTS = st.sampled_from(AuthResult)
TEXTS = st.text(max_size=30)
IDENTITIES = st.builds(
    AuthIdentity,
    spf=st.builds(Spf, result=RESULTS, domain=TEXTS, why=TEXTS),
    spf_helo=st.builds(Spf, result=RESULTS, domain=TEXTS, why=TEXTS),
    dkim=st.lists(
        st.builds(
            DkimSignature,
            result=RESULTS,
            domain=TEXTS,
            selector=TEXTS,
            why=TEXTS,
            unsigned=st.integers(0, 2**40),
        ),
        max_size=4,
    ).map(tuple),
    dkim_more=st.integers(0, 10_000),
    dmarc=st.builds(
        Dmarc,
        result=RESULTS,
        domain=TEXTS,
        policy=st.sampled_from(DmarcPolicy),
        disposition=st.sampled_from(DmarcPolicy),
        spf_aligned=st.booleans(),
        dkim_aligned=st.booleans(),
    ),
    arc=st.builds(Arc, result=RESULTS, instances=st.integers(0, 50), trusted=TEXTS, dmarc=RESULTS),
    iprev=st.builds(IpRev, result=RESULTS, name=TEXTS),
)
LISTINGS = st.lists(
    st.builds(
        DnsblListing,
        name=st.sampled_from(["ZEN", "DBL"]),
        of=st.sampled_from(ListSubject),
        asked=TEXTS,
        codes=st.just(("127.0.0.2",)),
        score=st.floats(-1000, 1000),
        say=TEXTS,
    ),
    max_size=4,
).map(tuple)


@given(identity=IDENTITIES, listings=LISTINGS)
@hypothesis_settings(max_examples=150, deadline=None)
async def test_whatever_was_learned_there_is_a_verdict_that_headers_can_carry(
    identity: AuthIdentity, listings: tuple[DnsblListing, ...]
) -> None:
    """Never raises; the same twice; our headers are printable lines."""
    evidence = SenderEvidence(identity=identity, listings=listings)
    first, again = await scanned(evidence), await scanned(evidence)
    assert first.verdict == again.verdict
    assert first.faults == ()
    for _, value in our_headers(first.verdict, "id", HeaderDetail.FULL):
        assert all(line.removeprefix("\t").isprintable() for line in value.split("\n")), value
