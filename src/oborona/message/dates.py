"""The Date field (RFC 5322 s3.3): as all mail programs write it by one expression, else by the
standard library, with the same result.
"""

from __future__ import annotations

import re
from datetime import date
from email.utils import mktime_tz, parsedate_tz
from typing import Final

from oborona.message.findings import Findings

MAX_DATE: Final = 100  # characters of a Date field that are read
# As all mail programs write it; what else is a date the standard library reads.  Of the zone -0000
# nothing is known, and a year of another century may be one of two digits.
_USUAL_DATE: Final = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" ((?:19|20)[0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) (\+|-(?!0000))([0-9]{2})([0-9]{2})"
    r"(?: \([A-Z]{1,5}\))?\Z"
)
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
_EPOCH: Final = date(1970, 1, 1).toordinal()


def read(value: str, findings: Findings) -> float | None:
    """Return Unix seconds of a Date value, None when it is empty or unreadable.

    Source: RFC 5322 s3.3.
    """
    if not value:
        return None
    usual = _USUAL_DATE.match(value[:MAX_DATE])
    if usual is not None:
        day, month, year, hour, minute, second, sign, hours, minutes = usual.groups()
        first = date(int(year), _MONTHS[month], 1).toordinal() - _EPOCH
        local = ((first + int(day) - 1) * 24 + int(hour)) * 3600 + int(minute) * 60 + int(second)
        away = int(hours) * 3600 + int(minutes) * 60
        return float(local + away if sign == "-" else local - away)
    try:
        parsed = parsedate_tz(value[:MAX_DATE])
        seconds = float(mktime_tz(parsed)) if parsed else None
    except (ValueError, OverflowError, IndexError, TypeError):
        seconds = None
    if seconds is None:
        findings.add("date-broken", value)
    return seconds
