"""Lines of OpenSMTPD's filter protocol: what real ones say, and that no octets do harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.errors import PeerError
from oborona.milter.opensmtpd.filter_lines import FilterLine, content, read, result

SESSION, TOKEN = b"b8d2706305f0fb81", b"3196e67abe375825"
ASKED = b"filter|0.6|1795372742.242784|smtp-in|"
TOLD = b"report|0.6|1795372742.241727|smtp-in|"

REAL = {
    ASKED + b"connect|%b|%b|localhost|127.0.0.1" % (SESSION, TOKEN): (
        b"connect",
        b"localhost|127.0.0.1",
    ),
    ASKED + b"mail-from|%b|%b|" % (SESSION, TOKEN): (b"mail-from", b""),
    ASKED + b"commit|%b|%b|" % (SESSION, TOKEN): (b"commit", b""),
    ASKED + b"data-line|%b|%b|Subject: hi|there \xff" % (SESSION, TOKEN): (
        b"data-line",
        b"Subject: hi|there \xff",
    ),
    ASKED + b"data-line|%b|%b|" % (SESSION, TOKEN): (b"data-line", b""),
}


@pytest.mark.parametrize("line", REAL)
def test_what_smtpd_asks_is_understood(line: bytes) -> None:
    what, rest = REAL[line]
    assert read(line) == FilterLine(what, SESSION, rest, TOKEN, b"0.6")


def test_what_smtpd_reports_has_no_token() -> None:
    line = TOLD + b"link-connect|%b|mail.a.example|pass|192.0.2.9:4711|192.0.2.25:25" % SESSION
    assert read(line) == FilterLine(
        b"link-connect", SESSION, b"mail.a.example|pass|192.0.2.9:4711|192.0.2.25:25", b"", b"0.6"
    )
    assert read(TOLD + b"link-disconnect|%b" % SESSION) == FilterLine(
        b"link-disconnect", SESSION, b"", b"", b"0.6"
    )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"filter",
        b"filter|0.6|1.0|smtp-in|connect|" + SESSION,  # no token to answer by
        ASKED + b"connect|%b|not-hex|a|b" % SESSION,
        ASKED + b"connect|%b|%b|a|b" % (b"0" * 17, TOKEN),
        # its answers had the token first
        b"filter|0.4|1.0|smtp-in|connect|%b|%b|a|b" % (SESSION, TOKEN),
        b"report|0.6|1.0|smtp-out|link-connect|%b|a|pass|b|c" % SESSION,
        b"GET / HTTP/1.1\r",
    ],
)
def test_what_is_no_line_of_it_is_refused(line: bytes) -> None:
    with pytest.raises(PeerError):
        read(line)


@given(st.binary(max_size=200) | st.builds(lambda rest: ASKED + rest, st.binary(max_size=100)))
def test_any_octets_are_a_line_or_none(data: bytes) -> None:
    """Either a line whose session and token can stand in an answer, or PeerError.

    Never another error.
    """
    try:
        line = read(data)
    except PeerError:
        return
    assert bytes.fromhex(line.session.decode().zfill(16))
    assert data.endswith(line.rest)
    assert result(line, "proceed").count(b"|") == 3


@given(
    st.lists(
        st.binary(max_size=20).filter(lambda one: b"\n" not in one and b"\r" not in one), max_size=8
    )
)
def test_a_message_goes_back_line_by_line_and_ends_with_a_dot_that_is_its_own(
    lines: list[bytes],
) -> None:
    """Unstuffed, the answer holds the lines of the message, none of which is taken for the end."""
    line = FilterLine(b"data-line", SESSION, b".", TOKEN, b"0.6")
    message = b"".join(one + b"\r\n" for one in lines)
    *back, end, nothing = content(line, message).split(b"\n")
    start = b"filter-dataline|%b|%b|" % (SESSION, TOKEN)
    assert end == start + b"."
    assert nothing == b""
    assert all(one.startswith(start) and one != end for one in back)
    assert [one.removeprefix(start).removeprefix(b".") for one in back] == lines
