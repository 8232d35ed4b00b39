"""What is asked about a connection and its messages: what, when, how often; and what a method that hangs or breaks costs the others."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from oborona.authentication.model import Result
from oborona.config import Milter
from oborona.counters.memory import MemoryCounters
from oborona.dns import Answer, Kind, Outcome
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.milter.gather import Gather, Gathered
from oborona.milter.inquiry import Inquirer, Means
from oborona.milter.lists import Lists
from oborona.milter.reply import Answer as Said
from oborona.milter.session import Bench, Session
from oborona.milter.status import Tally
from oborona.policy.facts import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import Site
from oborona.policy.watch import LivePolicy
from oborona.recheck.entry import Entry
from oborona.recheck.ident import Numbers
from oborona.reputation.networks import NOWHERE
from oborona.types import Client, Envelope, Stage
from tests.asking import Book, Known
from tests.authentication.signing import NOW, dkim_field, rsa

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
    b"Date: Thu, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: <1@example.org>\r\n\r\nhttps://link.test/tea\r\n"
)
SIGNED = dkim_field(LETTER, rsa()) + LETTER
KEY = "s1._domainkey.example.org"
DNS: Known = {
    ("2.0.0.127.list.test", Kind.A): ("127.0.0.2",),  # test points
    ("test.list.test", Kind.A): ("127.0.0.2",),
    (f"{'.'.join(reversed(IP.split('.')))}.list.test", Kind.A): ("127.0.0.2",),
    ("link.test.list.test", Kind.A): ("127.0.0.2",),
    (PTR, Kind.PTR): ("mail.example.org",),
    ("mail.example.org", Kind.A): (IP,),
    ("mail.example.org", Kind.TXT): (b"v=spf1 -all",),
    ("example.org", Kind.TXT): (f"v=spf1 ip4:{IP} -all".encode(),),
    (KEY, Kind.TXT): (rsa().record.encode(),),
    ("_dmarc.example.org", Kind.TXT): (b"v=DMARC1; p=reject",),
}
OF_CLIENT = {("12.11.10.9.list.test", Kind.A), (PTR, Kind.PTR)}
OF_SENDER = {
    ("example.org", Kind.TXT),
    ("mail.example.org", Kind.TXT),
    ("example.org.list.test", Kind.A),
}
OF_MESSAGE = {(KEY, Kind.TXT), ("_dmarc.example.org", Kind.TXT), ("link.test.list.test", Kind.A)}


class Reluctant(Book):
    """A Book that never answers some names, breaks at others, and can be told to hold all answers back."""

    def __init__(self, *, silent: Collection[str] = (), broken: Collection[str] = ()) -> None:
        super().__init__(DNS)
        self.silent, self.broken = set(silent), set(broken)
        self.held: asyncio.Event | None = None

    async def ask(self, name: str, kind: Kind) -> Answer:
        answer = await super().ask(name, kind)
        if name in self.silent:
            await asyncio.Event().wait()
        if name in self.broken:
            raise RuntimeError("a fault of ours")
        if self.held is not None:
            await self.held.wait()
        return answer


class Desk:
    """An inquirer whose lists are well, and what it has asked since."""

    def __init__(self, folder: Path, rules: str = LIST) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "10.toml").write_text(rules)
        self.policy: Policy = load_policy(folder, SCHEMA)
        self.dns = Reluctant()
        self.askers = 0
        self.means = Means(
            asker=self._asker,
            lists=Lists(self.dns, NOWHERE, time.monotonic, lambda: NOW),
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

    def _asker(self) -> Book:
        self.askers += 1
        return self.dns

    @property
    def asked(self) -> set[tuple[str, Kind]]:
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


async def test_questions_are_put_as_soon_as_their_subject_is_known_and_all_at_once(tmp_path: Path) -> None:
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
    assert desk.askers == 2, "one budget for the connection, one for the message"
    assert evidence.unanswered == ()
    assert {(one.of.value, one.asked) for one in evidence.listings} == {
        ("client", IP),
        ("links", "link.test"),
    }
    identity = evidence.identity
    assert (identity.spf.result, identity.spf_helo.result) == (Result.PASS, Result.FAIL)
    assert (identity.iprev.result, identity.iprev.name) == (Result.PASS, "mail.example.org")
    assert identity.dkim_domains == ("example.org",)
    assert identity.dmarc.result is Result.PASS
    assert not others()


async def test_each_thing_is_asked_once_for_a_connection_with_several_messages(tmp_path: Path) -> None:
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
    assert times["example.org", Kind.TXT] == 2
    assert times["other.test", Kind.TXT] == 1
    assert times["mail.example.org", Kind.TXT] == 3, "SPF of HELO is of each message: so is its budget"
    assert desk.askers == 4


async def test_all_is_asked_at_the_end_where_nothing_was_before(tmp_path: Path) -> None:
    """A mail server that tells us of a message alone."""
    desk = await Desk(tmp_path).open()
    evidence = await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    assert desk.asked >= OF_CLIENT | OF_SENDER | OF_MESSAGE
    assert evidence.identity.dmarc.result is Result.PASS
    assert len(evidence.listings) == 2


async def test_who_waits_for_lists_does_not_wait_for_spf_and_iprev(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    desk.dns.silent |= {PTR, "example.org", "mail.example.org"}
    async with asyncio.timeout(10):
        evidence = await desk.inquirer.until(Stage.SENDER, envelope(), desk.policy, spf=False, iprev=False)
    assert [one.of.value for one in evidence.listings] == ["client"]
    assert evidence.unanswered == ()
    desk.inquirer.close()


async def test_a_name_that_the_mail_server_verified_is_not_verified_again(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    known = Envelope(client=Client(ip=IP, name="mail.example.org"))
    evidence = await desk.inquirer.until(Stage.CONNECT, known, desk.policy, spf=False, iprev=True)
    assert desk.asked == {("12.11.10.9.list.test", Kind.A), ("example.org.list.test", Kind.A)}
    assert evidence.identity.iprev.result is Result.PASS
    assert evidence.identity.iprev.name == "mail.example.org"


OWN = {
    "logged in": {"login": "anna"},
    "own network or submission port": {"own": True},
    "logged in, own network": {"login": "anna", "own": True},
}


@pytest.mark.parametrize("said", OWN.values(), ids=OWN)
async def test_nothing_is_asked_about_our_own_people(tmp_path: Path, said: dict[str, object]) -> None:
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
    assert desk.asked == {(KEY, Kind.TXT)}
    assert evidence.identity.dkim_domains == ("example.org",)
    assert evidence.identity.spf.result is evidence.identity.dmarc.result is Result.NONE


async def test_what_lists_said_of_a_client_is_dropped_when_he_logs_in(tmp_path: Path) -> None:
    """People send from addresses that no mail server should have, and log in after they have connected."""
    desk = await Desk(tmp_path).open()
    before = await desk.inquirer.until(
        Stage.CONNECT, Envelope(client=Client(ip=IP)), desk.policy, spf=False, iprev=False
    )
    assert before.listings
    here = envelope(login="anna")
    at_sender = await desk.inquirer.until(Stage.SENDER, here, desk.policy, spf=False, iprev=False)
    whole = await desk.inquirer.whole(message(), here, desk.policy, truncated=False)
    assert at_sender.listings == whole.listings == ()
    assert desk.asked == {*OF_CLIENT, ("mail.example.org", Kind.A)}, (
        "the name in the reverse zone is the last"
    )


async def test_who_gave_no_answer_is_named_once(tmp_path: Path) -> None:
    desk = await Desk(tmp_path).open()
    failed = Answer(outcome=Outcome.TEMPERROR, why="budget")
    desk.dns._known = dict.fromkeys([*OF_CLIENT, *OF_SENDER, *OF_MESSAGE], failed)
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
                await desk.inquirer.until(Stage.SENDER, envelope(), desk.policy, spf=True, iprev=True)
    elif waits == "whole":
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    else:
        await turns()
    getattr(desk.inquirer, end)()
    await turns()
    if end == "end_message":
        assert len(others()) == 2 + len(OF_CLIENT) - 1, "lists, their question, and iprev, of the connection"
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
    evidence = await desk.inquirer.until(Stage.CONNECT, envelope(), desk.policy, spf=False, iprev=True)
    assert evidence.listings
    assert evidence.identity.iprev.result is Result.PASS
    assert Counter(desk.dns.asked)[PTR, Kind.PTR] == 1


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
    desk.dns.broken.add(name)
    evidence = await desk.inquirer.whole(message(), envelope(), desk.policy, truncated=False)
    said = {(record.name, record.getMessage()) for record in caplog.records if record.exc_info}
    assert ("oborona.inquiry", f"fault in {what}") in said
    identity = evidence.identity
    assert (identity.iprev.result is Result.PASS) == (name not in (PTR, "mail.example.org"))
    assert (identity.spf.result is Result.PASS) == (name != "example.org")
    assert (identity.spf_helo.result is Result.FAIL) == (name != "mail.example.org")
    assert bool(identity.dkim_domains) == (what != "authentication")
    listed = {one.of.value for one in evidence.listings}
    assert ("client" in listed) == (name != "12.11.10.9.list.test")
    assert ("links" in listed) == (name not in ("link.test.list.test", "example.org.list.test")), (
        "From is among them"
    )
    assert not others()


class Post:
    """A session at a desk."""

    def __init__(self, desk: Desk, folder: Path, **settings: object) -> None:
        counts = MemoryCounters()
        self.journal: list[Entry] = []
        self.session = Session(
            Bench(
                site=Site(name="mx.test", hasher=Hasher(b"k" * 32), counters=counts),
                settings=Milter(**settings),  # type: ignore[arg-type]
                contact="",
                policy=LivePolicy(folder, SCHEMA),
                counters=counts,
                journal=self.journal.append,
                numbers=Numbers(1),
                signing_key=b"k" * 32,
                clock=lambda: NOW,
                inquire=lambda: Inquirer(desk.means),
                own=lambda _ip, _port: False,
                tally=Tally(),
            )
        )


def gathered() -> Gathered:
    gather = Gather(100_000)
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
when = "client.ip == '{ip}' and spf.result == 'x' and iprev.result == 'x'"
score = 300
"""


