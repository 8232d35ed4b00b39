"""What `oborona policy check` and `show` tell of lists."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(
        main, ["--config", str(folder / "oborona.toml"), *words], catch_exceptions=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "oborona.toml").write_text('[paths]\npolicy = "p"\nshipped_policy = "none"\n')
    policy = tmp_path / "p"
    policy.mkdir()
    (policy / "10.toml").write_text(
        '[[dns_list]]\nname = "ZEN"\nzone = "zen.example"\nof = ["client"]\nscores = { '
        '"127.0.0.2" = 100 }\nenabled = false\n'
    )
    (policy / "90-local.toml").write_text(
        '[[dns_list]]\nname = "ZEN"\nenabled = true\n'
        '[[local_list]]\nname = "KEPT_OUT"\naction = "deny"\nof = ["client"]\nfile = "out.list"\n'
        "[repip]\nslow_s = 2\n"
    )
    (policy / "out.list").write_text("192.0.2.0/24\n198.51.100.7\n")
    return tmp_path


def test_show_tells_the_origin_of_each_field_of_a_list(folder: Path) -> None:
    result = run(folder, "policy", "show", "--origin")
    lines = dict(line.split(" = ", 1) for line in result.stdout.splitlines())
    assert lines["dns_list.ZEN.scores"].startswith('{"127.0.0.2":100.0}    # ')
    assert lines["dns_list.ZEN.scores"].endswith("10.toml:5")
    assert lines["dns_list.ZEN.enabled"].startswith("true")
    assert lines["dns_list.ZEN.enabled"].endswith("90-local.toml:3")
    assert lines["local_list.KEPT_OUT.action"].startswith('"deny"')
    assert lines["local_list.KEPT_OUT.file"].endswith("90-local.toml:8")
    assert lines["repip.slow_s"].endswith("90-local.toml:10")
    assert lines["repip.bad"].endswith("# default")
    told = json.loads(run(folder, "policy", "show", "--json").stdout)
    assert told["dns_list.ZEN.of"] == {
        "value": ["client"],
        "origin": f"{folder / 'p/10.toml'}:4",
        "whose": "yours",
    }


def test_check_counts_lists_and_their_entries(folder: Path) -> None:
    result = run(folder, "policy", "check")
    assert "0 rules, 1 DNS lists (1 on), 1 local lists (2 entries)" in result.stdout
    (folder / "p/out.list").write_text("192.0.2.0/24\n198.51.100.7/8\n")
    result = run(folder, "policy", "check")
    assert result.exit_code == os.EX_CONFIG
    assert "out.list:2: " in result.stderr
