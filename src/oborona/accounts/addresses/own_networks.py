"""The networks of the site and of its accounts, and who has an address, for a process that asks
often.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from oborona.accounts.account import AccountState
from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.accounts.store.accounts import AccountStore
from oborona.errors import StoreError
from oborona.reputation.networks import Network, network
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 60.0  # between looks at the file of accounts
_HOLDERS: Final = (
    "SELECT network.network, account.id, coalesce(account.customer, ''), account.state,"
    " account.state_until FROM network JOIN account ON account.id = network.account"
)


class NetworkHolder(NamedTuple):
    """Who has an own address."""

    account: str = ""  # id; empty: nobody is known
    customer: str = ""  # id of who answers for the account; empty: nobody is known
    state: str = ""  # of the account: open, limited, banned


class OwnNetworks:
    """Networks, asked by a call.

    Args:
        site: its own.
        accounts: file of accounts; it need not be there.
        monotonic: seconds that never go back.
        clock: Unix seconds.
    """

    def __init__(
        self,
        site: Iterable[Network],
        accounts: Path,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._site = tuple(site)
        self._path = accounts
        self._monotonic = monotonic
        self._clock = clock
        self._accounts = AccountNetworks(())
        self._holders: dict[str, NetworkHolder] = {}
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
                self._read()
            except StoreError as error:
                self._trouble.failed(error)
            else:
                self._trouble.over()
        return (*self._site, *self._accounts.networks)

    def holder(self, address: str) -> NetworkHolder:
        """Return who has an address, as it was when networks were asked for last."""
        return self._holders.get(self._accounts.holder(address), NetworkHolder())

    def _read(self) -> None:
        rows: list[tuple[str, str, str, str, float]] = []
        if self._path.exists():
            with AccountStore(self._path, make=False) as store:
                rows = store.rows(_HOLDERS, ())
        now = self._clock()
        self._accounts = AccountNetworks((network(text), account) for text, account, *_ in rows)
        self._holders = {
            account: NetworkHolder(
                account, customer, state if not until or now < until else AccountState.OPEN
            )
            for _, account, customer, state, until in rows
        }
