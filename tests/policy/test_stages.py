"""Where a mail server has to wait: only where rules can refuse."""

from pathlib import Path

import pytest

from oborona.policy.facts import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.stages import deciding
from oborona.types import Stage

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("rules", "stages"),
    [
        ("", set()),
        ("CONNECT 199", set()),
        ("CONNECT 200", {Stage.CONNECT}),
        ("CONNECT 150 SENDER 50", {Stage.SENDER}),
        ("CONNECT 200 RECIPIENT 5", {Stage.CONNECT, Stage.RECIPIENT}),
        ("CONNECT 200 SENDER -5", {Stage.CONNECT}),
        ("CONTENT 1000", set()),
    ],
)
def test_a_stage_waits_when_its_rules_can_reach_the_line(
    tmp_path: Path, rules: str, stages: set[Stage]
) -> None:
    names = {"CONNECT": "client.ip", "SENDER": "helo", "RECIPIENT": "recipient", "CONTENT": "subject"}
    words = rules.split()
    text = "[verdict]\nreject_score = 200\n" + "".join(
        f'[[rule]]\nname = "{stage}"\nwhen = "{names[stage]} == \'x\'"\nscore = {score}\n'
        for stage, score in zip(words[::2], words[1::2], strict=True)
    )
    (tmp_path / "10.toml").write_text(text)
    assert deciding(load_policy(tmp_path, SCHEMA)) == stages
    (tmp_path / "20.toml").write_text("[verdict]\nrefuse = false\n")
    assert deciding(load_policy(tmp_path, SCHEMA)) == frozenset()


def test_the_policy_that_ships_decides_with_the_content_alone() -> None:
    assert deciding(load_policy(ROOT / "etc/policy.d", SCHEMA)) == frozenset()
