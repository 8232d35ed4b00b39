"""Karma in a whole scan, by the policy that ships: whom a good past helps, whom it does not, and
what stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.counters.memory import MemoryCounters
from oborona.errors import PolicyError
from oborona.message.hashing import ShingleType
from oborona.policy.accounting import REFUSABLE, record_refused, record_verdict
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.karma import KARMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.local_clients import direction
from oborona.policy.reputation_facts import first_contact
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.policy.signatures import LiveSignatures
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import NoPins, Pin, Pins, PinTable
from oborona.types import (
    Action,
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Location,
    Metric,
    RuleHit,
    RuleMode,
    RuleWindow,
    Shingle,
    Window,
)
from tests.policy.test_scan_evidence import HASHER, NOW, SHIPPED, Told

DAY_S = 86_400
GOOD = Amounts(seen=60, reads=40)  # a day
LIVE = LiveSignatures(SHIPPED.signatures)
ENVELOPE = Envelope(
    client=Client(ip="9.10.11.12", name="mail.a.example"),
    helo="mail.a.example",
    sender="ann@a.example",
    recipients=("bob@b.example",),
)
ANN = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="a.example"),
    dkim=(DkimSignature(result=AuthResult.PASS, domain="a.example"),),
    dmarc=Dmarc(result=AuthResult.PASS, domain="a.example", spf_aligned=True, dkim_aligned=True),
)
FORGED = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="evil.example"),
    dmarc=Dmarc(result=AuthResult.FAIL, domain="a.example"),
)
BY_EVIL = msgspec.structs.replace(
    ENVELOPE, client=Client(ip="9.99.1.1"), sender="x@evil.example", helo="evil.example"
)
LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: lunch\r\nDate: Fri, 20 Nov 2026 "
    b"10:00:00 +0000\r\n"
    b"Message-ID: <1@a.example>\r\n\r\n%b\r\n"
)
ALONE = (
    '[[rule]]\nname = "KNOWN_SENDER"\nenabled = false\n[[rule]]\nname = '
    '"KNOWN_CORRESPONDENT"\nenabled = false\n'
)
GREY = (
    ALONE + '[[rule]]\nname = "GREYISH"\nwhen = "contains(subject, \'lunch\')"\nscore = {score}\n'
)


def shipped(folder: Path, more: str = "") -> Policy:
    """Return the policy that ships, with more after it."""
    for file in (Path(__file__).resolve().parents[2] / "etc/policy.d").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "90-local.toml").write_text(f"# local\n{more}")
    return load_policy(folder, SCHEMA)


async def judged(
    counters: MemoryCounters,
    policy: Policy = SHIPPED,
    *,
    identity: AuthIdentity = ANN,
    envelope: Envelope = ENVELOPE,
    text: bytes = b"At noon?",
    pins: Pins | None = None,
    now: float = NOW,
) -> Scan:
    site = ScanSite(
        name="mx.test",
        hasher=HASHER,
        counters=counters,
        pins=pins or NoPins(),
        signatures=LIVE.book,
    )
    told = Told(SenderEvidence(identity=identity, location=Location(country="DE", as_number=64500)))
    return await scan(LETTER % text, envelope, site, policy, told, now=now)


async def past_of(
    counters: MemoryCounters,
    amounts: Amounts,
    *,
    identity: AuthIdentity = ANN,
    envelope: Envelope = ENVELOPE,
    days: Sequence[float] = (1.5, 3, 5, 7, 9, 11, 12),
) -> None:
    """Have a sender's mail of some days ago counted, so much on each."""
    many = msgspec.structs.replace(
        envelope, recipients=("bob@b.example", *(f"r{n}@b.example" for n in range(7)))
    )
    earlier = await judged(MemoryCounters(), identity=identity, envelope=many)
    pieces = CountedPieces(shingles=earlier.pieces.shingles, pairs=earlier.pieces.pairs)
    for ago in days:
        counters.add(pieces, amounts, NOW - ago * DAY_S, direction(envelope))


def karma_of(result: Scan) -> RuleHit | None:
    return next((hit for hit in result.verdict.rules if hit.name == KARMA), None)


async def test_without_a_history_there_is_no_karma() -> None:
    result = await judged(MemoryCounters(), text=b"See http://x.example/ or call +49 30 901820")
    assert (result.facts.karma, karma_of(result)) == (0.0, None)
    assert (result.facts.author, result.facts.author_domain) == ("ann@a.example", "a.example")
    assert (result.facts.repuser_flag, result.facts.repuser_first) == ("unknown", True)


