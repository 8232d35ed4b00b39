"""Clients are judged when they connect, and refused where the policy says: what they hear, what the
log has, what is left behind.
"""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

import pytest

from oborona.doors.reply import ReplyAction, SessionReply
from oborona.policy.envelope_stages import StageVerdict, check_envelope
from oborona.session import envelope_stages
from oborona.session.early_refusal import EarlyVerdict, early_refusal_reply
from oborona.session.replies import verdict_details
from oborona.session.verdict_metrics import VERDICTS
from oborona.types import (
    Action,
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Stage,
    Verdict,
)
from tests.session.test_session import NOW, RULE, Table
from tests.session.test_session_early import remember

IP = "192.0.2.66"
OFF = '[repip]\nbad = "none"\n'
BANNED = OFF + RULE.format(name="BANNED", when=f"client.ip == '{IP}'")
FORGED = OFF + RULE.format(name="FORGED", when="helo == 'b.example'")
NOBODY = OFF + RULE.format(name="NOBODY", when="recipient == 'nobody@b.example'")
KEPT_OUT = (
    f'[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nentries = ["{IP}"]\n'
)

pytestmark = pytest.mark.usefixtures("logged")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "oborona.session")


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [vars(record)["fields"] for record in caplog.records if record.getMessage() == "verdict"]


def place(folder: Path, at: str) -> None:
    (folder / "05.toml").write_text(f"[verdict]\nclients_at = '{at}'\n")


def reference(reply: SessionReply) -> str:
    found = re.search(r"reference ([0-9A-Z]{13})", reply.text)
    assert found is not None, reply
    return found[1]


async def begin(table: Table, ip: str = IP, sender: str = "ann@a.example") -> list[SessionReply]:
    session = table.session
    return [
        await session.connect(Client(ip=ip, name="a.example")),
        await session.helo("b.example"),
        await session.mail(sender, ()),
    ]


@pytest.mark.parametrize("policy", [BANNED, KEPT_OUT], ids=["rule", "local list"])
async def test_a_client_is_refused_at_rcpt_where_the_log_knows_whose_mail_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    table = Table(tmp_path, policy)
    assert table.session.waits == {Stage.RECIPIENT}
    assert {one.answer for one in await begin(table)} == {ReplyAction.CONTINUE}
    heard = await table.session.rcpt("bob@b.example", ())
    assert (heard.answer, heard.code, heard.enhanced) == (ReplyAction.REJECT, 554, "5.7.1")
    assert re.fullmatch(
        r"Client refused, reference [0-9A-Z]{13}; https://b\.example/mail", heard.text
    )
    table.session.abort()
    (line,) = lines(caplog)
    assert line["id"] == reference(heard)
    assert (line["stage"], line["said"], line["verdict"]) == ("connect", "recipient", "reject")
    assert (line["client"], line["helo"]) == (IP, "b.example")
    assert (line["sender"], line["recipient"], line["recipients"]) == (
        "ann@a.example",
        "bob@b.example",
        1,
    )
    assert VERDICTS.values == {("connect", "reject"): 1}
    assert table.journal == []


async def test_each_recipient_hears_it_under_one_reference_and_the_log_has_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(tmp_path, BANNED)
    await begin(table)
    said = [await table.session.rcpt(f"u{number}@b.example", ()) for number in range(3)]
    assert {one.code for one in said} == {554}
    assert len({one.text for one in said}) == 1
    assert lines(caplog) == [], "they come in one packet as a rule"
    table.session.abort()
    (line,) = lines(caplog)
    assert (line["id"], line["recipients"], line["recipient"]) == (
        reference(said[0]),
        3,
        "u0@b.example",
    )

    await table.session.mail("eve@a.example", ())
    other = await table.session.rcpt("bob@b.example", ())
    table.session.close()
    assert reference(other) != reference(said[0]), "another message has another line"
    assert [(one["id"], one["sender"]) for one in lines(caplog)[1:]] == [
        (reference(other), "eve@a.example")
    ]


async def test_who_looks_for_the_reference_while_the_client_lingers_finds_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelope_stages, "LOGGED_AFTER_S", 0.05)
    table = Table(tmp_path, BANNED)
    await begin(table)
    await table.session.rcpt("bob@b.example", ())
    await asyncio.sleep(0.2)
    assert len(lines(caplog)) == 1
    await table.session.rcpt("joe@b.example", ())
    table.session.close()
    first, last = lines(caplog)
    assert first["id"] == last["id"]
    assert (first["recipients"], last["recipients"]) == (1, 2), "what came late is not lost"


