"""What of a verdict leaves the house: nothing of traps, whoever wrote the rule that asks for
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from oborona.policy.counts import MessageCounts
from oborona.policy.disclosure import public_verdict
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.policy.load import Policy, load_policy
from oborona.policy.rules import VerdictLines
from oborona.policy.verdict import Evaluator
from oborona.types import Action, RuleHit, RuleMode, Verdict

SHIPPED = load_policy(Path(__file__).parents[2] / "etc/policy.d", SCHEMA)


def verdict(
    *hits: RuleHit, action: Action = Action.ACCEPT, decided_by: str = "below-threshold"
) -> Verdict:
    live = [hit for hit in hits if hit.mode is RuleMode.LIVE]
    line = {Action.REJECT: 200.0}.get(action, 100.0)
    return Verdict(
        action=action,
        score=sum(hit.score for hit in live),
        line=line,
        decided_by=decided_by,
        rules=hits,
    )


def hit(name: str, score: float, say: str = "", mode: RuleMode = RuleMode.LIVE) -> RuleHit:
    return RuleHit(name=name, score=score, say=say, mode=mode)


def test_whatever_ships_and_asks_for_traps_is_private() -> None:
    assert {
        "TRAP_BESIDE",
        "MASS_TRAPPED",
        "MASS_TRAPPED_OFTEN",
        "LINK_TRAPPED",
        "FILE_TRAPPED",
    } <= SHIPPED.private
    texts = {rule.name: f"{rule.when} {rule.say} {rule.score}" for rule in SHIPPED.rules}
    assert {name for name, text in texts.items() if "traps" in text} <= SHIPPED.private
    assert "MASS_TEXT" not in SHIPPED.private


@pytest.mark.parametrize("detail", list(HeaderDetail))
def test_headers_are_those_of_a_message_that_knows_of_no_trap(detail: HeaderDetail) -> None:
    plain = verdict(
        hit("MASS_TEXT", 30, "same text"), hit("KARMA", -10, "-25: network -10 (3 spam of 9)")
    )
    trapped = verdict(
        hit("TRAP_BESIDE", 60, "1 of 2 recipients are traps"),
        hit("MASS_TEXT", 30, "same text"),
        hit("KARMA", -10, "-25: network -10 (3 spam of 9, 2 traps)"),
        hit("FILE_TRAPPED", 40, "this file came to traps 2 times", RuleMode.SHADOW),
    )
    assert our_headers(public_verdict(trapped, SHIPPED), "id", detail) == our_headers(
        public_verdict(plain, SHIPPED), "id", detail
    )


def test_the_final_model_says_of_mail_to_a_trap_what_it_says_of_the_same_mail_to_people() -> None:
    class Final:
        def weigh(
            self,
            facts: Facts,
            hits: Sequence[RuleHit],
            table: FinalTable,
            lines: VerdictLines,
            groups: RuleGroups,
        ) -> tuple[RuleHit, ...]:
            return (hit("FINAL_MODEL", 20.0, f"rules alone {sum(one.score for one in hits):g}"),)

    text, trap = hit("MASS_TEXT", 30), hit("TRAP_BESIDE", 60, "1 of 2 recipients are traps")
    model = Evaluator(SHIPPED, Final()).model
    to_people, to_trap = (
        public_verdict(verdict(*hits, *model(Facts(known=MessageCounts()), hits)), SHIPPED)
        for hits in ([text], [text, trap])
    )
    assert to_trap == to_people


@pytest.mark.parametrize(("action", "line"), [(Action.SPAM, 100), (Action.REJECT, 200)])
def test_what_traps_decided_says_so_to_nobody_and_stays_decided(
    action: Action, line: float
) -> None:
    found = public_verdict(
        verdict(
            hit("MASS_TRAPPED", 500, "4 of 9 came to traps"),
            action=action,
            decided_by="MASS_TRAPPED",
        ),
        SHIPPED,
    )
    assert (found.action, found.score, found.decided_by, found.rules) == (
        action,
        line,
        "policy",
        (),
    )
    text = " ".join(value for _, value in our_headers(found, "id", HeaderDetail.FULL)).lower()
    assert "trap" not in text


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (
            "-25: network -10 (3 spam of 9, 2 complaints, 3 traps)",
            "-25: network -10 (3 spam of 9, 2 complaints)",
        ),
        ("3 spam of 9, 1,204 traps, 2 not-spam reports", "3 spam of 9, 2 not-spam reports"),
        ("9 messages, no spam; 1 trap; like a clock", "9 messages, no spam; like a clock"),
        ("-25: network -10", "-25: network -10"),
    ],
)
def test_karma_is_told_without_the_number_of_traps(say: str, told: str) -> None:
    assert [one.say for one in public_verdict(verdict(hit("KARMA", 10, say)), SHIPPED).rules] == [
        told
    ]


def test_what_has_nothing_to_hide_is_the_same() -> None:
    one = verdict(hit("MASS_TEXT", 30, "same text"))
    assert public_verdict(one, SHIPPED) is one


def test_a_rule_of_the_site_is_private_by_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "10.toml").write_text(
        """
[[condition]]
name = "LURED"
when = "count[ClientNetwork].fortnight.traps >= 2"

[[rule]]
name = "BY_CONDITION"
when = "LURED and links > 0"
score = 5

[[rule]]
name = "BY_RULE"
when = "fired(BY_CONDITION)"
score = 5

[[rule]]
name = "BY_RATE"
when = "rate(count[LinkDomain], 'day', 'traps') > 2"
score = 5

[[rule]]
name = "BY_WORDS"
when = "links > 3"
score = 5
say = "{mass.traps}"

[[rule]]
name = "BY_KARMA"
when = "karma < -50"
score = 5
say = "{karma.why}"

[[rule]]
name = "ELSE"
when = "links > 3"
score = 5
"""
    )
    policy: Policy = load_policy(tmp_path, SCHEMA)
    assert policy.private == {"LURED", "BY_CONDITION", "BY_RULE", "BY_RATE", "BY_WORDS"}
    assert policy.wordless == {"BY_KARMA"}
