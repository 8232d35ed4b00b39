"""The test suite of RFC 7208 (openspf.org, release 2014.04 with the additions of 2019), every test
of it.

`vectors/rfc7208.yml` is the file as pyspf's source carries it; `vectors/rfc7208.LICENSE` is its
licence (BSD, three clauses). None of its results is disputed here. Where it allows several, each is
taken. Questions go through the resolver of the daemon to a DNS server with the records of the test.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dns.name
import pytest
import yaml

from oborona.authentication.model import AuthResult
from oborona.authentication.spf import check_spf
from oborona.resolver import Resolver, ResolverAddress
from tests.peers.dns import Fault, Zones

SUITE = Path(__file__).parent / "vectors/rfc7208.yml"
TESTS = 203
SILENCE_S = 1.0  # that makes a temporary error
LONG_S = 20.0

Zone = dict[str, dict[str, list[str | bytes]]]


class Case(NamedTuple):
    name: str
    want: list[str]
    explanation: str  # of the domain's owner; empty: none is expected, or nothing is said
    ip: str
    helo: str
    sender: str
    zone: Zone
    silent: list[tuple[str, str]]  # names and kinds that are never answered


def cases() -> Iterator[Case]:
    for scenario in yaml.safe_load_all(SUITE.read_text()):
        zone, silent = zone_of(scenario["zonedata"])
        for name, test in scenario["tests"].items():
            want, explanation = test["result"], test.get("explanation", "DEFAULT")
            yield Case(
                name=name,
                want=want if isinstance(want, list) else [want],
                explanation="" if explanation == "DEFAULT" else explanation,
                ip=test["host"],
                helo=test["helo"],
                sender=test["mailfrom"],
                zone=zone,
                silent=silent,
            )


def zone_of(data: dict[str, list[Any]]) -> tuple[Zone, list[tuple[str, str]]]:
    """Records as `tests.peers.dns` takes them.

    SPF stands for TXT where a name has no TXT of its own (the suite's rule).
    """
    zone: Zone = {}
    silent = []
    for written, rows in data.items():
        name = dns.name.from_text(written).to_text(omit_final_dot=True).lower()
        mine = zone[name] = {}
        own_text = any("TXT" in row for row in rows if isinstance(row, dict))
        for row in rows:
            if row == "TIMEOUT":  # for the kinds that come after it
                silent += [
                    (name, kind) for kind in ("TXT", "A", "AAAA", "MX", "PTR") if kind not in mine
                ]
                continue
            ((kind, value),) = row.items()
            if value == "NONE" or (kind == "SPF" and own_text):
                continue
            kind = "TXT" if kind == "SPF" else kind
            mine.setdefault(kind, []).append(value_of(kind, value))
    return zone, silent


def value_of(kind: str, value: Any) -> str | bytes:
    match kind:
        case "TXT":
            return (value if isinstance(value, str) else "".join(value)).encode()
        case "MX":
            return f"{value[0]} {value[1].rstrip('.')}."
        case "PTR" | "CNAME":
            return f"{value.rstrip('.')}."
        case _:
            return str(value)


CASES = list(cases())


def test_the_suite_is_whole() -> None:
    assert len(CASES) == TESTS


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_of_the_suite(case: Case) -> None:
    with Zones(case.zone) as zones:
        for name, kind in case.silent:
            zones.fault(name, Fault.HANG, kind=kind)
        servers = [ResolverAddress(zones.host, zones.port)]
        async with Resolver(
            servers, timeout_s=SILENCE_S if case.silent else LONG_S, tries=1
        ) as resolver:
            found = await check_spf(
                ip=case.ip,
                helo=case.helo,
                sender=case.sender,
                asker=resolver,
                receiver="receiver.test",
            )
    assert found.result in case.want, found.why
    if case.explanation:
        assert found.why == case.explanation
    elif found.result is AuthResult.FAIL:
        assert found.why.endswith("all") or found.why.startswith("-"), found.why  # the mechanism
