"""Whose turn it is to believe and learn."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.daemon.site.turn import SiteTurn

LOCK: Final = "trainer"


class TrainerTurn(SiteTurn):
    """The turn of a trainer, as long as it is entered.

    Args:
        state: the state folder.

    Raises:
        StoreError: nobody can know whether the machine is alone.
    """

    def __init__(self, state: Path) -> None:
        super().__init__(state, state_files.FEEDBACK, LOCK)
