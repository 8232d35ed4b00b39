"""Registrations grow old: what names a person is forgotten, how old and from where it is stays."""

from __future__ import annotations

from typing import Final

from oborona.accounts.store.accounts import AccountStore

_FORGET: Final = (
    "UPDATE registration SET address = '', mail = '', phone = '', user_name = '', network = ''"
    " WHERE (address <> '' OR mail <> '' OR phone <> '' OR user_name <> '')"
    " AND CASE WHEN time > 0 THEN time"
    " ELSE (SELECT first_seen FROM account WHERE id = registration.account) END < ?"
)


def forget_registrations(store: AccountStore, before: float) -> int:
    """Forget address, mail address, telephone and user name of old registrations.

    Args:
        store: the file of accounts.
        before: Unix seconds; a registration whose time nobody knows is as old as its first import.

    Returns:
        Of how many.

    Raises:
        StoreError: nothing is forgotten.
    """
    with store.transaction() as db:
        return db.execute(_FORGET, (before,)).rowcount
