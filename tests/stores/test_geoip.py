"""Databases of places: looked up, followed while they are replaced, refused when they are broken or
of something else.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.config import GeoIpSettings as Settings
from oborona.errors import ConfigError
from oborona.stores import mmdb as databases
from oborona.stores.geoip import GeoIpDatabases, files, open_database
from oborona.types import Location
from tests.places import COUNTRIES, SYSTEMS, database


@pytest.fixture
def both(tmp_path: Path) -> Settings:
    return Settings(
        country_file=str(database(tmp_path / "country.mmdb", COUNTRIES)),
        as_file=str(database(tmp_path / "asn.mmdb", SYSTEMS)),
    )


def test_addresses_of_both_families_are_found(both: Settings) -> None:
    places = GeoIpDatabases(both)
    assert not places.errors
    for ip, wanted in (
        ("192.0.2.7", Location(country="DE", as_number=64496, as_name="Example Net")),
        ("::ffff:192.0.2.7", Location(country="DE", as_number=64496, as_name="Example Net")),
        ("198.51.100.1", Location(country="US")),
        ("2001:db8::1", Location(country="RU", as_number=4_200_000_000, as_name="Пример")),
        ("203.0.113.1", Location()),
        ("127.0.0.1", Location()),
        ("fe80::1%eth0", Location()),
        ("unknown", Location()),
        ("", Location()),
    ):
        assert places.find(ip) == wanted, ip


def test_no_database_is_no_error() -> None:
    places = GeoIpDatabases(Settings())
    assert places.find("192.0.2.7") == Location()
    assert not places.errors
    assert files(Settings()) == {}


def test_one_file_may_serve_for_both_and_is_read_once(tmp_path: Path) -> None:
    record = {"country_code": "SE", "country": "Sweden", "asn": "AS64500", "as_name": "Ex"}
    path = str(database(tmp_path / "lite.mmdb", {"192.0.2.0/24": record}))
    places = GeoIpDatabases(Settings(country_file=path, as_file=path))
    assert places.find("192.0.2.7") == Location(country="SE", as_number=64500, as_name="Ex")
    assert len(places._open) == 1


def test_a_database_of_ipv4_alone_knows_no_ipv6(tmp_path: Path) -> None:
    path = database(tmp_path / "four.mmdb", {"192.0.2.0/24": COUNTRIES["192.0.2.0/24"]}, six=False)
    places = GeoIpDatabases(Settings(country_file=str(path)))
    assert places.find("192.0.2.7").country == "DE"
    assert places.find("2001:db8::1") == Location()


def test_a_database_of_something_else_is_refused(both: Settings, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="none of its first 1,000 records names a country; it calls itself 'Test'"
    ):
        open_database(Path(both.as_file), ["country"])
    with pytest.raises(ConfigError, match="names a country or autonomous system"):
        open_database(database(tmp_path / "none.mmdb", {"192.0.2.0/24": {"proxy": True}}), ["country", "autonomous system"])  # fmt: skip


def test_what_is_no_database_is_refused_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = database(tmp_path / "whole.mmdb", COUNTRIES).read_bytes()
    broken = tmp_path / "broken.mmdb"
    for raw, words in (
        (b"", "no database in MaxMind's format"),
        (b"<html>licence key is wrong</html>", "no database in MaxMind's format"),
        (whole[: len(whole) // 2], "no database in MaxMind's format"),
    ):
        broken.write_bytes(raw)
        with pytest.raises(ConfigError, match=words) as refused:
            open_database(broken, ["country"])
        assert refused.value.file == str(broken)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        open_database(tmp_path / "missing.mmdb", ["country"])
    with pytest.raises(ConfigError, match="is not a plain file"):
        open_database(tmp_path, ["country"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="is not a plain file"):
        open_database(tmp_path / "pipe", ["country"])
    monkeypatch.setattr(databases, "MAX_BYTES", 100)
    with pytest.raises(ConfigError, match="is larger than"):
        open_database(tmp_path / "whole.mmdb", ["country"])


async def test_a_new_file_takes_the_place_of_the_old_one(both: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    places = GeoIpDatabases(both)
    assert places.find("192.0.2.7").country == "DE"
    await places.refresh()
    assert places.find("192.0.2.7").country == "DE"
    database(tmp_path / "country.mmdb", {"192.0.2.0/24": {"country": {"iso_code": "NL"}}})
    with caplog.at_level(logging.INFO):
        await places.refresh()
    assert places.find("192.0.2.7") == Location(
        country="NL", as_number=64496, as_name="Example Net"
    )
    assert "database loaded" in caplog.text


async def test_a_broken_file_leaves_the_old_one_in_use_and_is_said_once(
    both: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places, file = GeoIpDatabases(both), tmp_path / "country.mmdb"
    whole = file.read_bytes()
    file.write_bytes(whole[:100])  # under the one that is open
    await places.refresh()
    file.write_bytes(whole[:120])
    await places.refresh()
    assert caplog.text.count("database refused, the old one stays") == 1
    for host in range(256):
        assert places.find(f"192.0.2.{host}").country == "DE"
    assert file in places.errors
    file.unlink()
    await places.refresh()
    assert "cannot be read" in str(places.errors[file])
    assert places.find("192.0.2.7").country == "DE"
    database(file, COUNTRIES)
    await places.refresh()
    assert not places.errors


async def test_a_file_that_is_missing_at_the_start_is_used_when_it_comes(tmp_path: Path) -> None:
    file = tmp_path / "country.mmdb"
    places = GeoIpDatabases(Settings(country_file=str(file)))
    assert "cannot be read" in str(places.errors[file])
    assert places.find("192.0.2.7") == Location()
    database(file, COUNTRIES)
    await places.refresh()
    assert places.find("192.0.2.7").country == "DE"


def test_a_broken_record_is_no_place_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = database(tmp_path / "country.mmdb", COUNTRIES)
    raw = file.read_bytes()
    assert raw.count(b"US") == 1
    file.write_bytes(raw.replace(b"US", b"\xff\xfe"))  # no UTF-8
    places = GeoIpDatabases(Settings(country_file=str(file)))
    assert not places.errors
    assert places.find("198.51.100.1") == places.find("198.51.100.2") == Location()
    assert caplog.text.count("a place cannot be told") == 1
    assert places.find("192.0.2.7").country == "DE"


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8), cut=st.integers(0, 50))  # fmt: skip
def test_whatever_the_octets_a_database_is_used_or_refused(
    flips: list[tuple[int, int]], cut: int, tmp_path: Path
) -> None:
    good = tmp_path / "good.mmdb"
    raw = bytearray((good if good.exists() else database(good, COUNTRIES)).read_bytes())
    for at, octet in flips:
        raw[at % len(raw)] = octet
    odd = tmp_path / "odd.mmdb"
    odd.write_bytes(raw[: len(raw) - cut])
    places = GeoIpDatabases(Settings(country_file=str(odd)))
    for ip in ("192.0.2.7", "198.51.100.1", "2001:db8::1", "203.0.113.1"):
        assert len(places.find(ip).country) in (0, 2)
