"""Why a call is refused for what it was told."""

from __future__ import annotations

from oborona.desk.call import CallError, NotFoundError


class UnusableValueError(CallError):
    """A value of a call can't be used.

    Args:
        text: what is wrong with it.
        field: its name, where the text does not tell which it is.
    """

    def __init__(self, text: str, field: str = "") -> None:
        self.field = field
        super().__init__(text)


class MisusedCallError(CallError):
    """Values that do not go together, or something that can't be used as a whole."""


class NoStateFolderError(MisusedCallError):
    """The site has no state folder: nothing has run here."""

    status = 503


class UnknownNameError(UnusableValueError, NotFoundError):
    """A value is the name of nothing that is here."""

    status = NotFoundError.status


class NothingDoneError(CallError):
    """There is nothing that the act could do, and nothing was done."""

    status = 409
