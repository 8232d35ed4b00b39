"""What `oborona doctor` says of other engines: whether each answers, and how the workers find
it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from oborona.cli.context import CliContext
from oborona.cli.doctor.report import CheckReport, CheckState
from oborona.daemon.site_name import site_name
from oborona.errors import ConfigError, OboronaError, StoreError
from oborona.session.engines.engine_set import ConfiguredEngine, configured_engines
from oborona.telemetry import status


def engines(context: CliContext) -> Iterator[CheckReport]:
    """Look at the engines that are set."""
    settings = context.loaded.settings
    try:
        found = list(configured_engines(settings, site_name(context.loaded), time.time))
    except ConfigError as error:
        yield CheckReport("engines", CheckState.FAIL, str(error))
        return
    if found:
        yield from asyncio.run(_pings(found))
        yield from _seen(context)


async def _pings(found: list[ConfiguredEngine]) -> list[CheckReport]:
    return [await _ping(one) for one in found]


async def _ping(one: ConfiguredEngine) -> CheckReport:
    what, where = f"engine {one.name}", one.settings.ask
    try:
        async with asyncio.timeout(one.settings.deadline_s):
            await one.client.ping()
    except TimeoutError:
        return CheckReport(
            what, CheckState.FAIL, f"{where}: no answer within {one.settings.deadline_s:g} s"
        )
    except (OboronaError, OSError) as error:
        return CheckReport(what, CheckState.FAIL, f"{where}: {error}")
    finally:
        await one.client.close()
    return CheckReport(what, CheckState.OK, f"{where} answers")


def _seen(context: CliContext) -> Iterator[CheckReport]:
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
