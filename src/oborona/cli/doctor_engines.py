"""What `oborona doctor` says of other engines: whether each answers, and how the workers find
it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.daemon.site_name import site_name
from oborona.errors import ConfigError, OboronaError, StoreError
from oborona.session.engines.asking import Spoken, spoken
from oborona.telemetry import status


def engines(asked: Asked) -> Iterator[Report]:
    """Look at the engines that are set."""
    settings = asked.loaded.settings
    try:
        found = list(spoken(settings, site_name(asked.loaded), time.time))
    except ConfigError as error:
        yield Report("engines", State.FAIL, str(error))
        return
    if found:
        yield from asyncio.run(_pings(found))
        yield from _seen(asked)


async def _pings(found: list[Spoken]) -> list[Report]:
    return [await _ping(one) for one in found]


async def _ping(one: Spoken) -> Report:
    what, where = f"engine {one.name}", one.settings.ask
    try:
        async with asyncio.timeout(one.settings.deadline_s):
            await one.client.ping()
    except TimeoutError:
        return Report(what, State.FAIL, f"{where}: no answer within {one.settings.deadline_s:g} s")
    except (OboronaError, OSError) as error:
        return Report(what, State.FAIL, f"{where}: {error}")
    finally:
        await one.client.close()
    return Report(what, State.OK, f"{where} answers")


def _seen(asked: Asked) -> Iterator[Report]:
    try:
        workers = status.read(asked.state, time.time())
    except StoreError:
        return  # another report says so
    for worker in workers:
        for name, how in worker.engines.items():
            if how.away:
                yield Report(
                    f"engine {name}",
                    State.FAIL,
                    f"worker {worker.worker} does without it since {_clock(how.since)}: {how.why}",
                )


def _clock(when: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(when))
