"""One process's connection to the file of labels."""

from __future__ import annotations

from oborona.feedback.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile


class FeedbackConnection(SharedSqliteFile):
    """The open file; see `SharedSqliteFile`."""

    shared = SHARED
