"""URLs, hosts and addresses in one form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona import domains
from oborona.message import links
from oborona.message.model import EntityLocation
from oborona.message.parse import parse


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("http://Example.COM", "http://example.com/"),
        ("HTTPS://example.com:443/A?b=C#frag", "https://example.com/A?b=C"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("http://user:pw@evil.example/", "http://evil.example/"),
        ("http://bank.example@evil.example/", "http://evil.example/"),
        ("http:\\\\evil.example\\a", "http://evil.example/a"),
        ("http:/evil.example/a", "http://evil.example/a"),
        ("//evil.example/a", "http://evil.example/a"),
        (" \thttp://evil.ex\nample/a\r\nb ", "http://evil.example/ab"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0300.0250.0.1/", "http://192.168.0.1/"),
        ("http://[2001:DB8::1]/x", "http://[2001:db8::1]/x"),
        ("http://%65xample.com/", "http://example.com/"),
        ("http://пример.рф/", "http://xn--e1afmkfd.xn--p1ai/"),
        ("http://example.com./", "http://example.com/"),
        ("http://example.com/?utm_source=x&id=7&fbclid=9", "http://example.com/?id=7"),
        ("http://example.com/?id=7&utm_source=x&a=1", "http://example.com/?id=7&a=1"),
        ("http://example.com/?gclid=x", "http://example.com/"),
        ("ftp://example.com/f", "ftp://example.com/f"),
    ],
)
def test_normal_urls(written: str, normal: str) -> None:
    found = links.normal(written)
    assert found is not None
    assert found[0] == normal
    assert links.normal(found[0]) == found


@pytest.mark.parametrize(
    "written",
    [
        "",
        "x",
        "/relative",
        "javascript:alert(1)",
        "mailto:a@b.example",
        "data:text/html,x",
        "http://",
        "http:///",
        "http://a..b/",
        "http://[bad/",
        "http://[2001:db8::1%25eth0]/",  # a zone: no browser follows it, and it may hold anything
        "http://[2001:db8::1%25x%0a.bank.example]/",
        "http://" + "a" * 300 + ".example/",
    ],
)
def test_links_that_lead_nowhere(written: str) -> None:
    assert links.normal(written) is None


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from("htp:/\\@.[]%0x7fa1#?&=utm_ \u0430\u3002"), max_size=40))
def test_normal_form_is_final(written: str) -> None:
    found = links.normal("http://" + written)
    if found is not None:
        assert links.normal(found[0]) == found


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("com", "com"),
        ("192.0.2.1", "192.0.2.1"),
        ("x.blogspot.com", "x.blogspot.com"),
        ("localhost", "localhost"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_registrable_domains(host: str, domain: str) -> None:
    assert domains.registrable(host) == domain


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("see http://a.example/x.", ["http://a.example/x"]),
        ("(https://a.example/x?y=1),", ["https://a.example/x?y=1"]),
        ("<http://a.example/>", ["http://a.example/"]),
        ("www.shop.com today", ["http://www.shop.com"]),
        ("visit shop-4you.com/buy now", ["http://shop-4you.com/buy"]),
        ("visit shop-4you.com!", ["http://shop-4you.com"]),
        ("setup.py run.sh main.c e.g. i.e. 3.14 1.2.3.4 v1.0 ...", []),
        ("mail ann@shop.com", []),
        ("key=http://a.example/", ["http://a.example/"]),
        ("HTTP://A.EXAMPLE", ["HTTP://A.EXAMPLE"]),
        ("no links", []),
        ("http://3627734734/a http://[::1]/x", ["http://3627734734/a", "http://[::1]/x"]),
    ],
)
def test_links_in_text(text: str, urls: list[str]) -> None:
    assert links.in_text(text.split(), 10) == urls


def test_addresses_in_text() -> None:
    text = [
        "write",
        "to",
        "<Ann.B+x@Shop.Example>,",
        "bob@b.example.",
        "or",
        "carl@c",
        "no@",
        "@no",
        "x@y@z.example",
    ]
    assert links.addresses(text, 10)[:2] == ["ann.b+x@shop.example", "bob@b.example"]
    assert links.mail_address("mailto:A%40b.example?subject=x") == "a@b.example"
    assert links.mail_address("http://a@b.example") == ""


def test_a_host_that_is_a_number_needs_no_dot() -> None:
    found = parse(b"Subject: x\n\nwin at http://3627734734/a or http://0x7f000001/").links
    assert [link.host for link in found] == ["216.58.214.206", "127.0.0.1"]


def test_links_of_a_message() -> None:
    raw = (
        b"From: a@b.example\nContent-Type: text/html\n\n<base href='http://base.example/d/'>"
        b"<a href='http://evil.example/'>http://bank.example/</a> <a href=page>relative</a> <a "
        b"href='mailto:c@d.example'>m</a> plain http://t.example/"
    )
    message = parse(raw)
    assert [(link.url, link.shown, link.place) for link in message.links] == [
        ("http://evil.example/", "http://bank.example/", EntityLocation.ANCHOR),
        ("http://base.example/d/page", "relative", EntityLocation.ANCHOR),
        ("http://t.example/", "", EntityLocation.TEXT),
    ]
    assert message.addresses == ("c@d.example",)


@pytest.mark.parametrize(
    ("subject", "body", "urls"),
    [
        ("visit http://evil-pills.example/buy now", "x", ["http://evil-pills.example/buy"]),
        (
            "=?utf-8?b?dmlzaXQgaHR0cDovL2V2aWwtcGlsbHMuZXhhbXBsZS9idXk=?=",
            "x",
            ["http://evil-pills.example/buy"],
        ),
        ("=?utf-8?q?visit_evil-pills=2Ecom_now?=", "x", ["http://evil-pills.com/"]),
        # once is enough
        ("at http://a.example/", "see https://a.example/b", ["https://a.example/b"]),
        (
            "at http://a.example/",
            "see https://b.example/",
            ["https://b.example/", "http://a.example/"],
        ),
        ("version 2.0 of setup.py, e.g. this", "x", []),
        ("http://127.0.0.1.:x/", "x", []),
    ],
)
def test_links_of_the_subject(subject: str, body: str, urls: list[str]) -> None:
    message = parse(f"From: a@b.example\nSubject: {subject}\n\n{body}\n".encode())
    assert [link.url for link in message.links] == urls
    assert all(link.place in (EntityLocation.HEADER, EntityLocation.TEXT) for link in message.links)
