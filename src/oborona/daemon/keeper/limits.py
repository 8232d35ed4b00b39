"""How much the second look does, as the settings say."""

from __future__ import annotations

from oborona.config import Settings
from oborona.recheck.engine.limits import RecheckLimits
from oborona.recheck.engine.model import MailboxFolders


def limits_of(settings: Settings) -> RecheckLimits:
    """Return what the settings say."""
    asked = settings.recheck
    return RecheckLimits(
        window_s=asked.window_hours * 3600,
        looks_s=asked.looks_s,
        busy_share=asked.busy_share,
        runaway_share=asked.runaway_share,
        runaway_messages=asked.runaway_messages,
        folders=MailboxFolders(inbox=asked.inbox, spam=asked.spam_folder),
    )
