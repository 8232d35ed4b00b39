"""Golden mails by the command line: the same verdict, score and reasons as by any door
(test_all_doors.py).
"""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from oborona.cli import main
from tests.peers.dns import Zones
from tests.policy.models.final.made import leave_to_rules
from tests.whole.couriers import CLIENT, NAME, SENDER
from tests.whole.golden import each_mail, want


@each_mail
def test_by_the_command_line(
    mail: Path, tmp_path: Path, golden_dns: Zones, golden_policy: Path
) -> None:
    leave_to_rules(tmp_path)
    words = [
        "--state",
        str(tmp_path),
        "--set",
        "site.name=mx.example.test",
        "--set",
        f"dns.servers={golden_dns.setting}",
        "--set",
        f"paths.policy={golden_policy}",
        "--set",
        "paths.shipped_policy=none",
    ]
    words += ["check", "--json", str(mail), "--from", SENDER, "--ip", CLIENT, "--name", NAME]
    if mail.with_suffix(".dns").exists():
        words.append("--dns")
    found = json.loads(CliRunner().invoke(main, words, catch_exceptions=False).stdout)
    rules = {rule["name"]: rule["score"] for rule in found["rules"]}
    findings = sorted(finding["name"] for finding in found["findings"])
    assert want(mail) == {
        "verdict": found["verdict"],
        "score": found["score"],
        "decided_by": found["decided_by"],
        "rules": rules,
        "findings": findings,
    }
