"""A session where clients are refused when they connect, or mail is put off at its end: the words,
the waits, and what is left in counters and journal.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from pathlib import Path

import pytest

from oborona.doors.reply import ReplyAction, SessionReply
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.session.verdict_metrics import VERDICTS
from oborona.types import Action, Amounts, Client, Envelope
from tests.session.test_session import KEY, NOW, RULE, Table, added

IP = "192.0.2.66"
BANNED = RULE.format(name="BANNED", when=f"client.ip == '{IP}'")
KEPT_OUT = (
    '[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nentries = '
    '["192.0.2.64/26"]\n'
)
GREY = "[greylist]\nenabled = true\n" + RULE.format(
    name="GREY", when="contains(subject, 'lunch')"
).replace("300", "70")


@pytest.fixture(autouse=True)
def _at_connect(tmp_path: Path) -> None:
    tmp_path.joinpath("05.toml").write_text("[verdict]\nclients_at = 'connect'\n")


def remember(table: Table, amounts: Amounts, when: float = NOW) -> None:
    pieces = envelope_shingles(Envelope(client=Client(ip=IP)), Hasher(KEY))
    table.counts.add(pieces, amounts, when)


async def connect(table: Table) -> SessionReply:
    return await table.session.connect(Client(ip=IP, name="a.example"))


@pytest.mark.parametrize("policy", [BANNED, KEPT_OUT, ""], ids=["rule", "local list", "history"])
async def test_a_refused_client_hears_no_more_than_a_reference_and_whom_to_ask(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    caplog.set_level(logging.INFO, "oborona.session")
    table = Table(tmp_path, policy)
    if not policy:
        remember(table, Amounts(seen=30, spam=30))
    reply = await connect(table)
    assert (reply.answer, reply.code, reply.enhanced) == (ReplyAction.REJECT, 554, "5.7.1")
    assert re.fullmatch(
        r"Client refused, reference [0-9A-Z]{13}; https://b\.example/mail", reply.text
    )
    await asyncio.sleep(0)
    assert table.journal == []
    assert VERDICTS.values == {("connect", "reject"): 1}
    (line,) = [
        vars(record)["fields"] for record in caplog.records if record.getMessage() == "verdict"
    ]
    assert str(line["id"]) in reply.text
    assert line["decided_by"] in ("BANNED", "KEPT_OUT", "REPIP_BAD")
    assert await table.seen(ShingleType.CLIENT_IP, IP) == (0 if policy else 30)


@pytest.mark.parametrize("policy", [BANNED, KEPT_OUT, ""], ids=["rule", "local list", "history"])
async def test_where_refusing_is_off_nobody_is_refused_early(tmp_path: Path, policy: str) -> None:
    tmp_path.joinpath("20.toml").write_text("[verdict]\nrefuse = false\n")
    table = Table(tmp_path, policy)
    if not policy:
        remember(table, Amounts(seen=30, spam=30))
    assert table.session.waits == frozenset(), "nobody waits for what can't be said"
    assert (await connect(table)).answer is ReplyAction.CONTINUE
    reply = await table.message()
    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Spam", "and so it can be tried out"


async def test_a_client_of_poor_history_waits_before_it_may_go_on(tmp_path: Path) -> None:
    table = Table(tmp_path, '[repip]\npoor = "slow"\nslow_s = 1\n')
    remember(table, Amounts(seen=5, spam=5))
    began = time.monotonic()
    assert (await connect(table)).answer is ReplyAction.CONTINUE
    assert time.monotonic() - began >= 1
    began = time.monotonic()
    await table.session.mail("ann@a.example", ())
    assert time.monotonic() - began < 1, "once"


async def test_a_client_of_poor_history_is_told_to_come_back(tmp_path: Path) -> None:
    table = Table(tmp_path, '[repip]\npoor = "tempfail"\n')
    remember(table, Amounts(seen=5, spam=5))
    reply = await connect(table)
    assert (reply.answer, reply.code, reply.enhanced) == (ReplyAction.TEMPFAIL, 451, "4.7.1")
    assert reply.text.startswith("Try again later, reference ")
    assert VERDICTS.values == {("connect", "tempfail"): 1}


async def test_a_history_is_forgiven_after_a_day_and_forgotten_after_two_weeks(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path)
    remember(table, Amounts(seen=300, spam=300))
    assert (await connect(table)).code == 554
    table.now += 86_400 * 1.5
    assert (await connect(table)).answer is ReplyAction.CONTINUE
    remember(table, Amounts(seen=3, spam=3), table.now)
    assert (await connect(table)).code == 554, "three more are enough"
    table.now = NOW + 86_400 * 16
    assert (await connect(table)).answer is ReplyAction.CONTINUE


async def test_grey_mail_is_put_off_once_and_counted_when_it_comes_again(tmp_path: Path) -> None:
    table = Table(tmp_path, GREY)
    await connect(table)
    reply = await table.message()
    assert (reply.answer, reply.code, reply.enhanced) == (ReplyAction.TEMPFAIL, 451, "4.7.1")
    assert (table.journal[0].verdict, table.journal[0].decided_by, table.journal[0].score) == (
        Action.TEMPFAIL,
        "greylisted",
        70.0,
    )
    assert await table.seen(ShingleType.CLIENT_IP, IP) == 0
    assert (await table.message()).answer is ReplyAction.TEMPFAIL, "at once is too soon"

    table.now += 601
    assert (await table.message(sender="eve@a.example")).answer is ReplyAction.TEMPFAIL, (
        "it is about one sender"
    )
    reply = await table.message()
    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Ok"
    assert await table.seen(ShingleType.CLIENT_IP, IP) == 1


async def test_who_logged_in_is_never_put_off(tmp_path: Path) -> None:
    table = Table(tmp_path, GREY)
    await connect(table)
    table.session.learn({"auth_authen": "ann"})
    assert (await table.message()).answer is ReplyAction.ACCEPT


async def test_a_login_that_is_told_with_the_client_counts_at_once(tmp_path: Path) -> None:
    table = Table(
        tmp_path, BANNED.replace(f"client.ip == '{IP}'", f"client.ip == '{IP}' and not client.own")
    )
    assert (await table.session.connect(Client(ip=IP, login="ann"))).answer is ReplyAction.CONTINUE
    assert table.dns.asked == []
    assert (await table.session.connect(Client(ip=IP))).code == 554, (
        "the login ended with its connection"
    )
