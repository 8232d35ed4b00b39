"""Databases of places on the command line: what the doctor says, and what `check` and `explain`
make of them.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.desk.doctor import geoip
from oborona.desk.doctor.report import CheckReport, CheckState
from tests.places import COUNTRIES, SYSTEMS, database

LETTER = "From: ann@a.example\nSubject: hello to all\n\nA plain letter.\n"


def looked(**files: Path) -> list[CheckReport]:
    sets = tuple(f"places.{name}={path}" for name, path in files.items())
    return list(geoip.places(CliContext(None, None, sets)))


def test_the_doctor_names_each_database_and_its_day(tmp_path: Path) -> None:
    country = database(tmp_path / "country.mmdb", COUNTRIES, kind="Example-Country")
    today = time.strftime("%Y-%m-%d", time.gmtime())
    (report,) = looked(country_file=country)
    assert report == CheckReport(
        "database of country", CheckState.OK, f"{country}: Example-Country, of {today}"
    )
    assert looked() == []


def test_the_doctor_hints_at_an_old_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    country = database(tmp_path / "country.mmdb", COUNTRIES)
    now = time.time()
    monkeypatch.setattr("oborona.desk.doctor.geoip.time.time", lambda: now + 59 * 86_400)
    assert looked(country_file=country)[0].state is CheckState.OK
    monkeypatch.setattr("oborona.desk.doctor.geoip.time.time", lambda: now + 61 * 86_400)
    (report,) = looked(country_file=country)
    assert report.state is CheckState.WARN
    assert "older than 60 days" in report.words


def test_the_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    systems = database(tmp_path / "asn.mmdb", SYSTEMS)
    odd = tmp_path / "odd.mmdb"
    odd.write_text("no database")
    for file, words in ((systems, "names a country"), (odd, "no database in MaxMind's format"), (tmp_path / "none.mmdb", "cannot be read")):  # fmt: skip
        (report,) = looked(country_file=file)
        assert report.state is CheckState.FAIL
        assert words in report.words
        assert str(file) in report.words


def test_explain_and_check_know_places_and_go_on_without(tmp_path: Path) -> None:
    country = database(tmp_path / "country.mmdb", COUNTRIES)
    systems = database(tmp_path / "asn.mmdb", SYSTEMS)
    (tmp_path / "letter.eml").write_text(LETTER)
    words = [
        "--state",
        str(tmp_path),
        "--set",
        f"places.country_file={country}",
        "--set",
        f"places.as_file={systems}",
    ]
    told = CliRunner().invoke(
        main, [*words, "explain", "-v", "--ip", "192.0.2.7", str(tmp_path / "letter.eml")]
    )
    assert told.exit_code == 0
    for fact, value in (
        ("client.country", "DE"),
        ("client.as_number", "64496"),
        ("client.as_name", "Example Net"),
    ):
        assert any(fact in line and value in line for line in told.stdout.splitlines()), fact
    found = CliRunner().invoke(
        main, [*words, "check", "--json", "--ip", "192.0.2.7", str(tmp_path / "letter.eml")]
    )
    assert {"country", "as_number"} <= {one["name"] for one in json.loads(found.stdout)["shingles"]}
    country.write_text("no database")
    found = CliRunner().invoke(
        main, [*words, "check", "--json", "--ip", "192.0.2.7", str(tmp_path / "letter.eml")]
    )
    assert found.exit_code == 0
    assert f"{country}: is no database" in found.stderr
    names = {one["name"] for one in json.loads(found.stdout)["shingles"]}
    assert "as_number" in names
    assert "country" not in names
