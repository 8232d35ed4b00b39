"""A site with charts, for tests of what the desk tells of it."""

from __future__ import annotations

import time
from pathlib import Path

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.people.caller import Caller, caller_at_terminal
from oborona.stores.charts.differences import ProcessCount
from oborona.stores.charts.store import ChartSample, ChartStore

CALLER: Caller = caller_at_terminal("anna", "login=anna", "mx")
SHIPPED = Path(__file__).resolve().parents[2] / "etc/oborona.toml"
WEEK_S = 7 * 86_400.0


class DeskSite(Site):
    """The site of a state folder; notices are kept."""

    def __init__(self, state: Path, **overrides: str) -> None:
        self.notices: list[str] = []
        settings = {name.replace("__", "."): value for name, value in overrides.items()}
        source = SiteSource(SHIPPED, {"paths.state": str(state), **settings})
        super().__init__(source, self.notices.append)


def draw(state: Path, counts: dict[str, int], *, ago: float = 0.0, **queues: int) -> None:
    """Add to the charts of a site what a process has counted some seconds ago."""
    at = time.time() - ago
    with ChartStore(state / state_files.CHARTS) as store:
        store.take(ChartSample(time=at, place=1))
        process = ProcessCount(pid=int(at), time=at, counts=counts)
        waiting = {f"queues/{name}": size for name, size in queues.items()}
        store.take(ChartSample(time=at, processes={"worker-0": process}, queues=waiting))
