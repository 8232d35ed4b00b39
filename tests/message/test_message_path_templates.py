"""Links of one kit on many hosts and for many readers have one template.

Different pages have different ones.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import links
from oborona.message.model import EntityLocation
from oborona.message.path_templates import template


def of(url: str) -> str:
    link = links.link(url, "", EntityLocation.ANCHOR)
    assert link is not None
    return template(link.url, link.host, link.domain)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://shop.example.com/", ""),
        ("http://shop.example.com/?id=7", "shop.example.com/?id"),
        (
            "http://img7.example.com/u/83aef0c1b2/ann%40b.example?id=77&k=x",
            "img#.example.com/u/*/*.example?id&k",
        ),
        ("http://example.com/sale/2024-06-07/page12.html", "example.com/sale/#-#-#/page#.html"),
        ("http://example.com/550e8400-e29b-41d4-a716-446655440000", "example.com/*"),
        ("http://example.com/a/dGhpcyBpcyBhIHRlc3Qgb2Y", "example.com/a/*"),
        ("http://example.com/a/x7Kq29Zp41Lm", "example.com/a/*"),
        ("http://example.com/unsubscribe", "example.com/unsubscribe"),
        ("http://example.com/mp3-player-2000", "example.com/mp#-player-#"),
        ("http://192.0.2.1/x/1", "192.0.2.1/x/#"),
    ],
)
def test_templates(url: str, wanted: str) -> None:
    assert of(url) == wanted


def test_copies_meet_and_pages_do_not() -> None:
    first = of("http://a1.kit.com/track/9f8e7d6c5b4a/open?rid=1001&e=ann%40b.example")
    assert first == of("http://a27.kit.com/track/00112233aabb/open?rid=77&e=bob%40c.example")
    assert of("http://kit.com/about") != of("http://kit.com/contact")


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("abf019-_./?&=%@*#+~A"), max_size=80))
def test_the_registrable_domain_stays(path: str) -> None:
    """Invariant: a template is empty or holds the domain, and no digit after it."""
    link = links.link("http://x.example.com/" + path, "", EntityLocation.ANCHOR)
    if link is not None:
        found = template(link.url, link.host, link.domain)
        assert not found or found.startswith("x.example.com/")
        assert not any(each.isdigit() for each in found)


@pytest.mark.parametrize(
    "path",
    [
        "a" * 2000,
        "a-" * 1000,
        "a0" * 1000,
        "abcd-" * 400,
        "*#" * 1000,
        "/" * 2000,
        "&" * 2000,
        "%40" * 600,
    ],
)
def test_hostile_paths_cost_little(path: str) -> None:
    began = time.process_time()
    for number in range(30):
        of(f"http://x.example.com/{number}/{path}?{path}")
    assert time.process_time() - began < 0.25