@pytest.mark.parametrize("name", ["12.11.10.9.list.test", PTR, "example.org", "mail.example.org"])
async def test_an_early_stage_that_hangs_refuses_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    rules = LIST.replace("score = 30", "score = 300").replace('"links"]', '"links"]\nmode = "shadow"')
    desk = await Desk(tmp_path, rules + RULES.format(ip=IP)).open()
    post = Post(desk, tmp_path, command_deadline_s=0.1)
    assert post.session.waits == {Stage.SENDER}
    desk.dns.silent.add(name)
    async with asyncio.timeout(30):
        assert (await post.session.connect(Client(ip=IP))).answer is Said.CONTINUE
        await post.session.helo("mail.example.org")
        assert (await post.session.mail("anna@example.org", ())).answer is Said.CONTINUE
    assert any(record.exc_info for record in caplog.records), "the log has the deadline"
    post.session.close()
    await turns()
    assert not others()


async def test_a_message_that_is_given_up_before_its_end_leaves_nothing_for_the_next(tmp_path: Path) -> None:
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


async def test_the_questions_of_a_connection_begin_anew_with_the_next_client(tmp_path: Path) -> None:
    """A mail server may use one milter connection for one client after the other."""
    desk = await Desk(tmp_path).open()
    desk.inquirer.begin(Stage.CONNECT, envelope(), desk.policy)
    await turns()
    desk.inquirer.close()
    next_one = Envelope(client=Client(ip="9.10.11.13"))
    evidence = await desk.inquirer.until(Stage.CONNECT, next_one, desk.policy, spf=False, iprev=False)
    assert ("13.11.10.9.list.test", Kind.A) in desk.asked
    assert evidence.listings == ()
    desk.inquirer.close()
