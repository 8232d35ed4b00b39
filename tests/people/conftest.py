"""Passwords that cost little: what a login does is the same, and what it costs has a test."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from oborona.people import password
from tests.people import worlds

DEAR = password._HASHER
DEAR_NOBODY = password.NOBODY
CHEAP = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password, "_HASHER", CHEAP)
    monkeypatch.setattr(password, "NOBODY", CHEAP.hash("octets that were thrown away"))
    worlds.password_hash()
