"""Alerts on their way: by webhook and mail, once and again, and whatever happens to them nobody
waits.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import hashlib
import hmac
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope

from oborona.config import Settings
from oborona.config.alarm import AlarmSettings
from oborona.daemon.alarm.alarm import ALERTS, MOST_KINDS, AlertDispatcher, open_alarm
from oborona.daemon.alarm.alert_mail import alert_mail
from oborona.daemon.alarm.webhook import SIGNATURE
from oborona.errors import ConfigError
from oborona.telemetry.alert import Alert, AlertKind

NOW: Final = 1_795_170_000.0
KEY: Final = b"0123456789abcdef"
WAIT_S: Final = 30.0


def alert(kind: str = AlertKind.WAVE, **evidence: object) -> Alert:
    return Alert(
        kind=kind,
        title="50 messages were moved",
        text="Within ten minutes.\nUsually: 2.",
        time=NOW,
        evidence=evidence,
    )


class Hook:
    """Takes what is posted, and answers what it is told to; the last answer stays."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers) or [200]
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.signatures: list[str] = []
        self.came = asyncio.Condition()
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        async with self.came:
            self.raw.append(raw)
            self.bodies.append(msgspec.json.decode(raw))
            self.signatures.append(request.headers.get(SIGNATURE, ""))
            self.came.notify_all()
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status == 0:
            await asyncio.sleep(3600)
        return web.Response(status=status, headers={"Location": self.url} if status == 302 else {})

    async def wait(self, number: int) -> None:
        async with asyncio.timeout(WAIT_S), self.came:
            await self.came.wait_for(lambda: len(self.bodies) >= number)


@asynccontextmanager
async def hooked(hook: Hook) -> AsyncIterator[Hook]:
    app = web.Application()
    app.router.add_post("/hook", hook.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield hook
    finally:
        await runner.cleanup()


@asynccontextmanager
async def alarmed(key: bytes = b"", **settings: object) -> AsyncIterator[AlertDispatcher]:
    asked = msgspec.convert({"interval_s": 1, "deadline_s": 20, **settings}, AlarmSettings)
    found = AlertDispatcher(asked, "mx.test", key, clock=lambda: NOW, pause_s=0.01)
    try:
        yield found
    finally:
        await found.close()


async def outcome(key: str, number: int = 1) -> None:
    channel, came = key.split()
    async with asyncio.timeout(WAIT_S):
        while ALERTS.value(channel, came) < number:  # noqa: ASYNC110 - nobody is told of a count
            await asyncio.sleep(0.01)


async def test_a_webhook_gets_all_of_it_signed() -> None:
    async with hooked(Hook()) as hook, alarmed(KEY, webhook=hook.url) as told:
        await told.raise_(alert(moved=50, ids=["A", "B"]))
        await hook.wait(1)
        await outcome("webhook sent")
    assert hook.bodies == [
        {
            "kind": "wave",
            "title": "50 messages were moved",
            "text": "Within ten minutes.\nUsually: 2.",
            "time": "2026-11-20T10:20:00+00:00",
            "site": "mx.test",
            "more": 0,
            "evidence": {"moved": 50, "ids": ["A", "B"]},
        }
    ]
    wanted = hmac.new(KEY, str(int(NOW)).encode() + b"." + hook.raw[0], hashlib.sha256).hexdigest()
    assert hook.signatures == [f"t={int(NOW)},v1={wanted}"]


@pytest.mark.parametrize(
    ("answers", "posted", "outcome_"),
    [
        ((500, 503, 200), 3, "webhook sent"),
        ((429, 200), 2, "webhook sent"),
        ((500,), 4, "webhook failed"),
        ((404, 200), 1, "webhook failed"),
        ((302, 200), 1, "webhook failed"),
    ],
)
async def test_what_may_do_later_is_tried_again(
    answers: tuple[int, ...], posted: int, outcome_: str
) -> None:
    async with hooked(Hook(*answers)) as hook, alarmed(webhook=hook.url) as told:
        await told.raise_(alert())
        await outcome(outcome_)
        assert len(hook.bodies) == posted
        assert hook.signatures[0] == ""


async def test_a_peers_text_that_is_no_unicode_keeps_no_alert_back() -> None:
    async with hooked(Hook()) as hook, alarmed(webhook=hook.url, mail_to="ann@b.example") as told:
        odd = msgspec.structs.replace(
            alert(examples=[{"subject": "a\udcffb"}]), text="the latest: \ud800"
        )
        await told.raise_(odd)
        await hook.wait(1)
        await outcome("webhook sent")
    assert hook.bodies[0]["evidence"] == {"examples": [{"subject": "a?b"}]}
    assert hook.bodies[0]["text"] == "the latest: ?"


async def test_a_flood_is_told_as_one() -> None:
    async with hooked(Hook()) as hook, alarmed(webhook=hook.url) as told:
        await told.raise_(alert(number=0))
        await hook.wait(1)
        for number in range(1, 43):
            await told.raise_(alert(number=number))
        await told.raise_(alert(AlertKind.RUNAWAY))
        await hook.wait(3)
        await outcome("webhook sent", 3)
    first, other, rest = hook.bodies
    assert (first["more"], first["evidence"]["number"]) == (0, 0)
    assert (other["kind"], other["more"]) == ("runaway", 0), "another kind does not wait"
    assert (rest["more"], rest["evidence"]["number"]) == (41, 42)


async def test_a_flood_is_logged_as_one_and_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    clock, ahead = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: clock() + ahead[0])
    with caplog.at_level(logging.WARNING):
        async with alarmed(interval_s=600) as told:
            for _ in range(500):
                await told.raise_(alert("campaign"))
            await told.raise_(alert("wave"))
            ahead[0] += 600
            await told.raise_(alert("campaign"))
    logged = [
        fields
        for one in caplog.records
        if one.getMessage() == "alert" and (fields := vars(one)["fields"])
    ]
    assert [(one["kind"], one.get("not_logged_before")) for one in logged] == [
        ("campaign", None),
        ("wave", None),
        ("campaign", 499),
    ]


