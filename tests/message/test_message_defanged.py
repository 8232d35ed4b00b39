"""Links and addresses in disguise; and texts that only look like it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import defanged_links
from oborona.message.model import EntityLocation
from oborona.message.normalise import normalise
from oborona.message.parse import parse


def read(text: str) -> tuple[list[str], list[str]]:
    return defanged_links.read(normalise(text), 50)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("see hxxp://shop.example.com/a", "http://shop.example.com/a"),
        ("hxxps://shop[.]example[.]com/a?b=1.", "https://shop.example.com/a?b=1"),
        ("h**p://shop.example.com", "http://shop.example.com"),
        ("http[:]//shop.example.com/", "http://shop.example.com/"),
        ("http[:]//shop[.]example[.]com/", "http://shop.example.com/"),
        ("h\u0445\u0445p://shop.example.com/", "http://shop.example.com/"),  # Cyrillic letters
        ("shop[.]com", "http://shop.com"),
        ("shop(.)com/buy", "http://shop.com/buy"),
        ("shop [dot] com", "http://shop.com"),
        ("shop (dot) com now", "http://shop.com"),
        ("shop{dot}co[dot]uk", "http://shop.co.uk"),
        ("www dot shop dot com", "http://www.shop.com"),
        ("shop dot com slash buy slash now", "http://shop.com/buy/now"),
        ("hxxp://shop dot com", "http://shop.com"),
        ("shop[точка]com", "http://shop.com"),
    ],
)
def test_links(text: str, url: str) -> None:
    assert url in read(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "ann (at) shop.com",
        "ann [at] shop [dot] com",
        "ann(at)shop(dot)com",
        "ann@shop[.]com",
        "ann at shop dot com",
        "ANN AT SHOP DOT COM",
        "ann [@] shop.com,",
        "ann {at} shop {dot} com",
        "ann собака shop точка com",
        "write to: ann <at> shop <dot> com!",
    ],
)
def test_addresses(text: str) -> None:
    assert read(text)[1] == ["ann@shop.com"]


@pytest.mark.parametrize(
    "text",
    [
        "http://shop.example.com/ and ann@shop.example.com",
        "in the dot com years",
        "the dot com bubble was at its height",
        "meet at shop.com",
        "look at this dot",
        "array[.]length",
        "s/[.]x/y/",
        "smile (.) here",
        "ann (at) home",
        "I am (at) work [dot]",
        "a [dot] b",
        "",
    ],
)
def test_what_hides_nothing(text: str) -> None:
    assert read(text) == ([], [])


def test_they_are_links_and_addresses_of_the_message() -> None:
    message = parse(
        b"From: a@b.example\n\nhxxps://www[.]google[.]com/url?q=http://evil.example.com/ "
        b"or ann (at) shop (dot) com"
    )
    assert {(link.host, link.place) for link in message.links} == {
        ("www.google.com", EntityLocation.TEXT),
        ("evil.example.com", EntityLocation.TEXT),
    }
    assert message.addresses == ("ann@shop.com",)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "hxxp",
                "s",
                "http",
                "[:]",
                "://",
                "[.]",
                "(dot)",
                " dot ",
                " at ",
                "(at)",
                "com",
                "shop",
                "www",
                " slash ",
                "@",
                ".",
                " ",
                "{",
                "]",
                "\u043e",
                "/",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_any_text(text: str) -> None:
    """Invariant: no exception, and nothing that stands in the result holds a mark or a space."""
    urls, addresses = read(text)
    assert all(each.isprintable() and " " not in each and "://" in each[:8] for each in urls)
    assert all(each.isprintable() and " " not in each and "@" in each for each in addresses)


@pytest.mark.parametrize(
    "piece",
    [
        "hxxp://",
        "[.]",
        " dot ",
        "a dot ",
        "a at a dot ",
        "x(at)",
        "a" * 60 + " dot ",
        "- ",
        "[ " * 10,
        "www dot ",
        "h",
        "aaaa[dot]com ",
    ],
)
def test_a_megabyte_is_read_in_bounded_time(piece: str) -> None:
    text = normalise("hxxp " + piece * (1_000_000 // len(piece)))
    began = time.process_time()
    defanged_links.read(text, 200)
    assert time.process_time() - began < 0.5
