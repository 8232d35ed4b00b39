"""A log that services send events into by HTTP, behind a door with keys for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oborona import state_files
from oborona.daemon.state import prepare_state
from tests.doors.http.account_site import ask
from tests.doors.http.sittings import Sittings

SHOP, OTHER, OF_LATER = "sends-clicks-01234567", "sends-orders-01234567", "sends-later-012345678"
KEYS = f"""# of services
{SHOP} shop clicks,orders
{OTHER} billing orders
{OF_LATER} later nothing_yet
"""
LINES = "application/x-ndjson"
ARRAY = "application/json"
COLUMNS = """
time = "at"
event = "action"
person = ["user"]
info = ["page"]
[columns]
click = "text"
at = "time"
action = "text"
user = "text"
page = "text"
address = "hashed"
amount = "number"
count = "integer"
"""
DECLARED = {"clicks": f'id = "click"{COLUMNS}', "orders": COLUMNS}


def declare(folder: Path, **changes: str) -> None:
    """Declare logs in files."""
    where = folder / "eventlog.d"
    where.mkdir(exist_ok=True)
    for name, text in (DECLARED | changes).items():
        (where / f"{name}.toml").write_text(text)


def door(folder: Path, keys: str = KEYS, **settings: object) -> Sittings:
    """Return a door with these keys, and a state that was begun."""
    prepare_state(folder)
    declare(folder)
    (folder / "events.keys").write_text(keys)
    given: dict[str, object] = {
        "events_keys_file": folder / "events.keys",
        "eventlog.enabled": "true",
        "paths.event_logs": folder / "eventlog.d",
    }
    return Sittings(folder, **given | settings)


def click(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a usual event."""
    usual = {"click": f"c{number}", "at": 1_763_892_000 + number, "action": "click"}
    return usual | {"user": "bob", "page": "/", "address": "192.0.2.1", "amount": 1.5} | changes


def lines(*events: object) -> bytes:
    """Return events as JSON lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


async def send(
    at: Sittings,
    body: bytes,
    log: str = "clicks",
    *,
    key: str = SHOP,
    kind: str = LINES,
    once: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """Send events; return status and answer."""
    named = {"Content-Type": kind} | ({"Idempotency-Key": once} if once is not None else {})
    status, answer = await ask(
        at,
        f"/v1/events/{log}",
        key,
        method="POST",
        body=body,
        headers=named | dict(headers or {}),
    )
    return status, msgspec.json.decode(answer)


def spooled(folder: Path, log: str = "clicks") -> list[list[dict[str, Any]]]:
    """Return what is in the files of the spool, oldest first."""
    where = folder / state_files.EVENT_LOG_RECEIVED / log
    return [
        [json.loads(line) for line in path.read_bytes().splitlines()]
        for path in sorted(where.glob("*.jsonl"))
    ]


def files(folder: Path) -> list[Path]:
    """Return all files of the spool, be they whole or not."""
    where = folder / state_files.EVENT_LOG_RECEIVED
    return sorted(path for path in where.rglob("*") if path.is_file())
