"""What becomes of another filter's configuration, for people and programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from oborona.cli.output import echo
from oborona.cli.terminal import plain
from oborona.desk.move_in.outcome import MoveInOutcome
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import LeftLine
from oborona.policy.signatures.model import SignatureScope
from oborona.types import RuleMode

SHOWN: Final = 5  # of one sort
_ON_TRIAL: Final = {RuleMode.LIVE: "", RuleMode.SHADOW: ", on trial"}


def show_plan(plan: MovePlan, *, everything: bool) -> None:
    """Print what becomes what, and what is left.

    Args:
        plan: it.
        everything: each line, not the first few.
    """
    most = None if everything else SHOWN
    sorts = (_lists(plan), _rules(plan), _signatures(plan), _lines(plan), _persons(plan))
    _show("Becomes:", [line for lines in sorts for line in _first(list(lines), most)], "nothing")
    _show("Means something else here:", plan.told, "")
    _show("Can't be carried over:", list(_left(plan.left, most)), "nothing is left")


def _show(head: str, lines: Sequence[str], none: str) -> None:
    if lines or none:
        echo(head)
    for line in lines or filter(None, [none]):
        echo(plain(f"  {line}"))


def _first(lines: list[str], most: int | None) -> list[str]:
    """Return the first lines, and how many more there are."""
    if most is None or len(lines) <= most:
        return lines
    return [*lines[:most], f"and {len(lines) - most:,} more (--all)"]


def _lists(plan: MovePlan) -> Iterator[str]:
    for planned in plan.lists:
        if planned.entries:
            place = next(iter(planned.entries.values()))
            number = len(planned.entries)
            yield (
                f"list {planned.name}{_ON_TRIAL[planned.mode]}: {planned.action} "
                f"{', '.join(planned.of)}, {number:,} {'entry' if number == 1 else 'entries'} from {place.file}"
            )


def _rules(plan: MovePlan) -> Iterator[str]:
    for rule in plan.rules:
        yield f"rule {rule.name}, on trial: {rule.score:g} when {rule.when} ({rule.place})"


def _signatures(plan: MovePlan) -> Iterator[str]:
    for signature, place in plan.signatures:
        where = "" if signature.where is SignatureScope.ANY else f" in {signature.where}"
        yield f"signature, on trial: {signature.kind}{where} {signature.value} ({place})"


def _lines(plan: MovePlan) -> Iterator[str]:
    for key, value in plan.lines.items():
        yield f"[verdict] {key} = {value:g}, on trial"


def _persons(plan: MovePlan) -> Iterator[str]:
    for address, person in plan.persons.items():
        said = [f"{entry.side} {entry.kind} {entry.value}" for entry in person.entries.values()]
        if person.strictness is not None:
            said.append(f"strictness {person.strictness:g}")
        yield f"{address}: {', '.join(said)}"


def _left(left: list[LeftLine], most: int | None) -> Iterator[str]:
    """Yield reasons, the most frequent first, each with the lines that it is of."""
    by_why: defaultdict[str, list[LeftLine]] = defaultdict(list)
    for line in left:
        by_why[line.why].append(line)
    for why, lines in sorted(by_why.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"{why}: {len(lines):,}"
        for text in _first([f"{line.place}: {line.what}" for line in lines], most):
            yield f"    {text}"


def plan_object(plan: MovePlan) -> dict[str, Any]:
    """Return a plan as JSON has it."""
    return {
        "program": plan.program,
        "lists": [
            {
                "name": planned.name,
                "action": planned.action,
                "of": list(planned.of),
                "mode": planned.mode,
                "entries": list(planned.entries),
            }
            for planned in plan.lists
            if planned.entries
        ],
        "rules": [
            {"name": rule.name, "when": rule.when, "score": rule.score, "from": str(rule.place)}
            for rule in plan.rules
        ],
        "signatures": [
            {
                "kind": signature.kind,
                "value": signature.value,
                "where": signature.where,
                "from": str(place),
            }
            for signature, place in plan.signatures
        ],
        "lines": plan.lines,
        "persons": {
            address: {
                "strictness": person.strictness,
                "entries": [
                    {"side": entry.side, "kind": entry.kind, "value": entry.value}
                    for entry in person.entries.values()
                ],
            }
            for address, person in plan.persons.items()
        },
        "told": plan.told,
        "left": [
            {"from": str(line.place), "what": line.what, "why": line.why} for line in plan.left
        ],
    }


def show_outcome(done: MoveInOutcome) -> None:
    """Print what was done."""
    if done.kept:
        echo(f"{done.kept}; without it and its lists all is written anew")
    if done.files:
        echo(f"written into the policy folder: {', '.join(done.files)}")
        back = f"oborona policy roll-back {done.before}" if done.before else "removing these files"
        echo(f"policy version {done.version}; {back} takes it back")
    echo(
        f"signatures on trial: {done.added:,} added, {done.same:,} were there; people whose own "
        f"lists changed: {done.persons:,}"
    )
