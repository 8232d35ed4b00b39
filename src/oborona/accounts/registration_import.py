"""Accounts as a source of registrations tells them, line by line: written down and rated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from oborona.accounts.account import Account, AccountRecord
from oborona.accounts.import_lines import WrongAccount, parse_account_line
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import rate_account
from oborona.accounts.store.records import NameTaken
from oborona.policy.account_tests import AccountTests

BATCH: Final = 500  # accounts in one transaction: others wait for milliseconds

Fault = Callable[[int, str], None]
"""Is told the number of a line that is left out, and why."""


class ImportFigures(msgspec.Struct, kw_only=True):
    """What has become of lines."""

    new: int = 0  # accounts
    changed: int = 0
    unchanged: int = 0  # it was known so
    wrong: int = 0  # lines that were left out

    @property
    def imported(self) -> int:
        """Accounts that were told."""
        return self.new + self.changed + self.unchanged


def import_accounts(
    store: AccountStore,
    lines: Iterable[tuple[int, bytes]],
    tests: AccountTests,
    *,
    by: str,
    now: float,
    fault: Fault,
) -> ImportFigures:
    """Write down accounts and rate them; a line that is wrong is left out, the others are not.

    Args:
        store: the file of accounts; what is told before it fails stays, unless a transaction is
            under way.
        lines: of JSON, with their numbers; empty ones are passed over.
        tests: of the policy.
        by: who does it.
        now: Unix seconds.
        fault: is told of lines that are left out.

    Raises:
        StoreError: it can't be written.
    """
    figures = ImportFigures()

    def left_out(number: int, why: str) -> None:
        figures.wrong += 1
        fault(number, why)

    records = _records(lines, left_out)
    while batch := list(islice(records, BATCH)):
        before = {record.id: _known(store, record) for _, record in batch}
        for record in _put(store, batch, by, now, left_out):
            known, account = before[record.id], _known(store, record)
            if account is None:
                continue  # it was forgotten a moment ago
            if known is None:
                figures.new += 1
            elif known != account:
                figures.changed += 1
            else:
                figures.unchanged += 1
            before[record.id] = account  # the same may be told again
            rate_account(store, account, tests, now)
    return figures


def _known(store: AccountStore, record: AccountRecord) -> Account | None:
    """Return the account that a record is about: its id may be another's login."""
    account = store.find(record.id)
    return account if account is not None and account.id == record.id else None


def _put(
    store: AccountStore,
    batch: list[tuple[int, AccountRecord]],
    by: str,
    now: float,
    left_out: Fault,
) -> list[AccountRecord]:
    """Write down accounts, and return those that were."""
    records = [record for _, record in batch]
    try:
        store.put(records, by=by, now=now)
    except NameTaken:  # by which of them?
        records.clear()
        for number, record in batch:
            try:
                store.put([record], by=by, now=now)
            except NameTaken as error:
                left_out(number, str(error))
            else:
                records.append(record)
    return records


def _records(
    lines: Iterable[tuple[int, bytes]], left_out: Fault
) -> Iterator[tuple[int, AccountRecord]]:
    for number, line in lines:
        if line.strip():
            try:
                yield number, parse_account_line(line)
            except WrongAccount as error:
                left_out(number, str(error))
