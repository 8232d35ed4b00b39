"""Checks of how mail is written and by whom: what each finds, and the near miss that it must leave
alone.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.parse import parse
from oborona.policy.checks import CHECKS
from oborona.policy.checks.context import CheckContext
from oborona.types import Client, Envelope
from tests.policy.shipped import shipped

NOW = 1_795_170_000.0  # 2026-11-20T10:20Z
ENVELOPE = Envelope(client=Client(ip="198.51.100.7", name="mail.a.example"))


def letter(text: str = "At noon?", **fields: str) -> str:
    given = {
        "From": "Ann <ann@a.example>",
        "To": "bob@b.example",
        "Subject": "lunch",
        "Date": "Fri, 20 Nov 2026 10:00:00 +0000",
        "Message-ID": "<1@a.example>",
    } | {name.replace("_", "-"): value for name, value in fields.items()}
    return "".join(f"{name}: {value}\n" for name, value in given.items()) + f"\n{text}\n"


def found(raw: str | bytes) -> dict[str, str]:
    message = parse(raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape"))
    context = CheckContext(
        message=message, envelope=ENVELOPE, site="mx.b.example", now=NOW, brands=shipped().brands
    )
    return {
        finding.name: finding.evidence
        for check in CHECKS
        if (finding := check(context)) is not None
    }


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("forged-mailer", letter(X_Mailer="Microsoft Outlook Express 6.00.2600.0000", Message_ID="<77.qq@a.example>")),
        ("forged-mailer", letter(X_Mailer="The Bat! (v1.52f)", Message_ID="<abc@a.example>")),
        ("subject-tail", letter(Subject="cheap phones          xk3Qz9")),
        ("stale-date", letter(Received="from a by b; Mon, 23 Nov 2026 10:00:00 +0000")),
        ("from-name-shouts", letter(From="MEGA OFFERS <a@a.example>")),
        ("brand-in-name", letter(From="PayPal Support <service@secure-pay.example>")),
        ("brand-in-name", letter(From="P\u0430yPal <service@paypal-security.example>")),
        ("odd-port", letter("see http://shop.example:8123/rx")),
        ("link-into-uploads", letter("see https://club.example/wp-content/uploads/2025/09/a.php?x=1")),
        ("link-into-uploads", letter("see https://club.example/wp-includes/js/bank/index.html")),
        ("link-into-uploads", letter("see https://club.example/images/.x/pay/")),
        ("link-into-uploads", letter("see https://club.example/.well-known/pki/login.html")),
        ("text-shouts", letter("THIS LETTER WILL CHANGE YOUR LIFE FOREVER, READ EVERY WORD, SEND "
            "MONEY TODAY, "
            "TELL FIVE FRIENDS ABOUT THIS")),
        ("text-exclaims", letter("Hurry! Now! Today! Really! Buy it!")),
        ("text-of-money", letter("from $5 to $10, then $20, and 30 EUR")),
        ("text-tail", letter("Buy now, and tell your friends\n\nxqzvtrkwpl")),
        ("unlisted-way-out", letter("no more: http://shop.example/unsubscribe?id=7")),
        ("needless-base64", letter("QnV5IG5vdyBhbmQgdGVsbCBhbGwgeW91ciBmcmllbmRzIGFib3V0IHRoaXMgc2hvcCwgd2hpY2ggaXMgdGhlIGJlc3Qgb25lIGluIHRvd24sIGFuZCB0aGUgY2hlYXBlc3QsIHRvby4=", MIME_Version="1.0", Content_Type="text/plain", Content_Transfer_Encoding="base64")),
    ],
)  # fmt: skip
def test_what_is_found(name: str, raw: str) -> None:
    assert name in found(raw)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("forged-mailer", letter(X_Mailer="Microsoft Outlook Express 6.00.2600.0000", Message_ID="<000701c24f3a$1f2e3d4c$0200a8c0@a>")),
        ("forged-mailer", letter(X_Mailer="Microsoft Outlook Express Macintosh Edition - 5.01", Message_ID="<B98A7C.12%a@a>")),
        ("forged-mailer", letter(X_Mailer="iPhone Mail (22B91)", Message_ID="<A1B2C3D4-0F1E-4D3C-8B7A-0123456789AB@a>")),
        ("forged-mailer", letter(X_Mailer="Mutt 1.5", Message_ID="<abc@a.example>")),
        ("subject-tail", letter(Subject="minutes   of Monday")),
        ("stale-date", letter(Received="from a by b; Sat, 21 Nov 2026 10:00:00 +0000")),
        ("stale-date", letter()),
        ("stale-date", letter(Received="from a by b; some day")),
        ("from-name-shouts", letter(From="UNICEF <a@a.example>")),
        ("from-name-shouts", letter(From="\u5f20\u4f1f \u5f20\u4f1f\u5f20\u4f1f\u5f20 <a@a.example>")),
        ("brand-in-name", letter(From="PayPal <service@paypal.de>")),
        ("brand-in-name", letter(From="Friends of Apple Trees <a@garden.example>")),
        ("brand-in-name", letter(From="Apple Martin <apple@martin.example>")),
        ("link-into-uploads", letter("https://club.example/wp-content/uploads/2025/09/programme.pdf")),
        ("link-into-uploads", letter("https://club.example/images/index.html, /2025/.../a.html")),
        ("link-into-uploads", letter("https://club.example/.well-known/security.txt")),
        ("odd-port", letter("see http://shop.example:8080/ and https://shop.example/a:8123")),
        ("text-shouts", letter("The NASA and the ESA met in PARIS. Minutes of the meeting are "
            "attached; read "
            "them before Monday, please, and answer.")),
        ("text-exclaims", letter("Happy birthday! See you on Sunday!")),
        ("text-of-money", letter("It costs 20 EUR, or $22.")),
        ("text-tail", letter("best regards\n\nChristoph")),
        ("unlisted-way-out", letter("http://shop.example/unsubscribe", List_Unsubscribe="<http://shop.example/u>")),
        ("unlisted-way-out", letter("how to remove a stain: http://house.example/stains")),
        ("needless-base64", letter("QmlzIG1vcmdlbg==", MIME_Version="1.0", Content_Type="text/plain", Content_Transfer_Encoding="base64")),
    ],
)  # fmt: skip
def test_near_misses_are_left_alone(name: str, raw: str) -> None:
    assert name not in found(raw)


HTML = {"MIME_Version": "1.0", "Content_Type": "text/html"}


def test_how_a_page_is_written() -> None:
    numbered = "".join(f"&#{ord(letter)};" for letter in "buy viagra now " * 8 if letter != " ")
    for text, name in (
        (f"<p>{numbered}</p>", "letters-as-numbers"),
        ("<p>" + "vi<!-- x -->ag<!-- y -->ra ci<zzqqkk>al<qqzzkk>is</p>" * 3, "words-cut"),
        ("<font size=7 color=red>NOW</font>", "html-loud"),
    ):
        assert name in {one.name for one in parse(letter(text, **HTML).encode()).findings}
    for text, name in (
        ("<p>write to &#97;&#110;&#110;&#64;a.example</p>", "letters-as-numbers"),
        ("<p>so<strong>me</strong>thing<!-- note --> else, " * 9 + "</p>", "words-cut"),
        ("<font size=2 color=red>now</font><h1>News</h1>", "html-loud"),
    ):
        assert name not in {one.name for one in parse(letter(text, **HTML).encode()).findings}


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=300))
def test_no_header_or_text_makes_a_check_raise(one: str, other: str, text: str) -> None:
    """Any name, subject, Received and Message-ID: each check returns a finding or nothing."""
    plain, second = " ".join(one.split()), " ".join(other.split())
    raw = letter(
        text,
        From=f"{plain} <a@b.example>",
        Subject=second,
        Received=f"x; {plain}",
        Message_ID=f"<{second}>",
        X_Mailer="The Bat!",
    )
    found(raw.encode("utf-8", "replace"))
