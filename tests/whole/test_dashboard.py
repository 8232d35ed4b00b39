"""A Prometheus that is set up as the page says reads a site with mail: no panel of the dashboard is
empty, no query and no rule fails.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from oborona.telemetry.dashboard_panels import ROWS
from tests.everyday import everyday, golden
from tests.letters import campaign, gtube
from tests.peers.clamd import Clamd
from tests.peers.dns_servers import Rbldnsd
from tests.peers.ports import free_port
from tests.peers.postfix import available
from tests.peers.prometheus import Prometheus
from tests.whole.gate import Gate, eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (available() and shutil.which("prometheus")), reason="no Postfix or no Prometheus"
    ),
]

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/operate/monitoring.md"
RULES: Final = ROOT / "etc/prometheus/oborona.rules"
PATIENCE_S: Final = 120.0
LISTED: Final = "9.1.0.1"
POLICY: Final = (
    '[[dns_list]]\nname = "BAD_CLIENTS"\nzone = "bl.test"\nof = ["client"]\nscore = 250\n'
)
QUERIES: Final = {
    f"{panel.title} / {query.legend or number}": query.expression
    for panels in ROWS.values()
    for panel in panels
    for number, query in enumerate(panel.queries)
}


class WatchedSite(NamedTuple):
    """A site with mail, and who reads its metrics."""

    gate: Gate
    prometheus: Prometheus
    address: str  # of its metrics
    http: Path  # folder of the socket files for scans and for feedback


def page_blocks(start: str) -> str:
    """Return the indented lines of the page from one that begins so, to the next that is not."""
    (block,) = re.findall(rf"^    {start}.*\n(?:    .*\n)*", PAGE.read_text(), re.MULTILINE)
    return str(block)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedSite]:
    port = free_port()
    said = re.search(r'listen = "(inet:127\.0\.0\.1:(\d+))"', page_blocks(r"\[metrics\]"))
    assert said is not None
    named = said[2]
    settings: dict[str, Any] = yaml.safe_load(page_blocks("rule_files:").replace(named, str(port)))
    settings["scrape_configs"][0]["scrape_interval"] = "1s"  # a test has no minutes
    settings["global"] = {"evaluation_interval": "1s"}
    http = tmp_path_factory.mktemp("http")
    with (
        Rbldnsd({"bl.test:ip4trie": f"$TTL 1\n:127.0.0.2:listed\n127.0.0.2\n{LISTED}\n"}) as lists,
        Clamd() as clamd,
    ):
        asked = {
            "metrics.listen": said[1].replace(named, str(port)),
            "intake.http_listen": f"unix:{http}/feedback",
            "doors.http.listen": f"unix:{http}/scan",
            "engines.clamd.ask": clamd.address,
        }
        with (
            Gate(lists.setting, POLICY, settings=asked) as gate,
            Prometheus(settings, (RULES,)) as prometheus,
        ):
            yield WatchedSite(gate, prometheus, f"http://127.0.0.1:{port}/metrics", http)


def post(socket_file: Path, path: str, body: bytes) -> int:
    """Hand a message in over HTTP; return the status."""
    connection = http.client.HTTPConnection("oborona", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(socket_file))
    connection.request("POST", path, body, {"Content-Type": "message/rfc822"})
    status = connection.getresponse().status
    connection.close()
    return status


def empty_panels(prometheus: Prometheus) -> list[str]:
    """Return the queries of panels that find nothing now."""
    return [
        name
        for name, expression in QUERIES.items()
        if not prometheus.query(
            expression.replace("$__rate_interval", "1m").replace("$instance", ".*")
        )
    ]


def rules_of(prometheus: Prometheus) -> list[dict[str, Any]]:
    """Return the rules with their state and health."""
    return [one for group in prometheus.get("rules")["groups"] for one in group["rules"]]


def test_no_panel_is_empty_and_no_rule_fails(site: WatchedSite) -> None:
    letters = cycle([*everyday(20, seed=1), *campaign(10, seed=1), *golden()[:40], gtube()])
    taught = site.gate.folder / "taught.eml"
    taught.write_bytes(gtube().wire)
    assert site.gate.oborona.run("learn", "spam", str(taught)).returncode == 0
    until, empty, number = time.monotonic() + PATIENCE_S, list(QUERIES), 0
    while empty and time.monotonic() < until:
        for _ in range(10):
            letter = next(letters)
            number += 1
            site.gate.postfix.send(
                letter.wire,
                sender=letter.sender,
                recipients=[letter.recipient],
                xclient={"ADDR": letter.client_ip, "NAME": "[UNAVAILABLE]"},
                helo=letter.helo,
            )
        site.gate.send(LISTED)
        site.gate.send("10.0.0.1", next(letters).wire, login="joe", submission=True)
        assert post(site.http / "scan", "/checkv2", next(letters).wire) == 200
        words = f"what=complaint&person=joe{number}@example.test"
        assert post(site.http / "feedback", f"/feedback?{words}", next(letters).wire) == 201
        empty = empty_panels(site.prometheus)
    assert empty == [], empty
    eventually(lambda: {one["health"] for one in rules_of(site.prometheus)} == {"ok"})
    rules = rules_of(site.prometheus)
    assert len(rules) == RULES.read_text().count("- alert:")
    assert [one["name"] for one in rules if one["state"] == "firing"] == []


def test_prometheus_finds_the_endpoint_sound(site: WatchedSite) -> None:
    with urllib.request.urlopen(site.address, timeout=30) as answer:
        told = answer.read()
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=told, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, b"")
    (target,) = site.prometheus.get("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")


def test_the_json_is_what_the_panels_say() -> None:
    told = json.loads((ROOT / "etc/grafana/oborona.json").read_text())
    panels = [one for one in told["panels"] if one["type"] != "row"]
    expressions = [target["expr"] for one in panels for target in one["targets"]]
    assert expressions == [
        query.expression for row in ROWS.values() for panel in row for query in panel.queries
    ]
    places = [one["gridPos"] for one in told["panels"]]
    cells = [
        (place["x"] + column, place["y"] + line)
        for place in places
        for column in range(place["w"])
        for line in range(place["h"])
    ]
    assert len(cells) == len(set(cells)), "no panel lies on another"
    assert len({one["id"] for one in told["panels"]}) == len(told["panels"])
