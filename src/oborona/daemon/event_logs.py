"""The process of event logs among the others: its packages are loaded in its own process alone."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from oborona.config import Settings
from oborona.errors import ConfigError
from oborona.extras import how_to_get
from oborona.stores.policy_folders import policy_folders

NEEDED: Final = ("deltalake", "duckdb", "ibis", "pyarrow")


def check_event_logs(settings: Settings) -> None:
    """Refuse settings that want event logs where there are none, or their packages are missing.

    Raises:
        ConfigError: they do.
    """
    if not settings.eventlog.enabled:
        raise ConfigError("eventlog.enabled is false: there is nothing to run")
    check_packages()


def check_packages() -> None:
    """Refuse to go on without the packages that event logs need.

    Raises:
        ConfigError: one is missing.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"event logs need the extra `eventlog` of the package, of which {', '.join(missing)} "
            f"is missing: {how_to_get('eventlog')}"
        )


def run(settings: Settings, state: Path, ready: Callable[[], None]) -> int:
    """Be the process of event logs until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: state folder, prepared.
        ready: called once it runs.

    Raises:
        ConfigError: a log is not declared as it must be.
        PolicyError: the policy can't be used, or has rules for another log than there is.
        StoreError: a store or a folder can't be used.
    """
    from oborona.eventlog import process  # noqa: PLC0415 - 100 MiB that no other process needs

    return process.run(settings, state, policy_folders(settings.paths), ready)
