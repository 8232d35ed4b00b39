"""What the pages about the policy show can be copied: each example is loaded over the policy that
ships.
"""

import re
from pathlib import Path

import pytest

from oborona.cli.document import ROOT
from oborona.policy.expression import compile_rules
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.rule_tests import run_tests
from oborona.policy.rules import Rule

SHIPPED = ROOT / "etc/policy.d"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", (ROOT / "docs" / page).read_text())


TABLES = [
    (page, text)
    for page in ("policy/policy.md", "policy/replay.md")
    for text in blocks(page, "toml")
]
CONDITIONS = [line for text in blocks("policy/policy.md", "python") for line in text.splitlines()]


def with_(text: str, name: str, folder: Path) -> Path:
    for path in SHIPPED.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / name).write_text(text)
    return folder


def test_there_are_some() -> None:
    assert {page for page, _ in TABLES} == {"policy/policy.md", "policy/replay.md"}
    assert len(CONDITIONS) >= 9


@pytest.mark.parametrize("text", [text for _, text in TABLES])
def test_tables_are_right(text: str, tmp_path: Path) -> None:
    policy = load_policy(with_(text, "90-local.toml", tmp_path), SCHEMA)
    assert not list(run_tests(policy.compiled, policy.conditions))


@pytest.mark.parametrize("when", CONDITIONS)
def test_conditions_are_right(when: str) -> None:
    assert compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA).rules
