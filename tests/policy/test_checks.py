"""Each check: what it finds, and the near miss that it must leave alone."""

import base64

import pytest

from oborona.message.findings import NAMES
from oborona.message.parse import parse
from oborona.policy.checks import CHECKS, FINDINGS
from oborona.policy.checks.context import CheckContext
from oborona.policy.decision import PARTIAL
from oborona.types import Client, Envelope

HEAD = (
    "From: Ann <ann@a.example>\nTo: bob@b.example\nDate: Fri, 20 Nov 2026 10:00:00 "
    "+0000\nMessage-ID: <1@a.example>\n"
)
NOW = 1_795_170_000.0  # 2026-11-20T10:20Z
ENVELOPE = Envelope(client=Client(ip="198.51.100.7", name="mail.a.example"))


def found(raw: str | bytes, envelope: Envelope = ENVELOPE) -> dict[str, str]:
    message = parse(raw if isinstance(raw, bytes) else raw.encode())
    context = CheckContext(message=message, envelope=envelope, site="mx.b.example", now=NOW)
    return {
        finding.name: finding.evidence
        for check in CHECKS
        if (finding := check(context)) is not None
    }


def html(body: str, head: str = HEAD) -> str:
    return f"{head}Subject: x\nMIME-Version: 1.0\nContent-Type: text/html\n\n{body}\n"


def attached(name: str, data: bytes) -> str:
    return (
        f"{HEAD}Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; "
        f'boundary="b"\n\n--b\nContent-Type: text/plain\n\nsee\n'
        f'--b\nContent-Type: application/octet-stream; name="{name}"\nContent-Transfer-Encoding: '
        f"base64\n"
        f"Content-Disposition: attachment; "
        f'filename="{name}"\n\n{base64.b64encode(data).decode()}\n--b--\n'
    )


def test_a_plain_letter_has_nothing() -> None:
    assert found(f"{HEAD}Subject: lunch\n\nAt noon?\n") == {}


def test_names_of_findings_are_unique_and_explained() -> None:
    assert not set(FINDINGS) & {*NAMES, PARTIAL}
    assert len(FINDINGS) == len(CHECKS)
    assert all(len(meaning) > 20 for meaning in FINDINGS.values())


GTUBE = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


def test_gtube_in_plain_sight_and_encoded() -> None:
    assert "gtube" in found(f"{HEAD}Subject: x\n\n{GTUBE}\n")
    coded = base64.b64encode(GTUBE.encode()).decode()
    assert "gtube" in found(
        f"{HEAD}MIME-Version: 1.0\nContent-Type: text/plain\nContent-Transfer-Encoding: "
        f"base64\n\n{coded}\n"
    )
    assert "gtube" not in found(f"{HEAD}Subject: x\n\n{GTUBE[:-1]}\n")


@pytest.mark.parametrize(
    ("line", "evidence"),
    [
        ("X-Mras: Ok", "x-mras"),
        ("X-MRAS-Score: 0 / 100", "x-mras-score"),
        ("Authentication-Results: mx.b.example; spf=pass", "authentication-results"),
        ("Authentication-Results: mx.a.example; spf=pass", None),
        ("X-Spam-Flag: NO", None),
    ],
)
def test_forged_verdict(line: str, evidence: str | None) -> None:
    assert found(f"{line}\n{HEAD}Subject: x\n\nhi\n").get("forged-verdict") == evidence


@pytest.mark.parametrize(
    ("helo", "ip", "name", "login", "hit"),
    [
        ("mx.b.example", "198.51.100.7", "", "", True),
        ("MX.b.example.", "198.51.100.7", "", "", True),
        ("b.example", "198.51.100.7", "dsl.isp.example", "", True),
        ("b.example", "198.51.100.7", "out.b.example", "", False),
        ("b.example", "198.51.100.7", "b.example", "", False),
        ("b.example", "198.51.100.7", "not-b.example", "", True),
        ("203.0.113.9", "198.51.100.7", "", "", True),
        ("[203.0.113.9]", "198.51.100.7", "", "", True),
        ("[198.51.100.7]", "198.51.100.7", "", "", False),
        ("[IPv6:2001:DB8::7]", "2001:db8::7", "", "", False),
        ("mail.a.example", "198.51.100.7", "", "", False),
        ("mx.b.example", "198.51.100.7", "", "ann", False),
        ("mx.b.example", "127.0.0.1", "", "", False),
        ("mx.b.example", "10.1.2.3", "", "", False),
        ("localhost", "198.51.100.7", "", "", True),
        ("LocalHost.LocalDomain", "198.51.100.7", "", "", True),
        ("localhost", "127.0.0.1", "", "", False),
        ("localhost", "10.1.2.3", "", "", False),
        ("localhost", "198.51.100.7", "", "ann", False),
        ("mail.c.example", "198.51.100.7", "", "", True),
        ("", "198.51.100.7", "", "", False),
    ],
)
def test_forged_helo(helo: str, ip: str, name: str, login: str, hit: bool) -> None:
    envelope = Envelope(
        client=Client(ip=ip, name=name),
        helo=helo,
        login=login,
        recipients=("bob@b.example",),
        server="mail.c.example",
    )
    assert ("forged-helo" in found(f"{HEAD}Subject: x\n\nhi\n", envelope)) is hit


