"""Whose turn it is to believe and learn."""

from __future__ import annotations

from pathlib import Path

from oborona import state_files
from oborona.daemon.site.turn import SiteTurn
from oborona.stores.site_models.turn import LOCK


class TrainerTurn(SiteTurn):
    """The turn of a trainer, as long as it is entered.

    Args:
        state: the state folder.

    Raises:
        StoreError: nobody can know whether the machine is alone.
    """

    def __init__(self, state: Path) -> None:
        super().__init__(state, state_files.FEEDBACK, LOCK)
