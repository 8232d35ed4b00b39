"""Telephone numbers: every way to write one gives its E.164; numbers that are none give nothing."""

from __future__ import annotations

import time

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import phones
from oborona.message.findings import Findings
from oborona.message.normalise import normalise

RUSSIAN = "+79051234567"


def found(text: str, *regions: str) -> list[str]:
    return [number for number, _ in phones.in_text(normalise(text), regions, Findings())]


@pytest.mark.parametrize(
    "text",
    [
        "+79051234567",
        "call +7 (905) 123-45-67 now",
        "+7.905.123.45.67",
        "+7-905-1234567,",
        "(+7 905 123 45 67)",
        "+ 7 905 123 45 67",
        "\uff0b\uff17 \uff19\uff10\uff15 123 45 67",  # full width
        "+7 9\u200b05 12\u00ad3 45 67",  # zero width space, soft hyphen
        "+\U0001d7d5 \U0001d7d7\U0001d7d8\U0001d7d3 123 45 67",  # mathematical bold
        "+\u0667 \u0669\u0660\u0665 123 45 67",  # Arabic-Indic
        "+7 9O5 l23 45 67",
        "+7 9\u043e5 12\u0417 45 67".replace("\u0417", "3"),  # a Cyrillic o
        "007 905 123 45 67",
        "plus seven nine zero five one two three four five six seven",
        "плюс семь девять ноль пять один два три четыре пять шесть семь",
        "plus seven, nine oh five, 123 four-five six seven",
        "+7 905 123 45 67 24 7",
        "+7*905*123*45*67",
    ],
)
def test_with_its_country(text: str) -> None:
    assert found(text) == [RUSSIAN]


@pytest.mark.parametrize(
    ("text", "region", "number"),
    [
        ("8 (905) 123-45-67", "RU", RUSSIAN),
        ("8 (9 0 5) 1 2 3 4 5 6 7", "RU", RUSSIAN),
        ("8-905-123-45-67", "RU", RUSSIAN),
        ("тел. 89051234567", "RU", RUSSIAN),
        ("звоните: 89051234567", "RU", RUSSIAN),
        ("WhatsApp 89051234567", "RU", RUSSIAN),
        ("eight nine zero five one two three four five six seven", "RU", RUSSIAN),
        ("восемь девять ноль пять один два три четыре пять шесть семь", "RU", RUSSIAN),
        ("(201) 555-0123", "US", "+12015550123"),
        ("201.555.0123", "US", "+12015550123"),
        ("1-201-555-0123", "US", "+12015550123"),
        ("Telefon 030 901820", "DE", "+4930901820"),
    ],
)
def test_of_a_region_of_the_site(text: str, region: str, number: str) -> None:
    assert found(text, region) == [number]
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "order 89051234567",
        "order no. 2015550123",
        "2024-06-07 10:12:33",
        "2012-08-22 10",
        "07.06.2024 12",
        "192.168.100.200",
        "card 4111 1111 1111 1111",
        "ISBN 978-3-16-148410-0",
        "$1,234,567.00",
        "zip 12345-6789",
        "1 2 3 4 5 6 7 8 9 10",
        "id=+79051234567890123",
        "http://a.example/8/905/123-45-67?x=905-123-4567",
        "+1 +1 agreed",
        "C++ 11 2011-03",
        "x+79051234567",
        "one two three",
        "one of the two, for five or six seven",
        "+00000000000",
        "+7 905 123",
        "oooooooooooo lllllllll",
    ],
)
def test_what_is_no_telephone(text: str) -> None:
    assert found(text) == []
    assert found(text, "RU", "US") == []


def test_two_numbers_and_the_raw_form() -> None:
    text = normalise("+7 905 123-45-67, +1 201 555 0123")
    assert phones.in_text(text, (), Findings()) == [
        (RUSSIAN, "+7 905 123-45-67"),
        ("+12015550123", "+1 201 555 0123"),
    ]
    assert found("+79051234567 +12015550123") == [RUSSIAN, "+12015550123"]


def test_links() -> None:
    assert phones.of_link("+7(905)123-45-67", Findings()) == RUSSIAN
    assert phones.of_link("79051234567", Findings()) == RUSSIAN
    assert phones.of_link("112", Findings()) == ""
    assert phones.of_link("x" * 10_000, Findings()) == ""


def _examples() -> list[phonenumbers.PhoneNumber]:
    kind = phonenumbers.PhoneNumberType.MOBILE
    numbers = (
        phonenumbers.example_number_for_type(region, kind)
        for region in sorted(phonenumbers.SUPPORTED_REGIONS)
    )
    return [
        number for number in numbers if number is not None and phonenumbers.is_valid_number(number)
    ]


EXAMPLES = _examples()


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.sampled_from(["", "", " ", "-", ".", " - ", "\u200b"]), min_size=20, max_size=20),
)
def test_separators_change_nothing(number: phonenumbers.PhoneNumber, between: list[str]) -> None:
    """Invariant: a valid number of any country, separated in any of the known ways, is found as its
    E.164.
    """
    wanted = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    painted = "".join(digit + space for digit, space in zip(wanted, between, strict=False))
    assert found(f"call {painted}!") == [wanted]


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from("+0123456789oOlI ()-./,a@\u0661\u200bone two plus"), max_size=120))
def test_only_valid_numbers_come_out(text: str) -> None:
    """Invariant: any text gives few distinct numbers, each valid by the numbering plan of its
    country.
    """
    numbers = found(text, "RU", "US")
    assert len(numbers) == len(set(numbers)) <= phones.MAX_PHONES
    assert all(phonenumbers.is_valid_number(phonenumbers.parse(number)) for number in numbers)


@pytest.mark.parametrize(
    "text",
    [
        "1" * 1_000_000,
        "1 " * 500_000,
        "+7 905 123 45 6 " * 60_000,
        "+1" * 500_000,
        "8 (905) 123-45-67 " * 50_000,
        "one " * 250_000,
        "+((((" * 200_000,
        "l" * 1_000_000,
    ],
)
def test_a_megabyte_is_read_in_bounded_time(text: str) -> None:
    began = time.process_time()
    found(text, "RU", "US", "DE")
    assert time.process_time() - began < 0.25
