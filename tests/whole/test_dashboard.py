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
from tests.whole.gate import Gate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (available() and shutil.which("prometheus")), reason="no Postfix or no Prometheus"
    ),
]

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/operate/monitoring.md"
RULES: Final = ROOT / "etc/prometheus/oborona.rules"
PATIENCE_S: Final = 150.0
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
    feedback: Path  # socket file of POST /feedback


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
    feedback = tmp_path_factory.mktemp("feedback") / "http.sock"
    with (
        Rbldnsd({"bl.test:ip4trie": f"$TTL 1\n:127.0.0.2:listed\n127.0.0.2\n{LISTED}\n"}) as lists,
        Clamd() as clamd,
    ):
        asked = {
            "metrics.listen": said[1].replace(named, str(port)),
            "intake.http_listen": f"unix:{feedback}",
            "engines.clamd.ask": clamd.address,
        }
        with (
            Gate(lists.setting, POLICY, settings=asked) as gate,
            Prometheus(settings, (RULES,)) as prometheus,
        ):
            yield WatchedSite(gate, prometheus, f"http://127.0.0.1:{port}/metrics", feedback)


def report(feedback: Path, number: int) -> int:
    """Say that a person complains, as a webmail does; return the status."""
    connection = http.client.HTTPConnection("oborona", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(feedback))
    letter = everyday(40, seed=7)[number % 40]
    connection.request(
        "POST",
        f"/feedback?what=complaint&person=joe{number}@example.test",
        letter.wire,
        {"Content-Type": "message/rfc822"},
    )
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


def test_no_panel_is_empty_and_no_rule_fails(site: WatchedSite) -> None:
    letters = cycle([*everyday(20, seed=1), *campaign(10, seed=1), *golden()[:40], gtube()])
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
        site.gate.submission.send(
            next(letters).wire,
            recipients=["ann@elsewhere.example"],
            xclient={"ADDR": "10.0.0.1", "NAME": "[UNAVAILABLE]", "LOGIN": "joe"},
        )
        assert report(site.feedback, number) in (200, 201)
        empty = empty_panels(site.prometheus)
    assert empty == []
    rules = [one for group in site.prometheus.get("rules")["groups"] for one in group["rules"]]
    assert len(rules) == RULES.read_text().count("- alert:")
    time.sleep(max(0.0, 20 - (PATIENCE_S - (until - time.monotonic()))))
    states = {one["name"]: one["health"] for one in rules}
    assert "err" not in states.values(), [one for one in rules if one["health"] == "err"]
    for rule in rules:
        site.prometheus.query(rule["query"])


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
