"""What is asked about a connection and its messages: what, when, how often.

And what a method that hangs or breaks costs the others.
"""

from __future__ import annotations

import asyncio
import gc
import time
from base64 import b64encode
from collections import Counter
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from oborona.authentication.model import AuthResult, DmarcPolicy
from oborona.config import WorkerSettings
from oborona.counters.memory import MemoryCounters
from oborona.dns import DnsAnswer, DnsAsker, DnsType
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessage, RawMessageBuilder
from oborona.doors.reply import ReplyAction as Said
from oborona.ident import JournalIdGenerator
from oborona.journal.entry import JournalEntry
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import ScanSite
from oborona.policy.watch import LivePolicy
from oborona.reputation.networks import NOWHERE
from oborona.resolver import BudgetedAsker
from oborona.session.dnsbl import DnsblClient
from oborona.session.inquiry import Inquirer, InquiryServices
from oborona.session.services import SessionServices
from oborona.session.session import Session
from oborona.types import Client, Envelope, Stage
from tests.asking import Table, means
from tests.authentication.signing import NOW, dkim_field, rsa
from tests.peers.dns import Records

IP = "9.10.11.12"
PTR = "12.11.10.9.in-addr.arpa"
LIST = """
[repip]
bad = "none"
[[dns_list]]
name = "LISTED"
zone = "list.test"
of = ["client", "rdns", "helo", "sender", "from", "links"]
score = 30
"""
LETTER = (
    b"From: Anna <anna@example.org>\r\nTo: boris@example.net\r\nSubject: Tea\r\n"
    b"Date: Thu, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: "
    b"<1@example.org>\r\n\r\nhttps://link.test/tea\r\n"
)
SIGNED = dkim_field(LETTER, rsa()) + LETTER
KEY = "s1._domainkey.example.org"
DNS: Records = {
    "2.0.0.127.list.test": {"A": "127.0.0.2"},  # test points
    "test.list.test": {"A": "127.0.0.2"},
    f"{'.'.join(reversed(IP.split('.')))}.list.test": {"A": "127.0.0.2"},
    "link.test.list.test": {"A": "127.0.0.2"},
    PTR: {"PTR": "mail.example.org."},
    "mail.example.org": {"A": IP, "TXT": "v=spf1 -all"},
    "example.org": {"TXT": f"v=spf1 ip4:{IP} -all"},
    KEY: {"TXT": rsa().record},
    "_dmarc.example.org": {"TXT": "v=DMARC1; p=reject"},
}
OF_CLIENT = {("12.11.10.9.list.test", DnsType.A), (PTR, DnsType.PTR)}
OF_SENDER = {
    ("example.org", DnsType.TXT),
    ("mail.example.org", DnsType.TXT),
    ("example.org.list.test", DnsType.A),
}
OF_MESSAGE = {
    (KEY, DnsType.TXT),
    ("_dmarc.example.org", DnsType.TXT),
    ("link.test.list.test", DnsType.A),
}


class Reluctant(Table):
    """A Table that never answers some names, breaks at others, and can be told to hold all answers
    back.
    """

    def __init__(self) -> None:
        super().__init__(DNS)
        self.silent: set[str] = set()
        self.faulty: set[str] = set()
        self.held: asyncio.Event | None = None

    def known(self, name: str, kind: DnsType) -> DnsAnswer | None:
        """Nothing is at hand: each question counts."""
        return None

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        answer = await super().ask(name, kind)
        if name in self.silent:
            await asyncio.Event().wait()
        if name in self.faulty:
            raise RuntimeError("a fault of ours")
        if self.held is not None:
            await self.held.wait()
        return answer


