"""What every act answers."""

from __future__ import annotations

from typing import Any

import msgspec


class UndoCall(msgspec.Struct, frozen=True, kw_only=True):
    """The act that takes another back: it is called with these arguments, and a reason.

    Args:
        call: its name.
        asked: its arguments.
    """

    call: str
    asked: dict[str, Any]


class ActReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done.

    Args:
        dry: nothing was: it is what would be.
        undo: how it is taken back; None = by no one act.
    """

    dry: bool = False
    undo: UndoCall | None = None
