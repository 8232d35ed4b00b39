"""Accounts of two customers and of nobody, with incidents, behind a door with keys of all kinds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import msgspec
from yarl import URL

from oborona import state_files
from oborona.accounts.account import AccountRecord, AccountState, Customer
from oborona.accounts.excess import Excess
from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import IncidentLine, InspectorDecision
from tests.doors.http.sittings import Sittings

READER, ACTOR, BOTH = "reads-of-all-0123456", "acts-on-all-01234567", "reads-and-acts-01234"
ITS_READER, ITS_ACTOR = "reads-of-one-0123456", "acts-on-one-01234567"
CUSTOMERS = {"joe": "c 17", "ann": "c18", "sam/x": ""}
KEYS = f"""# of panels
{READER} read
{ACTOR} act=billing
{BOTH} read,act=staff
{ITS_READER} read c 17
{ITS_ACTOR}  act=shop   c 17
"""


def fill(folder: Path) -> None:
    """Have three accounts, with an incident each; joe's is closed."""
    now = time.time()
    with IncidentStore(folder / state_files.ACCOUNTS) as store:
        store.put(
            [
                AccountRecord(
                    id=name,
                    logins=(f"{name}@example.com",),
                    customer=Customer(id=customer) if customer else None,
                )
                for name, customer in CUSTOMERS.items()
            ],
            by="test",
            now=now,
        )
        for name in CUSTOMERS:
            open_incident(store, name, now)
        store.close_incident(1, IncidentVerdict.SPAM, by="anna", note="a bot", now=now)


def open_incident(store: IncidentStore, name: str, now: float, **fields: object) -> int:
    """Have an incident of an account, of which nothing follows but an alert."""
    account = store.find(name)
    assert account is not None
    told: dict[str, object] = {
        "account": name,
        "limit": "HOURLY",
        "metric": "recipients",
        "window": "hour",
        "value": 901,
        "most": 202,
        "at": now - 60,
        "evidence": {"subjects": ["Buy now"]},
        "idents": (1,),
    }
    return store.open_incident(
        msgspec.convert(told | fields, Excess),
        account,
        InspectorDecision(line=IncidentLine.DUTY, alert=True, state=AccountState.OPEN, until=0),
        rating=50,
        say="HOURLY: 901 recipients of 202",
        told="",
        shadow=False,
        second_at=now + 60,
        now=now,
    )


def door(folder: Path, **settings: object) -> Sittings:
    """Return a door with these keys."""
    (folder / "accounts.keys").write_text(KEYS)
    return Sittings(folder, accounts_keys_file=folder / "accounts.keys", **settings)


async def ask(
    at: Sittings,
    path: str,
    key: str = BOTH,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Return status and body of what is answered to a path as it stands."""
    named = {"Authorization": f"Bearer {key}"} | dict(headers or {})
    async with (
        at.client() as client,
        client.request(
            method,
            URL(f"http://door{path}", encoded=True),
            data=body and BytesIO(body),
            headers=named,
        ) as answer,
    ):
        return answer.status, await answer.read()
