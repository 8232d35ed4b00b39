"""One process's way to the file of people's word."""

from __future__ import annotations

from oborona.feedback.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile


class FeedbackConnection(SharedSqliteFile):
    """The open file; see `SharedSqliteFile`."""

    shared = SHARED
