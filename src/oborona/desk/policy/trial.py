"""A draft on trial: what it changes is put into the overlay in shadow mode, so that messages tell
what it would do and no verdict is another.

A rule that is new is put there as it is; one that is changed stays as it is in force, and what the
draft makes of it is tried beside it under a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from oborona.desk.call import CallError
from oborona.desk.policy.difference import MeaningChange, meaning_changes
from oborona.policy.load import Policy
from oborona.policy.rules import Rule
from oborona.toml.edit import TomlText
from oborona.types import RuleMode

SUFFIX: Final = "_TRIAL"
_LONGEST: Final = 64  # characters of a name
# sorts of what has a mode, but DNS lists: that one has listed a client is a fact of live rules, too
_MODED: Final = ("rule", "local_list")
_LINES: Final = {"spam_score": "shadow_spam_score", "reject_score": "shadow_reject_score"}
_FIELDS: Final = ("when", "score", "say", "stage", "group")


class TrialOverlay(msgspec.Struct, frozen=True, kw_only=True):
    """What is written for a trial.

    Args:
        raw: of the overlay.
        tried: names under which something is tried.
        untried: what can't be, in words.
    """

    raw: bytes
    tried: tuple[str, ...]
    untried: tuple[str, ...] = ()


def trial_overlay(
    overlay: bytes, current: Policy, draft: Policy, file: str, *, partly: bool = False
) -> TrialOverlay:
    """Return the overlay with what a draft changes on trial.

    Args:
        overlay: as it is in force.
        current: the policy in force.
        draft: the policy of the draft.
        file: name of the overlay.
        partly: try what can be tried.

    Raises:
        CallError: something of it can't be tried, or nothing of it.
    """
    text = TomlText(overlay, file)
    tried, untried = list[str](), list[str]()
    for change in meaning_changes(current.means, draft.means):
        try:
            tried += _try_change(text, change, current, draft)
        except CallError as error:
            if not partly:
                raise
            untried.append(str(error))
    if not tried:
        raise CallError("; ".join(untried) or "nothing of what it changes could be tried")
    return TrialOverlay(raw=text.raw, tried=tuple(tried), untried=tuple(untried))


def _try_change(
    text: TomlText, change: MeaningChange, current: Policy, draft: Policy
) -> Iterator[str]:
    """Yield the names under which a change is tried, as it is written."""
    match change.sort:
        case "member":  # said by the rules themselves
            return
        case "condition" if change.state == "added":
            text.set_named("condition", change.name, _given(draft, "condition", change.name))
        case "verdict" if set(change.fields) <= {*_LINES, *_LINES.values()}:
            for line, on_trial in _LINES.items():
                if line in change.fields:
                    text.set_field("verdict", on_trial, getattr(draft.verdict, line))
                    yield f"verdict.{on_trial}"
        case "rule" if change.state != "removed":
            yield _try_rule(text, change, current, draft)
        case "local_list" if change.state == "added":
            fields = _given(draft, "local_list", change.name)
            text.set_named("local_list", change.name, {**fields, "mode": RuleMode.SHADOW.value})
            yield change.name
        case _:
            named = f"{change.sort} {change.name}".rstrip() if change.state == "changed" else ""
            told = f"{named} {change.text}".lstrip()
            raise CallError(f"can't be tried in shadow mode: {told}")


def _try_rule(text: TomlText, change: MeaningChange, current: Policy, draft: Policy) -> str:
    rules = {rule.name: rule for rule in draft.rules}
    rule = rules[change.name]
    if rule.scripted:
        raise CallError(f"can't be tried in shadow mode: {rule.name}, which is a script")
    before = next((old for old in current.rules if old.name == rule.name and old.enabled), None)
    name = rule.name
    if before is not None and before.mode is not RuleMode.SHADOW:
        name = f"{rule.name[: _LONGEST - len(SUFFIX)].rstrip('_')}{SUFFIX}"
    text.set_named("rule", name, {**_fields(rule), "mode": RuleMode.SHADOW.value, "enabled": True})
    return name


def _fields(rule: Rule) -> dict[str, Any]:
    values = {key: getattr(rule, key) for key in _FIELDS}
    return {key: value for key, value in values.items() if value not in ("", None)}


def _given(policy: Policy, sort: str, name: str) -> dict[str, Any]:
    """Return the fields of a table as files give them."""
    start = f"{sort}.{name}."
    return {
        key.removeprefix(start): msgspec.to_builtins(value)
        for key, value in policy.lists.items()
        if key.startswith(start)
    }


def changed_verdicts(current: Policy, tried: Policy) -> list[str]:
    """Return what of a policy on trial could change a verdict; empty: nothing could."""
    before, after = (
        msgspec.json.decode(policy.means, type=dict[str, dict[str, Any]])
        for policy in (current, tried)
    )
    return [
        f"{sort} {name}".rstrip()
        for sort in {**before, **after}
        for name in _live_changes(sort, before.get(sort, {}), after.get(sort, {}), after)
    ]


def _live_changes(
    sort: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    whole: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    match sort:
        case "verdict":
            return [name for name in differing if name not in _LINES.values()]
        case "condition":
            return [name for name in differing if name in before]
        case "member":
            return [name for name in differing if not _on_trial(name, whole.get("rule", {}))]
        case _ if sort in _MODED:
            return [
                name
                for name in differing
                if not _on_trial(name, after) or (name in before and not _on_trial(name, before))
            ]
    return differing


def _on_trial(name: str, tables: Mapping[str, Any]) -> bool:
    return bool(tables.get(name, {}).get("mode") == RuleMode.SHADOW.value)
