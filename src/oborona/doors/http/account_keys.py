"""The keys of accounts by HTTP: what each may do, under which name, and for which customer."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from oborona.config import HttpSettings
from oborona.doors.http.right_keys import LONGEST_NAME, RightKeys

READ: Final = "read"
ACT: Final = "act="


class AccountKey(NamedTuple):
    """What a key may do."""

    reads: bool
    name: str  # that it acts under; empty: it does not act
    customer: str  # whose accounts it is for; empty: all


class AccountKeys(RightKeys[AccountKey]):
    """Who may read accounts, and who may act on them.

    A line is `KEY RIGHTS` or `KEY RIGHTS CUSTOMER`; rights are `read`, `act=NAME`, `read,act=NAME`.
    """

    line = (
        f"a key, its rights ({READ}, {ACT}NAME, or {READ},{ACT}NAME; a name has at most"
        f" {LONGEST_NAME} characters), and a customer where it is for one alone"
    )

    @staticmethod
    def _rights(rest: str) -> AccountKey | None:
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


def account_keys(settings: HttpSettings) -> AccountKeys | None:
    """Return the keys of accounts, None where they are not served.

    Raises:
        ConfigError: the file can't be used.
    """
    file = settings.accounts_keys_file
    return AccountKeys(Path(file)) if file else None
