"""What `oborona doctor` says of one thing that it looked at."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

MAIL_SERVER: Final = "mail server"
"""What the reports are about, or begin with, that tell whether mail is filtered."""


class CheckState(StrEnum):
    """How a thing is."""

    OK = "OK"
    WARN = "WARN"  # works, or can't be told from here
    FAIL = "FAIL"  # mail is not filtered, or something is lost


class CheckReport(NamedTuple):
    """One thing that was looked at."""

    what: str
    state: CheckState
    words: str
    hint: str = ""  # what to do; empty where the words say it, or there is nothing
