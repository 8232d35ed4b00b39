"""The first page: is all well, what has changed, what needs a person."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from oborona.console.bar_chart import BarChart, bar_chart
from oborona.console.declaration import page
from oborona.console.language import VIEWER, marked
from oborona.console.language import gettext as _
from oborona.console.overview_answer import ShownOverview, ShownStatus, StatusPolicy
from oborona.console.visit import Visit
from oborona.people.rights import Right

LATE_BYTES: Final = 32 << 20  # of the spools: minutes of a busy site
OFF: Final = "off"
SERVICE: Final = "service-"  # a supervisor: what it watches has lights of its own
HOUR_S: Final = 3600
KINDS: Final = {
    "refused-at-door": marked("refused at the door"),
    "refused": marked("refused"),
    "junk": marked("Junk"),
    "inbox": marked("inbox"),
}
MOVES: Final = {
    "moved": marked("moved"),
    "undone": marked("undone"),
    "waiting": marked("waiting"),
}


class Light(msgspec.Struct, frozen=True):
    """One thing that is well or not.

    Args:
        name: translated.
        state: good, warn, bad.
        text: how it is.
        url: of the page that mends it.
    """

    name: str
    state: str
    text: str
    url: str


@page("GET", "/overview", Right.STATUS, menu=marked("Overview"), order=10, whole=True)
async def show_overview(visit: Visit) -> web.Response:
    """Show what is to be seen first; `?live=off` is not brought up to date by a script.

    Raises:
        DeskError: the desk does not answer.
    """
    found = await visit.ask("overview.read", {}, ShownOverview)
    if visit.query("as") == "json":
        return visit.json("overview", found)
    labels = [clock(found.first + number * found.step) for number in range(_length(found))]
    if visit.query("as") == "csv":
        return visit.csv("verdicts", *_table(found))
    return visit.render(
        "overview/page.html",
        found=found,
        lights=lights(found),
        chart=_verdicts(found, labels),
        before=_before(found, labels),
        said=_said(found),
        totals=[
            (_(KINDS.get(one.kind, one.kind)), sum(one.values), sum(one.before))
            for one in found.bars
        ],
        moves=[(_(MOVES.get(name, name)), count) for name, count in sorted(found.moves.items())],
        live=visit.query("live") != OFF,
    )


def lights(found: ShownOverview) -> list[Light]:
    """Return the lights, in the order in which mail needs what they stand for."""
    status = found.status
    workers = [one for one in status.processes if one.name.startswith("worker-")]
    here = sum(one.here for one in workers)
    lists = sorted({one.name for one in status.unwell if one.kind == "list"})
    engines = sorted({one.name for one in status.unwell if one.kind != "list"})
    spooled = sum(status.spools.values())
    return [
        Light(
            _("workers"),
            "good" if here == len(workers) else "bad",
            f"{here}/{len(workers)}",
            "/health",
        ),
        Light(
            _("writer"),
            "good" if spooled < LATE_BYTES else "warn",
            _("%(n)s MB wait to be written") % {"n": f"{spooled / 1e6:.1f}"},
            "/health",
        ),
        _policy_light(status.policy),
        Light(
            _("DNS lists"),
            "warn" if lists else "good",
            ", ".join(lists) if lists else _("all answer"),
            "/health",
        ),
        Light(
            _("engines"),
            "warn" if engines else "good",
            ", ".join(engines) if engines else _("all answer"),
            "/health",
        ),
        *(
            Light(
                one.name,
                "warn" if one.trouble or not one.here else "good",
                one.trouble or (_("here") if one.here else _("away")),
                "/models" if one.name == "trainer" else "/health",
            )
            for one in status.processes
            if one not in workers
            and one.wanted
            and one.name not in {"policy", "recheck"}
            and not one.name.startswith(SERVICE)
        ),
        Light(
            _("moves"),
            "warn" if found.needs.paused else "good",
            _("paused") if found.needs.paused else _("%(n)s today") % {"n": found.moves.get("moved", 0)},
            "/moves",
        ),
        *(machine_light(one.desk, one.status, status.policy.version) for one in found.others),
    ]  # fmt: skip


def machine_light(name: str, status: ShownStatus, version: str) -> Light:
    """Return how another machine does as a whole.

    Args:
        name: of it.
        status: of its processes.
        version: of the policy on the home machine.
    """
    away = [one.name for one in status.processes if one.wanted and not one.here]
    theirs = status.policy.version
    if away:
        state, text = "bad", _("away: %(names)s") % {"names": ", ".join(away)}
    elif theirs != version:
        state, text = "warn", _("another policy: %(version)s") % {"version": theirs[:8] or "?"}
    else:
        state, text = "good", _("%(version)s, as here") % {"version": theirs[:8]}
    return Light(name, state, text, f"/health?{urlencode({'desk': name}, errors='replace')}")


def _policy_light(policy: StatusPolicy) -> Light:
    behind = [number for number, version in policy.workers.items() if version != policy.version]
    if policy.refused:
        state, text = "bad", _("the files are refused")
    elif not policy.version:
        state, text = "warn", _("nobody publishes it")
    elif behind:
        state, text = "warn", _("another one on worker %(n)s") % {"n": ", ".join(behind)}
    else:
        state, text = "good", _("%(version)s on all") % {"version": policy.version[:8]}
    return Light(_("policy"), state, text, "/policy")


def clock(seconds: float, form: str = "%H:%M") -> str:
    """Return a time of the clock of who looks."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(VIEWER.get().zone).strftime(form)


def _length(found: ShownOverview) -> int:
    return max((len(one.values) for one in found.bars), default=0)


def _table(found: ShownOverview) -> tuple[list[str], list[list[Any]]]:
    heads = [
        "time",
        *(one.kind for one in found.bars),
        *(f"{one.kind} before" for one in found.bars),
    ]
    rows: list[list[Any]] = [
        [
            found.first + number * found.step,
            *(one.values[number] for one in found.bars),
            *(one.before[number] for one in found.bars),
        ]
        for number in range(_length(found))
    ]
    return heads, rows


def _verdicts(found: ShownOverview, labels: list[str]) -> BarChart | None:
    heads = [_(KINDS.get(one.kind, one.kind)) for one in found.bars]
    columns = list(zip(*(one.values for one in found.bars), strict=False))
    return bar_chart(heads, labels, columns) if columns else None


def _before(found: ShownOverview, labels: list[str]) -> BarChart | None:
    heads = [_(KINDS.get(one.kind, one.kind)) for one in found.bars]
    columns = list(zip(*(one.before for one in found.bars), strict=False))
    return bar_chart(heads, labels, columns) if any(map(any, columns)) else None


def _said(found: ShownOverview) -> BarChart | None:
    columns = list(zip(found.events.complaints, found.events.pardons, strict=False))
    labels = [clock(found.first + number * HOUR_S) for number in range(len(columns))]
    return bar_chart([_("complaints"), _("pardons")], labels, columns) if columns else None
