"""When something ends, as a form says it: in days from now."""

from __future__ import annotations

import time
from typing import Final

from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _

MOST_DAYS: Final = 3650


def end_of_days(text: str) -> float:
    """Return Unix seconds of an end in a number of days; 0 for an empty text: never.

    Raises:
        DeskError: it is no number of days.
    """
    if not text:
        return 0.0
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MOST_DAYS):
        raise DeskError(422, _("Days are a number from 1 to 3650."))
    return time.time() + int(text) * 86_400
