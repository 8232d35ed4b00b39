"""DNS servers as settings name them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.config import ResolverAddress, parse_servers
from oborona.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("", ()),
        ("  ", ()),
        ("127.0.0.1", (ResolverAddress("127.0.0.1", 53),)),
        (
            "127.0.0.1 ::1  10.0.0.1:5353",
            (
                ResolverAddress("127.0.0.1"),
                ResolverAddress("::1"),
                ResolverAddress("10.0.0.1", 5353),
            ),
        ),
        (
            "[::1]:5353 [2001:db8::1]",
            (ResolverAddress("::1", 5353), ResolverAddress("2001:db8::1")),
        ),
        ("fe80::1%eth0", (ResolverAddress("fe80::1%eth0"),)),
        ("127.0.0.1:65535", (ResolverAddress("127.0.0.1", 65535),)),
    ],
)
def test_servers(text: str, servers: tuple[ResolverAddress, ...]) -> None:
    assert parse_servers(text) == servers
    assert parse_servers(" ".join(map(str, servers))) == servers


@pytest.mark.parametrize(
    "text",
    [
        "localhost", "resolver.example.org:53", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:٣", "127.0.0.1:+5", "127.0.0.1:99999999999",
        "127.0.0.256", "127.1", "1.2.3.4,5.6.7.8", "[::1", "[::1]x", "[::1]x:53", "[::1]:", "[]:53", ":53", "::1:99999", "127.0.0.1 x", "[127.0.0.1:53]",
    ],
)  # fmt: skip
def test_what_is_no_server(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_servers(text)


def test_who_is_on_this_machine() -> None:
    near = ["127.0.0.1", "127.0.0.53", "::1"]
    far = ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "0.0.0.0", "::ffff:7f00:1"]
    assert [ResolverAddress(host).loopback for host in near] == [True] * 3
    assert [ResolverAddress(host).loopback for host in far] == [False] * 5


@given(st.text(max_size=60) | st.text("[]:.%0123456789abcdef ", max_size=60))
def test_any_text_is_servers_or_no_servers(text: str) -> None:
    with suppress(ConfigError):
        servers = parse_servers(text)
        assert parse_servers(" ".join(map(str, servers))) == servers
