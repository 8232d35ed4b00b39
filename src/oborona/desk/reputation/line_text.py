"""Texts that stores keep as one line."""

from __future__ import annotations

from oborona.desk.refusals import UnusableValueError
from oborona.stores.pins.store import MAX_TEXT


def checked_line(text: str, field: str = "") -> str:
    """Return a text that the log can hold.

    Args:
        text: somebody's.
        field: what it is called.

    Raises:
        UnusableValueError: it can't.
    """
    if not (text.strip() and text.isprintable() and len(text) <= MAX_TEXT):
        raise UnusableValueError(
            f"one line of printable text, of at most {MAX_TEXT} characters", field
        )
    return text
