"""Accounts that are stopped on one machine of a site alone, while the site's log is away.

The inspector decides then as it always does, and what he decides is not written down: it is taken
back, but for the blocks, which are in force here until the log is there and he has judged the same
excesses for all machines.  See docs/adr/0126-accounts-of-a-site-are-one.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.accounts.account import Account, AccountBlock, AccountState
from oborona.atomic_file import atomic_writer, sync_folder
from oborona.doorbell import ring

PRIVATE: Final = 0o600  # as the file of accounts
Stamp = tuple[int, int, int] | None
_DECODER: Final = msgspec.json.Decoder(dict[str, AccountBlock])


class WaitingBlocks:
    """What is in the file of a state folder, for who asks often; for one thread at a time.

    Args:
        accounts: the file of accounts, which it is beside.
    """

    def __init__(self, accounts: Path) -> None:
        self._accounts = accounts
        self._path = accounts.with_name(state_files.ACCOUNTS_WAITING)
        self._stamp: Stamp = None
        self._blocks: Mapping[str, AccountBlock] = {}

    def now(self) -> Mapping[str, AccountBlock]:
        """Return the blocks by login in lower case: the same object as long as they are the same.

        A file that can't be read stops nobody.
        """
        stamp = self._stamped()
        if stamp != self._stamp:
            self._stamp = stamp
            self._blocks = {} if stamp is None else self._read()
        return self._blocks

    def put(self, blocks: Mapping[str, AccountBlock]) -> None:
        """Have these in force here, and no others.

        Raises:
            StoreError, OSError: it can't be written.
        """
        if not blocks:
            if self._path.exists():
                self._path.unlink()
                sync_folder(self._path.parent)
        elif blocks != self.now():
            with atomic_writer(self._path) as file:
                os.fchmod(file.fileno(), PRIVATE)
                file.write(msgspec.json.encode(blocks))
        else:
            return
        ring(self._accounts)  # who follows accounts follows this

    def _stamped(self) -> Stamp:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self) -> Mapping[str, AccountBlock]:
        try:
            return _DECODER.decode(self._path.read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}


def with_waiting(
    blocks: dict[str, AccountBlock], waiting: Mapping[str, AccountBlock], now: float
) -> dict[str, AccountBlock]:
    """Return the blocks of the file of accounts and those that wait, the harder of each login.

    Args:
        blocks: of the file, by login in lower case.
        waiting: as of `WaitingBlocks.now`.
        now: Unix seconds.
    """
    if not waiting:
        return blocks
    return blocks | {
        login: block
        for login, block in waiting.items()
        if _is_harder(block, blocks.get(login), now)
    }


def as_stopped(account: Account, waiting: Mapping[str, AccountBlock], now: float) -> Account:
    """Return an account as this machine treats it: with a block that waits, where it is harder."""
    for login in account.logins:
        block = waiting.get(login)
        if block is not None and _is_harder(block, account.block, now):
            return msgspec.structs.replace(account, block=block)
    return account


def _is_harder(block: AccountBlock, known: AccountBlock | None, now: float) -> bool:
    return (
        known is None
        or not known.in_force(now)
        or (known.state, block.state) == (AccountState.LIMITED, AccountState.BANNED)
    )
