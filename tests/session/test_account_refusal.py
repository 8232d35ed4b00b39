"""Sessions of accounts that are banned or limited: what is said, where, and what is not."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import pytest

from oborona.accounts.account import AccountBlock, AccountState
from oborona.doors.reply import ReplyAction, SessionReply
from oborona.session.services import NobodyBlocked
from oborona.session.session import Session
from oborona.types import Client, Envelope, Stage
from tests.session.test_session import NOW, Table, gathered

JOE = "joe@b.example"


class Blocks:
    """The accounts whose mail is not taken."""

    known = True

    def __init__(self, state: AccountState = AccountState.BANNED, why: str = "spam") -> None:
        self.block: AccountBlock | None = AccountBlock(
            account="joe", state=state, until=NOW + 3600, why=why
        )

    def of(self, login: str, now: float) -> AccountBlock | None:
        block = self.block
        return block if login == JOE and block is not None and block.in_force(now) else None


def table_with(folder: Path, blocks: Blocks, clients_at: str = "sender") -> Table:
    folder.joinpath("05.toml").write_text(f"[verdict]\nclients_at = '{clients_at}'\n")
    table = Table(folder)
    services = msgspec.structs.replace(table.session._services, accounts=blocks)
    table.session = Session(services)
    return table


async def begin(table: Table, login: str = JOE, ip: str = "192.0.2.1") -> SessionReply:
    await table.session.connect(Client(ip=ip))
    table.session.learn({"auth_authen": login})
    return await table.session.mail("joe@b.example", ())


async def test_a_banned_account_is_told_why_and_until_when(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona.session")
    table = table_with(tmp_path, Blocks(why="a password was stolen"))
    reply = await begin(table)
    assert (reply.answer, reply.code, reply.enhanced) == (ReplyAction.REJECT, 550, "5.7.1")
    head, _, rest = reply.text.partition(", reference ")
    assert head == "Sending is blocked until 2026-11-20 11:20 UTC: a password was stolen"
    assert rest.endswith("; https://b.example/mail")
    (line,) = [vars(record)["fields"] for record in caplog.records]
    assert (line["id"], line["stage"], line["decided_by"], line["verdict"]) == (
        rest[:13],
        "sender",
        "account-banned",
        "reject",
    )
    assert (await begin(table, "ann@b.example")).answer is ReplyAction.CONTINUE
    assert (await begin(table, "")).answer is ReplyAction.CONTINUE


async def test_it_is_told_at_the_recipient_where_clients_are(tmp_path: Path) -> None:
    table = table_with(tmp_path, Blocks(), "recipient")
    assert table.session.waits == {Stage.RECIPIENT}
    assert (await begin(table)).answer is ReplyAction.CONTINUE
    replies = [await table.session.rcpt(to, ()) for to in ("a@a.example", "b@a.example")]
    assert [reply.code for reply in replies] == [550, 550]
    assert replies[0].text == replies[1].text


async def test_a_limited_account_is_put_off_and_a_program_of_this_machine_is_not(
    tmp_path: Path,
) -> None:
    table = table_with(tmp_path, Blocks(AccountState.LIMITED))
    reply = await begin(table)
    assert (reply.answer, reply.code, reply.enhanced) == (ReplyAction.TEMPFAIL, 451, "4.7.1")
    assert reply.text.startswith("Sending is limited until 2026-11-20 11:20 UTC: spam, reference ")
    assert (await begin(table, ip="")).answer is ReplyAction.CONTINUE
    table.now = NOW + 3600
    assert (await begin(table)).answer is ReplyAction.CONTINUE


async def test_a_ban_that_comes_meanwhile_is_told_at_the_end_of_the_message(
    tmp_path: Path,
) -> None:
    blocks = Blocks()
    ban, blocks.block = blocks.block, None
    table = table_with(tmp_path, blocks)
    assert (await begin(table)).answer is ReplyAction.CONTINUE
    await table.session.rcpt("bob@a.example", ())
    blocks.block = ban
    reply = await table.session.end_of_message(gathered(b"", b"At noon?"))
    assert (reply.answer, reply.code) == (ReplyAction.REJECT, 550)
    assert table.journal == []


@pytest.mark.parametrize("why", ["пароль украден", "100 % spam", "x" * 460])
async def test_a_reason_that_smtp_can_not_tell_is_left_out(tmp_path: Path, why: str) -> None:
    reply = await begin(table_with(tmp_path, Blocks(why=why)))
    assert reply.text.startswith("Sending is blocked until 2026-11-20 11:20 UTC, reference ")


async def test_a_site_that_refuses_nobody_as_spam_refuses_a_banned_account(
    tmp_path: Path,
) -> None:
    tmp_path.joinpath("20.toml").write_text("[verdict]\nrefuse = false\n")
    table = table_with(tmp_path, Blocks())
    assert Stage.SENDER in table.session.waits
    assert (await begin(table)).code == 550


def told_at_once(login: str) -> Envelope:
    return Envelope(
        client=Client(ip="192.0.2.1"),
        sender=login,
        recipients=("bob@a.example",),
        login=login,
    )


async def test_protocols_that_tell_all_at_once_hear_it_too(tmp_path: Path) -> None:
    """Policy service, Exim and HTTP ask at a stage, or for the whole message."""
    for clients_at in ("connect", "sender", "recipient"):
        table = table_with(tmp_path, Blocks(), clients_at)
        reply = await table.session.glance(Stage.RECIPIENT, told_at_once(JOE), "25")
        assert reply.code == 550, clients_at
        reply = await table.session.whole(told_at_once(JOE), gathered(b"", b"At noon?"), "25")
        assert (reply.answer, reply.code) == (ReplyAction.REJECT, 550)
        other = told_at_once("ann@b.example")
        reply = await table.session.glance(Stage.RECIPIENT, other, "25")
        assert reply.answer is ReplyAction.CONTINUE


async def test_a_site_that_follows_no_accounts_blocks_nobody(tmp_path: Path) -> None:
    table = Table(tmp_path)
    assert (await begin(table)).answer is ReplyAction.CONTINUE
    assert NobodyBlocked().of(JOE, NOW) is None
    assert not NobodyBlocked().known
