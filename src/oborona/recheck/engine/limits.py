"""Limits of the recheck: how much it does, and for how long."""

from __future__ import annotations

import msgspec

from oborona.recheck.engine.model import MailboxFolders


class RecheckLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that the settings give."""

    window_s: float = 86_400.0  # a message older than this stays where it is
    # after which it is looked at by the clock
    looks_s: tuple[float, ...] = (60.0, 300.0, 900.0, 3600.0)
    busy_share: float = 0.5  # of one core
    runaway_share: float = 0.05
    runaway_messages: int = 50
    folders: MailboxFolders = MailboxFolders()
