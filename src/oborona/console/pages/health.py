"""The engine room: what doctor finds, processes, stores, queues, settings; load the policy again,
try the alarm.
"""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec
from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import AWAY, SLOW, DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.overview_answer import ShownStatus
from oborona.console.visit import Visit
from oborona.people.rights import Right

CHECK_S: Final = 12.0  # the desk's own deadline is shorter
LANES: Final = 3  # checks that a browser asks for at once: the desk has a few threads
DAY_S: Final = 86_400
GROWTH_DAYS: Final = 14
HIDDEN: Final = (".webhook",)
"""Settings whose address lets whoever knows it in."""


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that doctor looked at."""

    what: str
    state: str
    finding: str
    hint: str = ""


class FoundByCheck(msgspec.Struct, frozen=True, kw_only=True):
    """All that a check found."""

    findings: list[CheckFinding]


class NamesOfChecks(msgspec.Struct, frozen=True, kw_only=True):
    """All checks."""

    checks: list[str]


class StoreSeries(msgspec.Struct, frozen=True, kw_only=True):
    """How large a store was, day by day."""

    name: str
    values: list[int | None]


class StoreSizes(msgspec.Struct, frozen=True, kw_only=True):
    """The same, of all stores."""

    first: int
    step: int
    series: list[StoreSeries]


class StoreRow(msgspec.Struct, frozen=True):
    """A store.

    Args:
        name: of it.
        size: octets now.
        growth: octets a day; None = not known.
    """

    name: str
    size: int
    growth: float | None


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting in force."""

    name: str
    value: Any
    origin: str


class SettingRows(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    settings: list[SettingRow]


@page("GET", "/health", Right.STATUS, menu=marked("Health"), order=85, whole=True)
async def show_health(visit: Visit) -> web.Response:
    """Show how the daemon does; a script asks for each check apart.

    Raises:
        DeskError: the desk does not answer.
    """
    visit.choose_home()
    status = await visit.part("status.read", {}, ShownStatus)
    names = await visit.part("doctor.checks", {}, NamesOfChecks)
    if status is None and names is None:
        raise DeskError(AWAY, "")
    return visit.render(
        "health/page.html",
        status=status,
        supervised={one.name: one for one in status.supervised} if status else {},
        checks=names.checks if names else [],
        lanes=LANES,
        stores=await _stores(visit),
    )


async def _stores(visit: Visit) -> list[StoreRow] | None:
    asked = {"series": ["bytes"], "step": "1d", "since": time.time() - GROWTH_DAYS * DAY_S}
    found = await visit.part("charts.read", asked, StoreSizes)
    if found is None:
        return None
    return [store_row(one.name.partition("/")[2] or one.name, one.values) for one in found.series]


def store_row(name: str, values: list[int | None]) -> StoreRow:
    """Return how large a store is, and how it grows.

    Args:
        name: of it.
        values: day by day; None = not known.
    """
    known = [(day, value) for day, value in enumerate(values) if value is not None]
    if not known:
        return StoreRow(name, 0, None)
    (first, before), (last, size) = known[0], known[-1]
    return StoreRow(name, size, (size - before) / (last - first) if last > first else None)


@page("GET", "/health/check/{check}", Right.STATUS)
async def show_check(visit: Visit) -> web.Response:
    """Show what one check finds.

    Raises:
        DeskError: the desk does not answer, or knows no such check.
    """
    name = visit.parts["check"]
    slow, found = False, None
    try:
        found = await visit.ask("doctor.report", {"checks": [name]}, FoundByCheck, CHECK_S)
    except DeskError as error:
        if error.status == 422:
            raise DeskError(404, error.text) from error
        if error.status not in {AWAY, SLOW}:
            raise
        slow = True
    findings = found.findings if found is not None else []
    return visit.render("health/check.html", name=name, findings=findings, slow=slow)


@page("GET", "/health/settings", Right.POLICY_SEE)
async def show_settings(visit: Visit) -> web.Response:
    """Show every setting in force, and where it comes from.

    Raises:
        DeskError: the desk does not answer.
    """
    prefix = visit.query("name")[:100]
    found = await visit.ask("policy.settings", {"name": prefix}, SettingRows)
    rows = [(one.name, setting_text(one), one.origin) for one in found.settings]
    if visit.query("as") == "csv":
        return visit.csv("settings", ["name", "value", "origin"], rows)
    if visit.query("as") == "json":
        return visit.json(
            "settings", [dict(zip(("name", "value", "origin"), row, strict=True)) for row in rows]
        )
    return visit.render("health/settings.html", rows=rows, prefix=prefix)


def setting_text(row: SettingRow) -> str:
    """Return the value of a setting as its file has it; an address that lets people in is none."""
    if row.value and row.name.endswith(HIDDEN):
        return _("(set)")
    if isinstance(row.value, str):
        return row.value
    return msgspec.json.encode(row.value).decode()


@page("POST", "/health/reload", Right.RELOAD)
async def reload_policy(visit: Visit) -> web.Response:
    """Have the policy files read now.

    Raises:
        DeskError: the desk does not answer.
    """
    plan = ActPlan(
        call="policy.reload",
        order={},
        title=_("Load the policy again"),
        back="/health",
        shown="health/reloaded.html",
    )
    return await carry_out(visit, plan)


@page("POST", "/health/alarm", Right.SYSTEM)
async def try_alarm(visit: Visit) -> web.Response:
    """Send an alert that says it is a test.

    Raises:
        DeskError: the desk does not answer.
    """
    plan = ActPlan(
        call="alarm.test",
        order={},
        title=_("Try the alarm"),
        back="/health",
        shown="health/alarm.html",
    )
    return await carry_out(visit, plan)
