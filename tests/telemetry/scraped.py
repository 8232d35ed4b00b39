"""Metrics as a Prometheus reads them."""

from typing import Any

from prometheus_client.exposition import generate_latest

from oborona.telemetry.metrics import collected


def exposition(*said: Any, **more: Any) -> bytes:
    """Return what `collected` does, as text."""
    return generate_latest(collected(*said, **more))
