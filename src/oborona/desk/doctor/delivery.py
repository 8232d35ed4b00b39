"""What `oborona doctor` says of the delivery door: does the next hop answer, and does Postfix
deliver to us.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from oborona.config import Address, UnixAddress
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.doors.delivery.next_hop import LmtpNextHop
from oborona.errors import PeerError

WAIT_S: Final = 3.0  # for the next hop, or Postfix's tools
TRANSPORTS: Final = ("mailbox_transport", "virtual_transport", "local_transport", "relay_transport")


def delivery(context: Site) -> Iterator[CheckReport]:
    """Look at both ends of the delivery door, if it is open."""
    settings = context.loaded.settings.doors.delivery
    if not settings.listen:
        return
    yield asyncio.run(_next_hop(settings.hop))
    if settings.journal_wait_s <= context.loaded.settings.journal.batch_s:
        words = (
            "doors.delivery.journal_wait_s is not more than journal.batch_s: who has lists is "
            "asked about mail that is not journaled yet"
        )
        yield CheckReport("next hop", CheckState.WARN, words)
    postconf = shutil.which("postconf", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if postconf is not None:
        yield _postfix(postconf, settings.address)


async def _next_hop(address: Address) -> CheckReport:
    try:
        async with asyncio.timeout(WAIT_S):
            hop = await LmtpNextHop.open(address, "localhost")
    except PeerError as error:
        return CheckReport(
            "next hop",
            CheckState.FAIL,
            f"something listens on {address} and is no LMTP server: {error}",
        )
    except TimeoutError:
        return CheckReport(
            "next hop", CheckState.FAIL, f"{address} does not answer within {WAIT_S:g} s"
        )
    except OSError as error:
        return CheckReport(
            "next hop",
            CheckState.FAIL,
            f"{address}: {error.strerror or error}; mail waits in the queue",
        )
    hop.leave()
    return CheckReport("next hop", CheckState.OK, f"an LMTP server answers on {address}")


def _postfix(postconf: str, address: Address) -> CheckReport:
    subject = "delivery"
    try:
        done = subprocess.run(  # noqa: S603 - found in the path of the system
            [postconf, *TRANSPORTS], capture_output=True, text=True, timeout=WAIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckReport(subject, CheckState.WARN, f"postconf: {error}")
    lines = (line.partition(" =") for line in done.stdout.splitlines())
    values = {name: value.strip() for name, _, value in lines}
    ours = [name for name, value in values.items() if _is(address, value)]
    if ours:
        return CheckReport(subject, CheckState.OK, f"Postfix delivers to us: {' and '.join(ours)}")
    return CheckReport(
        subject,
        CheckState.WARN,
        (
            f"Postfix does not deliver to us; put into main.cf: virtual_transport = "
            f"lmtp:{address.postfix}"
        ),
    )


def _is(address: Address, transport: str) -> bool:
    """Tell whether a transport leads to our door.

    In a chroot Postfix names a socket from its own root.
    """
    scheme, _, rest = transport.partition(":")
    kind, _, place = rest.partition(":")
    if scheme != "lmtp":
        return False
    if isinstance(address, UnixAddress):
        return kind == "unix" and bool(place) and address.path.endswith(f"/{place.lstrip('/')}")
    return rest == address.postfix
