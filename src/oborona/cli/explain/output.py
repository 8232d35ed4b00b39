"""An explanation for people: who decided, rules, facts and counts, then and now side by side, with
what changed marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from oborona.cli.explain import feedback, moves
from oborona.cli.terminal import Terminal, plain
from oborona.desk.messages.explanation import VerdictExplanation, VerdictSide
from oborona.desk.messages.proof import proof_of
from oborona.policy.fact_table import TABLE
from oborona.policy.local_list_match import NOT_COUNTED
from oborona.session.limit_report import PASSED
from oborona.types import Action, RuleHit, RuleMode

CHANGED: Final = "*"
VALUE: Final = 60  # columns of a fact's value, and of its meaning
UNIT: Final = 20
EXACT: Final = 1e6  # a larger number is shown whole, as the time is
_COLOURS: Final = {Action.ACCEPT: "green", Action.SPAM: "yellow"}
_BESIDE_RULES: Final = {NOT_COUNTED: "list ", PASSED: "limit"}
"""Findings that are told to everybody, under this word."""


def show(console: Terminal, explanation: VerdictExplanation, *, verbose: bool) -> None:
    """Print an explanation: what an admin asks first; with `verbose` all of it."""
    _about(console, explanation)
    _verdicts(console, explanation)
    _rules(console, explanation)
    _beside_rules(console, explanation)
    _authentication(console, explanation)
    if explanation.late is not None:
        _late(console, explanation.late, verbose=verbose)
    feedback.show(console, explanation.feedback)
    moves.show(console, explanation.moves)
    if not verbose:
        heading = (
            "-v shows findings, models, every fact, and what is counted of each part of the message"
        )
        console.print(heading, highlight=False, style="dim")
        return
    _findings(console, explanation)
    _models(console, explanation)
    _facts(console, explanation)
    _counts(console, explanation)


def _about(console: Terminal, explanation: VerdictExplanation) -> None:
    about = Table.grid(padding=(0, 2))
    for name, value in (
        ("file", explanation.file or ""),
        ("id", explanation.id or ""),
        ("time", explanation.time or ""),
        ("queue id", explanation.queue_id),
        (
            "client",
            f"{explanation.client} helo {explanation.helo}"
            if explanation.client or explanation.helo
            else "",
        ),
        ("from", f"<{explanation.sender}>" if explanation.sender or explanation.id else ""),
        ("to", " ".join(explanation.recipients)),
        ("login", explanation.login),
        ("subject", explanation.subject),
        ("Message-ID", explanation.message_id),
        ("bytes", str(explanation.size)),
    ):
        if value:
            about.add_row(name, plain(value))
    console.print(about, highlight=False)


def _sides(explanation: VerdictExplanation) -> list[tuple[str, VerdictSide]]:
    return [
        (name, side)
        for name, side in (("then", explanation.then), ("now", explanation.now))
        if side is not None
    ]


def _verdicts(console: Terminal, explanation: VerdictExplanation) -> None:
    for name, side in _sides(explanation):
        colour = _COLOURS.get(side.verdict, "red")
        console.print(
            Text.assemble(f"{name}  ", (side.verdict, colour), f" {side.score:.1f} / {side.line:g}")
        )
        words = [f"decided by {side.decided_by}, policy {side.policy or 'unknown'}"]
        if side.lines is not None:
            words.append(f"spam from {side.lines.spam:g}, refused from {side.lines.reject:g}")
            words += _distance(side)
            if side.lines.shadow_spam is not None or side.lines.shadow_reject is not None:
                spam = side.lines.shadow_spam or side.lines.spam
                reject = side.lines.shadow_reject or side.lines.reject
                words.append(f"on trial {spam:g} and {reject:g}")
        console.print(f"      {plain('; '.join(words))}", highlight=False)
        if side.would is not None:
            would = side.would
            line = f"{would.action} {would.score:.1f} / {would.line:g} by {would.decided_by}"
            console.print(f"      with all in shadow mode live: {plain(line)}", highlight=False)
        for rule, why in side.not_judged.items():
            console.print(f"      {plain(f'{rule}: not judged, {why}')}", highlight=False)
        if len(side.possible) > 1:
            line = f"      so it could be {' or '.join(side.possible)}"
            console.print(line, highlight=False)
    if explanation.no_now and explanation.id is not None:
        console.print(f"now   can't be told: {explanation.no_now}", highlight=False)
    if explanation.changed_verdict:
        console.print(f"{CHANGED} the verdict would change now", highlight=False)


def _distance(side: VerdictSide) -> list[str]:
    """Return how far a score is from the next threshold."""
    if side.lines is None or side.verdict not in (Action.ACCEPT, Action.SPAM):
        return []
    spam = side.verdict is Action.ACCEPT
    left = (side.lines.spam if spam else side.lines.reject) - side.score
    return [f"{left:.1f} points below {'spam' if spam else 'refusal'}"] if left > 0 else []


def _beside_rules(console: Terminal, explanation: VerdictExplanation) -> None:
    """Print allow entries that match and were not counted, with what would be, and the limits that
    the message passed.
    """
    lines = dict.fromkeys(
        f"{_BESIDE_RULES[finding.name]} {finding.evidence}"
        for _, side in _sides(explanation)
        for finding in side.findings
        if finding.name in _BESIDE_RULES
    )
    for line in lines:
        console.print(plain(line), highlight=False)


def _authentication(console: Terminal, explanation: VerdictExplanation) -> None:
    proof = proof_of(explanation.then or explanation.now)
    if proof is None:
        return
    parts = [
        f"{one.method}={one.result}{f' ({one.of})' if one.of else ''}" for one in proof.methods
    ]
    parts.append(f"proved: {proof.proved}" if proof.proved else "sender not authenticated")
    console.print(f"authentication  {plain(', '.join(parts))}", highlight=False)


def _rules(console: Terminal, explanation: VerdictExplanation) -> None:
    sides = _sides(explanation)
    if not any(side.rules for _, side in sides):
        return
    table = Table(title="rules", title_justify="left")
    table.add_column("")
    table.add_column("rule", no_wrap=True)
    for name, _ in sides:
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold")
    changed = {change.name for change in explanation.changed_rules}
    hits = [{hit.name: hit for hit in side.rules} for _, side in sides]
    for name in dict.fromkeys(name for by_name in reversed(hits) for name in by_name):
        last = next(by_name[name] for by_name in reversed(hits) if name in by_name)
        table.add_row(
            CHANGED if name in changed else "",
            plain(name),
            *(
                _part(by_name.get(name), name, side)
                for by_name, (_, side) in zip(hits, sides, strict=True)
            ),
            plain(last.say),
        )
    console.print(table, highlight=False)


def _part(hit: RuleHit | None, name: str, side: VerdictSide) -> str:
    if hit is None:
        return "?" if name in side.not_judged else ""
    return f"({hit.score:.1f})" if hit.mode is RuleMode.SHADOW else f"{hit.score:.1f}"


def _findings(console: Terminal, explanation: VerdictExplanation) -> None:
    side = explanation.then or explanation.now
    for finding in side.findings if side is not None else ():
        if finding.name in _BESIDE_RULES:
            continue
        line = f"found {finding.name}  {finding.evidence}".rstrip()
        console.print(plain(line), highlight=False)


def _late(console: Terminal, late: VerdictSide, *, verbose: bool) -> None:
    console.print(
        (
            f"found late: {late.verdict} {late.score:.1f} / {late.line:g}, decided by "
            f"{plain(late.decided_by)}"
        ),
        highlight=False,
    )
    for hit in late.rules if verbose else ():
        console.print(
            f"  {hit.score:>8.1f}  {plain(f'{hit.name}  {hit.say}')}".rstrip(), highlight=False
        )
    for finding in late.findings if verbose else ():
        console.print(
            f"  found {plain(f'{finding.name}  {finding.evidence}')}".rstrip(), highlight=False
        )
    for name, value in late.facts.items() if verbose else ():
        console.print(f"  {name} = {_value(value)}", highlight=False)


def _models(console: Terminal, explanation: VerdictExplanation) -> None:
    side = explanation.then or explanation.now
    if side is not None and side.model:
        weights = side.model
        learned = (
            f"{weights['spam_learned']:,} spam and {weights['ham_learned']:,} good messages "
            f"learned, weights {weights['version']}"
        )
        probability = weights["probability"]
        word = (
            "not in use yet"
            if probability is None
            else f"{probability:.4f} spam, margin {weights['margin']:.2f}"
        )
        console.print(f"content model: {word}; {plain(learned)}", highlight=False)
    if explanation.content_model is not None:
        views = ", ".join(
            f"{view} {part:+.2f}" for view, part in explanation.content_model["views"].items()
        )
        console.print(f"what pulled it which way: {views}", highlight=False)
        table = Table("of", "what")
        table.add_column("part", justify="right")
        for part in explanation.content_model["parts"]:
            table.add_row(part["view"], plain(part["what"]), f"{part['part']:+.3f}")
        table.add_row("", "all others", f"{explanation.content_model['rest']:+.3f}")
        console.print(table, highlight=False)
    if explanation.shipped_model is not None:
        _features(
            console,
            f"model that comes with Oborona: adds log-odds {explanation.shipped_model['log_odds']:.2f} "
            f"to those of the rules",
            explanation.shipped_model,
        )
    if explanation.final_model is not None:
        _features(
            console,
            f"final model: {explanation.final_model['probability']:.4f} spam",
            explanation.final_model,
        )


def _features(console: Terminal, word: str, model: Mapping[str, Any]) -> None:
    line = f"{word}; before anything is known, log-odds {model['mean']:.2f}"
    table = Table("feature", title=line, title_justify="left")
    table.add_column("value", justify="right")
    table.add_column("log-odds", justify="right")
    for part in model["parts"]:
        value = "none" if part["value"] is None else f"{part['value']:g}"
        table.add_row(plain(part["feature"]), value, f"{part['log_odds']:+.2f}")
    console.print(table, highlight=False)


def _facts(console: Terminal, explanation: VerdictExplanation) -> None:
    sides = _sides(explanation)
    table = Table(title="facts that are not empty", title_justify="left")
    table.add_column("fact", no_wrap=True)
    table.add_column(sides[0][0] if sides else "", overflow="fold", max_width=VALUE)
    if explanation.changed_facts:
        table.add_column("now, where it differs", overflow="fold", max_width=VALUE)
    table.add_column("unit", overflow="ellipsis", no_wrap=True, max_width=UNIT)
    table.add_column("meaning", overflow="ellipsis", no_wrap=True, max_width=VALUE)
    changed = {change.name: change.now for change in explanation.changed_facts}
    for fact in TABLE:
        values = [side.facts.get(fact.name) for _, side in sides]
        if any(values):
            now = [_value(changed[fact.name]) if fact.name in changed else ""] if changed else []
            table.add_row(fact.name, _value(values[0]), *now, fact.unit, fact.doc)
    console.print(table, highlight=False)


def _value(value: Any) -> str:
    if value is None or value == []:
        return ""
    if isinstance(value, list):
        return plain(" ".join(map(str, value)))[:200]
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < EXACT else f"{value:.0f}"
    return plain(str(value))[:200]


def _counts(console: Terminal, explanation: VerdictExplanation) -> None:
    table = Table(
        title="counted, then → now" if explanation.id else "counted", title_justify="left"
    )
    table.add_column("piece", no_wrap=True)
    columns = {
        "hour": "hour",
        "day": "day",
        "fortnight": "two weeks",
        "spam": "spam, two weeks",
        "complaints": "complaints",
    }
    for title in columns.values():
        table.add_column(title, justify="right")
    for piece in explanation.counts:
        row = []
        for key in columns:
            then, now = (
                side[key] if side is not None else None for side in (piece.then, piece.now)
            )
            change = f"{'?' if then is None else then} → {'?' if now is None else now}"
            row.append(
                change if explanation.id and then != now else "?" if now is None else str(now)
            )
        table.add_row(piece.piece, *row)
    console.print(table, highlight=False)
