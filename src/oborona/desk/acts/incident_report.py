"""The act by which other programs report excesses that they have found."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import IO

import msgspec

from oborona.accounts.excess import LINE_OCTETS, WrongExcess, parse_excess
from oborona.accounts.inspector.inspector import Inspector, inspector_rules
from oborona.desk.acts.account_import import MOST_FAULTS, JsonLines, LineFault
from oborona.desk.asks.incidents import open_incidents
from oborona.desk.call import ActOrder, act
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class ExcessReportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Excesses, a JSON object a line."""

    content: JsonLines


class ReportedExcesses(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of lines.

    Args:
        taken: excesses that the inspector has taken.
        wrong: lines that were left out.
        faults: the first of these.
    """

    taken: int
    wrong: int
    faults: tuple[LineFault, ...]


@act("incident.report", Right.ACCOUNT)
def report_excesses(site: Site, _caller: Caller, asked: ExcessReportOrder) -> ReportedExcesses:
    """Report excesses to the inspector; a line that is wrong is left out.

    Raises:
        PolicyError: the policy, which rates accounts, can't be used.
        StoreError: they can't be written.
    """
    faults: list[LineFault] = []
    wrong = 0

    def fault(number: int, why: str) -> None:
        nonlocal wrong
        wrong += 1
        if len(faults) < MOST_FAULTS:
            faults.append(LineFault(line=number, why=why))

    taken = take_excesses(site, io.BytesIO(asked.content), fault)
    return ReportedExcesses(taken=taken, wrong=wrong, faults=tuple(faults))


def take_excesses(site: Site, file: IO[bytes], fault: Callable[[int, str], None]) -> int:
    """Report excesses as `incident.report` does, from a file of any size; return how many were.

    Args:
        site: whose inspector.
        file: of JSON, an object a line.
        fault: is told the number of a line that is left out, and why.
    """
    policy = site.policy()
    taken = number = 0
    with open_incidents(site, make=True) as store:
        settings = site.loaded.settings.inspector
        inspector = Inspector(
            store,
            lambda: policy.account_tests,
            inspector_rules(settings),
            live=settings.mode == "live",
            clock=time.time,
        )
        while line := file.readline(LINE_OCTETS + 1):
            number += 1
            if not line.strip():
                continue
            try:
                inspector.take(parse_excess(line))
                taken += 1
            except WrongExcess as error:
                fault(number, str(error))
    return taken
