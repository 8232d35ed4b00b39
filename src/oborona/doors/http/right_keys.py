"""Files of keys that say what each may do: a line is a key, and behind it its rights."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final, Generic, TypeVar

from oborona.doors.tokens import AccessTokens
from oborona.errors import ConfigError

LONGEST_NAME: Final = 64  # characters, of who has a key: it stands in what he does

Rights = TypeVar("Rights")


class RightKeys(AccessTokens, Generic[Rights]):
    """Who may do what; arguments and errors as of `AccessTokens`."""

    line: ClassVar[str]
    """What a line is, for who wrote one that is none."""

    def key(self, shown: str) -> Rights | None:
        """Return what a key that is shown may do; None: it is no key."""
        line = self._line_of(shown)
        return None if line is None else self._rights(line)

    @staticmethod
    @abstractmethod
    def _rights(rest: str) -> Rights | None:
        """Return what follows a key in its line; None: it gives no right."""

    def _split(self, line: str, number: int) -> tuple[str, str]:
        key, rest = (*line.split(None, 1), "", "")[:2]
        if self._rights(rest) is None:
            raise ConfigError(f"a line is {self.line}", file=str(self._file), line=number)
        return key, rest
