"""A verdict for people, as SpamAssassin's clients show it: the score, the rules with what each
says, and where the log has it.  Pure.
"""

from __future__ import annotations

import textwrap
from typing import Final

from oborona.doors.reply import VerdictDetails
from oborona.types import Action, RuleHit, RuleMode

LONGEST: Final = 20_000  # characters; Exim has room for 32 KiB of answer
POINTS: Final = 6  # columns
NAME: Final = 26
WORDS: Final = 44

_VERDICTS: Final = {
    Action.ACCEPT: "no spam",
    Action.SPAM: "spam",
    Action.REJECT: "spam, to be refused",
    Action.TEMPFAIL: "to be put off: the sender is asked to come again",
}


def report_lines(judged: VerdictDetails, name: str, score: str, line: str, scale: float) -> str:
    """Return the report of a message, in lines.

    Args:
        judged: what its verdict rests on.
        name: ours.
        score: as it is told.
        line: of spam, as it is told.
        scale: what points are multiplied by.
    """
    verdict = judged.verdict
    live = [hit for hit in verdict.rules if hit.mode is RuleMode.LIVE]
    lines = [
        (
            f"{name}: {_VERDICTS[verdict.action]}. Decided by {verdict.decided_by}, reference "
            f"{judged.reference}."
        ),
        "",
        f"Content analysis details:   ({score} points, {line} required)",
        "",
        f"   pts {'rule name':<{NAME}} description",
        f"{'-' * POINTS} {'-' * NAME} {'-' * WORDS}",
    ]
    room = LONGEST - sum(map(len, lines))
    for place, hit in enumerate(live):
        rows = _rows(hit, scale)
        room -= sum(map(len, rows)) + len(rows)
        if room < 0:
            lines.append(f"{'':{POINTS}} ({len(live) - place} more)")
            break
        lines += rows
    return "\n".join((*lines, ""))


def _rows(hit: RuleHit, scale: float) -> list[str]:
    words = textwrap.wrap(hit.say, WORDS) or [""]
    first = f"{hit.score * scale:{POINTS}.1f} {hit.name:<{NAME}} {words[0]}".rstrip()
    return [first, *(f"{'':{POINTS + NAME + 1}} {word}" for word in words[1:])]
