"""Links inside links, and what a spammer does to hide them."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import links, redirects
from oborona.message.model import EntityLocation
from oborona.message.parse import parse

EVIL = "http://evil.example.com/a?b=1"
CODED = "http%3A%2F%2Fevil.example.com%2Fa%3Fb%3D1"
BASE64 = base64.urlsafe_b64encode(EVIL.encode()).decode()


def inside(url: str) -> list[str]:
    link = links.link(url, "", EntityLocation.ANCHOR)
    assert link is not None
    found = [
        links.link(each, "", EntityLocation.ANCHOR)
        for each in redirects.targets(link.url, link.domain)
    ]
    return [each.url for each in found if each is not None]


@pytest.mark.parametrize(
    "url",
    [
        f"https://www.google.com/url?sa=t&q={CODED}&usg=AOvVaw",
        f"https://www.google.co.uk/url?url={CODED}",
        f"https://l.facebook.com/l.php?u={CODED}&h=AT0",
        f"https://eur01.safelinks.protection.outlook.com/?url={CODED}&data=05%7C01&reserved=0",
        f"https://t.umblr.com/redirect?z={CODED}&t=x",
        f"https://vk.com/away.php?to={CODED}",
        f"https://www.youtube.com/redirect?event=x&q={CODED}",
        "https://urldefense.proofpoint.com/v2/url?u=http-3A__evil.example.com_a-3Fb-3D1&d=Dw&c=x",
        "https://urldefense.com/v3/__http://evil.example.com/a?b=1__;!!abc!def$",
        "https://r.search.yahoo.com/_ylt=A2/RV=2/RE=1/RO=10/RU=http%3a%2f%2fevil.example.com%2fa%3fb%3d1/RK=2/RS=x",
        f"https://www.bing.com/ck/a?!&&p=x&u=a1{BASE64}&ntb=1",
        f"https://tracker.example/c?target={CODED}",
        f"https://tracker.example/c?any={CODED.lower()}",
        f"https://tracker.example/c/{CODED}/1/0100",
        "https://tracker.example/go/http://evil.example.com/a?b=1",
        f"https://tracker.example/c?x={BASE64}",
        f"https://tracker.example/c/{BASE64.rstrip('=')}",
        f"https://tracker.example/c?x={EVIL.encode().hex()}",
        f"https://tracker.example/c?x={CODED.replace('%', '%25')}",
        f"https://tracker.example/c?x={CODED.replace('%', '%25').replace('%', '%25')}",
        f"https://tracker.example/c?x=%68{CODED[1:]}",
        "https://tracker.example/c?x=%2F%2Fevil.example.com%2Fa%3Fb%3D1",
    ],
)
def test_where_a_wrapper_leads(url: str) -> None:
    assert EVIL in inside(url)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://www.google.com/url?q=shop.com/x", ["http://shop.com/x"]),
        ("https://www.google.com/amp/s/shop.com/x", ["http://shop.com/x"]),
        ("https://shop--4you-com.translate.goog/x?_x_tr_sl=a", ["http://shop-4you.com/x"]),
        ("https://cdn.ampproject.org/c/s/shop.com/x", ["http://shop.com/x"]),
        (
            "https://a.example/?u=https%3A%2F%2Fb.example%2F%3Fu%3Dhttps%253A%252F%252Fc.example%252F",
            ["https://b.example/?u=https%3A%2F%2Fc.example%2F", "https://c.example/"],
        ),
    ],
)
def test_codings_of_services_and_wrappers_in_wrappers(url: str, wanted: list[str]) -> None:
    assert inside(url) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/list?page=2&q=http",
        "https://www.google.com/search?q=what+is+spam",
        # a bare name means something to services known by name alone
        "https://tracker.example/c?x=evil.example.com",
        "https://shop.example/https/guide.html",
        "https://shop.example/a?x=aHR0c",
        "https://t.co/Abc123",
        "https://shop.example/?next=/account",
        "https://shop.example/a?mail=//",
    ],
)
def test_links_that_hold_none(url: str) -> None:
    assert inside(url) == []


def test_both_are_links_of_the_message() -> None:
    raw = (
        f"From: a@b.example\nContent-Type: text/html\n\n<a "
        f"href='https://l.facebook.com/l.php?u={CODED}'>click</a>"
    ).encode()
    wrapper, target = parse(raw).links
    assert (wrapper.host, wrapper.through) == ("l.facebook.com", "")
    assert (target.url, target.shown, target.place, target.through) == (
        EVIL,
        "click",
        EntityLocation.ANCHOR,
        wrapper.url,
    )


def test_nested_wrappers_end() -> None:
    url = "http://a.example/"
    for number in range(20):
        url = f"http://h{number}.example/?u={url}"
    assert 1 <= len(inside(url)) <= redirects.MAX_TARGETS
    many = "http://h.example/?" + "&".join(
        f"u{number}=http://e{number}.example/" for number in range(80)
    )
    assert len(inside(many)) == redirects.MAX_TARGETS


PIECES = st.sampled_from(
    ["http://", "https%3A%2F%2F", "%25", "%", "//", "/", "?", "&", "=", "u=", "aHR0c", "aHR0cDovL2E", "68747470", "__", "__;", "/RU=", "a.example", "google.com/url?q=",
     "xn--", "translate.goog", "/amp/s/", "\u043e", "\x00", "[", "]", "@"]
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(
    st.lists(PIECES, max_size=30).map("".join),
    st.sampled_from(
        ["a.example", "www.google.com", "x.translate.goog", "urldefense.proofpoint.com"]
    ),
)
def test_any_url_gives_few_targets_that_are_links_or_nothing(rest: str, host: str) -> None:
    """Invariant: no exception, at most MAX_TARGETS, the same each time, whatever the URL."""
    link = links.link(f"http://{host}/{rest}", "", EntityLocation.ANCHOR)
    if link is not None:
        found = redirects.targets(link.url, link.domain)
        assert len(found) <= redirects.MAX_TARGETS
        assert found == redirects.targets(link.url, link.domain)
        for each in found:
            links.link(each, "", EntityLocation.ANCHOR)


@pytest.mark.parametrize(
    "rest",
    [
        "%25" * 600,
        "http:" * 400,
        "u=http://a.example/&" * 100,
        "/RU=" * 500,
        "__;" * 600 + "http://",
        "aHR0c" * 400,
        "=" * 2000,
        "/amp/" * 400,
    ],
)
def test_hostile_urls_cost_little(rest: str) -> None:
    page = "".join(
        f"<a href='http://h{number}.google.com/url?q={rest}'>x</a>" for number in range(200)
    )
    raw = f"From: a@b.example\nContent-Type: text/html\n\n{page}".encode()
    began = time.process_time()
    parse(raw)
    assert time.process_time() - began < 0.5