async def test_a_long_good_past_lets_grey_mail_through_and_its_forger_gets_nothing(
    tmp_path: Path,
) -> None:
    policy, counters = shipped(tmp_path, GREY.format(score=130)), MemoryCounters()
    assert (await judged(counters, policy)).verdict.action is Action.SPAM
    await past_of(counters, GOOD)

    good = await judged(counters, policy)
    assert good.verdict.action is Action.ACCEPT
    hit = karma_of(good)
    assert hit is not None
    assert -40 <= hit.score < -20
    assert "author +" in hit.say
    assert "domain +" in hit.say
    assert (good.facts.repuser_flag, good.facts.repuser_first) == ("good", False)

    forged = await judged(counters, policy, identity=FORGED, envelope=BY_EVIL)
    assert forged.verdict.action is Action.SPAM
    assert forged.facts.karma <= 0
    assert (forged.facts.author, forged.facts.sender_proved) == ("", "x@evil.example")
    assert forged.facts.repuser_flag == "unknown"


async def test_a_forger_from_a_good_address_gets_nothing_either() -> None:
    """A customer of the same mail server: address, network and system are good, and nobody is
    proved.
    """
    counters = MemoryCounters()
    await past_of(counters, GOOD)
    forged = await judged(
        counters, identity=AuthIdentity(dmarc=Dmarc(result=AuthResult.FAIL, domain="a.example"))
    )
    assert forged.facts.repip_flag == "good"
    assert forged.facts.karma == 0


async def test_malware_and_forgery_are_never_helped(tmp_path: Path) -> None:
    counters = MemoryCounters()
    await past_of(counters, GOOD)
    policy = shipped(
        tmp_path,
        '[karma]\nnever_helps = ["GREYISH"]\n' + GREY.format(score=130),
    )
    result = await judged(counters, policy)
    hit = karma_of(result)
    assert hit is not None
    assert (hit.score, result.verdict.action) == (0.0, Action.SPAM)
    assert hit.say.startswith("nothing for GREYISH, +")
    assert {"executable-attachment", "DMARC_REJECT"} <= set(SHIPPED.karma.never_helps)


async def test_a_list_of_the_site_stands_above_karma(tmp_path: Path) -> None:
    counters = MemoryCounters()
    await past_of(counters, GOOD)
    listed = (
        '[[local_list]]\nname = "OUT"\naction = "deny"\nof = ["from"]\nentries = ["a.example"]\n'
    )
    result = await judged(counters, shipped(tmp_path, listed))
    assert (result.verdict.action, result.verdict.decided_by) == (Action.REJECT, "OUT")


async def test_a_bad_past_tightens(tmp_path: Path) -> None:
    policy, counters = shipped(tmp_path, GREY.format(score=70)), MemoryCounters()
    assert (await judged(counters, policy)).verdict.action is Action.ACCEPT
    await past_of(counters, Amounts(seen=30, spam=30), days=[0.2])
    result = await judged(counters, policy)
    hit = karma_of(result)
    assert hit is not None
    assert 30 < hit.score <= 40
    assert result.verdict.action is not Action.ACCEPT
    assert result.facts.repuser_flag == "bad"


async def test_karma_on_trial_is_told_and_scores_nothing(tmp_path: Path) -> None:
    counters = MemoryCounters()
    await past_of(counters, GOOD)
    result = await judged(counters, shipped(tmp_path, '[karma]\nmode = "shadow"\n'))
    hit = karma_of(result)
    assert hit is not None
    assert hit.mode is RuleMode.SHADOW
    assert result.verdict.score == sum(
        one.score for one in result.verdict.rules if one.mode is RuleMode.LIVE
    )


async def test_what_vouches_for_a_sender_keeps_to_its_cap(tmp_path: Path) -> None:
    counters = MemoryCounters()
    await past_of(counters, GOOD)
    policy = shipped(tmp_path, '[[group]]\nname = "KNOWN"\ncap = 60\n')
    scores = {hit.name: hit.score for hit in (await judged(counters, policy)).verdict.rules}
    names = ("KNOWN_SENDER", "KNOWN_CORRESPONDENT", KARMA)
    assert all(name in scores for name in names)
    assert sum(scores[name] for name in names) == -60


