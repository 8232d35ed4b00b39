"""The reports about a message, the decisions on them, and the effects that are still in place."""

from __future__ import annotations

from oborona.cli.terminal import Terminal, plain
from oborona.desk.messages.feedback import ExplainedFeedback
from oborona.feedback.events.model import EventKind


def show(console: Terminal, reports: tuple[ExplainedFeedback, ...]) -> None:
    """Print what was said of a message."""
    for report in reports:
        person = report.person or report.source or "the site"
        heading = (
            f"{report.time}  {EventKind(report.what).report} of {person} by {report.way}: "
            f"{_shown(report.decision)}"
        )
        heading += f", weight {report.weight:.2f}" if report.decision == "believed" else ""
        heading += (
            f" ({' '.join(report.rules)}: {report.say})" if report.rules or report.say else ""
        )
        console.print(plain(f"report {report.id}  {heading}"), highlight=False)
        lines = [*report.effects]
        if report.word is not None:
            lines.append(
                f"label {report.word} is {report.word_state or 'forgotten'}; in the counters: "
                f"{report.counted}"
            )
        lines += [f"on the list of {report.person}: {entry}" for entry in report.own_list]
        lines += [f"proposed signature {name}" for name in report.proposals]
        lines += [] if report.done else ["not all of it is applied yet"]
        lines += [
            f"before, {before.time}: {_shown(before.decision)} {' '.join(before.rules)}".rstrip()
            for before in report.before
        ]
        for line in lines:
            console.print(plain(f"      {line}"), highlight=False)


def _shown(decision: str) -> str:
    """Return a decision as people read it."""
    return "accepted" if decision == "believed" else decision
