"""The networks of the site and of its accounts, for a process that asks often."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.errors import StoreError
from oborona.reputation.networks import Network
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 60.0  # between looks at the file of accounts


class OwnNetworks:
    """Networks, asked by a call.

    Args:
        site: its own.
        accounts: file of accounts; it need not be there.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        site: Iterable[Network],
        accounts: Path,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._site = tuple(site)
        self._path = accounts
        self._monotonic = monotonic
        self._accounts: tuple[Network, ...] = ()
        self._looked = -math.inf
        self._trouble = TroubleNotice(
            "networks of accounts stay as they were", "networks of accounts are read again"
        )

    def __call__(self) -> tuple[Network, ...]:
        """Return them, as they were a minute ago at most; while the file can't be read those of
        accounts that were known stay, and the log says so once.
        """
        if self._monotonic() - self._looked >= LOOK_S:
            self._looked = self._monotonic()
            try:
                self._accounts = AccountNetworks.of(self._path).networks
            except StoreError as error:
                self._trouble.failed(error)
            else:
                self._trouble.over()
        return (*self._site, *self._accounts)