async def test_a_client_that_never_came_to_a_recipient_is_one_line_at_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(tmp_path, BANNED)
    await begin(table)
    await asyncio.sleep(0.05)
    table.session.close()
    (line,) = lines(caplog)
    assert (line["said"], line["stage"], line["client"], line["recipients"]) == (
        "never",
        "connect",
        IP,
        0,
    )
    table.session.close()
    await begin(table, ip="192.0.2.7")
    await asyncio.sleep(0.05)
    table.session.close()
    assert len(lines(caplog)) == 1, "nobody else is"


@pytest.mark.parametrize(("at", "code"), [("sender", 0), ("recipient", 0), ("connect", 554)])
async def test_who_logs_in_is_not_refused_for_the_address_he_comes_from(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, at: str, code: int
) -> None:
    place(tmp_path, at)
    stranger = RULE.format(name="STRANGER", when="client.ip == '203.0.113.66' and not client.own")
    kept_out, sender = (
        KEPT_OUT.replace(IP, "203.0.113.66"),
        FORGED.replace("b.example", "x.example"),
    )
    table = Table(tmp_path, stranger + kept_out + sender)
    assert (await table.session.connect(Client(ip="203.0.113.66"))).code == code
    if code:
        return
    table.session.learn({"auth_authen": "ann"})
    assert (await table.session.mail("ann@b.example", ())).code == 0
    assert (await table.session.rcpt("bob@b.example", ())).code == 0
    table.session.close()
    assert lines(caplog) == []


async def test_a_sender_is_refused_no_earlier_than_clients_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(tmp_path / "late", FORGED)
    assert table.session.waits == {Stage.RECIPIENT}
    assert {one.code for one in await begin(table)} == {0}
    heard = await table.session.rcpt("bob@b.example", ())
    assert (heard.code, heard.text.partition(",")[0]) == (550, "Sender refused")
    table.session.abort()
    (line,) = lines(caplog)
    assert (line["stage"], line["said"], line["recipient"]) == (
        "sender",
        "recipient",
        "bob@b.example",
    )

    (tmp_path / "early").mkdir()
    place(tmp_path / "early", "sender")
    table = Table(tmp_path / "early", FORGED + BANNED[len(OFF) :])
    assert table.session.waits == {Stage.SENDER}
    assert [one.code for one in await begin(table)] == [0, 0, 554]
    assert [one.code for one in await begin(table, ip="192.0.2.7")] == [0, 0, 550]
    assert [line["said"] for line in lines(caplog)[1:]] == ["sender", "sender"]


async def test_a_recipient_of_its_own_is_a_line_of_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(tmp_path, NOBODY)
    await begin(table)
    said = [
        await table.session.rcpt(to, ())
        for to in ("nobody@b.example", "bob@b.example", "nobody@b.example")
    ]
    assert [one.code for one in said] == [550, 0, 550]
    assert len(lines(caplog)) == 2
    assert reference(said[0]) != reference(said[2])


async def test_a_mailbox_that_is_open_to_all_takes_mail_of_refused_clients_and_of_none_that_is_kept_out(
    tmp_path: Path,
) -> None:
    open_to_all = (
        '[[local_list]]\nname = "OPEN"\naction = "allow"\nof = ["recipient"]\n'
        'entries = ["postmaster@b.example"]\n'
    )
    table = Table(tmp_path / "banned", BANNED + open_to_all)
    await begin(table)
    said = [
        (await table.session.rcpt(f"{name}@b.example", ())).code
        for name in ("bob", "Postmaster", "eve")
    ]
    assert said == [554, 0, 554]
    table = Table(tmp_path / "kept-out", KEPT_OUT + open_to_all)
    await begin(table)
    assert (await table.session.rcpt("postmaster@b.example", ())).code == 554


async def test_a_client_is_judged_once_for_all_its_messages(tmp_path: Path) -> None:
    table = Table(tmp_path, BANNED)
    reads = 0
    read = table.counts.read

    async def counting(*args: object, **more: object) -> object:
        nonlocal reads
        reads += 1
        return await read(*args, **more)  # type: ignore[arg-type]

    table.counts.read = counting  # type: ignore[method-assign,assignment]
    await begin(table, ip="192.0.2.7")
    for _ in range(3):
        await table.session.mail("ann@a.example", ())
        for number in range(4):
            assert (await table.session.rcpt(f"u{number}@b.example", ())).code == 0
    assert reads == 1


