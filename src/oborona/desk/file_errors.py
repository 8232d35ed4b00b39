"""Errors of files that calls read."""

from __future__ import annotations

from oborona.errors import OboronaError


class UnreadableListError(OboronaError):
    """A list file can't be read."""
