"""The keys of /v1/accounts: each reads the accounts of all customers, or of one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.config import HttpSettings
from oborona.doors.tokens import AccessTokens
from oborona.errors import ConfigError

READ: Final = "read"


class AccountKeys(AccessTokens):
    """Who may read accounts: lines of `KEY read`, or `KEY read CUSTOMER`."""

    def customer(self, key: str) -> str | None:
        """Return the customer whose accounts a key reads, empty for all of them.

        None: it is no key.
        """
        return self._line_of(key)

    def _split(self, line: str, number: int) -> tuple[str, str]:
        key, right, customer = (*line.split(None, 2), "", "")[:3]
        if right != READ:
            raise ConfigError(
                f"a line is a key, the word {READ}, and a customer where it is for one alone",
                file=str(self._file),
                line=number,
            )
        return key, customer


def account_keys(settings: HttpSettings) -> AccountKeys | None:
    """Return the keys of /v1/accounts, None where it is not served.

    Raises:
        ConfigError: the file can't be used.
    """
    file = settings.accounts_keys_file
    return AccountKeys(Path(file)) if file else None
