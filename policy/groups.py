"""Groups of rules with a cap: many rules that see the same thing in many ways weigh no more than
the cap.

[[group]]
name = "MASS"
cap  = 120

[[rule]]
name  = "MASS_TEXT"
group = "MASS"
...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.expression.template import printable
from oborona.policy.named_tables import Enabled, Fields, Name, TableSort, Why, refuse
from oborona.policy.rules import Rule
from oborona.toml import did_you_mean
from oborona.types import RuleHit, RuleMode

MAX_GROUPS: Final = 200

_CUT: Final = re.compile(
    r"(?P<left>[-+.e0-9]+) of (?P<whole>[-+.e0-9]+), cap [+.e0-9]+ of [A-Z0-9_]+(?:: |\Z)"
)


class GroupTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[group]]` table; this is their only list."""

    name: Name
    cap: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=10_000,
                description=(
                    "The live scores of its rules add up to at most this, and to no less than "
                    "this below 0."
                ),
            ),
        ]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


GROUPS: Final = TableSort("group", "group", GroupTable, MAX_GROUPS, (("cap",),))


class RuleGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The group of each rule, and the caps."""

    caps: Mapping[str, float] = {}  # those switched on, by name
    members: Mapping[str, str] = {}  # rule -> group


def groups(tables: Mapping[str, Fields], rules: Sequence[Rule]) -> RuleGroups:
    """Return the groups that files give together.

    Args:
        tables: the [[group]] tables, by name; one without fields can't be used, and may be named.
        rules: of all files.

    Raises:
        PolicyError: a rule is in a group that is none.
    """
    for rule in rules:
        if rule.group and rule.group not in tables:
            raise refuse(
                (
                    f'rule {rule.name}: group = "{rule.group}": there is no such '
                    f"[[group]]{did_you_mean(rule.group, tables)}"
                ),
                rule.places["group"],
            )
    caps = {
        name: fields["cap"].value
        for name, fields in tables.items()
        if fields and ("enabled" not in fields or fields["enabled"].value)
    }
    return RuleGroups(
        caps=caps,
        members={rule.name: rule.group for rule in rules if rule.enabled and rule.group in caps},
    )


def with_member(rule_groups: RuleGroups, name: str, group: str) -> RuleGroups:
    """Return the groups with one more member that is no rule.

    Args:
        rule_groups: the groups.
        name: of the member's hits.
        group: that it is in; empty, or one that is switched off: none.
    """
    if group not in rule_groups.caps:
        return rule_groups
    return msgspec.structs.replace(rule_groups, members={**rule_groups.members, name: group})


def group_room(hits: Sequence[RuleHit], groups: RuleGroups, name: str) -> float:
    """Return what one more hit may add before the cap of its group is reached.

    Args:
        hits: that are there already; those in shadow mode take no room.
        groups: with their caps.
        name: of the hit; what is in no group has all the room there is.

    Guarantees: 0 or more.
    """
    group = groups.members.get(name)
    if group is None:
        return inf
    taken = sum(
        hit.score
        for hit in hits
        if hit.mode is RuleMode.LIVE and groups.members.get(hit.name) == group
    )
    return max(0.0, groups.caps[group] - taken)


def cap_hits(hits: Sequence[RuleHit], groups: RuleGroups) -> list[RuleHit]:
    """Return hits whose scores keep to the caps; what was cut says so.

    The lightest give way first, and of equals the first by name: they lose what is too much, until
    the group's live hits add up to its cap. Those in shadow mode keep their scores, which count for
    nothing.

    Args:
        hits: of rules; the same in another order are cut the same.
        groups: with their caps.
    """
    capped = list(hits)
    if not groups.members:
        return capped
    members: dict[str, list[int]] = {}
    for number, hit in enumerate(capped):
        group = groups.members.get(hit.name)
        if group is not None and hit.mode is RuleMode.LIVE:
            members.setdefault(group, []).append(number)
    for group, numbers in members.items():
        total = sum(capped[number].score for number in numbers)
        excess = abs(total) - groups.caps[group]
        sign = 1 if total > 0 else -1
        for number in sorted(numbers, key=lambda hit: (abs(capped[hit].score), capped[hit].name)):
            if excess <= 0:
                break
            hit = capped[number]
            cut = min(excess, max(hit.score * sign, 0.0))
            if cut > 0:
                excess -= cut
                capped[number] = _cut(hit, hit.score - sign * cut, group, groups.caps[group])
    return capped


def uncapped_hit(hit: RuleHit) -> RuleHit:
    """Return a hit as it was before a cap cut it, to the six figures that its words tell.

    The same where none did.
    """
    words = _CUT.match(hit.say)
    if words is None or words["left"] != f"{hit.score:g}":
        return hit
    return msgspec.structs.replace(hit, score=float(words["whole"]), say=hit.say[words.end() :])


def _cut(hit: RuleHit, left: float, group: str, cap: float) -> RuleHit:
    words = f"{left:g} of {hit.score:g}, cap {cap:g} of {group}"
    say = printable(f"{words}: {hit.say}" if hit.say else words)
    return msgspec.structs.replace(hit, score=round(left, 6), say=say)