class Desk:
    """An inquirer whose lists are well, and what it has asked since."""

    def __init__(
        self, folder: Path, rules: str = LIST, *, questions: int = 0, seconds: float = 0.0
    ) -> None:
        self._budget = (
            partial(BudgetedAsker, questions=questions, seconds=seconds) if questions else None
        )
        folder.mkdir(exist_ok=True)
        (folder / "10.toml").write_text(rules)
        self.policy: Policy = load_policy(folder, SCHEMA)
        self.dns = Reluctant()
        self.askers = 0
        self.means = InquiryServices(
            asker=self._asker,
            lists=DnsblClient(self.dns, NOWHERE, time.monotonic, lambda: NOW),
            receiver="mx.test",
            sample=lambda: 0.0,
            clock=lambda: NOW,
        )
        self.inquirer = Inquirer(self.means)

    async def open(self) -> Desk:
        await self.means.lists.probe(self.policy.dns_lists)
        assert {one.state for one in self.means.lists.statuses().values()} <= {"healthy"}
        self.dns.asked.clear()
        return self

    def _asker(self) -> DnsAsker:
        self.askers += 1
        return self.dns if self._budget is None else self._budget(self.dns)

    @property
    def asked(self) -> set[tuple[str, DnsType]]:
        return set(self.dns.asked)


def envelope(**changed: object) -> Envelope:
    parts: dict[str, object] = {
        "client": Client(ip=IP),
        "helo": "mail.example.org",
        "sender": "anna@example.org",
    }
    return Envelope(**(parts | changed))  # type: ignore[arg-type]


def message(raw: bytes = SIGNED) -> Message:
    return parse(raw)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def others() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def test_questions_are_put_as_soon_as_their_subject_is_known_and_all_at_once(
    tmp_path: Path,
) -> None:
    desk = await Desk(tmp_path).open()
    desk.dns.held = asyncio.Event()
    desk.inquirer.begin(Stage.CONNECT, Envelope(client=Client(ip=IP)), desk.policy)
    await turns()
    assert desk.asked == OF_CLIENT, "nobody has got an answer yet"
    desk.inquirer.begin(Stage.SENDER, envelope(), desk.policy)
    await turns()
    assert desk.asked == OF_CLIENT | OF_SENDER
    waiting = asyncio.create_task(
        desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False), name="whole"
    )
    await turns()
    assert desk.asked == OF_CLIENT | OF_SENDER | OF_MESSAGE, "keys do not wait for SPF"
    desk.dns.held.set()
    evidence = await waiting
    assert desk.askers == 4, (
        "a budget for the connection, and for SPF, lists and keys of the message each; it "
        "has no seals"
    )
    assert evidence.unanswered == ()
    assert {(one.of.value, one.asked) for one in evidence.listings} == {
        ("client", IP),
        ("links", "link.test"),
    }
    identity = evidence.identity
    assert (identity.spf.result, identity.spf_helo.result) == (AuthResult.PASS, AuthResult.FAIL)
    assert (identity.iprev.result, identity.iprev.name) == (AuthResult.PASS, "mail.example.org")
    assert identity.dkim_domains == ("example.org",)
    assert identity.dmarc.result is AuthResult.PASS
    assert not others()


async def test_each_thing_is_asked_once_for_a_connection_with_several_messages(
    tmp_path: Path,
) -> None:
    desk = await Desk(tmp_path).open()
    for sender in ("anna@example.org", "eva@example.org", "leo@other.test"):
        here = envelope(sender=sender)
        for stage in (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT, Stage.RECIPIENT):
            desk.inquirer.begin(stage, here, desk.policy)
        first = await desk.inquirer.until(Stage.RECIPIENT, here, desk.policy, spf=True, iprev=True)
        again = await desk.inquirer.until(Stage.RECIPIENT, here, desk.policy, spf=True, iprev=True)
        assert first == again
        assert first.identity.spf.domain == sender.partition("@")[2]
        await desk.inquirer.whole(message(LETTER), here, desk.policy, truncated=False)
        desk.inquirer.end_message()
    times = Counter(desk.dns.asked)
    assert {times[question] for question in OF_CLIENT} == {1}
    assert times["example.org", DnsType.TXT] == 2
    assert times["other.test", DnsType.TXT] == 1
    assert times["mail.example.org", DnsType.TXT] == 1, "HELO is what it was"


async def test_all_is_asked_at_the_end_where_nothing_was_before(tmp_path: Path) -> None:
    """A mail server that tells us of a message alone."""
    desk = await Desk(tmp_path).open()
    evidence = await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    assert desk.asked >= OF_CLIENT | OF_SENDER | OF_MESSAGE
    assert evidence.identity.dmarc.result is AuthResult.PASS
    assert len(evidence.listings) == 2