async def test_nothing_holds_the_caller_up() -> None:
    """A hook that never answers.

    A thousand alerts of a hundred kinds: each call returns at once, and memory is bounded.
    """
    async with hooked(Hook(0)) as hook, alarmed(webhook=hook.url) as told:
        async with asyncio.timeout(WAIT_S):
            for number in range(1000):
                await told.raise_(alert(f"kind {number % 100}"))
        await hook.wait(1)
        assert len(told._waiting) <= MOST_KINDS
        assert ALERTS.value("all", "dropped") > 0


async def test_nothing_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    async with alarmed(
        webhook="http://127.0.0.1:1/", mail_to="a@b.example", mail_server="127.0.0.1:1", attempts=1
    ) as told:
        await told.raise_(alert(odd=object()))
        await told.raise_(alert(cycle=float("nan")))
        with caplog.at_level(logging.ERROR):
            await outcome("webhook failed")
            await outcome("mail failed")


async def test_it_is_logged_whoever_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with alarmed() as told:
        with caplog.at_level(logging.WARNING):
            await told.raise_(alert(moved=50))
    (record,) = [one for one in caplog.records if one.getMessage() == "alert"]
    assert record.__dict__["fields"]["evidence_moved"] == 50
    assert ALERTS.values == {}


class Letters:
    """A mail server's handler: keeps what comes, or refuses it."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.came: list[Envelope] = []

    async def handle_DATA(self, _server: SMTP, _session: object, envelope: Envelope) -> str:  # noqa: N802
        if self.refuses:
            return self.refuses
        self.came.append(envelope)
        return "250 OK"


@asynccontextmanager
async def mailed(letters: Letters) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(letters, loop=loop, hostname="mail.test"), "127.0.0.1", 0
    )
    async with server:
        yield "{}:{}".format(*server.sockets[0].getsockname())


async def test_a_mail_that_nobody_answers() -> None:
    letters = Letters()
    async with (
        mailed(letters) as server,
        alarmed(mail_to="ann@b.example bob@b.example", mail_server=server) as told,
    ):
        await told.raise_(alert(text_of="Ünïcode\nline"))
        await outcome("mail sent")
    (envelope,) = letters.came
    assert envelope.mail_from in ("", "<>", None)
    assert envelope.rcpt_tos == ["ann@b.example", "bob@b.example"]
    assert isinstance(envelope.content, bytes)
    message = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert message["Subject"] == "[mx.test] 50 messages were moved"
    assert message["From"] == "Oborona <oborona@mx.test>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert "Usually: 2." in message.get_content()


@pytest.mark.parametrize(
    ("says", "outcome_"), [("550 no", "mail failed"), ("451 later", "mail failed")]
)
async def test_a_mail_server_may_refuse(says: str, outcome_: str) -> None:
    async with (
        mailed(Letters(says)) as server,
        alarmed(mail_to="ann@b.example", mail_server=server, attempts=2) as told,
    ):
        await told.raise_(alert())
        await outcome(outcome_)


def test_a_subject_is_one_line() -> None:
    raw = alert_mail(
        "one\r\nBcc: x@y.example\0",
        "text",
        sender="a@b.example",
        recipients=["c@d.example"],
        now=NOW,
    )
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message["Bcc"] is None
    assert "Bcc" in message["Subject"]


async def test_what_waits_is_told_at_the_end() -> None:
    async with hooked(Hook()) as hook, alarmed(webhook=hook.url, interval_s=3600) as told:
        await told.raise_(alert())
        await hook.wait(1)
        await told.raise_(alert())
        await told.close(WAIT_S)
        assert len(hook.bodies) == 2


def test_a_key_is_read_or_missed(tmp_path: Path) -> None:
    file = tmp_path / "key"
    settings = Settings(
        alarm=AlarmSettings(webhook="https://x.example/", webhook_key_file=str(file))
    )
    with pytest.raises(ConfigError, match="webhook_key_file"):
        open_alarm(settings, "mx.test", lambda: NOW)
    file.write_bytes(b"short\n")
    with pytest.raises(ConfigError, match="less than 16"):
        open_alarm(settings, "mx.test", lambda: NOW)
    file.write_bytes(KEY + b"\n")
    assert open_alarm(settings, "mx.test", lambda: NOW)._key == KEY