async def test_a_bad_link_speaks_and_a_shortener_does_not() -> None:
    counters = MemoryCounters()
    for name in ("evil.example", "bit.ly"):
        counters.add(
            CountedPieces(
                shingles=(
                    HASHER.shingle(ShingleType.LINK_DOMAIN, name),
                    HASHER.shingle(ShingleType.HOST, name),
                ),
                pairs=(),
            ),
            Amounts(seen=200, spam=190),
            NOW,
        )
    bad = (await judged(counters, text=b"http://evil.example/a")).facts
    assert (bad.repentity_flag, bad.repentity_bad) == ("bad", 2)
    assert bad.repentity_why.startswith(
        "link domain evil.example: 190 spam of 200; host evil.example:"
    )
    assert bad.karma < -40
    short = (await judged(counters, text=b"http://bit.ly/a")).facts
    assert (short.repentity_worst, short.karma, sorted(short.repentity_shared)) == (
        0.0,
        0.0,
        ["bit.ly"],
    )
    counters.add(
        CountedPieces(shingles=(HASHER.shingle(ShingleType.URL, "http://bit.ly/a"),), pairs=()),
        Amounts(seen=20, spam=20),
        NOW,
    )
    short = (await judged(counters, text=b"http://bit.ly/a")).facts
    assert short.repentity_flag == "bad"
    assert short.repentity_why.startswith("link: 20 spam of 20")


async def test_the_readers_own_names_are_nobodys_fault() -> None:
    counters = MemoryCounters()
    for kind, name in (
        (ShingleType.ADDRESS, "bob@b.example"),
        (ShingleType.LINK_DOMAIN, "b.example"),
        (ShingleType.HOST, "b.example"),
    ):
        counters.add(
            CountedPieces(shingles=(HASHER.shingle(kind, name),), pairs=()),
            Amounts(seen=90, spam=90),
            NOW,
        )
    facts = (await judged(counters, text=b"Dear bob@b.example, see http://b.example/")).facts
    assert facts.repentity_worst == 0


async def test_a_domain_out_of_nothing() -> None:
    counters = MemoryCounters()
    domain = HASHER.shingle(ShingleType.LINK_DOMAIN, "x.example")
    counters.add(CountedPieces(shingles=(domain,), pairs=()), GOOD, NOW)
    for number in range(90):
        pairs = HASHER.pairs(
            ShingleType.LINK_SENDER,
            ShingleType.LINK_SENDERS,
            [b"x.example"],
            [b"%d@y.example" % number],
        )
        counters.add(CountedPieces(shingles=(), pairs=tuple(pairs)), Amounts(seen=1), NOW)
    result = await judged(counters, text=b"http://x.example/a")
    assert (result.facts.repentity_sudden, result.facts.repentity_fresh) == (1, 1)
    assert "SUDDEN_LINK" in {
        hit.name for hit in result.verdict.rules if hit.mode is RuleMode.SHADOW
    }


def pin(kind: ShingleType, name: str, flag: ReputationFlag) -> Pin:
    type_, hash_ = HASHER.shingle(kind, name)
    return Pin(type_, hash_, name, flag, "an audit", "eve", NOW - 60, NOW + 60)


async def test_pins_stand_above_what_is_counted(tmp_path: Path) -> None:
    counters = MemoryCounters()
    await past_of(counters, Amounts(seen=60, spam=60), days=[0.1])
    policy = shipped(tmp_path, "[verdict]\nrefuse = false\n")
    pins = PinTable([pin(ShingleType.CLIENT_IP, "9.10.11.12", ReputationFlag.GOOD)])
    assert "REPIP_BAD" in {hit.name for hit in (await judged(counters, policy)).verdict.rules}
    pinned = await judged(counters, policy, pins=pins)
    assert (pinned.facts.repip_flag, pinned.facts.repip_share) == ("good", 0.0)
    assert "REPIP_BAD" not in {hit.name for hit in pinned.verdict.rules}
    over = await judged(counters, policy, pins=pins, now=NOW + 61)
    assert over.facts.repip_flag == "bad"

    for kind, name, part in (
        (ShingleType.AUTHOR, "ann@a.example", "author -50 (set to bad by eve: an audit)"),
        (
            ShingleType.LINK_DOMAIN,
            "x.example",
            "entities -50 (link domain x.example: set to bad by eve: an audit)",
        ),
    ):
        found = await judged(
            MemoryCounters(),
            pins=PinTable([pin(kind, name, ReputationFlag.BAD)]),
            text=b"http://y.example/ http://x.example/",
        )
        assert part in found.facts.karma_why


async def test_a_pin_of_a_network_is_asked_for_where_the_address_has_none() -> None:
    network = pin(ShingleType.CLIENT_NETWORK, "9.10.11.0/24", ReputationFlag.BAD)
    found = await judged(MemoryCounters(), pins=PinTable([network]))
    assert found.facts.repip_flag == "bad"
    own = pin(ShingleType.CLIENT_IP, "9.10.11.12", ReputationFlag.UNKNOWN)
    found = await judged(MemoryCounters(), pins=PinTable([network, own]))
    assert found.facts.repip_flag == "unknown"


