"""`messages.dissect`, `messages.authenticate`, `scan.try`: uploads of anybody's making."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.desk.asks.uploads import (
    TooLargeError,
    UploadedMessage,
    authenticate_upload,
    dissect_upload,
    try_scan,
)
from oborona.desk.call import CALLS, CallError, NotAllowedError
from oborona.people.rights import Right, Role
from tests.authentication.signing import LETTER, dkim_field, rsa
from tests.cli.journaled import LINKS, LOTTERY, WORDS
from tests.desk.messages_site import TERMINAL, make_site, scoped
from tests.peers.dns import Zones

ASKS: list[Callable[..., Any]] = [dissect_upload, authenticate_upload, try_scan]


def upload(raw: bytes = LOTTERY, **more: object) -> UploadedMessage:
    """Return an upload as the API decodes it."""
    asked = {"message": base64.b64encode(raw).decode(), **more}
    return msgspec.json.decode(msgspec.json.encode(asked), type=UploadedMessage)


def test_they_need_the_right_to_content_and_no_scope_may() -> None:
    for name in ("messages.dissect", "messages.authenticate", "scan.try"):
        assert CALLS[name].needs == (Right.CONTENT,)
        assert not CALLS[name].scoped


def test_a_message_is_judged_and_counted_nowhere(tmp_path: Path) -> None:
    site = make_site(tmp_path, LINKS + WORDS)
    before = sorted(site.state.rglob("*"))
    tried = try_scan(site, TERMINAL, upload(ip="198.51.100.7", sender="<ann@a.example>"))
    assert (tried.verdict.verdict, tried.verdict.score) == ("spam", 110)
    assert tried.explanation.now is not None
    assert {hit.name for hit in tried.explanation.now.rules} == {"LINKS", "WORDS"}
    assert (tried.explanation.client, tried.explanation.sender) == ("198.51.100.7", "ann@a.example")
    assert tried.proof is None, "the DNS was not asked"
    assert sorted(site.state.rglob("*")) == before


def test_a_message_is_taken_apart(tmp_path: Path) -> None:
    found = dissect_upload(make_site(tmp_path, WORDS), TERMINAL, upload())
    assert "You won the lottery" in found.shown
    assert {one.domain for one in found.entities} >= {"one.example", "two.example"}
    assert found.file == "upload"


def test_every_question_to_the_dns_is_told(tmp_path: Path, zones: Zones) -> None:
    zones.add(
        {
            "example.org": {"TXT": "v=spf1 ip4:9.10.11.12 -all"},
            "s1._domainkey.example.org": {"TXT": rsa().record},
        }
    )
    site = make_site(tmp_path, dns__servers=zones.setting, site__name="mx.example")
    signed = dkim_field(LETTER, rsa()) + LETTER
    asked = upload(signed, ip="9.10.11.12", helo="mail.example.org", sender="anna@example.org")
    report = authenticate_upload(site, TERMINAL, asked)
    methods = {one.method: one for one in report.methods}
    assert list(methods) == ["iprev", "SPF of HELO", "SPF of MAIL FROM", "DKIM", "ARC", "DMARC"]
    assert methods["SPF of MAIL FROM"].outcomes[0].result == "pass"
    assert methods["DKIM"].outcomes[0].result == "pass"
    assert any(step.name == "s1._domainkey.example.org" for step in methods["DKIM"].steps)
    assert report.results.startswith("mx.example;")
    assert [one.method for one in authenticate_upload(site, TERMINAL, upload()).methods] == [
        "DKIM",
        "ARC",
        "DMARC",
    ]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    "more", [{"ip": "999.1.1.1"}, {"sender": "a b@c.example"}, {"recipients": ["a@b\r\nDATA"]}]
)
def test_an_envelope_that_is_none_is_told(
    tmp_path: Path, ask: Callable[..., Any], more: dict[str, Any]
) -> None:
    with pytest.raises(CallError, match=r"is no IP address|holds blanks"):
        ask(make_site(tmp_path), TERMINAL, upload(**more))


@pytest.mark.parametrize("ask", ASKS)
def test_what_is_larger_than_a_scan_takes_is_refused(
    tmp_path: Path, ask: Callable[..., Any]
) -> None:
    site = make_site(tmp_path, worker__max_message_bytes="65536")
    with pytest.raises(TooLargeError, match="more than 65536 octets"):
        ask(site, TERMINAL, upload(b"x" * 65_537))
    assert TooLargeError.status == 413


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"message": "?"},
        {"message": "", "recipients": ["a@b.example"] * 101},
        {"message": "", "helo": "x" * 999},
        {"message": "", "more": 1},
    ],
)
def test_an_upload_that_is_none_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(asked), type=UploadedMessage)


@pytest.mark.parametrize("ask", ASKS)
def test_who_must_say_why_says_why(tmp_path: Path, ask: Callable[..., Any]) -> None:
    site = make_site(tmp_path)
    for role in (Role.SUPPORT, Role.ADMIN):
        with pytest.raises(NotAllowedError, match="say why"):
            ask(site, scoped(role=role), upload(b"x", reason="  "))
        assert ask(site, scoped(role=role), upload(b"x", reason="ticket 7"))
    assert ask(site, scoped(role=Role.ANALYST), upload(b"x"))


HOSTILE = [
    b"",
    b"\0" * 5000,
    b"From: \xff\xfe\r\nSubject: =?utf-8?b?7aCA?=\r\n\r\n\xed\xa0\x80",
    b"Content-Type: multipart/mixed; boundary=a\r\n\r\n" + b"--a\r\n" * 20_000,
    b"Content-Type: text/html\r\n\r\n" + b"<div>" * 50_000,
    b"Subject: x\r\n" * 20_000,
    b"DKIM-Signature: v=1; a=rsa-sha256; d=x.example; s=a; b=\r\n" * 300 + b"\r\n",
]


@pytest.mark.parametrize("ask", [dissect_upload, try_scan])
@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_messages_are_answered(tmp_path: Path, ask: Callable[..., Any], raw: bytes) -> None:
    msgspec.json.encode(ask(make_site(tmp_path, LINKS + WORDS), TERMINAL, upload(raw)))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(raw=st.binary(max_size=400), sender=st.text(max_size=30), helo=st.text(max_size=30))
def test_any_upload_is_answered_or_refused_in_words(
    tmp_path: Path, raw: bytes, sender: str, helo: str
) -> None:
    site = make_site(tmp_path, WORDS)
    try:
        msgspec.json.encode(
            try_scan(site, TERMINAL, UploadedMessage(message=raw, sender=sender, helo=helo))
        )
    except CallError as error:
        assert "holds blanks" in str(error)  # noqa: PT017 - either is right
