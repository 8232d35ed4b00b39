"""What is said of clients: whatever a peer writes, it is one sound description or none, and what
goes on is one command.
"""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from oborona.doors.proxy.client_attributes import (
    MAX_VALUE,
    XCLIENT,
    XFORWARD,
    attributes_of,
    client_of,
    format_command,
    parse_attributes,
)
from oborona.types import Client

OFFERED = b" ".join(name.encode() for name in XFORWARD)
arguments = st.one_of(
    st.binary(max_size=80),
    st.lists(
        st.tuples(
            st.sampled_from([*XCLIENT, *XFORWARD, "addr", "X"]),
            st.sampled_from([b"", b"192.0.2.1", b"IPV6:::1", b"[UNAVAILABLE]", b"+0D+0A", b"+41", b"a\r\nRSET", b"99", b"ESMTP", b"\xff", b"=", b"a+b"]),
        ).map(lambda pair: pair[0].encode() + b"=" + pair[1]),
        max_size=4,
    ).map(b" ".join),
)  # fmt: skip


@given(arguments)
@example(b"NAME=a.test ADDR=192.0.2.1")
@example(b"HELO=+D0+B4+2B")
def test_what_is_taken_is_sound_and_goes_on_as_one_command(argument: bytes) -> None:
    """Attributes are known, printable and bounded.

    Written anew they are one line of ASCII, and are read back as they were.
    """
    said = parse_attributes(argument, XFORWARD)
    if said is None:
        return
    assert set(said) <= set(XFORWARD)
    for value in said.values():
        assert len(value) <= MAX_VALUE
        assert not re.search(rb"[\x00-\x1f\x7f]", value)
    command = format_command(b"XFORWARD", said, OFFERED)
    assert command is not None
    assert re.fullmatch(rb"XFORWARD( [A-Z]+=[!-~]+)+", command)
    assert parse_attributes(command.removeprefix(b"XFORWARD "), XFORWARD) == said
    assert isinstance(client_of(said, Client(ip="192.0.2.9", name="n.test", port=1)), Client)


def test_a_next_hop_hears_what_it_offers_to_hear() -> None:
    said = {"NAME": b"a.test", "ADDR": b"192.0.2.1", "IDENT": b""}
    assert (
        format_command(b"XFORWARD", said, b"ADDR IDENT")
        == b"XFORWARD ADDR=192.0.2.1 IDENT=[UNAVAILABLE]"
    )
    assert format_command(b"XFORWARD", said, b"") is None


def test_another_address_is_another_client() -> None:
    before = Client(ip="192.0.2.9", name="n.test", port=1, login="joe")
    assert client_of({"ADDR": b"192.0.2.1"}, before) == Client(ip="192.0.2.1")
    assert client_of({"NAME": b"Other.test."}, before) == Client(
        ip="192.0.2.9", name="other.test", port=1, login="joe"
    )
    assert client_of({"ADDR": b"192.0.2.9"}, before) == before
    assert client_of({"LOGIN": b""}, before).login == ""
    assert client_of({}, before) == before


def test_clients_whom_we_saw() -> None:
    assert attributes_of(Client(ip="2001:db8::1", port=25)) == {
        "NAME": b"",
        "ADDR": b"IPV6:2001:db8::1",
        "PORT": b"25",
    }
    assert attributes_of(Client(ip="192.0.2.1", name="a.test")) == {
        "NAME": b"a.test",
        "ADDR": b"192.0.2.1",
        "PORT": b"",
    }
