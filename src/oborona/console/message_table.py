"""Tables of a message's page: rules and facts, each then and now."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from oborona.console.message_answer import ShownSide

LIVE: Final = "live"
MOST_FACT: Final = 400  # characters of a value; JSON has the whole
_MISSING: Final = object()


class RuleLine(NamedTuple):
    """A rule that fired then, or would now; a score that it did not give is None."""

    name: str
    mode: str
    then: float | None
    now: float | None
    say: str
    unjudged: str  # why nobody knows whether it fires now


class FactLine(NamedTuple):
    """A fact; `now` is empty where it is as it was then, or nobody knows."""

    name: str
    then: str
    now: str


def rule_lines(then: ShownSide | None, now: ShownSide | None) -> list[RuleLine]:
    """Return all rules of both sides, those that weigh most first."""
    before, after = _hits(then), _hits(now)
    unjudged = {} if now is None else now.not_judged
    lines = []
    for key in dict.fromkeys([*before, *after]):
        name, mode = key
        was, is_now = before.get(key), after.get(key)
        say = next((hit[1] for hit in (was, is_now) if hit is not None and hit[1]), "")
        lines.append(
            RuleLine(
                name,
                mode,
                None if was is None else was[0],
                None if is_now is None else is_now[0],
                say,
                unjudged.get(name, ""),
            )
        )
    return sorted(lines, key=lambda line: -max(abs(line.then or 0.0), abs(line.now or 0.0)))


def _hits(side: ShownSide | None) -> dict[tuple[str, str], tuple[float, str]]:
    rules = () if side is None else side.rules
    return {(hit.name, hit.mode): (hit.score, hit.say) for hit in rules}


def fact_lines(then: ShownSide | None, now: ShownSide | None, wanted: str = "") -> list[FactLine]:
    """Return the facts that are not empty, by name.

    Args:
        then: side of the verdict that was given.
        now: side of now.
        wanted: that a name or a value has in it; empty = any.
    """
    before = {} if then is None else then.facts
    after = {} if now is None else now.facts
    lines = []
    for name in sorted({*before, *after}):
        was, is_now = before.get(name, _MISSING), after.get(name, _MISSING)
        if _empty(was) and _empty(is_now):
            continue
        old = _text(is_now if then is None else was)
        new = "" if then is None or is_now is _MISSING or is_now == was else _text(is_now)
        if not wanted or wanted.casefold() in f"{name} {old} {new}".casefold():
            lines.append(FactLine(name, _cut(old), _cut(new)))
    return lines


def _empty(value: Any) -> bool:
    return value is _MISSING or value is None or value in (False, 0, "") or value in ([], {})


def _text(value: Any) -> str:
    if value is _MISSING or value is None:
        return "\N{EN DASH}"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "\N{EN DASH}"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) or "\N{EN DASH}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_FACT else f"{text[:MOST_FACT]}…"