async def test_a_refusal_is_written_down_beside_the_counts_once_a_message(tmp_path: Path) -> None:
    table = Table(tmp_path, BANNED)
    written: list[CounterPrefix] = []
    add = table.counts.add

    def noted(
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        written.append(prefix)
        add(pieces, amounts, now, prefix)

    table.counts.add = noted  # type: ignore[method-assign]
    await begin(table)
    for number in range(3):
        await table.session.rcpt(f"u{number}@b.example", ())
    await asyncio.sleep(0)
    table.session.close()
    assert written == [CounterPrefix.REFUSED]


async def test_a_login_that_is_told_with_the_recipient_ends_nobodys_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Postfix sends {auth_authen} with RCPT TO alone, the client's judgement is dropped while
    that of the sender waits for it.
    """

    async def slow(
        envelope: Envelope, stage: Stage, *more: object, **named: object
    ) -> StageVerdict:
        await asyncio.sleep(0.2 if stage is Stage.CONNECT else 0)
        return await check_envelope(envelope, stage, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(envelope_stages, "check_envelope", slow)
    table = Table(tmp_path, BANNED + FORGED[len(OFF) :].replace("b.example", "x.example"))
    await table.session.connect(Client(ip=IP))
    assert (await table.session.mail("ann@b.example", ())).code == 0
    await asyncio.sleep(0.01)
    table.session.learn({"auth_authen": "ann"})
    heard = await table.session.rcpt("bob@b.example", ())
    assert heard.text.startswith("Sender refused"), (
        "which was judged before anybody spoke of a login"
    )
    table.session.close()


async def test_a_client_of_poor_history_waits_once_where_it_may_be_refused(tmp_path: Path) -> None:
    table = Table(tmp_path, '[repip]\npoor = "slow"\nslow_s = 1.5\n')
    remember(table, Amounts(seen=5, spam=5))
    loop = asyncio.get_running_loop()
    began = loop.time()
    await begin(table)
    assert loop.time() - began < 1.2
    await table.session.rcpt("bob@b.example", ())
    assert loop.time() - began >= 1.5
    began = loop.time()
    await table.session.rcpt("joe@b.example", ())
    assert loop.time() - began < 1.2


@pytest.mark.parametrize(
    ("sender", "page"),
    [
        ("ann@spam.example", " (https://list.test/?d=spam.example)"),
        ("ann@spam%41.example", ""),  # libmilter takes it for a format
        ("ann@спам.example", ""),
        (f"ann@{'x' * 420}.example", ""),
        ("", ""),
    ],
)
def test_a_refusal_names_the_page_of_its_list_where_that_can_be_said(
    tmp_path: Path, sender: str, page: str
) -> None:
    table = Table(
        tmp_path,
        '[[dns_list]]\nname = "LIST"\nzone = "list.test"\nof = ["sender"]\nscore = 300\n'
        'url = "https://list.test/?d={subject}"\n',
    )
    bench = table.session._services
    verdict = Verdict(action=Action.REJECT, score=300, line=200, decided_by="LIST")
    seen = EarlyVerdict(
        Stage.SENDER,
        StageVerdict(verdict=verdict),
        Envelope(sender=sender),
        bench.policy.current,
        NOW,
        1,
    )
    text = early_refusal_reply(
        bench, seen, 1, verdict_details(bench, verdict, 1, bench.policy.current)
    ).text
    assert text.startswith(f"Sender refused, listed by LIST{page}, reference ")


@pytest.mark.parametrize("at", ["connect", "sender", "recipient"])
async def test_nothing_is_left_running(tmp_path: Path, at: str) -> None:
    place(tmp_path, at)
    table = Table(tmp_path, FORGED + BANNED[len(OFF) :])
    for stop in range(4):
        session = table.session
        await session.connect(Client(ip=IP))
        if stop > 0:
            await session.mail("ann@a.example", ())
        if stop > 1:
            await session.rcpt("bob@b.example", ())
        if stop > 2:
            session.abort()
        session.close()
    await asyncio.sleep(0.05)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
