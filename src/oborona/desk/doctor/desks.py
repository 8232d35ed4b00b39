"""What `oborona doctor` says of desks of other machines: do they answer this one, and each known by
its certificate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.owner import as_owner_of
from oborona.desk.peers.identity import own_identity
from oborona.desk.peers.relay import DeskRelay, open_relay
from oborona.desk.site import Site
from oborona.errors import ConfigError, StoreError
from oborona.people.caller import Caller, caller_at_terminal

WHAT: Final = "desks"
ASKED: Final = "status.read"
WITHIN_S: Final = 5.0
CLOCK_S: Final = 20.0  # a third of what a voucher is good for


class _DeskWords(msgspec.Struct):
    """Of a desk's answer, and of its refusal."""

    time: float = 0.0
    late: list[str] = []
    error: str = ""


def desks(context: Site) -> Iterator[CheckReport]:
    """Ask each desk that the settings name how its machine does; one machine alone has none."""
    console = context.loaded.settings.console
    others = console.other_desks
    if not others:
        return
    try:
        with as_owner_of(context.state):
            own = own_identity(context.state, context.name)
            relay = open_relay(own, context.name, others, console.desk_certificates)
    except (ConfigError, StoreError) as error:
        yield CheckReport(WHAT, CheckState.FAIL, str(error), "docs/operate/several-machines.md")
        return
    caller = caller_at_terminal("doctor", "doctor", "")
    yield from asyncio.run(_all_of(relay, list(others), caller))


async def _all_of(relay: DeskRelay, names: list[str], caller: Caller) -> list[CheckReport]:
    try:
        return await asyncio.gather(*(_one(relay, name, caller) for name in names))
    finally:
        await relay.close()


async def _one(relay: DeskRelay, name: str, caller: Caller) -> CheckReport:
    answer = await relay.ask(name, ASKED, b"{}", caller, WITHIN_S)
    now = time.time()
    try:
        words = msgspec.json.decode(answer.body or b"", type=_DeskWords)  # type: ignore[arg-type]
    except (msgspec.DecodeError, UnicodeDecodeError):
        words = _DeskWords(error="it answers what no desk does")
    if answer.status != 200 or words.error:
        return CheckReport(
            WHAT,
            CheckState.FAIL,
            f"{name} does not answer: {words.error or f'status {answer.status}'}",
            "is Oborona up there, and does it let this machine in (desk_allowed, home_certificate)?",
        )
    if abs(words.time - now) > CLOCK_S:
        return CheckReport(
            WHAT,
            CheckState.WARN,
            f"the clocks of {name} and of this machine are {abs(words.time - now):.0f} s apart",
            "set both by NTP: a minute apart, neither believes the other",
        )
    if words.late:
        return CheckReport(WHAT, CheckState.WARN, f"{name} answers: {'; '.join(words.late)}")
    return CheckReport(WHAT, CheckState.OK, f"{name} answers")
