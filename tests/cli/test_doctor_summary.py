"""The last line of `oborona doctor`: is mail filtered, and what wants a look."""

from __future__ import annotations

import pytest

from oborona.desk.doctor.examination import summary
from oborona.desk.doctor.report import MAIL_SERVER, CheckReport, CheckState

GOOD = CheckReport("settings", CheckState.OK, "defaults")
DNS = CheckReport("dns", CheckState.WARN, "no resolver of its own")
DISK = CheckReport("disk", CheckState.FAIL, "full")


def server(state: CheckState, name: str = " 127.0.0.1:25/inet") -> CheckReport:
    return CheckReport(f"{MAIL_SERVER}{name}", state, "")


@pytest.mark.parametrize(
    ("reports", "line"),
    [
        ([GOOD, server(CheckState.OK)], "mail is filtered"),
        ([GOOD, DNS, server(CheckState.OK)], "mail is filtered; WARN: dns"),
        ([DISK, DNS, server(CheckState.OK)], "mail is filtered; FAIL: disk; WARN: dns"),
        (
            [server(CheckState.OK, " a"), server(CheckState.FAIL, " b")],
            "mail is NOT filtered; FAIL: mail server b",
        ),
        ([GOOD], "whether mail is filtered can't be told from here"),
        (
            [server(CheckState.OK, " a"), server(CheckState.WARN, " b")],
            "whether mail is filtered can't be told from here; WARN: mail server b",
        ),
    ],
)
def test_the_last_line_says_whether_mail_is_filtered(reports: list[CheckReport], line: str) -> None:
    assert summary(reports) == line
