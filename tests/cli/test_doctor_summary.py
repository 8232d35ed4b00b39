"""The last line of `oborona doctor`: is mail filtered, and what wants a look."""

from __future__ import annotations

import pytest

from oborona.cli.doctor import summary
from oborona.cli.report import MAIL_SERVER, Report, State

GOOD = Report("settings", State.OK, "defaults")
DNS = Report("dns", State.WARN, "no resolver of its own")
DISK = Report("disk", State.FAIL, "full")


def server(state: State, name: str = " 127.0.0.1:25/inet") -> Report:
    return Report(f"{MAIL_SERVER}{name}", state, "")


@pytest.mark.parametrize(
    ("reports", "line"),
    [
        ([GOOD, server(State.OK)], "mail is filtered"),
        ([GOOD, DNS, server(State.OK)], "mail is filtered; WARN: dns"),
        ([DISK, DNS, server(State.OK)], "mail is filtered; FAIL: disk; WARN: dns"),
        (
            [server(State.OK, " a"), server(State.FAIL, " b")],
            "mail is NOT filtered; FAIL: mail server b",
        ),
        ([GOOD], "whether mail is filtered can't be told from here"),
        (
            [server(State.OK, " a"), server(State.WARN, " b")],
            "whether mail is filtered can't be told from here; WARN: mail server b",
        ),
    ],
)
def test_the_last_line_says_whether_mail_is_filtered(reports: list[Report], line: str) -> None:
    assert summary(reports) == line
