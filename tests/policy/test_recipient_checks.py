"""Checks that compare a message with its recipient, and those of names that can't be."""

from __future__ import annotations

from base64 import b64encode

import pytest

from oborona.message.parse import parse
from oborona.policy.checks import CHECKS
from oborona.policy.checks.context import CheckContext
from oborona.types import Client, Envelope

ANN = "ann@house.test"
IN_BASE64 = b64encode(ANN.encode()).decode()


def found(raw: str, *recipients: str) -> dict[str, str]:
    context = CheckContext(
        message=parse(raw.encode()),
        envelope=Envelope(
            client=Client(ip="198.51.100.7", name="mail.a.test"), recipients=recipients or (ANN,)
        ),
        site="mx.house.test",
        now=1_795_170_000.0,
    )
    return {
        finding.name: finding.evidence
        for check in CHECKS
        if (finding := check(context)) is not None
    }


def letter(sender: str = "Bob <bob@a.test>", subject: str = "x", body: str = "Hello") -> str:
    return (
        f"From: {sender}\nTo: {ANN}\nSubject: {subject}\nMIME-Version: 1.0\n"
        f"Content-Type: text/html; charset=utf-8\n\n{body}\n"
    )


@pytest.mark.parametrize(
    ("sender", "seen"),
    [
        ("house.test Support <it@evil.test>", True),
        ("=?utf-8?q?house=2Etest_=E2=9C=89?= <it@evil.test>", True),
        ("ann@house.test <a@evil.test>", True),
        ("HOUSE mail <a@evil.test>", True),
        ("House <a@house-mail.test>", False),  # a name and a domain that fit each other
        ("House Relief <a@relief.test>", False),
        ("House <a@relief.test>", False),
        ("Household goods <a@shop.test>", False),
        ("house.test <it@mx.house.test>", False),
        ("Ann <ann@elsewhere.test>", False),  # a person's own name
        ("<it@evil.test>", False),
    ],
)
def test_recipient_as_sender(sender: str, *, seen: bool) -> None:
    assert ("recipient-as-sender" in found(letter(sender))) is seen


def test_a_short_name_of_a_house_is_a_word() -> None:
    assert "recipient-as-sender" not in found(letter("IBM news <a@b.test>"), "ann@ibm.test")


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        (f"https://evil.test/?u={ANN}", True),
        ("https://evil.test/?u=ann%40house.test", True),
        (f"https://evil.test/login#{ANN}", True),
        (f"https://evil.test/#{IN_BASE64}", True),
        (f"https://evil.test/{IN_BASE64}/x", True),
        (f"https://evil.test/unsubscribe?u={ANN}", False),
        (f"https://a.test/?u={ANN}", False),
        (f"https://house.test/?u={ANN}", False),
        ("https://evil.test/?u=bob@house.test", False),
    ],
)
def test_recipient_in_link(url: str, *, seen: bool) -> None:
    raw = letter(body=f'<a href="{url}">here</a>')
    assert ("recipient-in-link" in found(raw)) is seen
    assert "recipient-in-link" not in found(raw, ANN, "bob@house.test")  # of whom would it be


@pytest.mark.parametrize(
    ("subject", "host", "seen"),
    [
        ("Your mailbox at house.test is full", "evil.test", True),
        ("[HOUSE.TEST] storage", "evil.test", True),
        ("madhouse.test is down", "evil.test", False),
        ("house.tests", "evil.test", False),
        ("x", "house-test.login.evil.test", True),
        ("x", "webmail.house.evil.test", True),
        ("x", "warehouse.evil.test", False),
        ("x", "www.house.evil.house", True),
        ("x", "www.evil.house", False),  # a suffix
        ("x", "www.house.org", False),  # the same firm's, mostly
        ("x", "house.test", False),
    ],
)
def test_recipient_site_named(subject: str, host: str, *, seen: bool) -> None:
    raw = letter(subject=subject, body=f'<a href="https://{host}/">here</a>')
    assert ("recipient-site-named" in found(raw)) is seen


@pytest.mark.parametrize(
    ("shown", "url", "seen"),
    [
        ("Invoice_88.pdf", "https://evil.test/x", True),
        ("Scan 12.PDF (240 KB)", "https://evil.test/x", True),
        ("Invoice_88.pdf", "https://files.test/Invoice_88.pdf?dl=1", False),
        ("Invoice_88.pdf", "https://www.a.test/get/88", False),
        ("see Invoice_88.pdf for more", "https://evil.test/x", False),
        ("https://files.test/Invoice_88.pdf", "https://evil.test/x", False),
        ("example.com", "https://evil.test/x", False),
    ],
)
def test_link_shows_file(shown: str, url: str, *, seen: bool) -> None:
    assert ("link-shows-file" in found(letter(body=f'<a href="{url}">{shown}</a>'))) is seen


@pytest.mark.parametrize(
    ("domain", "seen"),
    [
        ("correios", True),
        ("462874pedagiodigital", True),
        ("%atendimento.com", True),
        ("bank.nosuchtld", True),
        ("two..dots.com", True),
        ("example.com", False),
        ("пример.рф", False),
        ("printer.local", False),
        ("[192.0.2.1]", False),
    ],
)
def test_impossible_from(domain: str, *, seen: bool) -> None:
    assert ("impossible-from" in found(letter(f"Bob <bob@{domain}>"))) is seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Buy VlAGRA now", True),
        ("ClALlS soft", True),
        ("CIALl", False),  # a small letter at the end says little
        ("the URLs and XMLs of HTMLl", False),
        ("Talk to Alice", False),
        ("AlGaAs lasers", False),
        ("VIAGRA", False),
    ],
)
def test_capitals_imitated(text: str, *, seen: bool) -> None:
    assert ("capitals-imitated" in found(letter(body=text))) is seen
    assert ("capitals-imitated" in found(letter(subject=text))) is seen
