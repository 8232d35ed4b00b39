"""What every act answers."""

from __future__ import annotations

import msgspec

from oborona.desk.call import UndoCall


class ActReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done.

    Args:
        dry: nothing was: it is what would be.
        undo: how it is taken back; None = by no one act.
    """

    dry: bool = False
    undo: UndoCall | None = None