async def test_first_contacts_are_written_beside_the_counts() -> None:
    counters = MemoryCounters()

    async def settled(**how: object) -> Scan:
        result = await judged(counters, **how)  # type: ignore[arg-type]
        record_verdict(
            result.pieces,
            result.verdict,
            counters,
            now=NOW,
            first=first_contact(result.facts.known, RuleWindow.FORTNIGHT),
        )
        return result

    async def firsts(kind: ShingleType, name: str) -> int:
        (row,) = await counters.read([HASHER.shingle(kind, name)], NOW, CounterPrefix.FIRST)
        return row[Window.DAY][Metric.SEEN]

    await settled()
    await settled()
    assert await firsts(ShingleType.AUTHOR, "ann@a.example") == 1
    assert await firsts(ShingleType.CLIENT_IP, "9.10.11.12") == 1
    await settled(
        envelope=msgspec.structs.replace(ENVELOPE, recipients=("bob@b.example", "joe@b.example"))
    )
    assert await firsts(ShingleType.AUTHOR, "ann@a.example") == 1, "one of them knows her"
    await settled(envelope=msgspec.structs.replace(ENVELOPE, recipients=("zoe@b.example",)))
    assert await firsts(ShingleType.AUTHOR, "ann@a.example") == 2
    forged = await settled(identity=FORGED, envelope=BY_EVIL)
    assert forged.facts.repuser_first is True, "that her name stands in From makes no acquaintance"
    assert await firsts(ShingleType.AUTHOR, "ann@a.example") == 2


async def test_refusals_are_written_beside_the_counts_and_change_no_judgement() -> None:
    counters = MemoryCounters()
    before = (await judged(counters)).facts
    for _ in range(500):
        record_refused(ENVELOPE, HASHER, Location(as_number=64500), counters, now=NOW)
    after = (await judged(counters)).facts
    assert (after.repip_flag, after.repip_share, after.karma) == (
        before.repip_flag,
        before.repip_share,
        before.karma,
    )
    for kind, name in (
        (ShingleType.CLIENT_IP, "9.10.11.12"),
        (ShingleType.CLIENT_NETWORK, "9.10.11.0/24"),
        (ShingleType.AS_NUMBER, "64500"),
        (ShingleType.MAIL_FROM, "ann@a.example"),
    ):
        assert kind in REFUSABLE
        shingle = HASHER.shingle(kind, name)
        assert await seen(counters, shingle, CounterPrefix.REFUSED) == 500
        assert await seen(counters, shingle, CounterPrefix.IN) == 0


async def seen(counters: MemoryCounters, shingle: Shingle, prefix: CounterPrefix) -> int:
    (row,) = await counters.read([shingle], NOW, prefix)
    return row[Window.DAY][Metric.SEEN]


async def test_our_own_people_are_judged_by_their_accounts() -> None:
    counters = MemoryCounters()
    own = msgspec.structs.replace(ENVELOPE, login="Bob", client=Client(ip="9.10.11.12"))
    await past_of(counters, GOOD, identity=AuthIdentity(), envelope=own)
    good = await judged(counters, identity=AuthIdentity(), envelope=own)
    assert good.facts.repuser_flag == "good"
    assert good.facts.karma_why.startswith("account +")
    assert "address" not in good.facts.karma_why


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            'never_helps = ["EXECUTABEL"]',
            "never_helps: there is no 'EXECUTABEL'; did you mean EXECUTABLE?",
        ),
        (
            'never_helps = ["executable-atachment"]',
            "never_helps: there is no 'executable-atachment'",
        ),
        ('group = "NOBODY"', "group: there is no 'NOBODY'"),
        ('shared = ["SHORT"]', "shared: there is no 'SHORT'"),
        ("best = 10", "best"),
        ("worst = 900", "worst"),
    ],
)
def test_a_table_that_says_nothing_sensible(table: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as error:
        shipped(tmp_path, f"[karma]\n{table}\n")
    assert problem in str(error.value)
    assert "90-local.toml:3" in str(error.value)


async def test_the_mails_that_are_known_are_judged_as_before_where_nothing_is_counted() -> None:
    """Nobody's score moves on the first day."""
    site = ScanSite(name="mx.test", hasher=HASHER, counters=MemoryCounters())
    for mail in sorted((Path(__file__).parents[1] / "golden/mails").glob("*.eml"))[::4]:
        result = await scan(mail.read_bytes(), ENVELOPE, site, SHIPPED, NoInquiry(), now=NOW)
        assert (result.facts.karma, karma_of(result)) == (0.0, None), mail.name