async def test_who_waits_for_lists_does_not_wait_for_spf_and_iprev(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    desk.dns.silent |= {PTR, "example.org", "mail.example.org"}
    async with asyncio.timeout(10):
        evidence = await desk.inquirer.until(
            Stage.SENDER, envelope(), desk.policy, spf=False, iprev=False
        )
    assert [one.of.value for one in evidence.listings] == ["client"]
    assert evidence.unanswered == ()
    desk.inquirer.close()


async def test_a_name_that_the_mail_server_verified_is_not_verified_again(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    known = Envelope(client=Client(ip=IP, name="mail.example.org"))
    evidence = await desk.inquirer.until(Stage.CONNECT, known, desk.policy, spf=False, iprev=True)
    assert desk.asked == {("12.11.10.9.list.test", DnsType.A), ("example.org.list.test", DnsType.A)}
    assert evidence.identity.iprev.result is AuthResult.PASS
    assert evidence.identity.iprev.name == "mail.example.org"


OWN = {
    "logged in": {"login": "anna"},
    "own network or submission port": {"own": True},
    "logged in, own network": {"login": "anna", "own": True},
}


@pytest.mark.parametrize("said", OWN.values(), ids=OWN)
async def test_nothing_is_asked_about_our_own_people(
    tmp_path: Path, said: dict[str, object]
) -> None:
    desk = await Desk(tmp_path).open()
    here = envelope(**said)
    desk.inquirer.begin(Stage.SENDER, here, desk.policy)
    evidence = await desk.inquirer.until(Stage.RECIPIENT, here, desk.policy, spf=True, iprev=True)
    whole = await desk.inquirer.whole(message(), here, desk.policy, truncated=False)
    assert desk.asked == set()
    assert evidence == whole
    assert (whole.listings, whole.unanswered) == ((), ())


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "::1", "10.1.2.3", "192.168.7.7", "172.16.0.9", "fe80::1", "fd00::7", ""]
)
async def test_of_this_machine_and_of_private_networks_signatures_alone_are_looked_at(
    tmp_path: Path, ip: str
) -> None:
    desk = await Desk(tmp_path).open()
    evidence = await desk.inquirer.whole(
        message(), envelope(client=Client(ip=ip)), desk.policy, truncated=False
    )
    assert desk.asked == {(KEY, DnsType.TXT)}
    assert evidence.identity.dkim_domains == ("example.org",)
    assert evidence.identity.spf.result is evidence.identity.dmarc.result is AuthResult.NONE


@pytest.mark.parametrize(("raw", "result"), [(SIGNED, AuthResult.PASS), (LETTER, AuthResult.NONE)])
async def test_of_a_client_whom_nobody_knows_all_is_asked_but_what_needs_its_address(
    tmp_path: Path, raw: bytes, result: AuthResult
) -> None:
    desk = await Desk(tmp_path).open()
    here = envelope(client=Client(unknown=True), helo="", sender="")
    evidence = await desk.inquirer.whole(message(raw), here, desk.policy, truncated=False)
    assert desk.asked >= {("link.test.list.test", DnsType.A), ("_dmarc.example.org", DnsType.TXT)}
    assert not desk.asked & {
        *OF_CLIENT,
        ("example.org", DnsType.TXT),
        ("mail.example.org", DnsType.TXT),
    }
    assert evidence.identity.spf.result is evidence.identity.iprev.result is AuthResult.NONE
    assert evidence.identity.dmarc.result is result, (
        "it fails for nobody who might have passed by SPF"
    )
    assert evidence.identity.disposition is DmarcPolicy.NONE


FORGED = LETTER.replace(b"anna@example.org", b"anna@bank.test")
BANK: Records = {"_dmarc.bank.test": {"TXT": "v=DMARC1; p=reject"}}
SLOW: Records = {"example.org": {"TXT": "v=spf1 include:a.slow.test include:b.slow.test +all"}}
GREEDY: Records = {
    "example.org": {"TXT": "v=spf1 mx:x.test mx:y.test -all"},
    **{
        f"{name}.test": {"MX": [f"1 {number}.{name}.test." for number in range(10)]}
        for name in "xy"
    },
    **{f"{number}.{name}.test": {"A": "192.0.2.1"} for name in "xy" for number in range(10)},
}


