"""`oborona list` and `oborona find` on a running daemon behind a real Postfix: a change is in force
at once, and what did not count says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from tests.peers.dns import Zones
from tests.whole.gate import SPAM, Gate, eventually

PILLS = SPAM.replace(b"<ann@a.example>", b"Maria <maria@client.example>")


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones({}) as dns, Gate(dns.setting) as running:
        yield running


def command(gate: Gate, *words: str) -> Result:
    settings = ["--state", str(gate.oborona.state), "--set", f"paths.policy={gate.policy_folder}"]
    return CliRunner().invoke(main, [*settings, *words], catch_exceptions=False)


def test_a_client_is_denied_and_let_in_again_by_commands(gate: Gate) -> None:
    ip = "9.9.1.1"
    assert gate.send(ip)[-1].startswith("250")
    assert command(gate, "list", "add", "deny", ip, "--reason", "a test").exit_code == 0
    eventually(lambda: not gate.send(ip)[-1].startswith("250"))
    assert command(gate, "list", "undo", "deny").exit_code == 0
    eventually(lambda: gate.send(ip)[-1].startswith("250"))


def test_an_allow_that_nobody_proves_is_said_not_to_count_and_the_client_is_what_counts(
    gate: Gate,
) -> None:
    ip, mine = "9.9.2.1", "maria@client.example"
    told = (
        f"SITE_ALLOW has {mine}, not counted: nobody proved it (spf=none, dkim=none, "
        f"dmarc=none); allow client {ip}"
    )

    def said() -> bool:
        assert gate.send(ip, PILLS, sender=mine)[-1].startswith("550"), (
            "anybody can write this address"
        )
        return any(told in one.get("not_counted", "") for one in gate.events("verdict"))

    assert command(gate, "list", "add", "allow", mine).exit_code == 0
    eventually(said)
    newest = "find", f"client:{ip}", "verdict:reject", "--limit", "1"
    eventually(lambda: mine in command(gate, *newest).stdout)
    ident = command(gate, *newest).stdout.split()[2]
    assert f"list {told}" in " ".join(command(gate, "explain", ident).stdout.split())
    assert command(gate, "list", "add", "allow", ip).exit_code == 0
    eventually(lambda: gate.send(ip, PILLS, sender=mine)[-1].startswith("250"))
