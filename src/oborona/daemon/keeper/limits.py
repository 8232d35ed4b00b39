"""The limits of rechecks, from the settings."""

from __future__ import annotations

from oborona.config import Settings
from oborona.recheck.engine.limits import RecheckLimits
from oborona.recheck.engine.model import MailboxFolders


def limits_of(settings: Settings) -> RecheckLimits:
    """Return what the settings say."""
    recheck = settings.recheck
    return RecheckLimits(
        window_s=recheck.window_hours * 3600,
        looks_s=recheck.looks_s,
        busy_share=recheck.busy_share,
        runaway_share=recheck.runaway_share,
        runaway_messages=recheck.runaway_messages,
        folders=MailboxFolders(inbox=recheck.inbox, spam=recheck.spam_folder),
    )
