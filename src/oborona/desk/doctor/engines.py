"""What `oborona doctor` says of other engines: whether each answers, and how the workers find
it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from oborona.daemon.site_name import site_name
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import ConfigError, OboronaError, StoreError
from oborona.session.engines.engine_set import ConfiguredEngine, configured_engines
from oborona.telemetry import status


def engines(context: Site) -> Iterator[CheckReport]:
    """Look at the engines that are set."""
    settings = context.loaded.settings
    try:
        configured = list(configured_engines(settings, site_name(context.loaded), time.time))
    except ConfigError as error:
        yield CheckReport("engines", CheckState.FAIL, str(error))
        return
    if configured:
        yield from asyncio.run(_pings(configured))
        yield from _of_workers(context)


async def _pings(configured: list[ConfiguredEngine]) -> list[CheckReport]:
    return [await _ping(engine) for engine in configured]


async def _ping(engine: ConfiguredEngine) -> CheckReport:
    subject, where = f"engine {engine.name}", engine.settings.ask
    try:
        async with asyncio.timeout(engine.settings.deadline_s):
            await engine.client.ping()
    except TimeoutError:
        return CheckReport(
            subject, CheckState.FAIL, f"{where}: no answer within {engine.settings.deadline_s:g} s"
        )
    except (OboronaError, OSError) as error:
        return CheckReport(subject, CheckState.FAIL, f"{where}: {error}")
    finally:
        await engine.client.close()
    return CheckReport(subject, CheckState.OK, f"{where} answers")


def _of_workers(context: Site) -> Iterator[CheckReport]:
    try:
        workers = status.read_workers(context.state, time.time())
    except StoreError:
        return  # another report says so
    for worker in workers:
        for name, how in worker.engines.items():
            if how.away:
                yield CheckReport(
                    f"engine {name}",
                    CheckState.FAIL,
                    f"worker {worker.worker} does without it since {_clock(how.since)}: {how.why}",
                )


def _clock(when: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(when))
