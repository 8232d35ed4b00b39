"""MAIL and RCPT: what is written is kept, what is not well written is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.smtp.paths import MAX_PATH, SmtpPath, parse_path


@pytest.mark.parametrize(
    ("argument", "address", "parameters"),
    [
        (b"TO:<joe@example.test>", b"joe@example.test", {}),
        (b"to: <Joe@EXAMPLE.test>", b"Joe@EXAMPLE.test", {}),
        (b"TO:<>", b"", {}),
        (b'TO:<"joe smith"@example.test>', b'"joe smith"@example.test', {}),
        (b'TO:<"a>b\\"c"@example.test>', b'"a>b\\"c"@example.test', {}),
        (b"TO:<joe+box@[IPv6:2001:db8::1]>", b"joe+box@[IPv6:2001:db8::1]", {}),
        ("TO:<вася@почта.рф>".encode(), "вася@почта.рф".encode(), {}),
        (b"TO:<\xff@example.test>", b"\xff@example.test", {}),
        (b"TO:<a@b> size=12 Body=8BITMIME  SMTPUTF8 ", b"a@b", {"SIZE": b"12", "BODY": b"8BITMIME", "SMTPUTF8": b""}),
        (b"TO:<a@b> ORCPT=rfc822;x+2By@z", b"a@b", {"ORCPT": b"rfc822;x+2By@z"}),
        (b"TO:<@a.test,@b.test:c@d.test>", b"@a.test,@b.test:c@d.test", {}),
    ],
)  # fmt: skip
def test_what_is_written_is_kept(
    argument: bytes, address: bytes, parameters: dict[str, bytes]
) -> None:
    assert parse_path(argument, b"TO:") == SmtpPath(address, parameters)


@pytest.mark.parametrize(
    "argument",
    [
        b"",
        b"FROM:<a@b>",
        b"TO:a@b",
        b"TO:<a@b",
        b"TO:<a@b>x",
        b"TO:<a b@c>",
        b"TO:<a@b\r>",
        b"TO:<a@b>\rMAIL FROM:<c@d>",
        b'TO:<"a@b>',
        b"TO:<a<b>@c>",
        b"TO:<a@b> =x",
        b"TO:<a@b> SIZE=",
        b"TO:<a@b> SIZE=1 size=2",
        b"TO:<" + b"a" * MAX_PATH + b"@b>",
        b'TO:<"' + b"\\" * 4000,
    ],
)
def test_what_is_not_well_written_is_refused(argument: bytes) -> None:
    assert parse_path(argument, b"TO:") is None


@given(st.binary(max_size=60))
def test_no_address_can_hold_the_end_of_a_command(argument: bytes) -> None:
    found = parse_path(b"TO:<" + argument, b"TO:")
    if found is not None:
        assert not set(found.address) & {0, 10, 13}
