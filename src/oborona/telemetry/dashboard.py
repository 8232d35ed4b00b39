"""The dashboard that ships, in Grafana's JSON; written by `make docs`.

Source: Grafana's dashboard JSON model, schema version 39 (Grafana 10.1 and later).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona.telemetry.dashboard_panels import ROWS, DashboardPanel

SCHEMA_VERSION: Final = 39
WIDTH: Final = 24  # of Grafana's grid
STAT: Final = (3, 4)  # width and height of a stat, eight in a row
GRAPH: Final = (8, 8)  # of any other
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def dashboard_json() -> str:
    """Return etc/grafana/oborona.json."""
    return msgspec.json.format(msgspec.json.encode(_dashboard()), indent=2).decode() + "\n"


def _dashboard() -> dict[str, Any]:
    return {
        "uid": "oborona",
        "title": "Oborona",
        "description": "Mail, time, stores and processes; docs/operate/monitoring.md.",
        "tags": ["oborona", "mail"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,  # one line through all graphs
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(_variables())},
        "panels": list(_panels(ROWS)),
    }


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    yield {
        "name": "instance",
        "label": "Machine",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": "label_values(oborona_build_info, instance)", "refId": "instance"},
        "refresh": 2,  # with the range of time
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels(rows: Mapping[str, Sequence[DashboardPanel]]) -> Iterator[dict[str, Any]]:
    """Yield rows and panels, each where there is room, from left to right."""
    number, top = 1, 0
    for title, panels in rows.items():
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": top},
            "panels": [],
        }
        number, top = number + 1, top + 1
        left = height = 0
        for panel in panels:
            width, height = STAT if panel.kind == "stat" else GRAPH
            if left + width > WIDTH:
                left, top = 0, top + height
            place = {"h": height, "w": width, "x": left, "y": top}
            yield {"id": number, "gridPos": place, **_panel(panel)}
            number, left = number + 1, left + width
        top += height


def _panel(panel: DashboardPanel) -> dict[str, Any]:
    custom = {"stacking": {"mode": "normal" if panel.stacked else "none"}, "fillOpacity": 10}
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.kind == "timeseries":
        defaults |= {"custom": custom, "min": 0}
    if panel.kind in ("stat", "bargauge"):
        defaults["thresholds"] = {"mode": "absolute", "steps": list(_steps(panel))}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel),
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "expr": query.expression,
                "legendFormat": query.legend or "__auto",
                "format": "heatmap" if panel.kind == "heatmap" else "time_series",
                "instant": panel.kind in ("stat", "bargauge"),
                "range": panel.kind not in ("stat", "bargauge"),
            }
            for place, query in enumerate(panel.queries)
        ],
    }


def _steps(panel: DashboardPanel) -> Iterator[dict[str, Any]]:
    """Yield from which value on which colour holds."""
    if panel.bad_below is not None:
        yield {"color": "red", "value": None}
        yield {"color": "green", "value": panel.bad_below}
        return
    yield {"color": "green", "value": None}
    if panel.bad_from is not None:
        yield {"color": "red", "value": panel.bad_from}


def _options(panel: DashboardPanel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi"},
        }
    if panel.kind == "heatmap":
        return {"calculate": False, "yAxis": {"unit": "s"}}
    options: dict[str, Any] = {"reduceOptions": {"calcs": ["lastNotNull"]}}
    if panel.kind == "stat":
        options["textMode"] = "name" if panel.title == "Version" else "auto"
    return options
