"""The stages before the content: what decides, in which order, and what is not even asked."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, IpRev, Spf
from oborona.counters.memory import MemoryCounters
from oborona.errors import StoreError
from oborona.message.model import Message
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.policy.envelope_stages import StageVerdict, check_envelope
from oborona.policy.evidence import SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.history import REPIP_BAD, REPIP_POOR
from oborona.policy.load import Policy, load_policy
from oborona.policy.ports import CounterReader, Totals
from oborona.policy.scan import ScanSite
from oborona.reputation.dnsbl import DnsblListing
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import NoPins, Pin, Pins, PinTable
from oborona.reputation.subject import ListSubject
from oborona.types import (
    Action,
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    RuleMode,
    Shingle,
    Stage,
)

NOW = 1_795_170_000.0
HASHER = Hasher(b"k" * 32)
IP = "9.10.11.12"
CLIENT = Envelope(client=Client(ip=IP, name="mail.a.example"))
WHOLE = Envelope(
    client=CLIENT.client,
    helo="mail.a.example",
    sender="ann@a.example",
    recipients=("x@b.example", "bob@b.example"),
)
LISTED = DnsblListing(
    name="ZEN", of=ListSubject.CLIENT, asked=IP, codes=("127.0.0.2",), score=150.0, say="on ZEN"
)
BAD, POOR, GOOD = Amounts(seen=50, spam=50), Amounts(seen=5, spam=5), Amounts(seen=50)
LOCAL = (
    '[[local_list]]\nname = "{name}"\naction = "{action}"\nof = ["{of}"]\nentries = ["{entry}"]\n'
)
RULE = '[[rule]]\nname = "{name}"\nwhen = "{when}"\nscore = {score}\n'
DENY_CLIENT = LOCAL.format(name="KEPT_OUT", action="deny", of="client", entry="9.10.0.0/16")
ALLOW_CLIENT = LOCAL.format(name="PARTNERS", action="allow", of="client", entry="9.10.0.0/16")
REFUSED_BY_RULE = RULE.format(name="ALL", when="client.ip != ''", score=300)


class Question(NamedTuple):
    stage: Stage
    spf: bool
    iprev: bool


class Told:
    """An inquiry that tells what a test says, and remembers what it was asked."""

    def __init__(self, evidence: SenderEvidence) -> None:
        self.evidence = evidence
        self.questions: list[Question] = []

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> SenderEvidence:
        self.questions.append(Question(stage, spf, iprev))
        return self.evidence

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        raise AssertionError("there is no message yet")

    async def again(
        self, evidence: SenderEvidence, message: Message, envelope: Envelope, policy: Policy
    ) -> SenderEvidence:
        raise AssertionError("there is no message yet")


class Watched:
    """Counters that count how often they are read."""

    def __init__(self, inner: MemoryCounters, error: StoreError | None = None) -> None:
        self.inner, self.error, self.reads = inner, error, 0

    async def read(
        self, shingles: list[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Totals:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return await self.inner.read(shingles, now, prefix)


class Gate:
    """A policy in its folder, counters, and an inquiry."""

    def __init__(
        self,
        folder: Path,
        text: str = "",
        *,
        evidence: SenderEvidence | None = None,
        history: Amounts | None = None,
    ) -> None:
        (folder / "10.toml").write_text(f"[verdict]\nreject_score = 200\n{text}")
        self.policy = load_policy(folder, SCHEMA)
        self.counts = MemoryCounters()
        if history is not None:
            self.counts.add(envelope_shingles(CLIENT, HASHER), history, NOW)
        self.counters: Watched = Watched(self.counts)
        self.inquiry = Told(evidence or SenderEvidence())
        self.pins: Pins = NoPins()

    async def look(self, envelope: Envelope = CLIENT, stage: Stage = Stage.CONNECT) -> StageVerdict:
        counters: CounterReader = self.counters  # type: ignore[assignment]
        site = ScanSite(name="mx.test", hasher=HASHER, counters=counters, pins=self.pins)
        return await check_envelope(envelope, stage, site, self.policy, self.inquiry, now=NOW)


def said(seen: StageVerdict) -> tuple[Action, str, float]:
    return seen.verdict.action, seen.verdict.decided_by, seen.verdict.score


async def test_who_is_on_a_local_list_is_not_asked_about(tmp_path: Path) -> None:
    gate = Gate(tmp_path, DENY_CLIENT, history=BAD, evidence=SenderEvidence(listings=(LISTED,)))
    seen = await gate.look()
    assert said(seen) == (Action.REJECT, "KEPT_OUT", 0.0)
    assert [(hit.name, hit.say) for hit in seen.verdict.rules] == [("KEPT_OUT", "deny 9.10.0.0/16")]
    assert gate.inquiry.questions == []
    assert gate.counters.reads == 0


async def test_who_is_let_in_by_a_local_list_is_refused_by_nothing_else(tmp_path: Path) -> None:
    gate = Gate(
        tmp_path,
        ALLOW_CLIENT + REFUSED_BY_RULE,
        history=BAD,
        evidence=SenderEvidence(listings=(LISTED, LISTED)),
    )
    for stage in (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT):
        assert said(await gate.look(WHOLE, stage)) == (Action.ACCEPT, "PARTNERS", 0.0)
    assert gate.inquiry.questions == []


async def test_a_sender_that_is_let_in_is_refused_by_no_rule_once_spf_proved_it(
    tmp_path: Path,
) -> None:
    friend = LOCAL.format(name="PARTNERS", action="allow", of="sender", entry="a.example")
    for result, wanted in ((AuthResult.PASS, Action.ACCEPT), (AuthResult.FAIL, Action.REJECT)):
        proof = SenderEvidence(identity=AuthIdentity(spf=Spf(result=result, domain="a.example")))
        gate = Gate(tmp_path, friend + REFUSED_BY_RULE, evidence=proof)
        for stage in (Stage.SENDER, Stage.RECIPIENT):
            assert (await gate.look(WHOLE, stage)).verdict.action is wanted
    assert (await gate.look(WHOLE, Stage.CONNECT)).verdict.action is Action.REJECT


async def test_an_address_with_a_bad_history_waits_for_no_dns(tmp_path: Path) -> None:
    gate = Gate(tmp_path, history=BAD, evidence=SenderEvidence(listings=(LISTED,)))
    seen = await gate.look()
    assert said(seen) == (Action.REJECT, REPIP_BAD, 200.0)
    assert seen.verdict.line == 200.0
    assert "50 spam of 50" in seen.verdict.rules[0].say
    assert gate.inquiry.questions == []


REPIP = {
    "bad": ('bad = "reject"', BAD, (Action.REJECT, REPIP_BAD), 0.0),
    "bad, switched off": ('bad = "none"', BAD, (Action.ACCEPT, "below-threshold"), 0.0),
    "bad is poor at least": (
        'bad = "none"\npoor = "tempfail"',
        BAD,
        (Action.TEMPFAIL, REPIP_POOR),
        0.0,
    ),
    "poor": ('poor = "tempfail"', POOR, (Action.TEMPFAIL, REPIP_POOR), 0.0),
    "poor, slowed down": (
        'poor = "slow"\nslow_s = 3.5',
        POOR,
        (Action.ACCEPT, "below-threshold"),
        3.5,
    ),
    "poor, switched off": ("", POOR, (Action.ACCEPT, "below-threshold"), 0.0),
    "good": ('poor = "slow"', GOOD, (Action.ACCEPT, "below-threshold"), 0.0),
    "unknown": ('poor = "slow"', None, (Action.ACCEPT, "below-threshold"), 0.0),
}


@pytest.mark.parametrize(("table", "history", "verdict", "wait_s"), REPIP.values(), ids=REPIP)
async def test_what_is_remembered_of_an_address_decides_as_the_policy_says(
    tmp_path: Path, table: str, history: Amounts | None, verdict: tuple[Action, str], wait_s: float
) -> None:
    seen = await Gate(tmp_path, f"[repip]\n{table}\n", history=history).look()
    assert (seen.verdict.action, seen.verdict.decided_by) == verdict
    assert seen.wait_s == wait_s


async def test_a_client_that_may_connect_is_not_held_against_its_history_again(
    tmp_path: Path,
) -> None:
    gate = Gate(tmp_path, history=BAD)
    for stage in (Stage.SENDER, Stage.RECIPIENT):
        assert (await gate.look(WHOLE, stage)).verdict.action is Action.ACCEPT


@pytest.mark.parametrize("said_of_it", [{"own": True}, {"login": "ann"}], ids=str)
async def test_our_own_people_have_no_history(
    tmp_path: Path, said_of_it: dict[str, object]
) -> None:
    envelope = Envelope(client=CLIENT.client, **said_of_it)  # type: ignore[arg-type]
    rules = RULE.format(name="FLAG", when="repip.flag != 'unknown'", score=300)
    assert said(await Gate(tmp_path, rules, history=BAD).look(envelope)) == (
        Action.ACCEPT,
        "below-threshold",
        0.0,
    )
    slow = Gate(tmp_path, '[repip]\nbad = "none"\npoor = "slow"\n', history=BAD)
    assert (await slow.look(envelope)).wait_s == 0.0


async def test_lists_and_rules_add_up(tmp_path: Path) -> None:
    rules = RULE.format(
        name="ZEN_AND_NAME", when="'ZEN' in lists.client and client.name != ''", score=40
    )
    evidence = SenderEvidence(listings=(LISTED,))
    assert said(await Gate(tmp_path, evidence=evidence).look()) == (Action.SPAM, "ZEN", 150.0)
    assert said(await Gate(tmp_path, rules, evidence=evidence).look()) == (
        Action.SPAM,
        "ZEN",
        190.0,
    )
    other = DnsblListing(
        name="PSBL",
        of=ListSubject.CLIENT,
        asked=IP,
        codes=("127.0.0.2",),
        score=50.0,
        say="on PSBL",
    )
    both = SenderEvidence(listings=(LISTED, other, LISTED))
    assert said(await Gate(tmp_path, evidence=both).look()) == (Action.REJECT, "ZEN", 200.0)
    good = DnsblListing(
        name="DNSWL",
        of=ListSubject.CLIENT,
        asked=IP,
        codes=("127.0.5.3",),
        score=-100.0,
        say="known",
    )
    all_three = SenderEvidence(listings=(LISTED, other, good))
    assert said(await Gate(tmp_path, evidence=all_three).look()) == (Action.SPAM, "ZEN", 100.0)


async def test_who_did_not_answer_is_evidence_of_nothing(tmp_path: Path) -> None:
    rules = RULE.format(name="SPF_FAIL", when="spf.result == 'fail'", score=300) + RULE.format(
        name="NO_NAME", when="iprev.result == 'fail'", score=300
    )
    unknown = AuthIdentity(
        spf=Spf(result=AuthResult.TEMPERROR), iprev=IpRev(result=AuthResult.TEMPERROR)
    )
    gate = Gate(
        tmp_path,
        rules,
        evidence=SenderEvidence(identity=unknown, unanswered=("spf", "iprev", "ZEN")),
    )
    seen = await gate.look(WHOLE, Stage.SENDER)
    assert said(seen) == (Action.ACCEPT, "below-threshold", 0.0)
    assert [(one.name, one.evidence) for one in seen.verdict.findings] == [
        ("temperror", "spf, iprev, ZEN")
    ]


async def test_nobody_waits_for_what_no_rule_asks_for(tmp_path: Path) -> None:
    spf = RULE.format(name="S", when="spf.result == 'fail'", score=10)
    iprev = RULE.format(name="I", when="iprev.result == 'fail'", score=10)
    late = RULE.format(name="L", when="spf.helo == 'fail' and subject == 'x'", score=10)
    for text, wanted in (
        ("", [(False, False)] * 3),
        (late, [(False, False)] * 3),
        (spf, [(False, False), (True, False), (True, False)]),
        (iprev, [(False, True)] * 3),
        (spf + iprev, [(False, True), (True, True), (True, True)]),
    ):
        gate = Gate(tmp_path, text)
        for stage in (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT):
            await gate.look(WHOLE, stage)
        assert [(one.spf, one.iprev) for one in gate.inquiry.questions] == wanted, text
        assert [one.stage for one in gate.inquiry.questions] == [
            Stage.CONNECT,
            Stage.SENDER,
            Stage.RECIPIENT,
        ]


async def test_rules_run_from_their_stage_on(tmp_path: Path) -> None:
    rules = "".join(
        RULE.format(name=name, when=when, score=10)
        for name, when in (
            ("C", "client.ip != ''"),
            ("S", "sender == 'ann@a.example'"),
            ("R", "recipient == 'bob@b.example' and recipients == 2"),
            ("M", "subject == ''"),
        )
    )
    gate = Gate(tmp_path, rules)
    fired = {
        stage: {hit.name for hit in (await gate.look(WHOLE, stage)).verdict.rules}
        for stage in (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT)
    }
    assert fired == {
        Stage.CONNECT: {"C"},
        Stage.SENDER: {"C", "S"},
        Stage.RECIPIENT: {"C", "S", "R"},
    }


async def test_counters_that_do_not_answer_refuse_nobody_and_are_told(tmp_path: Path) -> None:
    gate = Gate(tmp_path, history=BAD)
    gate.counters.error = StoreError("away")
    seen = await gate.look()
    assert seen.verdict.action is Action.ACCEPT
    assert seen.faults == ("counters: away",)


async def test_lists_on_trial_are_told_and_decide_nothing(tmp_path: Path) -> None:
    shadow = msgspec.structs.replace(LISTED, mode=RuleMode.SHADOW)
    gate = Gate(
        tmp_path, DENY_CLIENT + 'mode = "shadow"\n', evidence=SenderEvidence(listings=(shadow,))
    )
    seen = await gate.look()
    assert said(seen) == (Action.ACCEPT, "below-threshold", 0.0)
    assert {(hit.name, hit.mode) for hit in seen.verdict.rules} == {
        ("ZEN", RuleMode.SHADOW),
        ("KEPT_OUT", RuleMode.SHADOW),
    }


async def test_nothing_is_counted_and_the_same_is_said_again(tmp_path: Path) -> None:
    """A refusal that counted would feed on itself."""
    gate = Gate(tmp_path, REFUSED_BY_RULE, history=BAD, evidence=SenderEvidence(listings=(LISTED,)))
    before = {kept: dict(buckets) for kept, buckets in gate.counts._kept.items()}
    for stage in (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT):
        assert await gate.look(WHOLE, stage) == await gate.look(WHOLE, stage)
    assert gate.counts._kept == before


def pinned(kind: ShingleType, name: str, flag: ReputationFlag) -> PinTable:
    type_, hash_ = HASHER.shingle(kind, name)
    return PinTable([Pin(type_, hash_, name, flag, "an audit", "eve", NOW - 60)])


async def test_an_analysts_word_on_an_address_stands_above_its_history(tmp_path: Path) -> None:
    gate = Gate(tmp_path, history=BAD)
    assert (await gate.look()).verdict.decided_by == REPIP_BAD
    gate.pins = pinned(ShingleType.CLIENT_IP, IP, ReputationFlag.GOOD)
    assert (await gate.look()).verdict.action is Action.ACCEPT
    stranger = Gate(tmp_path)
    stranger.pins = pinned(ShingleType.CLIENT_NETWORK, "9.10.11.0/24", ReputationFlag.BAD)
    kept_out = await stranger.look()
    assert (kept_out.verdict.action, kept_out.verdict.decided_by) == (Action.REJECT, REPIP_BAD)
    assert kept_out.verdict.rules[0].say == "set to bad by eve: an audit"


async def test_what_is_remembered_of_a_proved_sender_is_known_at_mail_from(tmp_path: Path) -> None:
    gate = Gate(tmp_path, RULE.format(name="BAD_SENDER", when="repuser.flag == 'bad'", score=300))
    sender = HASHER.shingle(ShingleType.PROVED_SENDER, "ann@a.example")
    gate.counts.add(CountedPieces(shingles=(sender,), pairs=()), BAD, NOW)
    gate.inquiry.evidence = SenderEvidence(
        identity=AuthIdentity(spf=Spf(result=AuthResult.PASS, domain="a.example"))
    )
    assert said(await gate.look(WHOLE, Stage.SENDER)) == (Action.REJECT, "BAD_SENDER", 300.0)
    assert gate.inquiry.questions[-1].spf, "who asks for it waits for SPF"
    gate.inquiry.evidence = SenderEvidence(
        identity=AuthIdentity(spf=Spf(result=AuthResult.FAIL, domain="a.example"))
    )
    assert (await gate.look(WHOLE, Stage.SENDER)).verdict.action is Action.ACCEPT, (
        "what he forged is not his"
    )


async def test_a_login_has_a_past_of_its_own_at_mail_from(tmp_path: Path) -> None:
    gate = Gate(tmp_path, RULE.format(name="BAD_SENDER", when="repuser.flag == 'bad'", score=300))
    gate.counts.add(
        CountedPieces(shingles=(HASHER.shingle(ShingleType.ACCOUNT, "bob"),), pairs=()),
        BAD,
        NOW,
        CounterPrefix.OUT,
    )
    own = msgspec.structs.replace(WHOLE, login="Bob")
    assert said(await gate.look(own, Stage.SENDER)) == (Action.REJECT, "BAD_SENDER", 300.0)


async def test_karma_is_made_of_who_is_known_at_its_stage(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    passed = AuthIdentity(spf=Spf(result=AuthResult.PASS, domain="a.example"))
    gate.inquiry.evidence = SenderEvidence(identity=passed)
    assert [(await gate.look(WHOLE, stage)).karma for stage in (Stage.CONNECT, Stage.SENDER)] == [
        0.0,
        0.0,
    ]
    gate.pins = pinned(ShingleType.CLIENT_IP, IP, ReputationFlag.POOR)
    assert [(await gate.look(WHOLE, stage)).karma for stage in (Stage.CONNECT, Stage.SENDER)] == [
        -12.0,
        -12.0,
    ]
    gate.pins = NoPins()
    sender = HASHER.shingle(ShingleType.PROVED_SENDER, "ann@a.example")
    gate.counts.add(CountedPieces(shingles=(sender,), pairs=()), GOOD, NOW - 172_800.0)
    at_connect, at_mail = [await gate.look(WHOLE, stage) for stage in (Stage.CONNECT, Stage.SENDER)]
    assert at_connect.karma == 0.0
    assert at_mail.karma is not None
    assert at_mail.karma > 5
    gate.inquiry.evidence = SenderEvidence()
    assert (await gate.look(WHOLE, Stage.SENDER)).karma == 0.0, (
        "a name that nothing proves earns nothing"
    )
    gate.counts.add(
        CountedPieces(shingles=(HASHER.shingle(ShingleType.ACCOUNT, "bob"),), pairs=()),
        BAD,
        NOW,
        CounterPrefix.OUT,
    )
    own = await gate.look(msgspec.structs.replace(WHOLE, login="Bob"), Stage.SENDER)
    assert own.karma is not None
    assert own.karma < -10


async def test_who_is_refused_by_history_has_its_karma_and_who_is_on_a_list_none(
    tmp_path: Path,
) -> None:
    refused = await Gate(tmp_path, history=BAD).look()
    assert refused.verdict.decided_by == REPIP_BAD
    assert refused.karma is not None
    assert refused.karma < -10
    assert (
        await Gate(tmp_path, history=BAD).look(msgspec.structs.replace(CLIENT, own=True))
    ).karma == 0.0
    gate = Gate(tmp_path, DENY_CLIENT, history=BAD)
    assert (await gate.look()).karma is None
    assert gate.counters.reads == 0


@pytest.mark.parametrize(
    ("stage", "reads"), [(Stage.CONNECT, 1), (Stage.SENDER, 2), (Stage.RECIPIENT, 2)]
)
async def test_karma_costs_no_read_of_its_own(tmp_path: Path, stage: Stage, reads: int) -> None:
    evidence = SenderEvidence(
        identity=AuthIdentity(spf=Spf(result=AuthResult.PASS, domain="a.example"))
    )
    gate = Gate(tmp_path, evidence=evidence)
    await gate.look(WHOLE, stage)
    assert gate.counters.reads == reads
