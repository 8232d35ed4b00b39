"""What clients of the HTTP door must show: a key of a file, or nothing where the settings name who
may connect.
"""

from __future__ import annotations

from pathlib import Path

from oborona.config import HttpSettings
from oborona.doors.tokens import AccessTokens


def access_keys(settings: HttpSettings) -> AccessTokens | None:
    """Return the keys of the door, None where reaching it is enough.

    Raises:
        ConfigError: the file can't be used.
    """
    return AccessTokens(Path(settings.keys_file)) if settings.keys_file else None
