"""Which signatures can be used, and in what form they are looked for."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.normalise import normalise
from oborona.policy.signatures import Book, BrokenSignature, Flag, Kind, Signature, Where, checked
from oborona.policy.signatures.check import entity, options, pattern_text, phrase


def signature(value: str, kind: Kind = Kind.PHRASE, **more: object) -> Signature:
    return Signature(id="s1", flag=Flag.SPAM, kind=kind, value=value, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        ("pill", Kind.PHRASE, "too short: 'pill' is left of it"),
        ("!?$ \u2014 \u200b", Kind.PHRASE, "too short: no word is left of it"),
        ("\u202e\u200f", Kind.PHRASE, "too short: no word is left of it"),
        ("  ", Kind.PHRASE, "is empty"),
        ("cheap\0pills", Kind.PHRASE, "holds a control character"),
        ("x" * 1001, Kind.PHRASE, "longer than 1000 characters"),
        ("", Kind.PATTERN, "is empty"),
        (".*", Kind.PATTERN, "matches where there is nothing"),
        ("(cheap)?", Kind.PATTERN, "matches where there is nothing"),
        (".", Kind.PATTERN, "matches a single letter"),
        (r"\w+\s\w+", Kind.PATTERN, "matches any text"),
        (r"cheap \p{Lu}", Kind.PATTERN, "asks for capitals"),
        ("[\u0430-\u044f]", Kind.PATTERN, "matches a single letter"),
        ("(cheap", Kind.PATTERN, "missing )"),
        ("(?=cheap)", Kind.PATTERN, "RE2 has no look-ahead"),
        (r"(cheap)\1", Kind.PATTERN, "RE2 has no back reference"),
        ("((cheap){30}){30}", Kind.PATTERN, "too large"),
        ("c" * 501, Kind.PATTERN, "at most 500 are allowed"),
        ("cheap\u200bpills", Kind.PATTERN, "holds the invisible character U+200B"),
        ("com", Kind.DOMAIN, "com is a public suffix"),
        ("co.uk", Kind.DOMAIN, "co.uk is a public suffix"),
        ("shop example", Kind.HOST, "this is no host"),
        ("javascript:x", Kind.URL, "this is no url"),
        ("905 123-45-67", Kind.PHONE, "this is no phone"),
        ("+1 111 111-11-11", Kind.PHONE, "this is no phone"),
        ("ann@", Kind.ADDRESS, "this is no address"),
        ("bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", Kind.WALLET, "its checksum must be right"),
        ("nobody", Kind.HANDLE, "this is no handle"),
        ("a b", Kind.LIST, "this is no list"),
        ("abc", Kind.CHECKSUM, "this is no checksum"),
    ],
)
def test_what_would_be_found_everywhere_or_never_is_refused_in_words(
    value: str, kind: Kind, why: str
) -> None:
    with pytest.raises(BrokenSignature) as refused:
        checked(signature(value, kind))
    assert why in str(refused.value)


def test_an_entity_stands_in_no_subject_and_only_a_phrase_inside_words() -> None:
    with pytest.raises(BrokenSignature, match="stands in any, text or header"):
        checked(signature("shop.example", Kind.HOST, where=Where.SUBJECT))
    with pytest.raises(BrokenSignature, match="only a phrase"):
        checked(signature("shop.example", Kind.HOST, inside=True))
    with pytest.raises(
        BrokenSignature, match="8 letters and digits are needed where it may stand inside"
    ):
        checked(signature("casino", inside=True))


@pytest.mark.parametrize(
    ("value", "kind", "form"),
    [
        ("WWW.Shop.Example.", Kind.HOST, "www.shop.example"),
        ("\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444", Kind.DOMAIN, "xn--e1afmkfd.xn--p1ai"),
        ("HTTP://Shop.Example:80/a?utm_source=x", Kind.URL, "http://shop.example/a"),
        ("+7 (905) 123-45-67", Kind.PHONE, "+79051234567"),
        ("<Ann@Shop.example.com>", Kind.ADDRESS, "ann@shop.example.com"),
        (
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            Kind.WALLET,
            "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        ),
        ("https://t.me/BadShop", Kind.HANDLE, "telegram:badshop"),
        ("telegram:@BadShop", Kind.HANDLE, "telegram:badshop"),
        ("<News.Shop.example>", Kind.LIST, "news.shop.example"),
        ("AB" * 32, Kind.CHECKSUM, "ab" * 32),
    ],
)
def test_entities_are_taken_as_people_write_them(value: str, kind: Kind, form: str) -> None:
    assert entity(checked(signature(value, kind))) == (kind, form)


def test_a_phrase_stands_between_word_borders_where_its_script_has_them() -> None:
    assert phrase(signature("Ch3ap, P!LLS")) == b" cheap pills "
    assert phrase(signature("\u4ee3\u5f00\u53d1\u7968")) == "\u4ee3\u5f00\u53d1\u7968".encode()
    assert phrase(signature("casinobonus", inside=True)) == b"casinobonus"


def test_a_patterns_letters_are_normalised_and_its_escapes_are_not() -> None:
    assert pattern_text(signature("\u0417\u0430\u0440\u0430\u0431", Kind.PATTERN)) == normalise(
        "\u0437\u0430\u0440\u0430\u0431"
    )
    assert (
        pattern_text(signature(r"^\pL+\x{41}(?i:A)(?P<Name>b)$", Kind.PATTERN))
        == r"(?m:^)\pL+aab(?m:$)"
    )
    assert pattern_text(signature("[]\u0430x][^]\u043e]y", Kind.PATTERN)) == r"[\]ax][^\]o]y"


@given(st.text(max_size=60))
def test_a_pattern_is_refused_in_words_or_taken_by_re2(text: str) -> None:
    """Whatever is written: `BrokenSignature`, or a pattern that a book finds without a fault."""
    try:
        one = checked(signature(text, Kind.PATTERN))
    except BrokenSignature:
        return
    assert not Book.of([one]).broken


@given(st.text(alphabet="ab\u0430\u043e\u0435\u044b\u00e9\u00fc", min_size=5, max_size=30))
def test_letters_as_a_pattern_find_themselves_in_the_normalised_text(text: str) -> None:
    pattern = re2.compile(pattern_text(signature(text, Kind.PATTERN)), options())
    assert pattern.search(normalise(f"x{text}x")) is not None