@pytest.mark.parametrize(
    ("subject", "more", "body", "hit"),
    [
        ("Re: your account", "", "Click here", True),
        ("RE[2]: your account", "", "Click here", True),
        ("Отв: счет", "", "Нажмите", True),
        ("Re: your account", "In-Reply-To: <2@b.example>\n", "yes", False),
        ("Re: your account", "", "On Monday Bob wrote:\n> ok?\n\nyes", False),
        ("Regarding lunch", "", "hi", False),
        ("Fwd: lunch", "", "hi", False),
    ],
)
def test_forged_reply(subject: str, more: str, body: str, hit: bool) -> None:
    assert ("forged-reply" in found(f"{HEAD}{more}Subject: {subject}\n\n{body}\n")) is hit


@pytest.mark.parametrize(
    ("head", "evidence"),
    [
        (HEAD.replace("Date: Fri, 20 Nov 2026 10:00:00 +0000\n", ""), "no Date"),
        (HEAD.replace("Fri, 20 Nov 2026", "Fri, 25 Nov 2026"), "Date in the future"),
        (HEAD.replace("Fri, 20 Nov 2026 10:00:00 +0000", "yesterday"), "Date unreadable"),
        (HEAD.replace("Message-ID: <1@a.example>\n", ""), "no Message-ID"),
        (HEAD + "From: eve@e.example\n", "from 2 times"),
        (HEAD.replace("Ann <ann@a.example>", "Ann"), "From without address"),
        (HEAD.replace("From: Ann <ann@a.example>\n", ""), "no From"),
        (HEAD.replace("10:00:00 +0000", "23:00:00 -1200"), None),  # a day ahead is a time zone
    ],
)
def test_odd_headers(head: str, evidence: str | None) -> None:
    assert found(f"{head}Subject: x\n\nhi\n").get("odd-headers") == evidence


@pytest.mark.parametrize(
    ("sender", "more", "hit"),
    [
        ('"service@bank.example" <x@evil.test>', "", True),
        ('"Bank (service@bank.example)" <x@evil.test>', "", True),
        ('"ann@a.example" <ann@a.example>', "", False),
        ('"ann@mail.a.example" <ann@a.example>', "", False),
        ('"ann@a.example via List" <list@l.test>', "List-Id: <l.l.test>\n", False),
        ('"Ann @ work" <ann@a.example>', "", False),
    ],
)
def test_foreign_display_name(sender: str, more: str, hit: bool) -> None:
    head = HEAD.replace("Ann <ann@a.example>", sender)
    assert ("foreign-display-name" in found(f"{head}{more}Subject: x\n\nhi\n")) is hit


@pytest.mark.parametrize(
    ("link", "hit"),
    [
        ('<a href="http://evil.test/x">https://www.bank.com/login</a>', True),
        ('<a href="http://evil.test/x"><b>www.bank.com</b></a>', True),
        ('<a href="http://login.bank.com/x">www.bank.com</a>', False),
        # the sender's own click counter
        ('<a href="http://click.a.example/x">www.bank.com</a>', False),
        ('<a href="http://evil.test/x">click here</a>', False),
        ('<a href="http://evil.test/x">see www.bank.com for more</a>', False),
        ('<a href="mailto:x@evil.test">x@bank.com</a>', False),
        # one company under the suffixes of two countries, but not under any suffix that is free
        ('<a href="http://roses4you.com/x">www.roses4you.co.za</a>', False),
        ('<a href="http://roses4you.com.au/x">https://roses4you.de/</a>', False),
        ('<a href="http://roses4you.top/x">www.roses4you.com</a>', True),
        ('<a href="http://rose.de/x">www.rose.com</a>', True),  # too short to be one company's
        # gateways' wrappers, and one that was undone on the way in the link alone
        (
            '<a href="https://protect-eu.mimecast.com/s/abc?domain=www.bank.com">www.bank.com</a>',
            False,
        ),
        ('<a href="https://protect-eu.mimecast.com/s/abc?domain=evil.test">www.bank.com</a>', True),
        (
            '<a href="http://kb.bank.com/x">https://urldefense.com/v3/__http://kb.bank.com/x__;!a</a>',
            False,
        ),
        (
            '<a href="http://evil.test/x">https://urldefense.com/v3/__http://kb.bank.com/x__;!a</a>',
            True,
        ),
    ],
)
def test_link_mismatch(link: str, hit: bool) -> None:
    assert ("link-mismatch" in found(html(f"<p>Hello, {link}</p>"))) is hit


