"""The keys of accounts by HTTP: what each may do, under which name, and for which customer."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from oborona.config import HttpSettings
from oborona.doors.tokens import AccessTokens
from oborona.errors import ConfigError

READ: Final = "read"
ACT: Final = "act="
LONGEST_NAME: Final = 64  # characters: it stands in each deed of the key


class AccountKey(NamedTuple):
    """What a key may do."""

    reads: bool
    name: str  # that it acts under; empty: it does not act
    customer: str  # whose accounts it is for; empty: all


class AccountKeys(AccessTokens):
    """Who may read accounts, and who may act on them.

    A line is `KEY RIGHTS` or `KEY RIGHTS CUSTOMER`; rights are `read`, `act=NAME`, `read,act=NAME`.
    """

    def key(self, shown: str) -> AccountKey | None:
        """Return what a key that is shown may do; None: it is no key."""
        line = self._line_of(shown)
        return None if line is None else _account_key(line)

    def _split(self, line: str, number: int) -> tuple[str, str]:
        key, rest = (*line.split(None, 1), "", "")[:2]
        if _account_key(rest) is None:
            raise ConfigError(
                f"a line is a key, its rights ({READ}, {ACT}NAME, or {READ},{ACT}NAME; a name has at"
                f" most {LONGEST_NAME} characters), and a customer where it is for one alone",
                file=str(self._file),
                line=number,
            )
        return key, rest


def account_keys(settings: HttpSettings) -> AccountKeys | None:
    """Return the keys of accounts, None where they are not served.

    Raises:
        ConfigError: the file can't be used.
    """
    file = settings.accounts_keys_file
    return AccountKeys(Path(file)) if file else None


def _account_key(rest: str) -> AccountKey | None:
    """Return what follows a key in its line; None: it gives no right."""
    rights, customer = (*rest.split(None, 1), "", "")[:2]
    reads, name = False, ""
    for right in rights.split(","):
        if right == READ and not reads:
            reads = True
        elif right.startswith(ACT) and not name:
            name = right.removeprefix(ACT)
            if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
                return None
        else:
            return None
    return AccountKey(reads, name, customer)
