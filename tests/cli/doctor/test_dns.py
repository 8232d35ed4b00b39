"""`oborona doctor` on the DNS: resolvers and lists that are well, and each way in which they are
not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.config import ResolverAddress
from oborona.desk.doctor.dns import PUBLIC, resolver_report
from oborona.desk.doctor.report import CheckState
from oborona.dns import DnsAnswer, DnsOutcome
from oborona.metrics import MetricsSnapshot
from oborona.telemetry.status import ListStatus, WorkerStatus, write_status
from tests.peers.dns import Fault, Zones

LIST = '[[dns_list]]\nname = "{name}"\nzone = "{zone}"\nof = {of}\nscore = 60\n'
OF_ADDRESSES = LIST.format(name="LISTED", zone="list.k3y.test", of='["client"]')
OF_NAMES = LIST.format(name="NAMES", zone="names.test", of='["sender", "links"]')
Look = Callable[..., tuple[int, dict[str, tuple[str, str]]]]


@pytest.fixture
def look(tmp_path: Path, zones: Zones) -> Look:
    """Run the doctor; return its exit status and what it says, by what it is about."""
    zones.add({"": {"NS": "a.root-servers.test."}})
    (tmp_path / "policy.d").mkdir()

    def run(
        lists: str = "", *, servers: str = "", **settings: object
    ) -> tuple[int, dict[str, tuple[str, str]]]:
        (tmp_path / "policy.d/10.toml").write_text(f"[verdict]\n{lists}")
        sets = {
            "dns.servers": servers or zones.setting,
            "paths.policy": tmp_path / "policy.d",
            "paths.shipped_policy": "none",
            "doors.milter.listen": f"unix:{tmp_path}/m.sock",
        } | {name.replace("__", "."): value for name, value in settings.items()}
        words = [part for name, value in sets.items() for part in ("--set", f"{name}={value}")]
        done = CliRunner().invoke(
            main, [*words, "--state", str(tmp_path / "state"), "doctor"], catch_exceptions=False
        )
        return done.exit_code, reports(done.stdout)

    return run


def reports(told: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    what = ""
    for line in told.splitlines():
        cells = [cell.strip() for cell in re.split(r"[│|]", line)]
        if len(cells) == 3:
            state, name, words = cells
            what = name or what
            before = found.get(what, ("", ""))
            found[what] = (state or before[0], f"{before[1]} {words}".strip())
    return {
        re.sub(r"(^resolver [^ ]+):[0-9]+$", r"\1", what): words for what, words in found.items()
    }


def test_a_resolver_and_lists_that_are_well(look: Look, zones: Zones) -> None:
    zones.add(
        {"2.0.0.127.list.k3y.test": {"A": "127.0.0.2"}, "test.names.test": {"A": "127.0.0.2"}}
    )
    _, said = look(OF_ADDRESSES + OF_NAMES)
    assert said["resolver 127.0.0.1"][0] == "OK"
    assert re.fullmatch(r"answers in \d+ ms", said["resolver 127.0.0.1"][1])
    for name in ("DNS list LISTED", "DNS list NAMES"):
        assert said[name][0] == "OK"
        assert re.fullmatch(r"2 test points are right, \d+ ms", said[name][1])
    assert zones.count("1.0.0.127.list.k3y.test", "A") == 1
    assert zones.count("invalid.names.test", "A") == 1


def test_only_lists_that_are_switched_on_are_asked(look: Look, zones: Zones) -> None:
    _, said = look(OF_ADDRESSES + "enabled = false\n")
    assert not [what for what in said if what.startswith("DNS list")]
    assert not [one for one in zones.asked if "k3y" in one.name]


def test_a_list_without_test_points_is_said_to_have_none(look: Look, zones: Zones) -> None:
    hashed = LIST.format(name="EBL", zone="ebl.test", of='["from"]') + 'hash = "sha1"\n'
    assert look(hashed)[1]["DNS list EBL"] == (
        "OK",
        "has no test points; it is trusted until its answers tell otherwise",
    )
    assert not [one for one in zones.asked if one.name.endswith("ebl.test")]


BROKEN: dict[str, tuple[dict[str, dict[str, str]], str]] = {
    "does not list its test point": ({}, "does not list its test point 127.0.0.2: empty, dead, or"),
    "refuses a public resolver": (
        {"*.list.k3y.test": {"A": "127.255.255.254"}},
        "asked through a public resolver (127.255.255.254): use a resolver of your own",
    ),
    "refuses for too many": ({"*.list.k3y.test": {"A": "127.255.255.255"}}, "too many queries"),
    "lists the world": (
        {"*.list.k3y.test": {"A": "127.0.0.2"}},
        "lists 127.0.0.1, which no list may",
    ),
    "is a parked domain": ({"*.list.k3y.test": {"A": "203.0.113.80"}}, "answers with 203.0.113.80"),
}


@pytest.mark.parametrize(("records", "words"), BROKEN.values(), ids=BROKEN)
def test_a_list_that_is_not_well_is_wrong_and_why(
    look: Look, zones: Zones, records: dict[str, dict[str, str]], words: str
) -> None:
    zones.add(records)
    status, said = look(OF_ADDRESSES)
    state, told = said["DNS list LISTED"]
    assert (status, state) == (1, "FAIL")
    assert told.startswith("counts nothing: ")
    assert words in told
    assert "k3y" not in str(said), "a zone may hold a key"


def test_a_list_that_does_not_answer(look: Look, zones: Zones) -> None:
    zones.fault("*.list.k3y.test", Fault.HANG)
    started = time.monotonic()
    status, said = look(OF_ADDRESSES, dns__timeout_s=0.2)
    assert time.monotonic() - started < 20
    assert status == 1
    assert said["DNS list LISTED"] == ("FAIL", "counts nothing: timeout")
    assert said["resolver 127.0.0.1"][0] == "OK"


@pytest.mark.parametrize(
    ("fault", "why"),
    [(Fault.HANG, "timeout"), (Fault.SERVFAIL, "servfail"), (Fault.REFUSED, "refused")],
)
def test_a_resolver_that_does_not_answer(look: Look, zones: Zones, fault: Fault, why: str) -> None:
    zones.fault("*", fault)
    _, said = look(dns__timeout_s=0.2)
    state, words = said["resolver 127.0.0.1"]
    assert state == "WARN"
    assert words.startswith(f"no answer: {why}; ")


def test_each_resolver_is_looked_at_for_itself(look: Look, zones: Zones) -> None:
    with Zones({"": {"NS": "a.root-servers.test."}}, host="127.0.0.2") as other:
        other.fault("*", Fault.SERVFAIL)
        said = look(servers=f"{zones.setting} {other.setting}")[1]
    assert said["resolver 127.0.0.1"][0] == "OK"
    assert said["resolver 127.0.0.2"][0] == "WARN"


def test_nobody_at_the_resolvers_address(look: Look) -> None:
    with Zones() as gone:
        setting = gone.setting
    state, words = look(servers=setting)[1]["resolver 127.0.0.1"]
    assert state == "WARN"
    assert "unreachable" in words


def test_a_resolver_that_makes_up_answers(look: Look, zones: Zones) -> None:
    zones.add({"*.invalid": {"A": "203.0.113.99"}})
    status, said = look()
    assert status == 1
    state, words = said["resolver 127.0.0.1"]
    assert state == "FAIL"
    assert "makes up answers: oborona-doctor.invalid is 203.0.113.99" in words


@pytest.mark.parametrize("host", sorted(PUBLIC))
def test_a_resolver_that_is_everybodys(host: str) -> None:
    """By its address alone: nobody is asked here."""
    root = DnsAnswer(outcome=DnsOutcome.FOUND, records=("a.root-servers.test",), ttl=60)
    nobody = DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=60)
    report = resolver_report(ResolverAddress(host), root, nobody, took_ms=12.3)
    assert report.state is CheckState.WARN
    assert "everybody's" in report.words
    lying = DnsAnswer(outcome=DnsOutcome.FOUND, records=("203.0.113.99",), ttl=60)
    assert resolver_report(ResolverAddress(host), root, lying, took_ms=1.0).state is CheckState.FAIL
    assert (
        resolver_report(ResolverAddress("192.0.2.53"), root, nobody, took_ms=12.3).words
        == "answers in 12 ms"
    )


def test_a_broken_policy_hides_no_resolver(look: Look) -> None:
    status, said = look("nonsense = 1\n")
    assert status == 1
    assert said["policy"][0] == "FAIL"
    assert said["resolver 127.0.0.1"][0] == "OK"


def test_what_running_workers_do_not_believe(look: Look, tmp_path: Path, zones: Zones) -> None:
    zones.add({"2.0.0.127.list.k3y.test": {"A": "127.0.0.2"}})
    (tmp_path / "state").mkdir()
    sick = ListStatus(
        state="sick", since=1_800_000_000.0, why="no answer 5 times in a row: timeout"
    )
    well = ListStatus(state="healthy", since=0.0)
    for worker, age in ((0, 0.0), (1, 3600.0)):
        lists = {"LISTED": well, "OLD": sick}
        write_status(
            tmp_path / "state",
            WorkerStatus(
                worker=worker,
                pid=1,
                time=time.time() - age,
                metrics=MetricsSnapshot(),
                policy="",
                lists=lists,
            ),
        )
    said = look(OF_ADDRESSES)[1]
    assert said["DNS list LISTED"][0] == "OK"
    assert said["DNS list OLD"] == (
        "WARN",
        (
            "worker 0 does not ask it since 2027-01-15 08:00:00+00:00: no answer 5 times in a "
            "row: timeout"
        ),
    )
