"""`oborona doctor` on the DNS lists that are free for the site: on or off, and its size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.desk.doctor.free_lists import SUBJECT, size_report
from oborona.desk.doctor.report import CheckState
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.load import Policy, load_policy
from tests.peers.dns import Zones

TABLE = "[free_lists]\nenabled = true\nmessages_a_day = 5000\ncommercial = false\n"


def policy(folder: Path, text: str) -> Policy:
    (folder / "85-free-lists.toml").write_text(text)
    return load_policy(PolicyFolders(own=folder, shipped=PACKAGED), SCHEMA)


def test_no_list_that_is_on_is_no_fault_and_it_is_said_what_to_do(tmp_path: Path) -> None:
    report = size_report(policy(tmp_path, "[verdict]\n"), 100)
    assert (report.what, report.state, report.words) == (SUBJECT, CheckState.OK, "none is on")
    assert report.hint.startswith("oborona attach turns on those that are free for you")


@pytest.mark.parametrize(
    ("judged", "state", "more"),
    [
        (0, CheckState.OK, ""),
        (4_999, CheckState.OK, ""),
        (5_000, CheckState.WARN, "; the last 24 hours had 5,000, without those refused"),
        (10_000, CheckState.WARN, "; not free at that size: UCEPROTECT_1, URIBL"),
    ],
)
def test_the_size_that_was_said_is_held_against_the_journal(
    tmp_path: Path, judged: int, state: CheckState, more: str
) -> None:
    report = size_report(policy(tmp_path, TABLE), judged)
    assert report.state is state
    assert report.words.startswith(
        "10 of 12 are on; [free_lists] is on for 5,000 messages a day of its own mail (yours: "
    )
    assert more in report.words
    assert ("not free" in report.words) == (judged == 10_000)
    assert bool(report.hint) == (state is CheckState.WARN)


def test_each_list_that_the_table_turned_on_is_asked_and_a_refusal_says_its_terms(
    tmp_path: Path, zones: Zones
) -> None:
    zones.add(
        {
            "": {"NS": "a.root-servers.test."},
            "2.0.0.127.zen.spamhaus.org": {"A": "127.0.0.2"},
            "dbltest.com.dbl.spamhaus.org": {"A": "127.0.1.2"},
            "*.multi.uribl.com": {"A": "127.0.0.1"},
            "*.multi.surbl.org": {"A": "127.0.0.1"},
            "*.psbl.surriel.com": {"A": "127.255.255.254"},
            "*.bl.mailspike.net": {"A": "127.255.255.255"},
            "*.list.dnswl.org": {"A": "127.0.0.255"},
            "*.bl.spamcop.net": {"A": "203.0.113.80"},
            "*.dnsbl-1.uceprotect.net": {"A": "127.0.0.2"},
        }
    )
    (tmp_path / "policy.d").mkdir()
    policy(tmp_path / "policy.d", TABLE)
    sets = {
        "dns.servers": zones.setting,
        "paths.policy": tmp_path / "policy.d",
        "doors.milter.listen": f"unix:{tmp_path}/m.sock",
    }
    words = [part for name, value in sets.items() for part in ("--set", f"{name}={value}")]
    done = CliRunner().invoke(
        main,
        [*words, "--state", str(tmp_path / "state"), "doctor", "--json"],
        catch_exceptions=False,
    )
    said = {report["what"]: report for report in json.loads(done.stdout)}
    assert done.exit_code == 1
    well = {what for what, report in said.items() if report["state"] == "OK" and "DNS list" in what}
    # a list of good senders has no test point that is listed: only that it does not list the world
    assert well == {"DNS list SPAMHAUS_ZEN", "DNS list SPAMHAUS_DBL", "DNS list MAILSPIKE_WL"}
    assert "DNS list BARRACUDA" not in said
    whys = {
        "PSBL": "asked through a public resolver (127.255.255.254)",
        "MAILSPIKE": "too many queries (127.255.255.255)",
        "URIBL": "refuses to answer (127.0.0.1): a public resolver, or too many queries",
        "SURBL": "refuses to answer (127.0.0.1): a public resolver, or too many queries",
        "DNSWL": "refuses to answer (127.0.0.255): a public resolver, or too many queries",
    }
    for name, why in whys.items():
        report = said[f"DNS list {name}"]
        assert report["state"] == "FAIL"
        assert why in report["finding"]
        assert "docs/senders/dns-lists.md says" in report["hint"]
        assert "; its terms: " in report["hint"]
    for name, why in (
        ("SPAMCOP", "answers with 203.0.113.80, which no list does"),
        ("UCEPROTECT_1", "lists 127.0.0.1, which no list may"),
    ):
        report = said[f"DNS list {name}"]
        assert (report["state"], report["hint"]) == ("FAIL", "")
        assert why in report["finding"]
    assert said["free lists"]["state"] == "OK"
