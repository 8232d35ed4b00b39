"""Records of places, as each maker of databases writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.geoip import MAX_AS, MAX_NAME, NOWHERE, NoGeoIp, autonomous_system, country


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ({"country": {"iso_code": "DE", "names": {"en": "Germany"}}, "registered_country": {"iso_code": "US"}}, "DE"),
        ({"registered_country": {"iso_code": "US"}}, "US"),
        ({"country_code": "FR", "country": "France", "continent_code": "EU"}, "FR"),
        ({"country": "se", "country_name": "Sweden"}, "SE"),
        ({"country_code": "us"}, "US"),
        ({"country": "Sweden"}, ""),
        ({"country": {"iso_code": 7}}, ""),
        ({"country": {"names": {"en": "Germany"}}}, ""),
        ({"continent": {"code": "EU"}}, ""),
        ({"country_code": "DEU"}, ""),
        ({"country_code": "Ду"}, ""),
        ({}, ""),
        (None, ""),
        ("DE", ""),
        (["DE"], ""),
    ],
    ids=str,
)  # fmt: skip
def test_countries(record: Any, wanted: str) -> None:
    assert country(record) == wanted


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ({"autonomous_system_number": 64496, "autonomous_system_organization": "Example Net"}, (64496, "Example Net")),
        ({"autonomous_system_number": 64496}, (64496, "")),
        ({"asn": "AS64496", "as_name": "Example Net", "as_domain": "example.net"}, (64496, "Example Net")),
        ({"asn": "AS64496", "domain": "example.net", "name": "Example Net", "type": "hosting"}, (64496, "Example Net")),
        ({"asn": 64496}, (64496, "")),
        ({"traits": {"autonomous_system_number": 64496, "autonomous_system_organization": "E"}}, (64496, "E")),
        ({"asn": "AS64496", "as_name": " Пример\x1b[2J\n\u202e"}, (64496, "Пример[2J")),
        ({"asn": MAX_AS}, (MAX_AS, "")),
        ({"asn": MAX_AS + 1}, (0, "")),
        ({"asn": "64496x"}, (0, "")),
        ({"asn": "٦٤"}, (0, "")),
        ({"asn": -1}, (0, "")),
        ({"asn": 0, "as_name": "none"}, (0, "")),
        ({"autonomous_system_organization": "Example Net"}, (0, "")),
        ({"traits": "AS1"}, (0, "")),
        ({}, (0, "")),
        (None, (0, "")),
    ],
    ids=str,
)  # fmt: skip
def test_autonomous_systems(record: Any, wanted: tuple[int, str]) -> None:
    assert autonomous_system(record) == wanted


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["country", "country_code", "registered_country", "iso_code", "asn", "autonomous_system_number", "as_name", "traits", "name"]
    ), inner),
)  # fmt: skip


@given(_VALUES)
def test_any_record_gives_a_country_of_two_letters_and_a_number_in_range_or_nothing(
    record: Any,
) -> None:
    found = country(record)
    assert found == "" or (len(found) == 2 and found.isascii() and found.isupper())
    number, name = autonomous_system(record)
    assert 0 <= number <= MAX_AS
    assert len(name) <= MAX_NAME
    assert name.isprintable()
    assert number or not name


def test_without_a_database_nothing_is_known() -> None:
    assert NoGeoIp().find("192.0.2.7") == NOWHERE
    assert not any((NOWHERE.country, NOWHERE.as_number, NOWHERE.as_name))
