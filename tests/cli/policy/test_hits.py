"""`oborona policy check --ham --spam`: hits, cost, what is lost and caught."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oborona.desk.policy.rule_costs import SCRIPTS, costs
from oborona.policy.counts import MessageCounts
from oborona.policy.decisive_rules import hangs_on
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.load import load_policy
from oborona.types import RuleHit, RuleMode
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, WORDS, policy, run

SCRIPT = (
    'oborona.rule { name = "LUA_LINKS", score = 70, when = function() return facts.links > 1 '
    "end }\n"
)


def boxes(folder: Path) -> tuple[str, str]:
    for name, letters in (("ham", [LUNCH, LUNCH, LOTTERY]), ("spam", [LOTTERY, LOTTERY, LUNCH])):
        (folder / name).mkdir()
        for number, raw in enumerate(letters):
            (folder / name / str(number)).write_bytes(raw)
    return str(folder / "ham"), str(folder / "spam")


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of each row by its first."""
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()]
    return {cells[0]: cells[1:] for cells in lines if cells}


def test_each_rule_with_its_hits_on_either_sort_and_its_cost(tmp_path: Path) -> None:
    folder, (ham, spam) = policy(tmp_path / "policy", LINKS, WORDS), boxes(tmp_path)
    (folder / "20.lua").write_text(SCRIPT)
    result = run(tmp_path, folder, "policy", "check", "--ham", ham, "--spam", spam, status=1)
    table = rows(result.stdout)
    assert table["spam from 100"] == ["1", "3", "33.33%", "2", "3", "66.67%"]
    assert table["refused from 200"] == ["0", "3", "0.00%", "0", "3", "0.00%"]
    assert table["LINKS"][:5] == ["60", "1", "33.33%", "2", "66.67%"]
    assert table["LUA_LINKS"][:5] == ["70", "1", "33.33%", "2", "66.67%"]
    assert float(table["WORDS"][-1]) >= 0
    assert float(table[SCRIPTS][-1]) > 0
    assert re.search(r"ham/2: spam 180\.0, decided by LUA_LINKS", result.stdout)


def test_a_rule_that_costs_good_mail_its_inbox_comes_first(tmp_path: Path) -> None:
    harmful = '[[rule]]\nname = "ZEALOUS"\nwhen = "links == 0"\nscore = 100\n'
    folder, (ham, spam) = policy(tmp_path / "policy", LINKS, harmful), boxes(tmp_path)
    result = run(tmp_path, folder, "policy", "check", "--ham", ham, "--spam", spam, status=1)
    order = [name for name in rows(result.stdout) if name in ("LINKS", "ZEALOUS")]
    assert order == ["ZEALOUS", "LINKS"]
    assert rows(result.stdout)["ZEALOUS"][5:7] == ["2", "1"]


def test_spam_alone_loses_no_good_mail(tmp_path: Path) -> None:
    folder, (_, spam) = policy(tmp_path / "policy", LINKS), boxes(tmp_path)
    assert rows(run(tmp_path, folder, "policy", "check", "--spam", spam).stdout)["LINKS"][3] == "2"


def test_rules_that_name_conditions_other_rules_and_lists_have_a_cost_of_their_own(
    tmp_path: Path,
) -> None:
    folder = policy(
        tmp_path / "policy",
        LINKS,
        '[[condition]]\nname = "MANY"\nwhen = "links > 5"\n',
        '[[condition]]\nname = "MORE"\nwhen = "MANY and links > 9"\n',
        '[[rule]]\nname = "BOTH"\nwhen = "fired(LINKS) and MORE"\nscore = "links * 2"\n',
        (
            '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["sender"]\nentries = '
            '["a@b.example"]\nmode = "shadow"\n'
        ),
        '[[rule]]\nname = "LISTED"\nwhen = "fired(FRIENDS)"\nscore = 1\nmode = "shadow"\n',
    )
    found = costs(load_policy(folder, SCHEMA), [Facts(known=MessageCounts())])
    assert found.keys() == {"LINKS", "BOTH", "LISTED"}
    assert all(0 <= cost < 10_000 for cost in found.values())
    assert costs(load_policy(folder, SCHEMA), []) == {}


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ([("A", 60), ("B", 50)], ("A", "B")),
        ([("A", 110), ("B", 50)], ("A",)),
        ([("A", 110), ("B", 150)], ()),
        ([("A", 90), ("B", 5)], ()),
        ([("A", 130), ("GOOD", -40)], ("GOOD",)),
        ([("A", 130), ("GOOD", -40), ("ALSO", -40)], ()),
    ],
)
def test_a_verdict_hangs_on_rules_without_which_it_would_be_another(
    parts: list[tuple[str, float]], names: tuple[str, ...]
) -> None:
    hits = [RuleHit(name=name, score=score) for name, score in parts]
    hits.append(RuleHit(name="TRIAL", score=500, mode=RuleMode.SHADOW))
    assert hangs_on(hits, sum(score for _, score in parts), 100) == names
