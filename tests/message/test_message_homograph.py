"""Hosts that are painted, and honest names in other scripts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona import domains
from oborona.message.homograph import looks_like


@pytest.mark.parametrize(
    ("host", "reads"),
    [
        (
            "xn--80ak6aa92e.com",
            "appie.com",
        ),  # all Cyrillic: apple, with a letter that is l in one case and I in the other
        ("xn--pypal-4ve.com", "paypal.com"),
        ("p\u0430ypal.com", "paypal.com"),  # one Cyrillic a
        ("www.p\u0430ypal.com", "www.paypal.com"),
        ("g\u03bfogle.com", "google.com"),  # Greek omicron
        ("p\u0430ypal.\u0440\u0444", "paypal.p\u0444"),
        ("\u043e\u0441\u0430.com", "oca.com"),
    ],
)
def test_painted(host: str, reads: str) -> None:
    assert looks_like(host) == reads
    assert looks_like(domains.normal_host(host)) == reads


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "münchen.de",
        "пример.рф",
        "\u043e\u0441\u0430.рф",
        "\u043f\u043e\u0447\u0442\u0430.com",
        "\u043f\u043e\u0447\u0442\u04307.com",
        "例え.jp",
        "日本語とabc.jp",
        "한국abc.kr",
        "ελλάδα.gr",
        "café.fr",
        "xn--.com",
        "xn--a",
        "192.0.2.1",
        "2001:db8::1",
        "",
    ],
)
def test_honest(host: str) -> None:
    assert looks_like(host) == ""


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from("xn-a0z.\u0430\u03bf\u00e9\u65e5\u0627\u200b"), max_size=40))
def test_any_host(host: str) -> None:
    """Invariant: no exception; ASCII without xn-- is what it seems."""
    reads = looks_like(host)
    assert not reads or "xn--" in host or not host.isascii()
