"""A plan as files of the policy folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, PlannedList, PlannedRule
from oborona.policy.rules import VerdictLines
from oborona.toml.edit import toml_value

_MOST: Final = 10_000.0  # of a line, as the policy has it
_HEAD: Final = """\
# What {program} was told here, by `oborona move-in {program}`.  This file is yours: change it.
# What has mode = "shadow" is on trial: told in `oborona explain` and counted, and decides nothing.
# A second run leaves this file as it is; remove it and its lists, and they are made anew.
"""


def file_name(program: OldProgram) -> str:
    """Return the name of the policy file of what a program was told."""
    return f"move-in-{program}.toml"


def policy_files(plan: MovePlan, lines: VerdictLines) -> dict[str, bytes]:
    """Return the files of a plan by name; none where it has nothing for the policy.

    Args:
        plan: to write.
        lines: in force: what is on trial beside them may not be crossed.
    """
    lists = [planned for planned in plan.lists if planned.entries]
    if not (lists or plan.rules or plan.lines):
        return {}
    pieces = [_HEAD.format(program=plan.program)]
    if plan.lines:
        pieces.append(_lines(plan, lines))
    pieces += map(_list, lists)
    pieces += map(_rule, plan.rules)
    files = {file_name(plan.program): "\n".join(pieces).encode()}
    for planned in lists:
        head = f"# {planned.why}\n"
        files[list_file(planned)] = (head + "".join(f"{one}\n" for one in planned.entries)).encode()
    return files


def list_file(planned: PlannedList) -> str:
    """Return the name of a list's file."""
    return f"move-in-{planned.name.lower().replace('_', '-')}.list"


def _lines(plan: MovePlan, lines: VerdictLines) -> str:
    spam = min(_MOST, max(1.0, plan.lines.get("shadow_spam_score", lines.spam_score)))
    reject = min(_MOST, max(1.0, plan.lines.get("shadow_reject_score", lines.reject_score)))
    return (
        f"[verdict]\nshadow_spam_score = {toml_value(spam)}\n"
        f"shadow_reject_score = {toml_value(max(spam, reject))}\n"
    )


def _list(planned: PlannedList) -> str:
    fields = {
        "name": planned.name,
        "action": planned.action.value,
        "of": [subject.value for subject in planned.of],
        "file": list_file(planned),
        "mode": planned.mode.value,
        "why": planned.why,
    }
    return _table("local_list", fields)


def _rule(rule: PlannedRule) -> str:
    fields = {
        "name": rule.name,
        "when": rule.when,
        "score": rule.score,
        "say": rule.say,
        "mode": "shadow",
        "why": f"from {rule.place}",
    }
    return _table("rule", fields)


def _table(sort: str, fields: Mapping[str, object]) -> str:
    written = "".join(f"{key} = {toml_value(value)}\n" for key, value in fields.items())
    return f"[[{sort}]]\n{written}"
