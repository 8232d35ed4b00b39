"""Addresses to listen on, in both spellings, and how others name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.config import InetAddress, UnixAddress, parse_address
from oborona.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "address", "postfix", "libmilter"),
    [
        ("unix:/run/o.sock", UnixAddress("/run/o.sock"), "unix:/run/o.sock", "unix:/run/o.sock"),
        ("local:/run/o.sock", UnixAddress("/run/o.sock"), "unix:/run/o.sock", "unix:/run/o.sock"),
        (
            "unix:/run/a b:c.sock",
            UnixAddress("/run/a b:c.sock"),
            "unix:/run/a b:c.sock",
            "unix:/run/a b:c.sock",
        ),
        (
            "inet:8890@127.0.0.1",
            InetAddress("127.0.0.1", 8890),
            "inet:127.0.0.1:8890",
            "inet:8890@127.0.0.1",
        ),
        (
            "inet:127.0.0.1:8890",
            InetAddress("127.0.0.1", 8890),
            "inet:127.0.0.1:8890",
            "inet:8890@127.0.0.1",
        ),
        (
            "inet:8890@localhost",
            InetAddress("localhost", 8890),
            "inet:localhost:8890",
            "inet:8890@localhost",
        ),
        (
            "inet:MX1.Example.ORG.:25",
            InetAddress("mx1.example.org", 25),
            "inet:mx1.example.org:25",
            "inet:25@mx1.example.org",
        ),
        ("inet6:8890@::1", InetAddress("::1", 8890), "inet:[::1]:8890", "inet6:8890@::1"),
        ("inet6:8890@[::1]", InetAddress("::1", 8890), "inet:[::1]:8890", "inet6:8890@::1"),
        ("inet:[::1]:8890", InetAddress("::1", 8890), "inet:[::1]:8890", "inet6:8890@::1"),
        (
            "inet6:1@2001:DB8:0::1",
            InetAddress("2001:db8::1", 1),
            "inet:[2001:db8::1]:1",
            "inet6:1@2001:db8::1",
        ),
        (
            "inet:8890@0.0.0.0",
            InetAddress("0.0.0.0", 8890),
            "inet:127.0.0.1:8890",
            "inet:8890@0.0.0.0",
        ),
        ("inet6:8890@::", InetAddress("::", 8890), "inet:[::1]:8890", "inet6:8890@::"),
    ],
)
def test_both_spellings_are_read(
    text: str, address: UnixAddress | InetAddress, postfix: str, libmilter: str
) -> None:
    assert parse_address(text) == address
    assert address.postfix == postfix
    assert address.libmilter == libmilter
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no address to listen on"),
        ("8890", "no address to listen on"),
        ("/run/o.sock", "no address to listen on"),
        ("tcp:1.2.3.4:5", "no address to listen on"),
        ("unix:", "absolute path"),
        ("unix:run/o.sock", "absolute path"),
        ("unix:/run/", "absolute path"),
        ("unix:/run/o\n.sock", "control character"),
        ("unix:/run/o\0.sock", "control character"),
        ("unix:/\ud800", "control character"),
        ("unix:/" + "a" * 107, "108 bytes; the system allows 107"),
        ("unix:/" + "é" * 60, "121 bytes; the system allows 107"),
        ("inet:8890", "needs host and port"),
        ("inet:8890@", "needs host and port"),
        ("inet::8890", "needs host and port"),
        ("inet:::1:8890", "needs host and port"),
        ("inet:0@127.0.0.1", "port 0 is not one of"),
        ("inet:65536@127.0.0.1", "port 65536 is not one of"),
        ("inet:123456@127.0.0.1", "needs host and port"),
        ("inet:٣@127.0.0.1", "needs host and port"),
        ("inet:25@1.2.3", "neither an address nor a host name"),
        ("inet:25@1.2.3.400", "neither an address nor a host name"),
        ("inet:25@a b", "neither an address nor a host name"),
        ("inet:25@-x", "neither an address nor a host name"),
        ("inet:25@a..b", "neither an address nor a host name"),
        ("inet6:25@127.0.0.1", "write inet:25@127.0.0.1"),
        ("inet6:25@localhost", "needs an IPv6 address"),
    ],
)
def test_what_is_no_address_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_address(text)
    assert words in refused.value.problem


@given(
    st.one_of(
        st.text(),
        st.tuples(
            st.sampled_from(["unix:/", "inet:", "inet:1@", "inet6:1@", "inet:["]), st.text()
        ).map("".join),
    )
)
def test_any_text_is_an_address_that_reads_back_or_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except ConfigError:
        return
    assert parse_address(str(address)) == address
    assert parse_address(address.libmilter) == address
