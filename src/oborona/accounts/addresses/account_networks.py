"""Which account has an own address now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from oborona.accounts.store.accounts import AccountStore
from oborona.reputation.networks import Network, network, plain


class AccountNetworks:
    """The networks of all accounts.

    Args:
        holders: networks, each with its account.
    """

    def __init__(self, holders: Iterable[tuple[Network, str]]) -> None:
        self._accounts = dict(holders)
        self._lengths = sorted(
            {(one.version, one.prefixlen) for one in self._accounts}, reverse=True
        )

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
        if at is None:
            return None
        for version, length in self._lengths:
            if version == at.version:
                around = network_around(address, length)
                account = self._accounts.get(around)
                if account is not None:
                    return str(around), account
        return None


def network_around(address: str, length: int) -> Network:
    """Return the network of so many bits that an address lies in."""
    at = plain(address)
    assert at is not None, "asked of addresses alone"
    bits = at.max_prefixlen - length
    first = int(at) >> bits << bits
    return network(f"{type(at)(first)}/{length}")