def chain(length: int) -> bytes:
    """A chain of the right form whose keys are never told."""
    return b"".join(
        b"ARC-Seal: i=%d; a=rsa-sha256; cv=%s; d=evil.test; s=z%d; b=AAAA\r\n"
        b"ARC-Message-Signature: i=%d; a=rsa-sha256; d=evil.test; s=m; h=from; bh=%s; b=AAAA\r\n"
        b"ARC-Authentication-Results: i=%d; evil.test; none\r\n"
        % (number, b"none" if number == 1 else b"pass", number, number, BODY_HASH, number)
        for number in range(length, 0, -1)
    )


BODY_HASH = b64encode(sha256(LETTER.partition(b"\r\n\r\n")[2]).digest())
CLAIMS = b"".join(
    b"DKIM-Signature: v=1; a=rsa-sha256; d=evil%d.test; s=s; h=from; bh=%s; b=AAAA\r\n"
    % (number, BODY_HASH)
    for number in range(8)
)
WASTE: dict[str, tuple[Records, bytes, set[str]]] = {
    "nothing": ({}, b"", set()),
    "SPF that is slow": (SLOW, b"", {"a.slow.test", "b.slow.test"}),
    "SPF that asks much": (GREEDY, b"", set()),
    "seals whose keys are not told": (
        {},
        chain(30),
        {f"z{number}._domainkey.evil.test" for number in range(31)},
    ),
    "seals without number": ({}, chain(50), set()),
    "signatures whose keys are not told": (
        {},
        CLAIMS,
        {f"s._domainkey.evil{number}.test" for number in range(8)},
    ),
}


@pytest.mark.parametrize("ahead", [False, True], ids=["at once", "when SPF has spent its time"])
@pytest.mark.parametrize(("zone", "fields", "silent"), WASTE.values(), ids=WASTE)
async def test_a_sender_can_not_spend_what_dmarc_and_lists_need(
    tmp_path: Path, zone: Records, fields: bytes, silent: set[str], ahead: bool
) -> None:
    """Whatever his zones and fields do, a forged mail is disowned, and its link is listed."""
    desk = await Desk(tmp_path, questions=14, seconds=0.3).open()
    desk.dns.zones.add({**BANK, **zone})
    desk.dns.silent |= silent
    desk.inquirer.begin(Stage.SENDER, envelope(), desk.policy)
    if ahead:
        await asyncio.sleep(0.4)
    async with asyncio.timeout(10):
        evidence = await desk.inquirer.whole(
            message(fields + FORGED), envelope(), desk.policy, truncated=False
        )
    dmarc = evidence.identity.dmarc
    assert (dmarc.result, dmarc.disposition) == (AuthResult.FAIL, DmarcPolicy.REJECT)
    assert ("links", "link.test") in {(one.of.value, one.asked) for one in evidence.listings}
    assert not {"dmarc", "LISTED"} & set(evidence.unanswered)
    desk.inquirer.close()


async def test_what_dmarc_asks_at_last_does_not_wait_for_spf(tmp_path: Path) -> None:
    """Does the name in From exist, where the policy is another for names that do not?"""
    desk = await Desk(tmp_path).open()
    desk.dns.zones.add({"_dmarc.bank.test": {"TXT": "v=DMARC1; p=none; np=reject"}})
    desk.dns.silent.add("example.org")
    forged = FORGED.replace(b"@bank.test", b"@no.bank.test")
    waiting = asyncio.create_task(
        desk.inquirer.whole(message(forged), envelope(), desk.policy, truncated=False)
    )
    await turns(50)
    assert ("no.bank.test", DnsType.A) in desk.asked
    assert not waiting.done()
    waiting.cancel()
    desk.inquirer.close()
    await turns()
    assert not others()


