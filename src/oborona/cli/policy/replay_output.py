"""What a replay found, for people and for programs."""

from __future__ import annotations

import sys
from typing import Any

from rich.table import Table

from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.recheck.comparison import UNCERTAIN, ComparedVerdict, VerdictComparison, VerdictPair

WIDE = 60  # columns of a subject


def show(comparison: VerdictComparison) -> None:
    """Print it as tables."""
    console = Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED)
    certain = comparison.differing
    uncertain = comparison.changes.total() - certain
    heading = f"{comparison.messages:,} messages: {certain:,} verdicts would change"
    if uncertain:
        heading += f", {uncertain:,} might"
    console.print(heading, highlight=False)
    for why, number in comparison.left_out.most_common():
        console.print(f"{number:,} messages can't be judged: {why}", highlight=False)
    if comparison.changes:
        table = Table("verdict", title="verdicts that differ", title_justify="left")
        table.add_column("messages", justify="right")
        for change, number in comparison.changes.most_common():
            table.add_row(_change(change), f"{number:,}")
        console.print(table, highlight=False)
    rules = list(comparison.differing_rules())
    if rules:
        table = Table("rule", title="rules that differ", title_justify="left")
        for column in (
            "hits then",
            "now",
            "new",
            "gone",
            "decides",
            "score then",
            "now",
            "not judged",
        ):
            table.add_column(column, justify="right")
        for name, rule in rules:
            decides = rule.decided_after - rule.decided_before
            table.add_row(
                plain(name),
                f"{rule.before:,}",
                f"{rule.after:,}",
                f"+{rule.gained:,}" if rule.gained else "",
                f"-{rule.lost:,}" if rule.lost else "",
                f"{decides:+,}" if decides else "",
                f"{rule.score_before:,.1f}",
                f"{rule.score_after:,.1f}",
                f"{rule.unjudged:,}" if rule.unjudged else "",
            )
        console.print(table, highlight=False)
    for change, pairs in comparison.examples.items():
        if pairs:
            console.print(f"{_change(change)}, such as", highlight=False)
        for pair in pairs:
            _example(console, pair)


def _change(change: str) -> str:
    """Return a change for people; "uncertain" alone says nothing."""
    return change.replace(UNCERTAIN, "not known, rules could not be judged again")


def _example(console: Terminal, pair: VerdictPair) -> None:
    subject = plain(pair.subject)
    shown = f"{subject[:WIDE]}…" if len(subject) > WIDE else subject
    console.print(f"  {plain(pair.name)}  <{plain(pair.sender)}>  {shown}", highlight=False)
    before, after = pair.before, pair.after
    console.print(f"      {_describe(before)}  →  {_describe(after)}", highlight=False)
    before_hits, after_hits = ({hit.name for hit in verdict.rules} for verdict in (before, after))
    moved = [f"+{name}" for name in sorted(after_hits - before_hits)]
    moved += [f"-{name}" for name in sorted(before_hits - after_hits - set(pair.unjudged))]
    moved += [f"?{name}" for name in pair.unjudged]
    if moved:
        console.print(f"      {plain(' '.join(moved))}", highlight=False)


def _describe(verdict: ComparedVerdict) -> str:
    return f"{verdict.action} {verdict.score:.1f} / {verdict.line:g} by {plain(verdict.decided_by)}"


def as_object(comparison: VerdictComparison) -> dict[str, Any]:
    """Return it as `--json` shows it."""
    return {
        "messages": comparison.messages,
        "differing": comparison.differing,
        "not_judged": dict(comparison.left_out),
        "changes": dict(comparison.changes.most_common()),
        "rules": {
            name: {
                "before": rule.before,
                "after": rule.after,
                "gained": rule.gained,
                "lost": rule.lost,
                "decided_before": rule.decided_before,
                "decided_after": rule.decided_after,
                "score_before": round(rule.score_before, 2),
                "score_after": round(rule.score_after, 2),
                "not_judged": rule.unjudged,
            }
            for name, rule in comparison.differing_rules()
        },
        "examples": [
            {
                "change": change,
                "id": pair.name,
                "from": pair.sender,
                "subject": pair.subject,
                "before": pair.before,
                "after": pair.after,
                "not_judged": pair.unjudged,
            }
            for change, pairs in comparison.examples.items()
            for pair in pairs
        ],
    }
