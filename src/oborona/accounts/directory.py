"""What a worker knows of all accounts, for each message: one look-up, no SQL.

    mail with a login       the account of the login, or none
    mail without one        the account of the narrowest network around the client

Changes are applied account by account, as `AccountStore.followed` tells them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from oborona.accounts.addresses.account_networks import AccountNetworks
from oborona.accounts.sending_account import SendingAccount
from oborona.reputation.networks import network

_CLIENTS: Final = 4096  # addresses whose networks are remembered


class AccountDirectory:
    """The `KnownAccounts` of a process; changed by one thread, asked by any."""

    def __init__(self) -> None:
        self._accounts: dict[str, SendingAccount] = {}
        self._by_login: dict[str, SendingAccount] = {}
        self._set_networks()

    def __len__(self) -> int:
        """Return how many accounts are known."""
        return len(self._accounts)

    def sender(self, login: str, ip: str) -> SendingAccount | None:
        """Return whose mail it is; see `KnownAccounts`."""
        if login:
            return self._by_login.get(login.lower())
        narrowest = self._around(ip)
        return self._accounts.get(narrowest[1]) if narrowest else None

    def network(self, ip: str) -> str:
        """Return the narrowest network around an address; see `KnownAccounts`."""
        narrowest = self._around(ip)
        return narrowest[0] if narrowest else ""

    def learn(self, accounts: Iterable[SendingAccount], *, anew: bool) -> None:
        """Take what has changed.

        Args:
            accounts: as they are now.
            anew: they are all that there are.
        """
        known = {} if anew else dict(self._accounts)
        by_login = {} if anew else dict(self._by_login)
        moved = anew
        for account in accounts:
            before = known.get(account.id)
            for login in before.logins if before is not None else ():
                if by_login.get(login) is before:  # an account told before may have it by now
                    del by_login[login]
            moved |= account.networks != (before.networks if before is not None else ())
            known[account.id] = account
            by_login.update(dict.fromkeys(account.logins, account))
        self._accounts, self._by_login = known, by_login
        if moved:
            self._set_networks()

    def _set_networks(self) -> None:
        holders = AccountNetworks(
            (network(text), account.id)
            for account in self._accounts.values()
            for text in account.networks
        )
        self._around = lru_cache(_CLIENTS)(holders.narrowest)