async def test_a_signature_is_looked_for_where_many_stand_before_it(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    here = envelope(sender="list@list.test")
    evidence = await desk.inquirer.whole(
        message(CLAIMS + SIGNED), here, desk.policy, truncated=False
    )
    assert evidence.identity.dmarc.result is AuthResult.PASS
    assert evidence.identity.dkim_more == 1


@pytest.mark.parametrize(
    ("raw", "result"),
    [(SIGNED, "permerror"), (SIGNED.replace(b"Tea", b"Pea"), "fail"), (LETTER, "fail")],
)
async def test_of_a_message_whose_end_is_missing_dmarc_fails_only_if_its_header_does(
    tmp_path: Path, raw: bytes, result: str
) -> None:
    desk = await Desk(tmp_path).open()
    here = envelope(sender="list@list.test")
    evidence = await desk.inquirer.whole(message(raw), here, desk.policy, truncated=True)
    dmarc = evidence.identity.dmarc
    assert dmarc.result == result
    assert (dmarc.disposition is DmarcPolicy.REJECT) == (result == "fail")
    assert evidence.unanswered == (), "no server is to blame"


async def test_what_lists_said_of_a_client_is_dropped_when_he_logs_in(tmp_path: Path) -> None:
    """People send from addresses that no mail server should have, and log in after they have
    connected.
    """
    desk = await Desk(tmp_path).open()
    before = await desk.inquirer.until(
        Stage.CONNECT, Envelope(client=Client(ip=IP)), desk.policy, spf=False, iprev=False
    )
    assert before.listings
    here = envelope(login="anna")
    at_sender = await desk.inquirer.until(Stage.SENDER, here, desk.policy, spf=False, iprev=False)
    whole = await desk.inquirer.whole(message(), here, desk.policy, truncated=False)
    assert at_sender.listings == whole.listings == ()
    assert desk.asked == {*OF_CLIENT, ("mail.example.org", DnsType.A)}, (
        "the name in the reverse zone is the last"
    )


async def test_who_gave_no_answer_is_named_once(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    desk.dns.broken = {(name, kind.name) for name, kind in OF_CLIENT | OF_SENDER | OF_MESSAGE}
    evidence = await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    assert evidence.unanswered == ("spf", "dkim", "dmarc", "iprev", "LISTED")
    assert evidence.listings == ()


@pytest.mark.parametrize("end", ["end_message", "close"])
@pytest.mark.parametrize("waits", ["nobody", "until", "whole"])
async def test_the_end_leaves_no_task_and_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, end: str, waits: str
) -> None:
    desk = await Desk(tmp_path).open()
    desk.dns.silent = {name for name, _ in OF_CLIENT | OF_SENDER | OF_MESSAGE}
    desk.inquirer.begin(Stage.SENDER, envelope(), desk.policy)
    if waits == "until":
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await desk.inquirer.until(
                    Stage.SENDER, envelope(), desk.policy, spf=True, iprev=True
                )
    elif waits == "whole":
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    else:
        await turns()
    getattr(desk.inquirer, end)()
    await turns()
    if end == "end_message":
        assert len(others()) == 2 + len(OF_CLIENT) - 1, (
            "lists, their question, and iprev, of the connection"
        )
        desk.inquirer.close()
        await turns()
    assert not others()
    gc.collect()
    assert not caplog.records, "a task whose end nobody saw is said to the log"


async def test_a_stage_that_was_given_up_goes_on_for_the_next(tmp_path: Path) -> None:
    """Who is tired of waiting leaves the answers to those who come later."""
    desk = await Desk(tmp_path).open()
    desk.dns.held = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await desk.inquirer.until(Stage.CONNECT, envelope(), desk.policy, spf=False, iprev=True)
    desk.dns.held.set()
    evidence = await desk.inquirer.until(
        Stage.CONNECT, envelope(), desk.policy, spf=False, iprev=True
    )
    assert evidence.listings
    assert evidence.identity.iprev.result is AuthResult.PASS
    assert Counter(desk.dns.asked)[PTR, DnsType.PTR] == 1


FAULTS = {
    "lists of the client": ("12.11.10.9.list.test", "lists"),
    "iprev": (PTR, "iprev"),
    "SPF": ("example.org", "spf"),
    "SPF of HELO": ("mail.example.org", "spf"),
    "lists of the sender": ("example.org.list.test", "lists"),
    "lists of links": ("link.test.list.test", "lists"),
    "keys": (KEY, "authentication"),
    "DMARC": ("_dmarc.example.org", "authentication"),
}


@pytest.mark.parametrize(("name", "what"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_in_one_method_is_logged_and_leaves_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, what: str
) -> None:
    desk = await Desk(tmp_path).open()
    desk.dns.faulty.add(name)
    evidence = await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    said = {(record.name, record.getMessage()) for record in caplog.records if record.exc_info}
    assert ("oborona.inquiry", f"fault in {what}") in said
    identity = evidence.identity
    assert (identity.iprev.result is AuthResult.PASS) == (name not in (PTR, "mail.example.org"))
    assert (identity.spf.result is AuthResult.PASS) == (name != "example.org")
    assert (identity.spf_helo.result is AuthResult.FAIL) == (name != "mail.example.org")
    assert bool(identity.dkim_domains) == (what != "authentication")
    listed = {one.of.value for one in evidence.listings}
    assert ("client" in listed) == (name != "12.11.10.9.list.test")
    assert ("links" in listed) == (name not in ("link.test.list.test", "example.org.list.test")), (
        "From is among them"
    )
    assert not others()


class Post:
    """A session at a desk."""

    def __init__(
        self, desk: Desk, folder: Path, *, content: bool = True, **settings: object
    ) -> None:
        counts = MemoryCounters()
        self.journal: list[JournalEntry] = []
        self.session = Session(
            SessionServices(
                site=ScanSite(name="mx.test", hasher=Hasher(b"k" * 32), counters=counts),
                settings=WorkerSettings(**settings),  # type: ignore[arg-type]
                contact="",
                policy=LivePolicy(folder, SCHEMA),
                counters=counts,
                journal=self.journal.append,
                numbers=JournalIdGenerator(1),
                signing_key=b"k" * 32,
                clock=lambda: NOW,
                new_inquiry=lambda: Inquirer(desk.means),
                own=lambda _ip, _port: False,
            ),
            content=content,
        )


def gathered() -> RawMessage:
    gather = RawMessageBuilder(100_000, MemoryBudget(1 << 40).hold())
    head, _, body = SIGNED.partition(b"\r\n\r\n")
    for field in head.replace(b"\r\n ", b"\n ").split(b"\r\n"):
        name, _, value = field.partition(b":")
        gather.header(name, value, leading_space=True)
    gather.body(body)
    return gather.finish()


@pytest.mark.parametrize(("name", "what"), FAULTS.values(), ids=FAULTS)
async def test_a_method_that_hangs_ends_at_the_deadline_of_the_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, what: str
) -> None:
    desk = await Desk(tmp_path).open()
    post = Post(desk, tmp_path, deadline_s=0.2)
    desk.dns.silent.add(name)
    async with asyncio.timeout(30):
        await post.session.connect(Client(ip=IP))
        await post.session.helo("mail.example.org")
        await post.session.mail("anna@example.org", ())
        await post.session.rcpt("boris@example.net", ())
        reply = await post.session.end_of_message(gathered())
        await turns()
    assert reply.answer is Said.ACCEPT
    (entry,) = post.journal
    assert [(one.name, one.evidence) for one in entry.findings] == [("partial", "deadline")]
    post.session.close()
    await turns()
    assert not others()


RULES = """
[[rule]]
name = "ALL"
when = "client.ip == '{ip}' and spf.result == 'fail' and iprev.result == 'fail'"
score = 300
"""


@pytest.mark.parametrize("name", ["12.11.10.9.list.test", PTR, "example.org", "mail.example.org"])
async def test_an_early_stage_that_hangs_refuses_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    rules = LIST.replace("score = 30", "score = 300").replace(
        '"links"]', '"links"]\nmode = "shadow"'
    )
    desk = await Desk(tmp_path, rules + RULES.format(ip=IP)).open()
    post = Post(desk, tmp_path, command_deadline_s=0.1)
    assert post.session.waits == {Stage.RECIPIENT}
    desk.dns.silent.add(name)
    async with asyncio.timeout(30):
        assert (await post.session.connect(Client(ip=IP))).answer is Said.CONTINUE
        await post.session.helo("mail.example.org")
        assert (await post.session.mail("anna@example.org", ())).answer is Said.CONTINUE
        assert (await post.session.rcpt("bob@b.example", ())).answer is Said.CONTINUE
    assert any(record.exc_info for record in caplog.records), "the log has the deadline"
    post.session.close()
    await turns()
    assert not others()


@pytest.mark.parametrize(
    ("rule", "until"),
    [
        ("", ""),
        ("client.ip == 'x'", "connect"),
        ("sender == 'x'", "sender"),
        ("recipient == 'x'", "recipient"),
    ],
)
@pytest.mark.parametrize("content", [True, False], ids=["milter", "policy service"])
async def test_questions_are_put_ahead_for_what_is_decided_later_and_for_nothing_else(
    tmp_path: Path, rule: str, until: str, content: bool
) -> None:
    score = f'[[rule]]\nname = "DECIDES"\nwhen = "{rule}"\nscore = 300\n' if rule else ""
    desk = await Desk(
        tmp_path, LIST.replace('"links"]', '"links"]\nmode = "shadow"') + score
    ).open()
    post = Post(desk, tmp_path, content=content)
    asked = []
    for step in (
        post.session.connect(Client(ip=IP)),
        post.session.mail("anna@example.org", ()),
        post.session.rcpt("boris@example.net", ()),
    ):
        before = len(desk.dns.asked)
        assert (await step).answer is Said.CONTINUE
        await turns()
        asked.append(len(desk.dns.asked) > before)
    assert asked == [content or until != "", content or until in ("sender", "recipient"), False]
    post.session.close()


async def test_a_message_that_is_given_up_before_its_end_leaves_nothing_for_the_next(
    tmp_path: Path,
) -> None:
    desk = await Desk(tmp_path).open()
    post = Post(desk, tmp_path)
    desk.dns.silent.add("slow.test")
    await post.session.connect(Client(ip=IP))
    await post.session.helo("mail.example.org")
    await post.session.mail("eva@slow.test", ())
    await turns()
    post.session.abort()
    await post.session.mail("anna@example.org", ())
    async with asyncio.timeout(30):
        await post.session.end_of_message(gathered())
        await turns()
    (entry,) = post.journal
    assert entry.facts["spf_domain"] == "example.org"
    post.session.close()
    await turns()
    assert not others()


async def test_the_questions_of_a_connection_begin_anew_with_the_next_client(
    tmp_path: Path,
) -> None:
    """A mail server may use one milter connection for one client after the other."""
    desk = await Desk(tmp_path).open()
    desk.inquirer.begin(Stage.CONNECT, envelope(), desk.policy)
    await turns()
    desk.inquirer.close()
    next_one = Envelope(client=Client(ip="9.10.11.13"))
    evidence = await desk.inquirer.until(
        Stage.CONNECT, next_one, desk.policy, spf=False, iprev=False
    )
    assert ("13.11.10.9.list.test", DnsType.A) in desk.asked
    assert evidence.listings == ()
    desk.inquirer.close()


async def test_every_author_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "10.toml").write_text(
        '[[dns_list]]\nname = "L"\nzone = "list.test"\nof = ["from"]\nscore = 100\nprobe = ""\n'
    )
    policy = load_policy(tmp_path, SCHEMA)
    asking = means(Table({"bad.example.list.test": {"A": "127.0.0.2"}}))
    await asking.lists.probe(policy.dns_lists)
    message = parse(b"From: Ann <ann@good.example>, Eve <eve@bad.example>\r\n\r\nhi\r\n")
    envelope = Envelope(client=Client(ip="9.10.11.12"), sender="ann@good.example")
    evidence = await Inquirer(asking).whole(message, envelope, policy, truncated=False)
    assert [one.asked for one in evidence.listings] == ["bad.example"]
