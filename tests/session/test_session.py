"""A session on its own: stages, answers, the crash barrier, what is done after the answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from oborona.config import WorkerSettings
from oborona.counters.memory import MemoryCounters
from oborona.counters.window import Timeline
from oborona.doors.guard import NO_ANSWER, HandlerGuard
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessage, RawMessageBuilder
from oborona.doors.reply import AddHeader, RemoveHeader, ReplyAction, SessionReply
from oborona.errors import StoreError
from oborona.ident import JournalIdGenerator, verify
from oborona.journal.entry import JournalEntry
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.fact_table import SCHEMA
from oborona.policy.headers import HeaderDetail
from oborona.policy.personal_list_match import NoPersons, Persons
from oborona.policy.ports import CounterReader, Totals
from oborona.policy.scan import ScanSite
from oborona.policy.watch import LivePolicy
from oborona.reputation.personal import PersonalProfile
from oborona.session.concurrency_limit import BUSY as TURNED_AWAY
from oborona.session.concurrency_limit import ConcurrencyLimit
from oborona.session.loop_lag import LoopLag
from oborona.session.services import SessionServices
from oborona.session.session import Session
from oborona.types import Action, Client, CounterPrefix, Metric, Shingle, Stage, Window
from tests.asking import Table as Answers
from tests.asking import inquirer

NOW = 1_795_170_000.0
KEY = b"k" * 32
GTUBE = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


class Table:
    """A session with everything around it, and what it left there."""

    def __init__(
        self,
        folder: Path,
        rules: str = "",
        *,
        counters: CounterReader | None = None,
        journal: Callable[[JournalEntry], None] | None = None,
        site: str = "mx.test",
        pulse: LoopLag | None = None,
        persons: Persons | None = None,
        **settings: object,
    ) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "10.toml").write_text(
            f'[verdict]\nreject_score = 200\n[[rule]]\nname = "GTUBE"\nwhen = '
            f"\"found('gtube')\"\nscore = 1000\n{rules}\n"
        )
        self.now = NOW
        self.counts = MemoryCounters()
        self.dns = Answers()
        self.journal: list[JournalEntry] = []
        self.session = Session(
            SessionServices(
                site=ScanSite(
                    name=site,
                    hasher=Hasher(KEY),
                    counters=counters or self.counts,
                    persons=persons or NoPersons(),
                ),
                settings=WorkerSettings(**settings),  # type: ignore[arg-type]
                contact="https://b.example/mail",
                detail=HeaderDetail.FULL,
                policy=LivePolicy(folder, SCHEMA),
                counters=self.counts,
                journal=journal or self.journal.append,
                numbers=JournalIdGenerator(1),
                signing_key=KEY,
                clock=lambda: self.now,
                new_inquiry=lambda: inquirer(self.dns, now=NOW),
                own=lambda _ip, port: port == "587",
                concurrency=ConcurrencyLimit(1 << 30, pulse),
            )
        )

    async def message(
        self, text: bytes = b"At noon?", *, head: bytes = b"", sender: str = "ann@a.example"
    ) -> SessionReply:
        """Send one message to Bob and let what comes after the answer happen."""
        await self.session.mail(sender, ())
        await self.session.rcpt("bob@b.example", ())
        self.session.learn({"i": "QUEUE1"})
        reply = await self.session.end_of_message(gathered(head, text))
        await asyncio.sleep(0)
        return reply

    async def seen(self, kind: ShingleType, piece: str) -> int:
        totals = await self.counts.read([Hasher(KEY).shingle(kind, piece)], self.now)
        return totals[0][Window.DAY][Metric.SEEN]


def gathered(head: bytes, text: bytes) -> RawMessage:
    gather = RawMessageBuilder(100_000, MemoryBudget(1 << 40).hold())
    lines = head + (
        b"From: Ann <ann@a.example>\nSubject: lunch again\nDate: Fri, 20 Nov 2026 "
        b"10:00:00 +0000\nMessage-ID: <1@a.example>\n"
    )
    for line in lines.splitlines():
        name, _, value = line.partition(b":")
        gather.header(name, value, leading_space=True)
    gather.body(text + b"\r\n")
    return gather.finish()


def added(reply: SessionReply) -> dict[str, str]:
    return {edit.name: edit.value for edit in reply.edits if isinstance(edit, AddHeader)}


async def test_a_message_is_counted_and_journaled_before_the_answer_and_logged_after_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(tmp_path)
    caplog.set_level(logging.INFO, "oborona.session")
    await table.session.connect(Client(ip="192.0.2.7", name="a.example"))
    await table.session.helo("mail.a.example")
    await table.session.mail("ann@a.example", ())
    await table.session.rcpt("bob@b.example", ())
    table.session.learn({"i": "QUEUE1"})
    reply = await table.session.end_of_message(gathered(b"", b"hi"))
    (entry,) = table.journal
    assert await table.seen(ShingleType.CLIENT_IP, "192.0.2.7") == 1
    assert [record for record in caplog.records if record.getMessage() == "verdict"] == []
    await asyncio.sleep(0)

    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Ok"
    assert entry.id == verify(added(reply)["X-Mras-Id"], KEY)
    assert (entry.queue_id, entry.client_ip, entry.helo) == (
        "QUEUE1",
        "192.0.2.7",
        "mail.a.example",
    )
    assert (entry.sender, entry.recipients, entry.verdict) == (
        "ann@a.example",
        ("bob@b.example",),
        Action.ACCEPT,
    )
    assert "text" not in entry.facts
    assert entry.facts["subject"] == "lunch again"
    lines = [record for record in caplog.records if record.getMessage() == "verdict"]
    assert len(lines) == 1


async def test_a_refusal_is_generic_and_carries_the_reference_and_the_contact(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path)
    reply = await table.message(GTUBE)
    assert (reply.answer, reply.code, reply.enhanced) == (ReplyAction.REJECT, 550, "5.7.1")
    assert reply.text.startswith("Message refused as spam, reference ")
    assert reply.text.endswith("; https://b.example/mail")
    assert "GTUBE" not in reply.text
    assert table.journal[0].decided_by == "GTUBE"


async def test_where_refusing_is_off_the_message_passes_marked(tmp_path: Path) -> None:
    (tmp_path / "20.toml").write_text("[verdict]\nrefuse = false\n")
    reply = await Table(tmp_path).message(GTUBE)
    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Spam"
    assert added(reply)["X-Spam-Flag"] == "YES"


async def test_headers_under_our_names_are_removed_the_last_of_a_name_first(tmp_path: Path) -> None:
    head = (
        b"X-Mras: Ok\nReceived: x\nAuthentication-Results: other.test; none\nx-mras: "
        b"Ok\nAuthentication-Results: MX.TEST; spf=pass\n"
    )
    reply = await Table(tmp_path).message(head=head)
    assert [edit for edit in reply.edits if isinstance(edit, RemoveHeader)] == [
        RemoveHeader("Authentication-Results", 2),
        RemoveHeader("x-mras", 2),
        RemoveHeader("X-Mras", 1),
    ]


@pytest.mark.parametrize(
    ("site", "server", "name"),
    [
        ("mx.test", "mail.b.example", "mx.test"),
        ("localhost", "mail.b.example", "mail.b.example"),
        ("debian", "mail.b.example", "mail.b.example"),
        ("localhost.localdomain", "mail.b.example", "mail.b.example"),
        ("localhost", "", "localhost"),
    ],
)
async def test_where_we_have_no_name_that_others_know_the_mail_servers_is_ours(
    tmp_path: Path, site: str, server: str, name: str
) -> None:
    table = Table(tmp_path, site=site)
    table.session.learn({"j": server, "daemon_port": "25"} if server else {"daemon_port": "25"})
    await table.session.connect(Client(ip="198.51.100.7", name="a.example"))
    await table.session.helo(name)
    head = f"Authentication-Results: {name}; spf=pass\nAuthentication-Results: other.test; none\n".encode()
    reply = await table.message(head=head)
    assert added(reply)["Authentication-Results"].split(";")[0] == name
    assert [edit for edit in reply.edits if isinstance(edit, RemoveHeader)] == [
        RemoveHeader("Authentication-Results", 1)
    ]
    found = {finding.name: finding.evidence for finding in table.journal[0].findings}
    assert "forged-verdict" in found
    assert found["forged-helo"] in ("our own name", "localhost")


async def test_nothing_of_one_message_is_left_for_the_next(tmp_path: Path) -> None:
    table = Table(tmp_path)
    await table.session.connect(Client(ip="192.0.2.7"))
    await table.message(GTUBE)
    await table.session.mail("eve@e.example", ())
    await table.session.rcpt("eve@b.example", ())
    table.session.abort()
    await table.message(sender="kim@k.example")
    first, second = table.journal
    assert first.verdict is Action.REJECT
    assert second.verdict is Action.ACCEPT
    assert (second.sender, second.recipients, second.client_ip) == (
        "kim@k.example",
        ("bob@b.example",),
        "192.0.2.7",
    )
    table.session.close()
    await table.message()
    assert table.journal[2].client_ip == ""


class Broken:
    """Counters that fail in ways that a store on disk can't be made to, at the moment a test
    wants.
    """

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Totals:
        if self._error is None:
            await asyncio.sleep(3600)
        raise self._error or AssertionError

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        raise AssertionError


@pytest.mark.parametrize(("error", "why"), [(RuntimeError("a bug"), "fault"), (None, "deadline")])
@pytest.mark.parametrize(
    ("on_failure", "answer"), [("accept", ReplyAction.ACCEPT), ("tempfail", ReplyAction.TEMPFAIL)]
)
async def test_a_scan_that_fails_or_hangs_is_answered_as_configured(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    error: Exception | None,
    why: str,
    on_failure: str,
    answer: ReplyAction,
) -> None:
    table = Table(tmp_path, counters=Broken(error), deadline_s=0.1, on_failure=on_failure)
    reply = await table.message(head=b"X-Mras: Ok\n")
    assert reply.answer is answer
    (entry,) = table.journal
    assert entry.partial
    assert entry.decided_by == "partial"
    assert [finding.evidence for finding in entry.findings] == [why]
    assert any(record.exc_info for record in caplog.records), "the log has the traceback"
    if answer is ReplyAction.ACCEPT:
        assert RemoveHeader("X-Mras", 1) in reply.edits, "forged headers go even then"
        assert added(reply)["X-Mras-Reason"] == f"partial({why})"
    else:
        assert (reply.code, reply.enhanced) == (451, "4.7.1")


class Slow:
    """People whose lists are not told in time."""

    async def of(self, address: str) -> PersonalProfile:
        await asyncio.sleep(3600)
        raise AssertionError


@pytest.mark.parametrize(
    ("text", "answer"), [(GTUBE, ReplyAction.REJECT), (b"At noon?", ReplyAction.ACCEPT)]
)
async def test_a_verdict_that_was_reached_stands_when_what_is_asked_after_it_hangs(
    tmp_path: Path, text: bytes, answer: ReplyAction
) -> None:
    table = Table(tmp_path, persons=Slow(), deadline_s=1.5, on_failure="accept")
    assert (await table.message(text)).answer is answer
    (entry,) = table.journal
    assert entry.decided_by == ("GTUBE" if answer is ReplyAction.REJECT else "below-threshold")
    assert [finding.evidence for finding in entry.findings if finding.name == "partial"] == [
        "deadline"
    ]


UNASKED = AddHeader("Authentication-Results", "mx.test; none", top=True)


class Held(LoopLag):
    """A loop that was held for long since it was last asked."""

    @property
    def lost_s(self) -> float:
        self._lost_s += 100.0
        return self._lost_s


@pytest.mark.parametrize("on_failure", ["accept", "tempfail"])
async def test_who_is_late_because_the_loop_was_held_comes_again_whatever_is_configured(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, on_failure: str
) -> None:
    table = Table(
        tmp_path, counters=Broken(None), pulse=Held(), deadline_s=0.1, on_failure=on_failure
    )
    reply = await table.message(head=b"X-Mras: Ok\n")
    assert (reply.code, reply.enhanced, reply.answer) == (451, "4.3.2", ReplyAction.TEMPFAIL)
    (entry,) = table.journal
    assert (entry.decided_by, [one.evidence for one in entry.findings]) == ("partial", ["load"])
    assert not any(record.exc_info for record in caplog.records), "it is nobody's fault"


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1"])
async def test_a_program_of_the_machine_is_never_put_off(tmp_path: Path, ip: str) -> None:
    table = Table(
        tmp_path, counters=Broken(None), pulse=Held(), deadline_s=0.1, on_failure="tempfail"
    )
    await table.session.connect(Client(ip=ip))
    await table.session.mail("web@a.example", ())
    await table.session.rcpt("joe@example.test", ())
    reply = await table.session.end_of_message(gathered(b"", b"At noon?"))
    assert reply.answer is ReplyAction.ACCEPT
    (entry,) = table.journal
    assert (entry.decided_by, [one.evidence for one in entry.findings]) == ("partial", ["load"])


async def test_a_fault_is_a_fault_however_busy_the_loop_is(tmp_path: Path) -> None:
    table = Table(tmp_path, counters=Broken(RuntimeError("a bug")), pulse=Held())
    assert (await table.message()).answer is ReplyAction.ACCEPT
    assert [one.evidence for one in table.journal[0].findings] == ["fault"]


FORGERIES = b"X-Mras: Ok\nAuthentication-Results: mx.test; dmarc=pass\n"


@pytest.mark.parametrize(
    ("on_failure", "answer"), [("accept", ReplyAction.ACCEPT), ("tempfail", ReplyAction.TEMPFAIL)]
)
async def test_a_message_whose_judging_was_cut_off_loses_what_is_forged_and_is_marked(
    tmp_path: Path, on_failure: str, answer: ReplyAction
) -> None:
    table = Table(tmp_path, counters=Broken(None), deadline_s=60, on_failure=on_failure)
    guard = HandlerGuard(ReplyAction.CONTINUE, 0.05)
    message = gathered(FORGERIES, GTUBE)
    await table.session.connect(Client(ip="192.0.2.7"))
    await table.session.mail("ann@a.example", ())
    await table.session.rcpt("bob@b.example", ())
    reply = await guard.judged(table.session.end_of_message(message), table.session, message)
    await asyncio.sleep(0)
    assert reply.answer is answer
    assert [(one.decided_by, one.partial) for one in table.journal] == [("partial", True)]
    if answer is ReplyAction.ACCEPT:
        assert {RemoveHeader("X-Mras", 1), RemoveHeader("Authentication-Results", 1)} <= set(
            reply.edits
        )
        assert UNASKED in reply.edits
        assert added(reply)["X-Mras-Reason"] == "partial(fault)"


async def test_a_message_that_was_cut_off_because_the_loop_was_held_comes_again(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path, counters=Broken(None), pulse=Held(), deadline_s=60)
    message = gathered(FORGERIES, GTUBE)
    await table.session.mail("ann@a.example", ())
    reply = await HandlerGuard(ReplyAction.CONTINUE, 0.05).judged(
        table.session.end_of_message(message), table.session, message
    )
    assert (reply.code, reply.enhanced) == (451, "4.3.2")


async def test_a_session_that_can_do_nothing_lets_nothing_in(tmp_path: Path) -> None:
    def broken() -> float:
        raise RuntimeError("no clock")

    table = Table(tmp_path)
    message = gathered(FORGERIES, GTUBE)
    msgspec.structs.force_setattr(table.session._services, "clock", broken)
    reply = await HandlerGuard(ReplyAction.CONTINUE).judged(
        table.session.end_of_message(message), table.session, message
    )
    assert reply is NO_ANSWER
    assert reply.answer is ReplyAction.TEMPFAIL


class Dear(MemoryCounters):
    """Counters whose every read takes so much CPU."""

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Totals:
        until = time.thread_time() + 0.15
        while time.thread_time() < until:
            pass
        return await super().read(shingles, now, prefix)


async def test_a_message_that_takes_too_much_twice_is_filed_as_spam_with_our_headers(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path, counters=Dear(), scan_cpu_s=0.1)
    reply = await table.message(head=FORGERIES)
    assert reply.answer is ReplyAction.ACCEPT
    assert RemoveHeader("X-Mras", 1) in reply.edits
    assert (added(reply)["X-Mras"], added(reply)["X-Spam-Flag"]) == ("Probable", "YES")
    assert added(reply)["X-Mras-Reason"] == "partial(costs)"


async def test_a_client_that_was_dear_is_told_before_its_message_comes(tmp_path: Path) -> None:
    class Behind(LoopLag):
        behind_s = 0.5

    table = Table(tmp_path, pulse=Behind())
    await table.session.connect(Client(ip="192.0.2.7"))
    assert (await table.session.mail("ann@a.example", ())).answer is ReplyAction.CONTINUE
    table.session._services.concurrency.leave("192.0.2.7", 1.0)
    assert (await table.session.mail("ann@a.example", ())).enhanced == "4.3.2"
    assert (await table.session.rcpt("bob@b.example", ())).enhanced == "4.3.2"
    assert TURNED_AWAY.value() == 2, "as who is told so with a message"


async def test_a_store_that_does_not_answer_costs_counts_not_the_verdict(tmp_path: Path) -> None:
    table = Table(tmp_path, counters=Broken(StoreError("away")))
    assert (await table.message(GTUBE)).code == 550
    (entry,) = table.journal
    assert entry.partial
    assert "partial" in [finding.name for finding in entry.findings]


async def test_a_journal_that_fails_costs_nobody_an_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: JournalEntry) -> None:
        raise RuntimeError("closed")

    assert (await Table(tmp_path, journal=fail).message()).answer is ReplyAction.ACCEPT
    assert any("fault" in record.getMessage() for record in caplog.records)


RULE = '[[rule]]\nname = "{name}"\nwhen = "{when}"\nscore = 300\n'


async def test_stages_wait_only_where_rules_can_refuse(tmp_path: Path) -> None:
    off = '[repip]\nbad = "none"\n'
    assert Table(tmp_path / "a").session.waits == {Stage.RECIPIENT}, "RepIP is on by itself"
    assert Table(tmp_path / "c", off).session.waits == frozenset()
    rules = off + RULE.format(name="BANNED", when="client.ip == '192.0.2.66'")
    assert Table(tmp_path / "b", rules).session.waits == {Stage.RECIPIENT}
    (tmp_path / "b" / "20.toml").write_text("[verdict]\nclients_at = 'connect'\n")
    assert Table(tmp_path / "b", rules).session.waits == {Stage.CONNECT}


async def test_each_stage_refuses_with_its_code_and_counts_nobody(tmp_path: Path) -> None:
    rules = (
        RULE.format(name="BANNED", when="client.ip == '192.0.2.66'")
        + RULE.format(name="FORGED", when="helo == 'b.example'")
        + RULE.format(name="NOBODY", when="recipient == 'nobody@b.example'")
    )
    (tmp_path / "20.toml").write_text("[verdict]\nclients_at = 'connect'\n")
    table = Table(tmp_path, rules)
    refused = await table.session.connect(Client(ip="192.0.2.66"))
    assert (refused.code, refused.enhanced) == (554, "5.7.1")
    assert await table.seen(ShingleType.CLIENT_IP, "192.0.2.66") == 0, (
        "a refusal must not feed on itself"
    )

    assert (await table.session.connect(Client(ip="192.0.2.7"))).answer is ReplyAction.CONTINUE
    await table.session.helo("b.example")
    assert (await table.session.mail("x@x.example", ())).code == 550
    assert await table.seen(ShingleType.HELO, "b.example") == 0

    await table.session.helo("mail.a.example")
    await table.session.mail("ann@a.example", ())
    assert (await table.session.rcpt("nobody@b.example", ())).code == 550
    assert (await table.session.rcpt("bob@b.example", ())).answer is ReplyAction.CONTINUE
    await table.session.end_of_message(gathered(b"", b"hi"))
    await asyncio.sleep(0)
    assert table.journal[0].recipients == ("bob@b.example",)


async def test_a_fault_at_an_early_stage_refuses_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(
        tmp_path,
        RULE.format(name="BANNED", when="client.ip == '192.0.2.66'"),
        counters=Broken(RuntimeError("bug")),
    )
    assert (await table.session.connect(Client(ip="192.0.2.66"))).answer is ReplyAction.CONTINUE
    await table.session.mail("ann@a.example", ())
    assert (await table.session.rcpt("bob@b.example", ())).answer is ReplyAction.CONTINUE
    assert any(record.exc_info for record in caplog.records)


async def test_a_message_over_the_limit_is_scanned_by_its_head_and_says_so(tmp_path: Path) -> None:
    table = Table(
        tmp_path,
        (
            '[[rule]]\nname = "BIG"\nwhen = "message.truncated and message.size > '
            '100000"\nscore = 1\n'
        ),
    )
    reply = await table.message(b"x" * 200_000)
    assert added(reply)["X-Mras-Reason"] == "below-threshold BIG=1.0"
    (entry,) = table.journal
    assert "message-truncated" in [finding.name for finding in entry.findings]
    assert entry.size > 200_000


async def test_a_message_of_more_headers_than_can_be_cleaned_is_refused(tmp_path: Path) -> None:
    table = Table(tmp_path)
    reply = await table.message(head=b"a:\n" * 10_000 + b"X-Mras: Ok\n")
    assert (reply.code, reply.enhanced) == (550, "5.6.0")
    assert table.journal[0].decided_by == "too-many-headers"


async def test_a_header_name_that_no_mail_server_knows_breaks_nothing(tmp_path: Path) -> None:
    reply = await Table(tmp_path).message(head=b"X-Mras-\xe9: x\nX-Mras: Ok\n")
    assert reply.answer is ReplyAction.ACCEPT
    assert [edit for edit in reply.edits if isinstance(edit, RemoveHeader)] == [
        RemoveHeader("X-Mras", 1)
    ]


SCORED = '[[rule]]\nname = "ANYTHING"\nwhen = "links >= 0"\nscore = {}\n'


async def test_a_message_ends_with_the_policy_that_it_began_with_and_says_which(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona.session")
    table = Table(tmp_path, SCORED.format(1))
    policy = table.session._services.policy
    assert isinstance(policy, LivePolicy)
    before = policy.current.version
    await table.session.connect(Client(ip="192.0.2.7", name="a.example"))
    await table.session.mail("ann@a.example", ())
    (tmp_path / "10.toml").write_text(SCORED.format(22))
    assert policy.reload()
    await table.session.rcpt("bob@b.example", ())
    await table.session.end_of_message(gathered(b"", b"hi"))
    await table.message()
    await asyncio.sleep(0)
    assert [(entry.policy_version, entry.score) for entry in table.journal] == [
        (before, 1.0),
        (policy.current.version, 22.0),
    ]
    logged = [
        record.fields["policy"]  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "verdict"
    ]
    assert logged == [before, policy.current.version]


async def test_a_message_that_was_given_up_holds_no_policy(tmp_path: Path) -> None:
    table = Table(tmp_path, SCORED.format(1))
    policy = table.session._services.policy
    assert isinstance(policy, LivePolicy)
    await table.session.mail("ann@a.example", ())
    table.session.abort()
    (tmp_path / "10.toml").write_text(SCORED.format(22))
    assert policy.reload()
    await table.message()
    assert table.journal[-1].score == 22.0
