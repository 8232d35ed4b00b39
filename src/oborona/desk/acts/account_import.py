"""The act by which accounts out of a file, and how they came to be, are written down."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import IO, Annotated, Final

import msgspec

from oborona.accounts.import_lines import LINE_OCTETS
from oborona.accounts.registration_import import Fault, ImportFigures, import_accounts
from oborona.desk.asks.accounts import open_accounts
from oborona.desk.call import ActOrder, act
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right

MOST_FAULTS: Final = 20  # that are named
JsonLines = Annotated[bytes, msgspec.Meta(max_length=16 << 20)]


class AccountImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Accounts, a JSON object a line; what is told of one replaces what was known of it."""

    content: JsonLines


class LineFault(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is left out.

    Args:
        line: its number, the first is 1.
        why: what is wrong with it.
    """

    line: int
    why: str


class ImportedAccounts(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of lines.

    Args:
        imported: accounts that were told.
        new: of these, those that were not known.
        wrong: lines that were left out.
        faults: the first of these.
    """

    imported: int
    new: int
    wrong: int
    faults: tuple[LineFault, ...]


@act("account.import", Right.ACCOUNT)
def import_told_accounts(site: Site, caller: Caller, asked: AccountImportOrder) -> ImportedAccounts:
    """Write down accounts; a line that is wrong is left out, the others are imported.

    Their state and the trust in them stay.

    Raises:
        PolicyError: the policy, which rates them, can't be used.
        StoreError: they can't be written.
    """
    faults: list[LineFault] = []

    def fault(number: int, why: str) -> None:
        if len(faults) < MOST_FAULTS:
            faults.append(LineFault(line=number, why=why))

    figures = take_accounts(site, caller, io.BytesIO(asked.content), fault)
    return ImportedAccounts(
        imported=figures.imported, new=figures.new, wrong=figures.wrong, faults=tuple(faults)
    )


def take_accounts(site: Site, caller: Caller, file: IO[bytes], fault: Fault) -> ImportFigures:
    """Write down accounts as `account.import` does, from a file of any size.

    Args:
        site: whose accounts.
        caller: who tells them.
        file: of JSON, an object a line.
        fault: is told of lines that are left out.
    """
    tests = site.policy().account_tests
    with open_accounts(site, make=True) as store:
        return import_accounts(
            store, _lines(file), tests, by=caller.name, now=time.time(), fault=fault
        )


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; of a huge one, more than a line may have."""
    number = 0
    while line := file.readline(LINE_OCTETS + 1):
        number += 1
        whole = line
        while not line.endswith(b"\n") and len(line) > LINE_OCTETS:  # the rest of a huge line
            line = file.readline(LINE_OCTETS + 1)
        yield number, whole
