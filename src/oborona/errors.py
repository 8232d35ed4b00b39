"""Every error that leaves a package of ours.

    OboronaError
    ├── ConfigError          a file that an admin wrote: file, line and column say where
    │   └── PolicyError      the same, in the policy: rules, expressions, thresholds
    ├── StoreError           our own data on disk
    │   ├── StoreAbsent      not begun yet: as if it were empty
    │   ├── StoreBusy        another process holds it, and which
    │   ├── StoreForbidden   this user may not use it
    │   ├── StoreVersion     written by a newer Oborona
    │   ├── StoreForeign     begun with another secret, or by another restore
    │   ├── StoreFull        the disk or the map is full
    │   └── StorePartial     part of a cluster does not answer; carries what is known
    ├── SocketError          an address that cannot be listened on, and why
    └── PeerError            a mail server that broke the protocol; its connection ends, nothing
                             else

A fault of ours is no OboronaError: it reaches the crash barrier of the session as what it is.
"""

from __future__ import annotations

from typing import ClassVar


class OboronaError(Exception):
    """Root of the tree; its text is fit for an admin."""


class ConfigError(OboronaError):
    """A setting or file that cannot be used.

    Args:
        problem: what is wrong and what would be right, one line.
        file: path as the admin knows it; empty where the text came from elsewhere.
        line: 1-based, 0 = unknown.
        column: 1-based, 0 = unknown.

    Attributes:
        more: what else is wrong, in the order of files and lines.
    """

    def __init__(self, problem: str, *, file: str = "", line: int = 0, column: int = 0) -> None:
        self.more: tuple[ConfigError, ...] = ()
        self.problem = problem
        self.file = file
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (file, line, column) if part)
        super().__init__(f"{place}: {problem}" if place else problem)

    def at(self, file: str, line: int, column: int = 0) -> ConfigError:
        """Return the same error with the place where the text stands in its file."""
        return type(self)(self.problem, file=file, line=line, column=column)


class PolicyError(ConfigError):
    """A rule, expression or threshold that cannot be used; the old policy stays."""


class StoreError(OboronaError):
    """Our own data on disk cannot be used.

    Attributes:
        why: in a word, for programs.
    """

    why: ClassVar[str] = "unusable"


class StoreAbsent(StoreError):  # noqa: N818 - reads as what happened
    """There is no such store yet: nothing of its kind has happened on this site.

    Args:
        text: says so.
        store: name of its file.
    """

    why = "absent"

    def __init__(self, text: str, store: str = "") -> None:
        self.store = store
        super().__init__(text)


class StoreBusy(StoreError):  # noqa: N818 - reads as what happened
    """Another process holds the store; the text names it."""

    why = "held"


class StoreForbidden(StoreError):  # noqa: N818 - reads as what happened
    """The user who runs this may not read or write the store."""

    why = "forbidden"


class StoreVersion(StoreError):  # noqa: N818 - reads as what happened
    """The store was written by a newer Oborona."""

    why = "newer"


class StoreForeign(StoreError):  # noqa: N818 - reads as what happened
    """What is there does not belong together: it was begun with another secret, or put back in
    part.
    """

    why = "foreign"


class StoreFull(StoreError):  # noqa: N818 - reads as what happened
    """No room left; nothing already written is lost."""

    why = "full"


class StorePartial(StoreError):  # noqa: N818 - reads as what happened
    """Part of a cluster does not answer.

    Args:
        problem: one line.
        totals: what is known, [shingle][Window][Metric] as a read returns it; each count may be too
            low.
    """

    def __init__(self, problem: str, totals: list[list[list[int]]]) -> None:
        self.totals = totals
        super().__init__(problem)


class SocketError(OboronaError):
    """An address that cannot be listened on."""


class PeerError(OboronaError):
    """A peer broke its protocol; only its own connection ends."""
