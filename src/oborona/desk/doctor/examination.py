"""All checks of the doctor: each is a report, or some, whatever it meets; kept for a while."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from oborona.desk.doctor.accounts import accounts
from oborona.desk.doctor.addresses import addresses
from oborona.desk.doctor.audit import audit
from oborona.desk.doctor.clients import clients
from oborona.desk.doctor.counters import counters
from oborona.desk.doctor.daemon import daemon
from oborona.desk.doctor.delivery import delivery
from oborona.desk.doctor.desks import desks
from oborona.desk.doctor.dns import dns
from oborona.desk.doctor.doors import doors
from oborona.desk.doctor.engines import engines
from oborona.desk.doctor.event_logs import event_logs
from oborona.desk.doctor.export import export
from oborona.desk.doctor.flows import flows
from oborona.desk.doctor.free_lists import free_lists
from oborona.desk.doctor.geoip import places
from oborona.desk.doctor.hooks import hooks
from oborona.desk.doctor.hostname import name
from oborona.desk.doctor.intake import intake
from oborona.desk.doctor.interpreter import interpreter
from oborona.desk.doctor.machines import machines
from oborona.desk.doctor.mailboxes import mailboxes
from oborona.desk.doctor.model import final, model
from oborona.desk.doctor.outgoing import outgoing
from oborona.desk.doctor.people import people
from oborona.desk.doctor.personal import personal
from oborona.desk.doctor.pins import pins
from oborona.desk.doctor.postfix import postfix
from oborona.desk.doctor.reader import reader
from oborona.desk.doctor.report import MAIL_SERVER, CheckReport, CheckState
from oborona.desk.doctor.reports import reports as reports_by_mail
from oborona.desk.doctor.sign_in import sign_in
from oborona.desk.doctor.signatures import signatures
from oborona.desk.doctor.site_models import site_models
from oborona.desk.doctor.site_policy import site_policy
from oborona.desk.doctor.state import policy_reports, state_reports
from oborona.desk.doctor.stores import stores
from oborona.desk.doctor.traffic import traffic
from oborona.desk.exim import exim
from oborona.desk.site import Site
from oborona.errors import OboronaError
from oborona.sqlite_file import ERRORS

KEPT_S: Final = 30.0  # that a report is told again: some take seconds, and ask others

Check = Callable[[Site], Iterator[CheckReport]]


def checks(folder: Path | None) -> Mapping[str, Check]:
    """Return all checks by name, in the order in which they are told.

    Args:
        folder: of main.cf, where Postfix has several instances; None: the one that its tools take.
    """
    return {
        "interpreter": interpreter, "policy": policy_reports, "state": state_reports, "stores": stores, "machines": machines, "site_policy": site_policy, "site_models": site_models, "desks": desks, "name": name, "daemon": daemon, "counters": counters, "doors": doors,
        "postfix": partial(postfix, folder=folder), "exim": exim, "traffic": partial(traffic, folder=folder), "clients": clients, "delivery": delivery, "dns": dns, "free_lists": free_lists,
        "engines": engines, "places": places, "reader": reader, "signatures": signatures, "pins": pins, "accounts": accounts, "hooks": hooks, "addresses": addresses,
        "outgoing": partial(outgoing, folder=folder), "model": model, "final": final, "personal": personal, "intake": intake, "reports": reports_by_mail, "mailboxes": mailboxes,
        "export": export, "flows": flows, "event_logs": event_logs, "audit": audit, "people": people, "sign_in": sign_in,
    }  # fmt: skip


def examine(site: Site, subject: str, check: Check) -> list[CheckReport]:
    """Return the reports of a check.

    One that may not look, or meets what nobody thought of, is a report and ends none of the others.
    """
    reports = list[CheckReport]()
    try:
        reports += check(site)
    except (PermissionError, OboronaError, *ERRORS) as error:
        words = error.strerror if isinstance(error, PermissionError) else str(error)
        file = (
            f"{error.filename}: " if isinstance(error, PermissionError) and error.filename else ""
        )
        reports.append(
            CheckReport(
                subject,
                CheckState.WARN,
                f"can't be looked at: {file}{words}",
                "run this as root or as the daemon's user" if os.geteuid() else "",
            )
        )
    return reports


class KeptReport(NamedTuple):
    """What a check found."""

    at: float
    reports: list[CheckReport]


class KeptReports:
    """The reports of a site's checks, each looked for anew once it is `KEPT_S` old; for any thread.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, Path | None], KeptReport] = {}
        self._looking: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def reports(
        self, site: Site, named: Collection[str], folder: Path | None
    ) -> Iterator[tuple[str, CheckReport]]:
        """Yield the reports of some checks with the checks' names; none named = all."""
        for subject, check in checks(folder).items():
            if named and subject not in named:
                continue
            for report in self._reports_of(site, subject, check, folder):
                yield subject, report

    def _reports_of(
        self, site: Site, subject: str, check: Check, folder: Path | None
    ) -> list[CheckReport]:
        with self._lock:
            looking = self._looking.setdefault(subject, threading.Lock())
        with looking:  # who comes meanwhile waits for the same report
            kept = self._kept.get((subject, folder))
            if kept is None or self._clock() - kept.at >= KEPT_S:
                kept = KeptReport(self._clock(), examine(site, subject, check))
                self._kept[subject, folder] = kept
            return kept.reports


_OF_SITES: Final[WeakKeyDictionary[Site, KeptReports]] = WeakKeyDictionary()


def kept_reports(site: Site) -> KeptReports:
    """Return the reports of a site, which live as long as it is open."""
    return _OF_SITES.setdefault(site, KeptReports())


def summary(reports: Sequence[CheckReport]) -> str:
    """Return the answer in one line: is mail filtered, and which checks want a look."""
    servers = [report.state for report in reports if report.what.startswith(MAIL_SERVER)]
    if CheckState.FAIL in servers:
        filtered = "mail is NOT filtered"
    elif servers and all(state is CheckState.OK for state in servers):
        filtered = "mail is filtered"
    else:
        filtered = "whether mail is filtered can't be told from here"
    named = "".join(
        f"; {state}: {', '.join(names)}"
        for state in (CheckState.FAIL, CheckState.WARN)
        if (names := [report.what for report in reports if report.state is state])
    )
    return f"{filtered}{named}"
