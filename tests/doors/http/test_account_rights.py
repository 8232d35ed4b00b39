"""Who may do what: each key, path and method, and whose account it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from oborona import state_files
from oborona.accounts.account import AccountNetwork, AccountRecord, Customer
from oborona.accounts.store.accounts import AccountStore
from tests.doors.http.account_site import (
    ACTOR,
    BOTH,
    ITS_ACTOR,
    ITS_READER,
    READER,
    ask,
    door,
    fill,
)

SCANS, NOBODY = "scans-0123456789abc", "nobody-0123456789ab"
KEYS: Final = (READER, ACTOR, BOTH, ITS_READER, ITS_ACTOR, SCANS, NOBODY, "")
ORDER: Final = b'{"reason": "x"}'
LIMIT: Final = b'{"reason": "x", "for": "1h"}'
# what each key is answered, in the order of KEYS; joe and 10.1.0.1 are of the customer, the others
# of another or of nobody
TABLE: Final = (
    ("GET", "/v1/accounts", b"", (200, 403, 200, 200, 403, 401, 401, 401)),
    ("GET", "/v1/accounts?customer=c18", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    ("GET", "/v1/accounts/joe", b"", (200, 403, 200, 200, 403, 401, 401, 401)),
    ("GET", "/v1/accounts/ann", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    ("GET", "/v1/accounts/sam%2Fx", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    ("GET", "/v1/accounts/none", b"", (404, 403, 404, 404, 403, 401, 401, 401)),
    ("POST", "/v1/accounts", b"[]", (403, 200, 200, 403, 403, 401, 401, 401)),
    ("POST", "/v1/accounts/joe/ban", ORDER, (403, 200, 200, 403, 200, 401, 401, 401)),
    ("POST", "/v1/accounts/joe/limit", LIMIT, (403, 200, 200, 403, 200, 401, 401, 401)),
    ("POST", "/v1/accounts/joe/unban", ORDER, (403, 200, 200, 403, 200, 401, 401, 401)),
    ("POST", "/v1/accounts/joe/trust", ORDER, (403, 200, 200, 403, 200, 401, 401, 401)),
    ("POST", "/v1/accounts/joe/untrust", ORDER, (403, 200, 200, 403, 200, 401, 401, 401)),
    ("POST", "/v1/accounts/ann/ban", ORDER, (403, 200, 200, 403, 404, 401, 401, 401)),
    ("POST", "/v1/accounts/ann/limit", LIMIT, (403, 200, 200, 403, 404, 401, 401, 401)),
    ("POST", "/v1/accounts/ann/unban", ORDER, (403, 200, 200, 403, 404, 401, 401, 401)),
    ("POST", "/v1/accounts/ann/trust", ORDER, (403, 200, 200, 403, 404, 401, 401, 401)),
    ("POST", "/v1/accounts/ann/untrust", ORDER, (403, 200, 200, 403, 404, 401, 401, 401)),
    ("POST", "/v1/accounts/none/trust", ORDER, (403, 404, 404, 403, 404, 401, 401, 401)),
    ("GET", "/v1/incidents", b"", (200, 403, 200, 200, 403, 401, 401, 401)),
    ("GET", "/v1/incidents?account=ann", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    ("GET", "/v1/incidents?customer=c18", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    ("GET", "/v1/incidents/1", b"", (200, 403, 200, 200, 403, 401, 401, 401)),
    ("GET", "/v1/incidents/2", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    ("GET", "/v1/addresses/10.1.0.1", b"", (200, 403, 200, 200, 403, 401, 401, 401)),
    ("GET", "/v1/addresses/10.2.0.1", b"", (200, 403, 200, 404, 403, 401, 401, 401)),
    # other methods, and paths that there are none of
    ("POST", "/v1/accounts/joe", ORDER, (405, 405, 405, 405, 405, 401, 401, 401)),
    ("GET", "/v1/accounts/joe/ban", b"", (405, 405, 405, 405, 405, 401, 401, 401)),
    ("DELETE", "/v1/accounts/joe", b"", (405, 405, 405, 405, 405, 401, 401, 401)),
    ("PUT", "/v1/accounts", b"[]", (405, 405, 405, 405, 405, 401, 401, 401)),
    ("POST", "/v1/incidents/1", ORDER, (405, 405, 405, 405, 405, 401, 401, 401)),
    ("POST", "/v1/addresses/10.1.0.1", ORDER, (405, 405, 405, 405, 405, 401, 401, 401)),
    ("POST", "/v1/accounts/joe/forget", ORDER, (404, 404, 404, 404, 404, 401, 401, 401)),
    ("GET", "/v1/addresses", b"", (404, 404, 404, 404, 404, 401, 401, 401)),
    # what the door does beside is not theirs
    ("POST", "/v1/scan", b'{"raw": ""}', (401, 401, 401, 401, 401, 200, 401, 401)),
)


@pytest.mark.parametrize(
    ("method", "path", "body", "statuses"), TABLE, ids=[f"{row[0]} {row[1]}" for row in TABLE]
)
async def test_each_key_may_do_what_it_has_the_right_to(
    open_folder: Path, method: str, path: str, body: bytes, statuses: tuple[int, ...]
) -> None:
    fill(open_folder)
    with AccountStore(open_folder / state_files.ACCOUNTS) as store:
        joe = AccountRecord(
            id="joe",
            logins=("joe@example.com",),
            customer=Customer(id="c 17"),
            networks=(AccountNetwork(network="10.1.0.0/24"),),
        )
        ann = AccountRecord(
            id="ann",
            logins=("ann@example.com",),
            customer=Customer(id="c18"),
            networks=(AccountNetwork(network="10.2.0.0/24"),),
        )
        store.put([joe, ann], by="test", now=1.0)
        before = store.accounts(now=0.0)
    (open_folder / "keys").write_text(f"{SCANS}\n")
    headers = {"Content-Type": "application/json"} if body else {}
    async with door(open_folder, keys_file=open_folder / "keys").serving() as at:

        async def asked(key: str) -> int:
            found = await ask(at, path, key, method=method, body=body or None, headers=headers)
            return found[0]

        refused = [pair for pair in zip(KEYS, statuses, strict=True) if pair[1] != 200]
        served = [pair for pair in zip(KEYS, statuses, strict=True) if pair[1] == 200]
        for key, status in refused:
            assert await asked(key) == status, key
        with AccountStore(open_folder / state_files.ACCOUNTS) as store:
            assert store.accounts(now=0.0) == before, "who may not has changed nothing"
        for key, status in served:
            assert await asked(key) == status, key
