"""A request of accounts, once it is known who makes it and that he may."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from oborona.doors.http.account_keys import AccountKey


class AccountQuestion(NamedTuple):
    """A request of a key that may make it."""

    request: web.BaseRequest
    names: list[str]  # in the path, behind its room, decoded
    key: AccountKey
    file: Path  # of the accounts; need not exist
