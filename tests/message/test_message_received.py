"""What mail servers write of who handed a message over, in their own forms, and what a client can
make of it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.received import FIRST_LINE, HELO, NOBODY, ReceivedHop, canonical, read

POSTFIX = (
    " from client.example (mail.a.example [192.0.2.9])\n"
    "\tby mx.test (Postfix) with ESMTP id 4bQ1xYz\n"
    "\tfor <joe@example.test>; Sun, 22 Nov 2026 10:00:00 +0000 (UTC)"
)
FORMS = {
    "Postfix": (
        POSTFIX,
        ReceivedHop(ip="192.0.2.9", name="mail.a.example", helo="client.example", queue_id="4bQ1xYz", recipient="joe@example.test"),
    ),
    "Postfix, no name, IPv6": (
        (" from [192.0.2.1] (unknown [IPv6:2001:DB8::0:1])\r\n\tby mx.test (Postfix) with "
            "SMTP id A1\r\n\tfor <x@y>; Sun"),
        ReceivedHop(ip="2001:db8::1", helo="[192.0.2.1]", queue_id="A1", recipient="x@y"),
    ),
    "Postfix, TLS and login": (
        (" from client.example (mail.a.example [192.0.2.9])\n"
        "\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits)\n"
        "\t key-exchange X25519 server-signature RSA-PSS (2048 bits))\n"
        '\t(Client CN "x (Authenticated sender: eve)", Issuer "y" (not verified))\n'
        "\t(Authenticated sender: joe@example.test)\n"
        "\tby mx.test (Postfix) with ESMTPSA id 4bQ1\n"
        "\tfor <ann@b.example>; Sun, 22 Nov 2026 10:00:00 +0000 (UTC)"),
        ReceivedHop(
            ip="192.0.2.9", name="mail.a.example", helo="client.example", login="joe@example.test", authenticated=True,
            queue_id="4bQ1", recipient="ann@b.example",
        ),
    ),
    "Postfix, login without its name": (
        (" from c (unknown [192.0.2.9])\n\tby mx.test (Postfix) with ESMTPSA id "
            "4bQ1\n\tfor <a@b>; Sun"),
        ReceivedHop(ip="192.0.2.9", helo="c", authenticated=True, queue_id="4bQ1", recipient="a@b"),
    ),
    "Postfix, several recipients": (
        (" from c (unknown [192.0.2.9])\n\tby mx.test (Postfix) with ESMTPS id "
            "4bQ1;\n\tSun, 22 Nov 2026 10:00:00 +0000"),
        ReceivedHop(ip="192.0.2.9", helo="c", queue_id="4bQ1"),
    ),
    "Postfix, sendmail(1)": (
        " by mx.test (Postfix, from userid 1000)\n\tid 4bQ1; Sun, 22 Nov 2026 10:00:00 +0000",
        ReceivedHop(queue_id="4bQ1"),
    ),
    "Exim": (
        (" from mail.a.example ([192.0.2.9])\n\tby mx.test with esmtps  (TLS1.3) tls "
            "TLS_AES_256_GCM_SHA384\n"
        "\t(Exim 4.96)\n\t(envelope-from <ann@a.example>)\n\tid 1xVCbh-0007BX-2J\n\tfor "
            "joe@example.test;\n\tSun, 22 Nov"),
        ReceivedHop(
            ip="192.0.2.9", name="mail.a.example", helo="mail.a.example", queue_id="1xVCbh-0007BX-2J",
            sender="ann@a.example", recipient="joe@example.test",
        ),
    ),
    "Exim, HELO is another": (
        (" from mail.a.example ([192.0.2.9]:4711 helo=client.example ident=joe)\n\tby "
            "mx.test with esmtp (Exim 4.96)\n\tid 1x-0-2J; Sun"),
        ReceivedHop(ip="192.0.2.9", name="mail.a.example", helo="client.example", queue_id="1x-0-2J"),
    ),
    "Exim, no name": (
        (" from [198.51.100.66] (helo=client.example)\n\tby mx.test with esmtpsa (Exim "
            "4.96)\n\tid 1x-0-2J;\n\tSun, 22 Nov"),
        ReceivedHop(ip="198.51.100.66", helo="client.example", authenticated=True, queue_id="1x-0-2J"),
    ),
    "Exim, neither": (
        " from [2001:db8::1]\n\tby mx.test with smtp (Exim 4.96)\n\tid 1x-0-2J; Sun",
        ReceivedHop(ip="2001:db8::1", helo="[2001:db8::1]", queue_id="1x-0-2J"),
    ),
    "Exim, port": (
        (" from [192.0.2.9] (port=4711 helo=c.example)\n\tby mx.test with esmtp (Exim "
            "4.96)\n\tid 1x-0-2J; Sun"),
        ReceivedHop(ip="192.0.2.9", helo="c.example", queue_id="1x-0-2J"),
    ),
    "Exim, a local program": (
        (" from joe by mx.test with local (Exim 4.96)\n\t(envelope-from "
            "<joe@mx.test>)\n\tid 1x-0-2J; Sun"),
        ReceivedHop(queue_id="1x-0-2J", sender="joe@mx.test"),
    ),
    "Sendmail": (
        (" from client.example (mail.a.example [192.0.2.9])\n\tby mx.test (8.17.1/8.17.1) with "
            "ESMTPS id 0AMA0Yx\n"
        "\t(version=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 bits=256 verify=NO)\n\tfor "
            "<joe@example.test>; Sun, 22 Nov"),
        ReceivedHop(ip="192.0.2.9", name="mail.a.example", helo="client.example", queue_id="0AMA0Yx", recipient="joe@example.test"),
    ),
    "Sendmail, a name that leads elsewhere": (
        (" from c (mail.a.example [192.0.2.9] (may be forged))\n\t(authenticated "
            "bits=0)\n\tby mx.test (8.17.1/8.17.1) with ESMTPSA id 0AMA; Sun"),
        ReceivedHop(ip="192.0.2.9", helo="c", authenticated=True, queue_id="0AMA"),
    ),
    "Sendmail, no name": (
        " from client.example ([192.0.2.9])\n\tby mx.test (8.17.1/8.17.1) with SMTP id 0AMA; Sun",
        ReceivedHop(ip="192.0.2.9", helo="client.example", queue_id="0AMA"),
    ),
    "Sendmail, ident": (
        " from c (eve@[192.0.2.9])\n\tby mx.test (8.17.1/8.17.1) with SMTP id 0AMA; Sun",
        ReceivedHop(ip="192.0.2.9", helo="c", queue_id="0AMA"),
    ),
    "Sendmail, ident and a name": (
        (" from c (eve@friend.example@mail.a.example [192.0.2.9])\n\tby mx.test "
            "(8.17.1/8.17.1) with SMTP id 0AMA; Sun"),
        ReceivedHop(ip="192.0.2.9", name="mail.a.example", helo="c", queue_id="0AMA"),
    ),
    "Exim, ident": (
        (" from [192.0.2.9] (helo=c ident=eve [10.0.0.1])\n\tby mx.test with esmtp (Exim "
            "4.96)\n\tid 1x-0-2J; Sun"),
        ReceivedHop(ip="192.0.2.9", helo="c", queue_id="1x-0-2J"),
    ),
    "Sendmail, a local program": (
        " (from joe@localhost)\n\tby mx.test (8.17.1/8.17.1/Submit) id 0AMA; Sun",
        ReceivedHop(queue_id="0AMA"),
    ),
    "OpenSMTPD": (
        (" from client.example (mail.a.example [192.0.2.9])\n\tby mx.test (OpenSMTPD) with "
            "ESMTPSA id 5a6b7c8d"
        " (TLSv1.3:TLS_AES_256_GCM_SHA384:256:NO) auth=yes user=joe\n\tfor "
            "<ann@b.example>;\n\tSun, 22 Nov 2026"),
        ReceivedHop(
            ip="192.0.2.9", helo="client.example", login="joe", authenticated=True, queue_id="5a6b7c8d",
            recipient="ann@b.example",
        ),
    ),
    "OpenSMTPD, a local program": (
        (" from localhost (mx.test [local])\n\tby mx.test (OpenSMTPD) with ESMTPA id "
            "5a6b7c8d\n\tfor <a@b>;\n\tSun"),
        ReceivedHop(name="", helo="localhost", authenticated=True, queue_id="5a6b7c8d", recipient="a@b"),
    ),
    "qmail": (
        (" from unknown (HELO client.example) (192.0.2.9)\n  by mx.test with SMTP; 22 Nov "
            "2026 10:00:00 -0000"),
        ReceivedHop(ip="192.0.2.9", helo="client.example"),
    ),
    "qmail, a name nobody verified": (
        (" from mail.a.example (joe@192.0.2.9)\n  by mx.test with ESMTPA; 22 Nov 2026 "
            "10:00:00 -0000"),
        ReceivedHop(ip="192.0.2.9", helo="mail.a.example", authenticated=True),
    ),
    "qmail's queue, from the network": (" (qmail 4711 invoked from network); 22 Nov 2026", ReceivedHop(handed_on=True)),
    "qmail's queue, from a program": (" (qmail 4711 invoked by uid 1000); 22 Nov 2026", ReceivedHop()),
    "Dovecot": (
        (" from mx.test ([127.0.0.1])\n\tby imap.test with LMTP\n\tid "
            "2AaBKx\n\t(envelope-from <ann@a.example>)\n\tfor <joe@example.test>; Sun"),
        ReceivedHop(handed_on=True, queue_id="2AaBKx", sender="ann@a.example", recipient="joe@example.test"),
    ),
    "spamass-milter": (
        (" from client.example (mail.a.example [192.0.2.9])\n\tby mx.test (Postfix/3.7) "
            "with ESMTP id 4bQ1;\n\tSun, 22 Nov"),
        ReceivedHop(ip="192.0.2.9", name="mail.a.example", helo="client.example", queue_id="4bQ1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("value", "want"), FORMS.values(), ids=FORMS)
def test_each_mail_server_is_understood(value: str, want: ReceivedHop) -> None:
    assert read(value.encode()) == want


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        " from client.example",
        " from c (d [999.0.2.9])\n\tby mx.test (Postfix) with SMTP id 1; Sun",
        " from c (d [192.0.2.9]) by mx.test (Postfix) with SMTP id 1; Sun",
        " by 2002:a05:6402:1 with SMTP id x1csp1; Sun",
    ],
)
def test_what_is_of_no_known_form_says_nothing(value: str) -> None:
    assert read(value.encode()) is None


LIES = [
    "x (friend.example [10.0.0.1])",
    "x (friend.example [10.0.0.1]) by mx.test (Postfix) with ESMTPSA id 1",
    "x (Authenticated sender: joe)",
    "[10.0.0.1] (helo=x",
    "[10.0.0.1] (Exim 4.96)",
    "joe by mx.test with local (Exim 4.96)",
    "friend.example ([10.0.0.1] helo=x)",
    "x with LMTP id 1",
    "(qmail 1 invoked from network)",
    "x\r",
    "x\x0bby mx.test with LMTP",
    "x" * 800,
]
SERVERS = {
    "Postfix": ((" from {} (mail.a.example [192.0.2.9])\n\tby mx.test (Postfix) with ESMTP id "
        "4bQ1\n\tfor <joe@example.test>; Sun"), "mail.a.example"),
    "Sendmail, no name": ((" from {} ([192.0.2.9])\n\tby mx.test (8.17.1/8.17.1) with ESMTP id "
        "4bQ1\n\tfor "
        "<joe@example.test>; Sun"), ""),
    "Exim": ((" from mail.a.example ([192.0.2.9] helo={})\n\tby mx.test with esmtp (Exim "
        "4.96)\n\tid 4bQ1\n\tfor joe@example.test; Sun"), "mail.a.example"),
    "Exim, no name": ((" from [192.0.2.9] (helo={})\n\tby mx.test with esmtp (Exim 4.96)\n\tid "
        "4bQ1\n\tfor "
        "joe@example.test; Sun"), ""),
}  # fmt: skip


def _tells_the_truth(server: str, helo: str) -> None:
    form, name = SERVERS[server]
    hop = read(form.format(helo).encode())
    assert hop is not None
    assert (hop.ip, hop.name) == ("192.0.2.9", name)
    assert not (hop.login)
    assert not (hop.authenticated)
    assert not (hop.handed_on)
    assert (hop.queue_id, hop.recipient) == ("4bQ1", "joe@example.test")


@pytest.mark.parametrize("helo", LIES)
@pytest.mark.parametrize("server", SERVERS)
def test_what_a_client_calls_itself_changes_nothing_else(server: str, helo: str) -> None:
    _tells_the_truth(server, helo)


@given(
    server=st.sampled_from(sorted(SERVERS)),
    helo=st.lists(
        st.sampled_from([*LIES, *'()[] =;<>@"\\\t', "from ", "by ", "with ", "ESMTPA", "helo=", "ident=", "[10.0.0.1]"])
        | st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=8),
        min_size=1, max_size=12,
    ),
)  # fmt: skip
def test_no_words_of_a_client_change_anything_else(server: str, helo: list[str]) -> None:
    said = "".join(helo)
    if not said.strip() or len(said.encode()) > FIRST_LINE - 100:
        return
    _tells_the_truth(server, said)


def test_a_long_helo_is_cut_and_one_that_a_relay_may_have_broken_makes_the_client_nobody() -> None:
    hop = read(POSTFIX.replace("client.example", "x" * 300).encode())
    assert hop is not None
    assert (hop.ip, hop.helo) == ("192.0.2.9", "x" * HELO)
    forged = "x" * 950 + " (friend.example [10.0.0.1])\n by mx.test (Postfix) with ESMTPSA id 1"
    assert read(POSTFIX.replace("client.example", forged).encode()) == ReceivedHop(ip=NOBODY)


def test_ipv4_in_ipv6_is_ipv4() -> None:
    assert canonical("::ffff:192.0.2.9") == "192.0.2.9"


@given(
    st.binary(max_size=400)
    | st.builds(
        lambda text, place, piece: text.encode()[:place] + piece + text.encode()[place:],
        st.sampled_from([value for value, _ in FORMS.values()]),
        st.integers(0, 300),
        st.binary(max_size=20),
    )
)
def test_any_octets_give_a_hop_or_none(value: bytes) -> None:
    hop = read(value)
    assert hop is None or not hop.ip or canonical(hop.ip) == hop.ip
