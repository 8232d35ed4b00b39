"""Which account has an own address now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from oborona.accounts.store.accounts import AccountStore
from oborona.reputation.networks import Network, NetworkSet, network, pack, plain


class AccountNetworks:
    """The networks of all accounts.

    Args:
        holders: networks, each with its account.
    """

    def __init__(self, holders: Iterable[tuple[Network, str]]) -> None:
        self._accounts = dict(holders)
        self._set = NetworkSet((pack(tuple(self._accounts)),))

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return those of a file of accounts; none where there is no file.

        Raises:
            StoreError: it can't be read.
        """
        if not path.exists():
            return cls(())
        with AccountStore(path, make=False) as store:
            rows = store.rows("SELECT network, account FROM network", ())
        return cls((network(text), account) for text, account in rows)

    @property
    def networks(self) -> tuple[Network, ...]:
        """All of them."""
        return tuple(self._accounts)

    def holder(self, address: str) -> str:
        """Return the account of the narrowest network around an address; "" = nobody's."""
        narrowest = self.narrowest(address)
        return narrowest[1] if narrowest else ""

    def narrowest(self, address: str) -> tuple[str, str] | None:
        """Return the narrowest network around an address, canonical text, and its account; None:
        it is nobody's.
        """
        at = plain(address)
        around = self._set.find(at) if at is not None else None
        return (str(around), self._accounts[around]) if around is not None else None
