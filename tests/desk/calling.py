"""Calls of the desk made as its server makes them: JSON in, JSON out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

import oborona.desk.calls  # noqa: F401 - declares them
from oborona.desk.call import CALLS
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay, Scope, with_roles
from oborona.people.rights import Role
from tests.peers.oborona import SETTINGS

NAMES = tuple(CALLS)


def site_of(state: Path, **overrides: str) -> Site:
    """Return a site with a state folder; what it notices is forgotten."""
    settings = {"paths.state": str(state), "site.name": "mx.test"}
    more = {name.replace("__", "."): value for name, value in overrides.items()}
    return Site(SiteSource(SETTINGS, settings | more), lambda _: None)


def person(*roles: Role, scope: Scope | None = None) -> Caller:
    return with_roles(
        "anna", frozenset(roles), scope or Scope(), way=CallWay.KEY, source="", place=""
    )


ADMIN = person(Role.ADMIN)


def call(site: Site, name: str, caller: Caller = ADMIN, /, **asked: Any) -> Any:
    """Return what a call answers."""
    declared = CALLS[name]
    order = msgspec.json.decode(msgspec.json.encode(asked), type=declared.asked)
    return msgspec.json.decode(msgspec.json.encode(declared.function(site, caller, order)))


def take_back(site: Site, done: Any, caller: Caller = ADMIN) -> Any:
    """Make the call that takes an act back."""
    undo = done["undo"]
    return call(site, undo["call"], caller, **({"reason": "undone"} | undo["asked"]))


def octets_below(folder: Path) -> dict[str, str]:
    """Return what files of a folder hold; not those that SQLite has while it reads."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".lock", "lock.mdb"))
    }
