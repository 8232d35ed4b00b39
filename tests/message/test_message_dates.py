"""Dates are what the standard library reads in them, whichever way they are read."""

from __future__ import annotations

from email.utils import mktime_tz, parsedate_tz

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.message import dates
from oborona.message.findings import Findings


def by_library(value: str) -> float | None:
    try:
        read = parsedate_tz(value)
        return float(mktime_tz(read)) if read else None
    except (ValueError, OverflowError):
        return None


WRITTEN = st.builds(
    "{}, {} {} {} {:02}:{:02}:{:02} {}{:04}{}".format,
    st.sampled_from(["Mon", "Sun", "Xyz"]),
    st.integers(0, 99).map(str) | st.integers(0, 40).map("{:02}".format),
    st.sampled_from(["Jan", "Feb", "Dec", "jun"]),
    st.integers(1900, 2099) | st.integers(0, 99),
    *[st.integers(0, 99)] * 3,
    st.sampled_from("+-"),
    st.sampled_from([0, 100, 9999]) | st.integers(0, 9999),
    st.sampled_from(["", " (CET)", " (x, y)", " x"]),
)


@given(WRITTEN)
@example("Mon, 31 Feb 2022 24:60:60 -0000")
@example("Sun, 0 Jan 1900 00:00:00 +0000")
def test_a_date_is_what_the_library_reads(value: str) -> None:
    assert dates.read(value, Findings()) == by_library(value)


@pytest.mark.parametrize("value", ["Tue, 20 Aug 2002 13:53:32 +0100", "Tue, 20 Aug 2002 13:53:32 +0100 (CET)"])  # fmt: skip
def test_the_usual_form(value: str) -> None:
    assert dates.read(value, Findings()) == 1029848012.0


@pytest.mark.parametrize("value", ["yesterday", "Mon, 99 Jan"])
def test_what_is_no_date_is_told(value: str) -> None:
    findings = Findings()
    assert dates.read(value, findings) is None
    assert [finding.name for finding in findings.all()] == ["date-broken"]
