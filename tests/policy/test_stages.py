"""Where a mail server has to wait: only where rules can refuse."""

from pathlib import Path

import pytest

from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.stages import awaited_answers, deciding, waiting_stages
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
    names = {
        "CONNECT": "client.ip",
        "SENDER": "helo",
        "RECIPIENT": "recipient",
        "CONTENT": "subject",
    }
    words = rules.split()
    text = "[verdict]\nreject_score = 200\n[repip]\nbad = 'none'\n" + "".join(
        f'[[rule]]\nname = "{stage}"\nwhen = "{names[stage]} == \'x\'"\nscore = {score}\n'
        for stage, score in zip(words[::2], words[1::2], strict=True)
    )
    (tmp_path / "10.toml").write_text(text)
    assert deciding(load_policy(tmp_path, SCHEMA)) == stages
    (tmp_path / "20.toml").write_text("[verdict]\nrefuse = false\n")
    assert deciding(load_policy(tmp_path, SCHEMA)) == frozenset()


def test_the_policy_that_ships_decides_at_connect_by_memory_and_else_with_the_content() -> None:
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    assert deciding(policy) == {Stage.CONNECT}
    assert awaited_answers(policy, Stage.CONNECT) == (False, False), (
        "no connection waits for the DNS"
    )


LIST = """
[repip]
bad = "none"
[[dns_list]]
name = "SOME"
zone = "list.test"
of = {of}
score = {score}
"""


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        (LIST.format(of='["client"]', score=200), {Stage.CONNECT}),
        (LIST.format(of='["client"]', score=199), set()),
        (LIST.format(of='["sender", "links"]', score=200), {Stage.SENDER}),
        (LIST.format(of='["links"]', score=300), set()),
        (LIST.format(of='["client"]', score=300) + "mode = 'shadow'\n", set()),
        (LIST.format(of='["client"]', score=300) + "enabled = false\n", set()),
        (LIST.format(of='["client"]', score=-300), set()),
        ("[repip]\nbad = 'none'\npoor = 'slow'\n", {Stage.CONNECT}),
        (
            (
                "[repip]\nbad = 'none'\n[[local_list]]\nname = 'L'\naction = 'deny'\nof = "
                "['sender', 'from']\nentries = ['a.test']\n"
            ),
            {Stage.SENDER},
        ),
    ],
)
def test_lists_and_repip_decide_where_they_can(
    tmp_path: Path, text: str, stages: set[Stage]
) -> None:
    (tmp_path / "10.toml").write_text("[verdict]\nreject_score = 200\n" + text)
    assert deciding(load_policy(tmp_path, SCHEMA)) == stages


def test_what_rules_name_is_awaited_from_their_stage_on(tmp_path: Path) -> None:
    (tmp_path / "10.toml").write_text(
        "[[rule]]\nname = 'A'\nwhen = \"spf.result == 'fail'\"\nscore = 1\n"
        "[[rule]]\nname = 'B'\nwhen = \"iprev.result == 'fail'\"\nscore = 1\nstage = 'recipient'\n"
    )
    policy = load_policy(tmp_path, SCHEMA)
    assert awaited_answers(policy, Stage.CONNECT) == (False, False)
    assert awaited_answers(policy, Stage.SENDER) == (True, False)
    assert awaited_answers(policy, Stage.RECIPIENT) == (True, True)


@pytest.mark.parametrize(
    ("at", "of", "stages"),
    [
        ("connect", "client", {Stage.CONNECT}),
        ("sender", "client", {Stage.SENDER}),
        ("recipient", "client", {Stage.RECIPIENT}),
        ("connect", "sender", {Stage.SENDER}),
        ("sender", "sender", {Stage.SENDER}),
        ("recipient", "sender", {Stage.RECIPIENT}),
    ],
)
def test_nobody_waits_before_the_place_where_clients_are_refused(
    tmp_path: Path, at: str, of: str, stages: set[Stage]
) -> None:
    (tmp_path / "10.toml").write_text(
        f"[verdict]\nclients_at = '{at}'\n" + LIST.format(of=f'["{of}"]', score=200)
    )
    policy = load_policy(tmp_path, SCHEMA)
    falls = deciding(policy)
    assert falls == {Stage.CONNECT if of == "client" else Stage.SENDER}
    assert waiting_stages(falls, policy) == stages
