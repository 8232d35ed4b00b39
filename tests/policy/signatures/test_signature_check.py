"""Which signatures can be used, and in what form they are looked for."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.normalise import normalise
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureBook,
    SignatureFlag,
    SignatureKind,
    SignatureScope,
    check_signature,
)
from oborona.policy.signatures.check import entity, options, pattern_text, phrase


def signature(value: str, kind: SignatureKind = SignatureKind.PHRASE, **more: object) -> Signature:
    return Signature(id="s1", flag=SignatureFlag.SPAM, kind=kind, value=value, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        ("pill", SignatureKind.PHRASE, "too short: 'pill' is left of it"),
        ("!?$ \u2014 \u200b", SignatureKind.PHRASE, "too short: no word is left of it"),
        ("\u202e\u200f", SignatureKind.PHRASE, "too short: no word is left of it"),
        ("  ", SignatureKind.PHRASE, "is empty"),
        ("cheap\0pills", SignatureKind.PHRASE, "holds a control character"),
        ("x" * 1001, SignatureKind.PHRASE, "longer than 1000 characters"),
        ("", SignatureKind.PATTERN, "is empty"),
        (".*", SignatureKind.PATTERN, "matches where there is nothing"),
        ("(cheap)?", SignatureKind.PATTERN, "matches where there is nothing"),
        (".", SignatureKind.PATTERN, "matches a single letter"),
        (r"\w+\s\w+", SignatureKind.PATTERN, "matches any text"),
        (r"cheap \p{Lu}", SignatureKind.PATTERN, "asks for capitals"),
        ("[\u0430-\u044f]", SignatureKind.PATTERN, "matches a single letter"),
        ("(cheap", SignatureKind.PATTERN, "missing )"),
        ("(?=cheap)", SignatureKind.PATTERN, "RE2 has no look-ahead"),
        (r"(cheap)\1", SignatureKind.PATTERN, "RE2 has no back reference"),
        ("((cheap){30}){30}", SignatureKind.PATTERN, "too large"),
        ("c" * 501, SignatureKind.PATTERN, "at most 500 are allowed"),
        ("cheap\u200bpills", SignatureKind.PATTERN, "holds the invisible character U+200B"),
        ("com", SignatureKind.DOMAIN, "com is a public suffix"),
        ("co.uk", SignatureKind.DOMAIN, "co.uk is a public suffix"),
        ("shop example", SignatureKind.HOST, "this is no host"),
        ("javascript:x", SignatureKind.URL, "this is no url"),
        ("905 123-45-67", SignatureKind.PHONE, "this is no phone"),
        ("+1 111 111-11-11", SignatureKind.PHONE, "this is no phone"),
        ("ann@", SignatureKind.ADDRESS, "this is no address"),
        (
            "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
            SignatureKind.WALLET,
            "its checksum must be right",
        ),
        ("nobody", SignatureKind.HANDLE, "this is no handle"),
        ("a b", SignatureKind.LIST, "this is no list"),
        ("abc", SignatureKind.CHECKSUM, "this is no checksum"),
    ],
)
def test_what_would_be_found_everywhere_or_never_is_refused_in_words(
    value: str, kind: SignatureKind, why: str
) -> None:
    with pytest.raises(BrokenSignature) as refused:
        check_signature(signature(value, kind))
    assert why in str(refused.value)


def test_an_entity_stands_in_no_subject_and_only_a_phrase_inside_words() -> None:
    with pytest.raises(BrokenSignature, match="stands in any, text or header"):
        check_signature(signature("shop.example", SignatureKind.HOST, where=SignatureScope.SUBJECT))
    with pytest.raises(BrokenSignature, match="only a phrase"):
        check_signature(signature("shop.example", SignatureKind.HOST, inside=True))
    with pytest.raises(
        BrokenSignature, match="8 letters and digits are needed where it may stand inside"
    ):
        check_signature(signature("casino", inside=True))


@pytest.mark.parametrize(
    ("value", "kind", "form"),
    [
        ("WWW.Shop.Example.", SignatureKind.HOST, "www.shop.example"),
        (
            "\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444",
            SignatureKind.DOMAIN,
            "xn--e1afmkfd.xn--p1ai",
        ),
        ("HTTP://Shop.Example:80/a?utm_source=x", SignatureKind.URL, "http://shop.example/a"),
        ("+7 (905) 123-45-67", SignatureKind.PHONE, "+79051234567"),
        ("<Ann@Shop.example.com>", SignatureKind.ADDRESS, "ann@shop.example.com"),
        (
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            SignatureKind.WALLET,
            "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        ),
        ("https://t.me/BadShop", SignatureKind.HANDLE, "telegram:badshop"),
        ("telegram:@BadShop", SignatureKind.HANDLE, "telegram:badshop"),
        ("<News.Shop.example>", SignatureKind.LIST, "news.shop.example"),
        ("AB" * 32, SignatureKind.CHECKSUM, "ab" * 32),
    ],
)
def test_entities_are_taken_as_people_write_them(
    value: str, kind: SignatureKind, form: str
) -> None:
    assert entity(check_signature(signature(value, kind))) == (kind, form)


def test_a_phrase_stands_between_word_borders_where_its_script_has_them() -> None:
    assert phrase(signature("Ch3ap, P!LLS")) == b" cheap pills "
    assert phrase(signature("\u4ee3\u5f00\u53d1\u7968")) == "\u4ee3\u5f00\u53d1\u7968".encode()
    assert phrase(signature("casinobonus", inside=True)) == b"casinobonus"


def test_a_patterns_letters_are_normalised_and_its_escapes_are_not() -> None:
    assert pattern_text(
        signature("\u0417\u0430\u0440\u0430\u0431", SignatureKind.PATTERN)
    ) == normalise("\u0437\u0430\u0440\u0430\u0431")
    assert (
        pattern_text(signature(r"^\pL+\x{41}(?i:A)(?P<Name>b)$", SignatureKind.PATTERN))
        == r"(?m:^)\pL+aab(?m:$)"
    )
    assert (
        pattern_text(signature("[]\u0430x][^]\u043e]y", SignatureKind.PATTERN)) == r"[\]ax][^\]o]y"
    )


@given(st.text(max_size=60))
def test_a_pattern_is_refused_in_words_or_taken_by_re2(text: str) -> None:
    """Whatever is written: `BrokenSignature`, or a pattern that a book finds without a fault."""
    try:
        one = check_signature(signature(text, SignatureKind.PATTERN))
    except BrokenSignature:
        return
    assert not SignatureBook.of([one]).broken


@given(st.text(alphabet="ab\u0430\u043e\u0435\u044b\u00e9\u00fc", min_size=5, max_size=30))
def test_letters_as_a_pattern_find_themselves_in_the_normalised_text(text: str) -> None:
    pattern = re2.compile(pattern_text(signature(text, SignatureKind.PATTERN)), options())
    assert pattern.search(normalise(f"x{text}x")) is not None
