"""Repeating a message never lowers its score: the policy that ships, real scans, real counters.

The invariant.  Take any past of other mail, and a message from one sender through one client.
However often it has come within the same 24 hours (the same bytes or twins with some other words,
to the same reader or to others, whatever verdicts those copies got), its score is no lower than
with one copy less. Time and past are the same on both sides, so that nothing but the copies can
make a difference.

Left out, since there repetition is not what speaks: what people and traps said of the message's own
text, links and files (their word is a share of those who got it), and copies of its text under
other names, of which its own are a share (docs/adr/0042-what-may-speak-for-a-sender.md).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.counters.memory import MemoryCounters
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import SenderEvidence
from oborona.policy.history import REPIP_BAD
from oborona.policy.karma import KARMA
from oborona.policy.reputation_facts import first_contact
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.policy.signatures import LiveSignatures
from oborona.types import Action, Amounts, Client, Envelope, Location, RuleWindow
from tests.policy.test_scan_evidence import HASHER, NOW, SHIPPED, Told

LIVE: Final = LiveSignatures(SHIPPED.signatures)
HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0
ROUNDING: Final = 0.011  # of two scores to two places

BOSS: Final = (
    "Are you available right now? I am in a meeting and cannot take calls. I need you to purchase "
    "some gift cards for a client, it is urgent and confidential."
    " Scratch off the back and send me pictures of the codes. I will reimburse you before the end "
    "of the day. Reply as soon as you get this."
)
NOTICE: Final = (
    "Your account has been suspended. Please verify your account within 24 hours or it will be "
    "permanently closed."
    " Confirm your identity here: https://bit.ly/3xYzAb1 Failure to verify will result in the "
    "loss of access to your mailbox."
)
PILLS: Final = (
    "Canadian pharmacy: cheap viagra and cialis without prescription, free shipping worldwide, "
    "best prices on all pills."
    " Order now at http://pills-shop.top/order or call +49 30 901820 tonight."
)
OFFER: Final = (
    "We can put your web site on the first page of the search engines. Our team of experts offers "
    "affordable packages of search engine optimisation."
    " Reply with your telephone number and we send you a free audit and a quote for your site "
    "this week."
)
LETTER: Final = (
    "Shall we meet at noon at the bridge? I bring the plans of the garden and some bread, and "
    "Ann comes later with the children."
)
KINDS: Final = {
    "boss": ("URGENT REQUEST!!", BOSS),
    "notice": ("Your account is suspended", NOTICE),
    "pills": ("70 % off pills!!", PILLS),
    "offer": ("First page of the search engines", OFFER),
    "letter": ("Re: lunch", LETTER),
}
OTHERS: Final = (
    (
        "The minutes of the last meeting are below, the next one is on Tuesday in the small "
        "room upstairs, and cake was promised to all."
    ),
    (
        "Your parcel has left our house and comes on Friday between nine and twelve, its "
        "number is 4711, see http://parcel.example/4711 for more."
    ),
    (
        "Make money fast from home, no experience needed, a thousand dollars each day are "
        "waiting for you at http://riches.example/now friend."
    ),
    (
        "Good evening from the mountains, it has snowed all night, the road is closed and the "
        "dog is happy, call me at +49 30 901820 when you can."
    ),
)


class Who(NamedTuple):
    """A sender with his client."""

    address: str
    ip: str
    proof: str  # "dmarc", "spf" of another domain, or none

    @property
    def identity(self) -> AuthIdentity:
        domain = self.address.rpartition("@")[2]
        if self.proof == "dmarc":
            return AuthIdentity(
                spf=Spf(result=AuthResult.PASS, domain=domain),
                dkim=(DkimSignature(result=AuthResult.PASS, domain=domain),),
                dmarc=Dmarc(
                    result=AuthResult.PASS, domain=domain, spf_aligned=True, dkim_aligned=True
                ),
            )
        if self.proof == "spf":
            return AuthIdentity(spf=Spf(result=AuthResult.PASS, domain="bounces.example"))
        return AuthIdentity()


SENDERS: Final = (
    Who("boss.office77@gmail.com", "9.10.11.12", "dmarc"),
    Who("notice@secure-mail.top", "9.10.11.13", "dmarc"),
    Who("ann@a.example", "9.20.1.1", "dmarc"),
    Who("ann@a.example", "9.99.1.1", ""),
    Who("shop@b.example", "9.20.1.2", "spf"),
)
READERS: Final = ("bob@here.example", "eve@here.example", "joe@here.example", "zoe@here.example")


class Earlier(NamedTuple):
    """Some other mail that came."""

    text: str
    who: Who
    reader: str
    ago_s: float
    number: int
    spam: bool
    complaints: int


class Copy(NamedTuple):
    """One more copy."""

    reader: str
    twin: int  # 0: the same bytes
    wait: float  # share of the time that is left until now


@st.composite
def pasts(draw: st.DrawFn, who: Who) -> list[Earlier]:
    """Other mail of two weeks, the last minutes included, most of it from the sender or his
    client.
    """
    beside = Who("neighbour@gmail.com", who.ip, "dmarc")
    senders = st.sampled_from((who, who, who, beside, *SENDERS))
    return draw(
        st.lists(
            st.builds(
                Earlier,
                text=st.sampled_from(OTHERS),
                who=senders,
                reader=st.sampled_from(READERS),
                ago_s=st.sampled_from(
                    (30.0, 1800.0, 5 * HOUR_S, 20 * HOUR_S, 1.5 * DAY_S, 4 * DAY_S, 9 * DAY_S)
                ),
                number=st.sampled_from((1, 2, 3, 6, 12, 40, 300)),
                spam=st.booleans(),
                complaints=st.sampled_from((0, 0, 0, 1)),
            ),
            max_size=6,
        )
    )


def raw(kind: str, who: Who, reader: str, twin: int = 0) -> bytes:
    subject, text = KINDS[kind]
    if twin:  # a word more, and another in the place of one: as mail is varied to be no copy
        words = text.split()
        at = random.Random(twin).randrange(len(words))
        text = " ".join([*words[:at], f"indeed{twin}", *words[at + 1 :]])
    head = {
        "letter": "References: <0@x.example>\r\n",
        "boss": "Reply-To: ceo.desk@yandex.com\r\n",
    }.get(kind, "")
    return (
        f"From: Somebody <{who.address}>\r\nTo: {reader}\r\nSubject: {subject}\r\nDate: Fri, 20 "
        f"Nov 2026 10:00:00 +0000\r\n"
        f"{head}Message-ID: <{twin}@{who.address.rpartition('@')[2]}>\r\n\r\n{text}\r\n"
    ).encode()


async def judged(
    counters: MemoryCounters, message: bytes, who: Who, reader: str, now: float
) -> Scan:
    site = ScanSite(name="mx.test", hasher=HASHER, counters=counters, signatures=LIVE.book)
    envelope = Envelope(
        client=Client(ip=who.ip, name="mail.x.example"),
        helo="mail.x.example",
        sender=who.address,
        recipients=(reader,),
    )
    told = Told(
        SenderEvidence(identity=who.identity, location=Location(country="DE", as_number=64500))
    )
    return await scan(message, envelope, site, SHIPPED, told, now=now)


async def remembered(past: Sequence[Earlier]) -> MemoryCounters:
    counters = MemoryCounters()
    for one in past:
        message = (
            f"From: Other <{one.who.address}>\r\nTo: {one.reader}\r\nSubject: something "
            f"else\r\nMessage-ID: <o@x.example>\r\n\r\n{one.text}\r\n"
        ).encode()
        when = NOW - one.ago_s
        found = await judged(MemoryCounters(), message, one.who, one.reader, when)
        counters.add(found.pieces, Amounts(one.number, one.number * one.spam, one.complaints), when)
    return counters


async def came(counters: MemoryCounters, message: bytes, who: Who, reader: str, now: float) -> Scan:
    """Judge a message and count it, as the daemon does."""
    found = await judged(counters, message, who, reader, now)
    record_verdict(
        found.pieces,
        found.verdict,
        counters,
        now=now,
        first=first_contact(found.facts.known, RuleWindow.FORTNIGHT),
    )
    return found


def told(scan: Scan) -> str:
    return ", ".join(f"{hit.name}={hit.score}({hit.say})" for hit in scan.verdict.rules)


def without_shares(scan: Scan, past: Sequence[Earlier]) -> float:
    """The score without what hangs on shares of all mail, as docs/adr/0042 has it.

    The refusal of an address is made at connect, where nobody has named a sender whose own mail
    could be left out; complaints, of which karma takes account, are held against how many got the
    mail.
    """
    shares = {REPIP_BAD, KARMA} if any(one.complaints for one in past) else {REPIP_BAD}
    return scan.verdict.score - sum(hit.score for hit in scan.verdict.rules if hit.name in shares)


WHO: Final = st.sampled_from(SENDERS)
COPIES: Final = st.lists(
    st.builds(
        Copy,
        reader=st.sampled_from((READERS[0], READERS[0], *READERS)),
        twin=st.sampled_from((0, 0, 1, 2, 3)),
        wait=st.sampled_from((0.0, 0.01, 0.3)),
    ),
    min_size=1,
    max_size=12,
)


@given(
    data=st.data(),
    kind=st.sampled_from(sorted(KINDS)),
    who=WHO,
    copies=COPIES,
    began_s=st.sampled_from((60.0, HOUR_S, 20 * HOUR_S)),
)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_one_more_copy_never_lowers_the_score(
    data: st.DataObject, kind: str, who: Who, copies: list[Copy], began_s: float
) -> None:
    past = data.draw(pasts(who))
    counters = await remembered(past)
    reader = READERS[0]
    asked = raw(kind, who, reader)
    before = await judged(counters, asked, who, reader, NOW)
    when = NOW - began_s
    for copy in copies:
        when += (NOW - when) * copy.wait
        await came(counters, raw(kind, who, copy.reader, copy.twin), who, copy.reader, when)
        now = await judged(counters, asked, who, reader, NOW)
        least = without_shares(before, past) - ROUNDING
        assert without_shares(now, past) >= least, f"{told(before)}\n→ {told(now)}"
        before = now


@pytest.mark.parametrize("who", SENDERS[:1])
async def test_the_same_fraud_four_times_stays_what_it_is(who: Who) -> None:
    """Each of the four is filed, and none scores less than the first, however shortly it
    follows.
    """
    counters = MemoryCounters()
    found = [
        await came(counters, raw("boss", who, READERS[0]), who, READERS[0], NOW + 5 * at)
        for at in range(4)
    ]
    assert [one.verdict.action for one in found] == [Action.SPAM] * 4, [told(one) for one in found]
    assert min(one.verdict.score for one in found) == found[0].verdict.score


async def test_a_fraud_that_was_let_in_makes_its_sender_no_acquaintance() -> None:
    """What was accepted a moment ago, and nobody has read, is no good past: whatever it was."""
    who, counters = SENDERS[0], MemoryCounters()
    alone = (
        await judged(counters, raw("boss", who, READERS[0]), who, READERS[0], NOW)
    ).verdict.score
    for at in range(6):
        for reader in READERS:
            await came(counters, raw("letter", who, reader, at), who, reader, NOW - 3000 + 100 * at)
    assert (
        await judged(counters, raw("boss", who, READERS[0]), who, READERS[0], NOW)
    ).verdict.score >= alone
