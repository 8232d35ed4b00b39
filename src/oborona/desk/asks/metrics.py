"""The ask for the metrics of all running processes, in Prometheus' text format."""

from __future__ import annotations

import time

import msgspec
from prometheus_client.exposition import generate_latest

from oborona.daemon.metric_collection import collect_metrics
from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class MetricsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the processes have counted."""


class MetricsText(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics as Prometheus reads them."""

    text: str


@ask("status.metrics", Right.STATUS)
def show_metrics(site: Site, _caller: Caller, asked: MetricsQuestion) -> MetricsText:
    """Return the metrics of all running processes.

    Raises:
        StoreError: the folder of the processes' words can't be read.
    """
    return MetricsText(text=generate_latest(collect_metrics(site.state, time.time())).decode())
