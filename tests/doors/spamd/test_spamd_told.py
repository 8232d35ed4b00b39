"""What stands above a message that a mail server hands on: read, taken off, and not believed where
it is the sender's.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors import rfc5322 as letter
from oborona.doors.spamd.codec import SpamdCodec, SpamdRequest
from oborona.doors.spamd.prepended_headers import ABOVE, MOST_RECIPIENTS, read_prepended
from oborona.doors.spamd.request import MessageToScan, TrustOptions, message_to_scan
from oborona.errors import PeerError
from oborona.message.received import ReceivedHop
from oborona.policy.local_clients import is_own
from oborona.types import Client, Envelope
from tests.peers.spamc import request

LETTER = (
    b"Received: from liar (good.example [10.9.9.9])\r\n\tby friend (Postfix) with ESMTPSA id "
    b"9; Sun\r\nFrom: ann@a.example\r\n\r\nAt noon?\r\n"
)
RECEIVED = (
    b"Received: from client.example (mail.a.example [192.0.2.9])\r\n\tby mx.test (Postfix) with "
    b"ESMTP id 4bQ1\r\n"
    b"\tfor <for@example.test>; Sun, 22 Nov 2026 10:00:00 +0000\r\n"
)
CLIENT = Client(ip="192.0.2.9", name="mail.a.example")
UNKNOWN = Client(unknown=True)
BELIEVING = TrustOptions(
    received=True, person="{user}@example.test", submission_port="587", limit_bytes=10_000
)
EXIM = (
    b"From MAILER-DAEMON Sun Nov 22 18:48:09 2026\nX-Envelope-From: <ann@a.example>\n"
    b'X-Envelope-To: joe@example.test, "a, b"@example.test\nReceived: from [198.51.100.66] '
        b'(helo=client.example)\n'
    b"\tby mx.test with esmtp (Exim 4.96)\n\t(envelope-from <ann@a.example>)\n\tid "
        b"1xVCbh-0007BX-2J;\n\tSun, 22 Nov 2026 18:48:09 +0000\n"
)  # fmt: skip


def tell(
    raw: bytes, protocol: str = "SPAMC/1.5", *headers: str, believing: TrustOptions = BELIEVING
) -> MessageToScan:
    found = SpamdCodec(believing.limit_bytes).feed(request("CHECK", raw, protocol, *headers))
    assert isinstance(found, SpamdRequest)
    return message_to_scan(found, believing)


def envelope(sender: str = "", *recipients: str) -> Envelope:
    return Envelope(
        client=CLIENT, helo="client.example", sender=sender, recipients=recipients, queue_id="4bQ1"
    )


@pytest.mark.parametrize(
    ("above", "want"),
    [
        (RECEIVED, envelope("", "for@example.test")),
        (
            (b"Return-Path: <ann@a.example>\r\nX-Original-To: "
                b"joe@example.test\r\nDelivered-To: j@mailbox.test\r\n") + RECEIVED,
            envelope("ann@a.example", "joe@example.test"),
        ),
        (b"Return-Path: <>\r\nDelivered-To: joe@example.test\r\n" + RECEIVED, envelope("", "joe@example.test")),
        (b"From ann@a.example Sun Nov 22 10:00:00 2026\r\n" + RECEIVED, envelope("ann@a.example", "for@example.test")),
        (b"From MAILER-DAEMON Sun Nov 22 10:00:00 2026\r\n" + RECEIVED, envelope("", "for@example.test")),
        (
            (b"X-Envelope-From: <ann@a.example>\r\nX-Envelope-To: "
                b"<joe@example.test>\r\nX-Envelope-To: <eve@example.test>\r\n") + RECEIVED,
            envelope("ann@a.example", "joe@example.test", "eve@example.test"),
        ),
        (
            (b"Return-Path: <ann@a.example>\r\nReceived: (qmail 4711 invoked from "
                b"network); 22 Nov\r\n") + RECEIVED,
            envelope("ann@a.example", "for@example.test"),
        ),
        (
            (b"Return-Path: <ann@a.example>\r\nDelivered-To: joe\r\nReceived: from mx.test "
                b"([127.0.0.1])\r\n\tby imap with LMTP\r\n\tid 1; Sun\r\n") + RECEIVED,
            envelope("ann@a.example", "joe"),
        ),
    ],
    ids=["Received", "Postfix", "bounce", "mailbox", "mailbox, bounce", "spamass-milter", "qmail", "Dovecot"],
)  # fmt: skip
def test_the_mail_servers_lines_say_the_envelope_and_are_not_the_messages(
    above: bytes, want: Envelope
) -> None:
    for raw in (above + LETTER, (above + LETTER).replace(b"\r\n", b"\n")):
        found = tell(raw)
        assert found.envelope == want
        assert found.message == letter.raw_message_of(LETTER, 10_000)
        assert found.port == ""


def test_exim_says_it_above_and_in_its_own_line() -> None:
    found = tell(EXIM + LETTER.replace(b"\r\n", b"\n"))
    assert found.envelope == Envelope(
        client=Client(ip="198.51.100.66"),
        helo="client.example",
        sender="ann@a.example",
        recipients=("joe@example.test", '"a, b"@example.test'),
        queue_id="1xVCbh-0007BX-2J",
    )
    assert found.message == letter.raw_message_of(LETTER, 10_000)


def test_what_others_wrote_above_the_line_stays() -> None:
    above = b"X-Virus-Scanned: yes\r\nReturn-Path: <ann@a.example>\r\nDKIM-Filter: x\r\n"
    found = tell(above + RECEIVED + LETTER)
    assert found.envelope.sender == "ann@a.example"
    assert found.message == letter.raw_message_of(
        b"X-Virus-Scanned: yes\r\nDKIM-Filter: x\r\n" + LETTER, 10_000
    )


@pytest.mark.parametrize(
    "raw",
    [
        (b"Return-Path: <eve@bad.example>\r\nDelivered-To: root@example.test\r\nFrom: "
            b"a@b\r\n\r\nReceived: from x (y [192.0.2.1])\r\n\tby z (Postfix) with SMTP id "
            b"1\r\n"),
        b"Return-Path: <eve@bad.example>\r\nReceived: by relay.example with HTTP; Sun\r\n" + RECEIVED + b"\r\nhi\r\n",
        b"X-A: b\r\n" * ABOVE + RECEIVED + b"\r\nhi\r\n",
        b"X-Envelope-From: <eve@bad.example>\r\nFrom: a@b\r\n\r\nhi\r\n",
        b"no header\r\n" + RECEIVED + b"\r\nhi\r\n",
        b"\r\n" + RECEIVED,
        b"",
    ],
    ids=["no Received", "of another form", "far below", "X-Envelope without Exim", "no header", "no header at all", "nothing"],
)  # fmt: skip
def test_without_a_line_of_the_mail_server_on_top_nothing_is_known_and_nothing_taken_off(
    raw: bytes,
) -> None:
    found = tell(raw)
    assert found.envelope == Envelope(client=UNKNOWN)
    assert not is_own(found.envelope), "a stranger's, for all we know"
    assert found.message == letter.raw_message_of(raw, 10_000)


@pytest.mark.parametrize(
    ("line", "own"),
    [
        (b"Received: by mx.test (Postfix, from userid 1000)\r\n\tid 4bQ1; Sun\r\n", True),
        (
            (
                b"Received: from joe by mx.test with local (Exim 4.96)\r\n\tid 1xVCbh-0007BX-2J; "
                b"Sun\r\n"
            ),
            True,
        ),
        (
            (
                b"Received: from joe by mx.test with local-smtp (Exim 4.98-RC1)\r\n\tid 1xV-0-2J; "
                b"Sun\r\n"
            ),
            True,
        ),
        (b"Received: (qmail 4711 invoked by uid 1000); 22 Nov\r\n", True),
        (b"Received: from mx.test ([127.0.0.1])\r\n\tby imap with LMTP\r\n\tid 1; Sun\r\n", False),
        (b"Received: from x by y with local (client.test [192.0.2.66]) by mx.test; Sun\r\n", False),
        (b"Received: from [x (client.test)] (192.0.2.66) by mx.test with SMTP; Sun\r\n", False),
    ],
    ids=[
        "Postfix",
        "Exim",
        "Exim, SMTP",
        "qmail",
        "LMTP alone",
        "HELO like a program",
        "another server",
    ],
)
def test_mail_of_a_local_program_is_our_own_and_that_of_nobody_knows_whom_is_not(
    line: bytes, own: bool
) -> None:
    found = tell(line + b"From: ann@a.example\r\n\r\nAt noon?\r\n")
    assert found.envelope.client == Client(unknown=not own)
    assert is_own(found.envelope) is own


def test_a_line_below_the_mail_servers_own_is_the_senders() -> None:
    lies = (
        b"X-Envelope-From: <eve@bad.example>\r\nReturn-Path: "
        b"<eve@bad.example>\r\nDelivered-To: root@example.test\r\n"
    )
    found = tell(RECEIVED + lies + LETTER)
    assert found.envelope == envelope("", "for@example.test")
    assert found.message == letter.raw_message_of(lies + LETTER, 10_000)


def test_a_setting_says_that_there_is_no_such_line() -> None:
    believing = TrustOptions(
        received=False, person="{user}", submission_port="587", limit_bytes=10_000
    )
    raw = b"Return-Path: <ann@a.example>\r\n" + RECEIVED.replace(b"ESMTP", b"ESMTPSA") + LETTER
    found = tell(raw, "SPAMC/1.5", "User: joe@example.test", believing=believing)
    assert found.envelope == Envelope(client=UNKNOWN, recipients=("joe@example.test",))
    assert not is_own(found.envelope)
    assert found.message == letter.raw_message_of(raw, 10_000)
    assert found.port == ""


@pytest.mark.parametrize(
    ("line", "login", "port"),
    [
        (RECEIVED, "", ""),
        (RECEIVED.replace(b"ESMTP ", b"ESMTPSA "), "", "587"),
        (RECEIVED.replace(b"\tby mx", b"\t(Authenticated sender: joe)\r\n\tby mx"), "joe", ""),
    ],
    ids=["nobody", "somebody", "joe"],
)
def test_who_logged_in_is_one_of_ours(line: bytes, login: str, port: str) -> None:
    found = tell(line + LETTER)
    assert (found.envelope.login, found.port) == (login, port)


@pytest.mark.parametrize(
    ("user", "want"),
    [
        ("joe", ("joe@example.test",)),
        ("joe@b.example", ("joe@b.example",)),
        ("", ()),
        ("no such@@", ()),
        ("joe\u2028", ()),
    ],
)
def test_the_reader_is_the_recipient_where_none_is_named(user: str, want: tuple[str, ...]) -> None:
    headers = [f"User: {user}"] if user else []
    assert (
        tell(LETTER.replace(b"Postfix", b"other"), "SPAMC/1.5", *headers).envelope.recipients
        == want
    )
    assert tell(RECEIVED + LETTER, "SPAMC/1.5", *headers).envelope.recipients == (
        "for@example.test",
    )


def rspamc(raw: bytes, **said: str) -> MessageToScan:
    headers = {"IP": "198.51.100.66", "Queue-Id": "1xVCbh-0007BX-2J"} | said
    lines = [f"{name}: {value}" for name, value in headers.items() if value]
    return tell(raw, "RSPAMC/1.3", *lines, "Rcpt: <joe@example.test>", "Rcpt: <eve@example.test>")


def test_rspamc_says_the_envelope_itself() -> None:
    found = rspamc(
        EXIM + LETTER, From="<bob@b.example>", Helo="c", Hostname="Mail.B.example", User="bob"
    )
    assert found.envelope == Envelope(
        client=Client(ip="198.51.100.66", name="mail.b.example"),
        helo="c",
        sender="bob@b.example",
        recipients=("joe@example.test", "eve@example.test"),
        login="bob",
        queue_id="1xVCbh-0007BX-2J",
    )
    assert found.message == letter.raw_message_of(LETTER, 10_000)


@pytest.mark.parametrize(
    ("said", "taken_off"),
    [
        ({}, True),
        ({"Queue-Id": ""}, True),
        ({"IP": "192.0.2.1"}, True),
        ({"IP": "192.0.2.1", "Queue-Id": "another"}, False),
        ({"IP": "", "Queue-Id": ""}, False),
    ],
)
def test_a_received_line_is_taken_off_where_it_is_of_this_message(
    said: dict[str, str], taken_off: bool
) -> None:
    received = EXIM[EXIM.index(b"Received") :]
    want = LETTER if taken_off else received + LETTER
    assert rspamc(EXIM + LETTER, **said).message == letter.raw_message_of(want, 10_000)


def test_an_address_of_a_client_that_is_none_is_an_error() -> None:
    with pytest.raises(PeerError, match="not a client address: 'x'"):
        rspamc(LETTER, IP="x")


def test_a_cut_off_message_is_as_large_as_it_was_said_to_be() -> None:
    believing = TrustOptions(
        received=True, person="{user}", submission_port="", limit_bytes=len(RECEIVED) + 140
    )
    raw = RECEIVED + LETTER * 20
    found = tell(raw, believing=believing)
    assert found.message.truncated
    assert found.message.size == len(LETTER) * 20
    assert found.message.raw == (LETTER * 2)[:140]


def test_recipients_are_bounded() -> None:
    raw = b"X-Envelope-To: " + b"a@b," * (MOST_RECIPIENTS + 10) + b"\n" + RECEIVED + b"\n"
    assert len(read_prepended(raw, lambda _hop: True).recipients) == MOST_RECIPIENTS


PIECES = [
    RECEIVED, EXIM, b"Return-Path: <a@b>\n", b"X-Envelope-To: a, b\r\n", b"Received: (qmail 1 invoked from network)\n", b"From x\n",
    b"Received: from x\n\tby y with LMTP\n", b"\n", b"X-Mras: Ok\r\n", b"Received: by z\n", b"\r", b"\tfold\n", b"\0", b"From : x\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=10), max_size=10))
def test_any_octets_are_a_message_and_what_is_taken_off_is_whole_lines(pieces: list[bytes]) -> None:
    raw = b"".join(pieces)
    found = read_prepended(raw, lambda _hop: True)
    kept = found.inner(raw)
    assert len(kept) == len(raw) - sum(end - start for start, end in found.cuts)
    ends = [end for cut in found.cuts for end in cut]
    assert ends == sorted(ends), "in order, and apart"
    for start, end in found.cuts:
        assert start == 0 or raw[start - 1 : start] == b"\n"
        assert end == len(raw) or raw[end - 1 : end] == b"\n"
    assert read_prepended(raw, lambda _hop: False).hop == ReceivedHop(handed_on=True)
