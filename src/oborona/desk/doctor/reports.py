"""What `oborona doctor` says of reports by mail: does the door answer, is there anything it takes,
and does this machine's Postfix lead mail to it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from oborona.config import Address
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.doors.delivery.next_hop import LmtpNextHop
from oborona.errors import PeerError

WAIT_S: Final = 3.0  # for the door, or Postfix's tools


def reports(context: Site) -> Iterator[CheckReport]:
    """Look at the door for reports, if it is open, or should be."""
    settings = context.loaded.settings.intake
    if not settings.mail_listen:
        if settings.reports:
            words = (
                "addresses for reports are set, and intake.mail_listen is not: nobody "
                "takes what comes there"
            )
            yield CheckReport("reports", CheckState.FAIL, words)
        return
    yield asyncio.run(_door(settings.mail_address))
    if not settings.reports and not len(context.policy().trapped):
        words = (
            "no address is for reports, and there are no traps: nothing is taken at "
            "intake.mail_listen"
        )
        yield CheckReport("reports", CheckState.WARN, words)
    postmap = shutil.which("postmap", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    postconf = shutil.which("postconf", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if postmap is not None and postconf is not None and settings.reports:
        yield _postfix(postconf, postmap, sorted(settings.reports))


async def _door(address: Address) -> CheckReport:
    try:
        async with asyncio.timeout(WAIT_S):
            hop = await LmtpNextHop.open(address, "localhost")
    except (PeerError, OSError, TimeoutError) as error:
        return CheckReport(
            "reports",
            CheckState.WARN,
            f"{address} does not answer ({str(error) or 'too late'}); reports wait in the queue",
        )
    hop.leave()
    return CheckReport("reports", CheckState.OK, f"reports are taken on {address}")


def _postfix(postconf: str, postmap: str, addresses: list[str]) -> CheckReport:
    """Tell whether Postfix's transport_maps know the addresses."""
    try:
        maps = _output_of(postconf, "-xh", "transport_maps").replace(",", " ")
        tables = [name for name in _split(maps) if name]
        missing = [
            address
            for address in addresses
            if not any(_output_of(postmap, "-q", address, table) for table in tables)
        ]
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckReport("reports", CheckState.WARN, f"Postfix can't be asked: {error}")
    if missing:
        words = (
            f"Postfix's transport_maps lead no mail for {', '.join(missing)} to us: see "
            f"etc/postfix/main.cf.reports"
        )
        return CheckReport("reports", CheckState.WARN, words)
    return CheckReport(
        "reports", CheckState.OK, "Postfix's transport_maps know the addresses of reports"
    )


def _output_of(*command: str) -> str:
    done = subprocess.run(  # noqa: S603 - found in the path of the system
        command, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    return done.stdout.strip()


def _split(maps: str) -> list[str]:
    """Return the tables of a setting; what stands in braces belongs to one."""
    tables, depth, word = [], 0, ""
    for letter in maps:
        depth += (letter == "{") - (letter == "}")
        if letter.isspace() and not depth:
            tables.append(word)
            word = ""
        else:
            word += letter
    return [*tables, word]
