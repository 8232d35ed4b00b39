"""One process's way to the file of people's word."""

from __future__ import annotations

from oborona.feedback.schema import SHARED
from oborona.sqlite_file import SharedFile


class Connection(SharedFile):
    """The open file; see `SharedFile`."""

    shared = SHARED
