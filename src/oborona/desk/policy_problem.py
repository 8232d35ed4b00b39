"""What is wrong with policy files, with the line and a mark at the place."""

from __future__ import annotations

from typing import Final

from oborona.daemon.publisher import reporter
from oborona.telemetry.status import PolicyRefusal

SHOWN: Final = 100  # characters of a broken line, around the place


def render_problem(refused: PolicyRefusal) -> str:
    """Return what is wrong, and under it the line with a mark at the place."""
    words = reporter.refusal_text(refused)
    if not refused.text:
        return words
    column = max(0, refused.column - 1)
    first = max(0, column - SHOWN // 2)
    line = refused.text[first : first + SHOWN]
    shown = "".join(char if char.isprintable() else " " for char in line)
    mark = (
        f"\n    {' ' * (column - first)}^" if refused.column and column <= len(refused.text) else ""
    )
    return f"{words}\n    {shown}{mark}"