@pytest.mark.parametrize(
    ("number", "others", "way_out", "hit"),
    [(6, 2, True, False), (6, 2, False, True), (3, 0, True, True), (6, 9, True, True)],
    ids=["mailing", "no way out", "few links", "most lead elsewhere"],
)
def test_link_mismatch_through_a_mailers_click_counter(
    number: int, others: int, way_out: bool, hit: bool
) -> None:
    counted = "".join(f'<a href="http://c.mailer.test/{n}">{n}</a>' for n in range(number))
    others_ = "".join(f'<a href="http://o{n}.test/">{n}</a>' for n in range(others))
    text = html(f'{counted}{others_}<a href="http://c.mailer.test/x">www.bank.com</a>')
    if way_out:
        text = "List-Unsubscribe: <mailto:out@a.example>\n" + text
    assert ("link-mismatch" in found(text)) is hit


@pytest.mark.parametrize(
    ("link", "evidence"),
    [
        # rewritten by a gateway on the way: the reader comes out where he was told
        (
            "https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fshop.example%2Fa&data=1",
            None,
        ),
        (
            "https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fevil.example%2Fa&data=1",
            "shows shop.example leads to evil.example",
        ),
        # anybody's redirector may show what it likes, whatever its parameters say
        (
            "https://evil.example/?url=https%3A%2F%2Fshop.example%2Fa",
            "shows shop.example leads to evil.example",
        ),
    ],
)
def test_link_mismatch_behind_redirectors(link: str, evidence: str | None) -> None:
    assert (
        found(html(f"<a href='{link}'>https://shop.example/a</a>")).get("link-mismatch") == evidence
    )


@pytest.mark.parametrize(
    ("link", "evidence"),
    [
        ("http://bank.com@evil.example.com/", "begins with bank.com leads to evil.example.com"),
        (
            "http://www.bank.com%2Flogin@evil.example.com/",
            "begins with www.bank.com leads to evil.example.com",
        ),
        ("http://bank.com:x@192.0.2.1/", "begins with bank.com leads to 192.0.2.1"),
        ("http://ann@mail.example.com/", None),
        ("ftp://anonymous:ann%40a.example@files.example.com/", None),
        ("http://example.com@www.example.com/", None),
        ("http://shop.example.com/@bank.com", None),
        ("http://shop.example.com/?mail=ann@bank.com", None),
    ],
)
def test_link_userinfo(link: str, evidence: str | None) -> None:
    assert found(html(f"<a href='{link}'>here</a>")).get("link-userinfo") == evidence


@pytest.mark.parametrize(
    ("body", "head", "evidence"),
    [
        ("<a href='http://p\u0430ypal.com/'>x</a>", HEAD, "xn--pypal-4ve.com reads paypal.com"),
        ("<a href='http://xn--pypal-4ve.com/'>x</a>", HEAD, "xn--pypal-4ve.com reads paypal.com"),
        (
            "x",
            HEAD.replace("ann@a.example", "ann@xn--pypal-4ve.com"),
            "xn--pypal-4ve.com reads paypal.com",
        ),
        ("<a href='http://пример.рф/'>x</a> <a href='http://münchen.de/'>x</a>", HEAD, None),
        ("<a href='http://paypal.com/'>x</a>", HEAD, None),
    ],
)
def test_homograph_host(body: str, head: str, evidence: str | None) -> None:
    page = html(body, head).replace("text/html", "text/html; charset=utf-8")
    assert found(page).get("homograph-host") == evidence


@pytest.mark.parametrize(
    ("name", "data", "evidence"),
    [
        ("setup.exe", b"MZ\x90", "setup.exe"),
        ("invoice.pdf.scr", b"x", "invoice.pdf.scr (double extension)"),
        ("REPORT.VBS", b"x", "REPORT.VBS"),
        ("photo.jpg", b"MZ\x90\0\3\0\0\0", "photo.jpg (a program by its first bytes)"),
        ("report.pdf", b"%PDF-1.7", None),
        ("exe", b"x", None),
        ("notes.exe.txt", b"x", None),
    ],
)
def test_executable_attachment(name: str, data: bytes, evidence: str | None) -> None:
    assert found(attached(name, data)).get("executable-attachment") == evidence
