"""The store of persons as commands open it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

import click

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.cli.state_folder import open_store
from oborona.reputation.personal import mail_address
from oborona.stores.persons.store import PersonStore


def open_persons(context: CliContext, *, make: bool = True) -> AbstractContextManager[PersonStore]:
    """Open the store as the daemon's user.

    Args:
        context: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(context, PersonStore, state_files.PERSONS, make=make)


def person_named(text: str) -> str:
    """Return a person's address in its normal form.

    Raises:
        click.BadParameter: it is no mail address.
    """
    person = mail_address(text)
    if not person:
        raise click.BadParameter(f"{text[:100]!a} is no mail address")
    return person


def until(expires: float) -> str:
    """Return an end for people; empty for none."""
    return time.strftime("%Y-%m-%d", time.localtime(expires)) if expires else ""
