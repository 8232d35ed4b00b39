"""What is wrong with a site, and what to do."""

from __future__ import annotations

from pathlib import Path

import msgspec

from oborona.desk.call import CallError, ask
from oborona.desk.doctor.examination import checks, kept_reports, summary
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class DoctorQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which checks.

    Args:
        checks: names; none = all. Some ask the mail server or the DNS, and take seconds.
        folder: of main.cf, where Postfix has several instances; empty: the one that its tools take.
    """

    checks: list[str] = []
    folder: str = ""


class DoctorFinding(msgspec.Struct, kw_only=True):
    """What was found.

    Args:
        check: which found it.
        what: it is about.
        state: how that is.
        finding: in words.
        hint: what to do; empty where the words say it, or there is nothing.
    """

    check: str
    what: str
    state: CheckState
    finding: str
    hint: str


class DoctorReport(msgspec.Struct, kw_only=True):
    """What was found.

    Args:
        findings: in the order of the checks.
        summary: is mail filtered, and what wants a look, in one line.
    """

    findings: list[DoctorFinding]
    summary: str


class ChecksQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which checks there are."""


class CheckNames(msgspec.Struct, kw_only=True):
    """The names of all checks, in the order in which they are told."""

    checks: list[str]


@ask("doctor.checks", Right.STATUS)
def list_checks(site: Site, caller: Caller, asked: ChecksQuestion) -> CheckNames:
    """Return which checks there are: who shows each as it comes asks for them one by one."""
    return CheckNames(checks=list(checks(None)))


@ask("doctor.report", Right.STATUS)
def report_doctor(site: Site, caller: Caller, asked: DoctorQuestion) -> DoctorReport:
    """Check what the daemon needs; a report may be half a minute old.

    Raises:
        ConfigError: the settings can't be used.
        CallError: there is no such check.
    """
    site.loaded.settings  # noqa: B018 - what is wrong there ends everything
    folder = Path(asked.folder) if asked.folder else None
    unknown = set(asked.checks) - set(checks(folder))
    if unknown:
        raise CallError(f"there is no check {min(unknown)!r}")
    found = list(kept_reports(site).reports(site, asked.checks, folder))
    return DoctorReport(
        findings=[_finding(check, report) for check, report in found],
        summary=summary([report for _, report in found]),
    )


def _finding(check: str, report: CheckReport) -> DoctorFinding:
    return DoctorFinding(
        check=check,
        what=report.what,
        state=report.state,
        finding=report.words,
        hint=report.hint,
    )
