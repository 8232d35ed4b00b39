"""One Dovecot for all tests of mailboxes that do not stop it: each takes a user of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.peers.dovecot_mailboxes import MailboxDovecot, Reports

USERS = [f"user{number}" for number in range(400)]


@pytest.fixture(scope="session")
def dovecot() -> Iterator[MailboxDovecot]:
    with MailboxDovecot(USERS) as running:
        yield running


@pytest.fixture(scope="session")
def reports(dovecot: MailboxDovecot) -> Iterator[Reports]:
    with Reports(dovecot) as listening:
        yield listening


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return count()


@pytest.fixture
def new_user(_numbers: Iterator[int]) -> Callable[[], str]:
    """Gives users without mail."""
    return lambda: USERS[next(_numbers)]


@pytest.fixture
def user(new_user: Callable[[], str]) -> str:
    return new_user()
