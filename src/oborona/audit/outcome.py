"""What an error says of the act that it ended."""

from __future__ import annotations

from oborona.audit.row import ActOutcome
from oborona.errors import OboronaError, StoreError


def outcome_of(error: BaseException) -> ActOutcome:
    """Return it: what was told to be wrong was refused, and nothing done; what could not be read or
    written, and whatever nobody thought of, failed.
    """
    refused = isinstance(error, OboronaError) and not isinstance(error, StoreError)
    return ActOutcome.REFUSED if refused else ActOutcome.FAILED
