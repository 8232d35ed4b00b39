"""From the bytes of a list file to a table, and what is wrong with a line."""

from __future__ import annotations

import random
from contextlib import suppress
from ipaddress import IPv4Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.locallists import (
    MAX_LINE,
    BrokenLine,
    ListEntryType,
    ListTable,
    entries,
    read,
)
from oborona.reputation.locallists import read as reading_function
from oborona.reputation.locallists.entry import entry
from oborona.reputation.locallists.ipv4_lines import plain
from oborona.reputation.networks import Network

reading = __import__(reading_function.__module__, fromlist=["PIECE"])


def holds(table: ListTable, text: str) -> bool:
    return table.text(iter([(1, text)])) == (1, text)


def around(table: ListTable, address: str) -> str:
    return table.address(ip_address(address))[1]


def test_every_sort_of_entry_is_read() -> None:
    table = read(
        b"# ours\n\n192.0.2.0/24   # the "
        b"office\n198.51.100.7\r\n2001:DB8::/32\n\tmail.Example.com.\n.partner.example\n"
        b"Info@Example.COM\n@lists.example\n  # the end\n"
    )
    assert len(table) == 7
    assert dict(table.first) == {
        ListEntryType.NETWORK: 3,
        ListEntryType.NAME: 6,
        ListEntryType.MAILBOX: 8,
    }
    assert [
        around(table, one) for one in ("192.0.2.9", "198.51.100.7", "2001:db8:7::1", "198.51.100.8")
    ] == [
        "192.0.2.0/24",
        "198.51.100.7",
        "2001:db8::/32",
        "",
    ]
    for text in ("mail.example.com", ".partner.example", "info@example.com", "@lists.example"):
        assert holds(table, text)
    for text in ("example.com", "partner.example", "lists.example", "Info@Example.COM"):
        assert not holds(table, text)


def test_names_of_every_script_are_kept_in_a_labels() -> None:
    table = read("bücher.example\n.почта.рф\nинфо@почта.рф\nxn--bcher-kva.example\n".encode())  # noqa: RUF001
    assert len(table) == 3
    for text in ("xn--bcher-kva.example", ".xn--80a1acny.xn--p1ai", "инфо@xn--80a1acny.xn--p1ai"):
        assert holds(table, text)


def test_a_comment_is_no_entry() -> None:
    table = read(b"# nothing yet\n")
    assert (len(table), dict(table.first), table.nbytes) == (0, {}, 0)
    assert around(table, "192.0.2.1") == ""
    assert not holds(table, "example.com")


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"", 1, "is empty: half-written?"),
        (b" ", 1, "is empty: half-written?"),
        (b"192.0.2.1\n192.0.2.", 2, "its last line does not end: half-written?"),
        (b"192.0.2.1\n\n192.0.2.1/24\n", 3, '"192.0.2.1/24" has bits set behind its length; the network is 192.0.2.0/24'),
        (b"1.2.3.4\n1.2.3.4/33\n", 2, '"1.2.3.4/33" is no address and no network'),
        (b"1.2.3.256\n", 1, "is no address and no network"),
        (b"1.2.3\n", 1, "is no address and no network"),
        (b"1.2.3.4.5\n", 1, "is no address and no network"),
        (b"1.2.3.04\n", 1, "is no address and no network"),
        (b"1.2.3.4/\n", 1, "is no address and no network"),
        (b"1.2/3.4.5\n", 1, "is no address and no network"),
        (b"1..3.4\n", 1, "is no address and no network"),
        (b"2001:db8::1/32\n", 1, "has bits set behind its length; the network is 2001:db8::/32"),
        (b"2001:db8::/129\n", 1, "is no address and no network"),
        (b"fe80::%eth0\n", 1, "is no address, network, name or mail address"),
        (b"a.example\nb.example REJECT\n", 2, '"b.example REJECT" holds more than one entry'),
        (b"192.0.2.1,192.0.2.2\n", 1, "is no address, network, name or mail address"),
        (b"https://a.example/\n", 1, "is no address, network, name or mail address"),
        (b"*.example.com\n", 1, "is no address, network, name or mail address"),
        (b"a..example\n", 1, "is no address, network, name or mail address"),
        (b"..example\n", 1, "is no address, network, name or mail address"),
        (b".\n", 1, "is no address and no network"),
        (b"@\n", 1, "is no address, network, name or mail address"),
        (b"ann@\n", 1, "is no address, network, name or mail address"),
        (b"ann@@a.example\n", 1, "is no mail address"),
        (b"ann@.a.example\n", 1, "holds @ and a dot together"),
        (b"x" * 65 + b"@a.example\n", 1, "is no mail address"),
        (b"x" * 64 + b".example\n", 1, "is no address, network, name or mail address"),
        (b"a.example\n\xff\n", 2, "is not UTF-8: byte 0xff"),
        (b"a.example\n\x00\n", 2, "is no address, network, name or mail address"),
        (b"\xef\xbb\xbf192.0.2.1\n", 1, "begins with a byte order mark"),
        (b"a.example\n" + b"x" * (MAX_LINE + 1) + b"\n", 2, f"is longer than {MAX_LINE} characters"),
        (b"# " + b"x" * 5_000_000 + b"\n", 1, f"is longer than {MAX_LINE} characters"),
        (b"1.1.1.1" * 1_000_000 + b"\n", 1, f"is longer than {MAX_LINE} characters"),
    ],
)  # fmt: skip
def test_a_broken_line_is_told_by_its_number(raw: bytes, line: int, words: str) -> None:
    with pytest.raises(BrokenLine) as told:
        read(raw)
    assert words in told.value.problem
    assert told.value.line == line
    assert told.value.problem.isprintable()
    assert len(told.value.problem) < 200


def test_lines_are_counted_through_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PIECE", 64)
    good = b"".join(b"10.0.%d.%d\nhost%d.example\n" % (n // 256, n % 256, n) for n in range(400))
    table = read(good)
    assert len(table) == 800
    assert around(table, "10.0.1.143") == "10.0.1.143"
    assert holds(table, "host399.example")
    with pytest.raises(BrokenLine) as told:
        read(good + b"10.0.0.1/8\n")
    assert told.value.line == 801


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_ENTRIES", 3)
    assert len(read(b"1.1.1.1\na.example\n::1\n")) == 3
    with pytest.raises(BrokenLine, match="more than 3 entries"):
        read(b"1.1.1.1\na.example\n::1\nb@c.example\n")


def test_entries_of_a_policy_file_are_read_the_same_way() -> None:
    table = entries(["192.0.2.0/24", "a.example"])
    assert (len(table), dict(table.first)) == (2, {ListEntryType.NETWORK: 1, ListEntryType.NAME: 2})
    assert len(entries([])) == 0
    with pytest.raises(BrokenLine) as told:
        entries(["a.example", "b.example", "192.0.2.0/99"])
    assert told.value.line == 3


LINES = st.one_of(
    st.text(alphabet="0123456789./", max_size=20),
    st.ip_addresses(v=4).map(str),
    st.builds("{}.{}.{}.{}/{}".format, *[st.integers(0, 300)] * 4, st.integers(0, 40)),
    st.ip_addresses(v=4).flatmap(
        lambda one: st.integers(0, 32).map(lambda n: str(IPv4Network((int(one), n), strict=False)))
    ),
    st.sampled_from(
        [
            "",
            "#",
            "a.example",
            "01.2.3.4",
            "1.2.3.4 ",
            "1.2.3.4\r",
            "1.2.3.4/032",
            "0.0.0.0/0",
            "255.255.255.255",
        ]
    ),
)


@given(st.lists(LINES, min_size=1, max_size=12))
def test_lines_read_as_arrays_are_read_as_the_standard_library_does(lines: list[str]) -> None:
    """Invariant: what the arrays accept is what `entry` makes of the line.

    What they leave is left to it.
    """
    accepted, starts, lengths = plain("".join(line + "\n" for line in lines).encode())
    assert len(accepted) == len(lines)
    found = iter(zip(starts.tolist(), lengths.tolist(), strict=True))
    for line, taken in zip(lines, accepted, strict=True):
        if taken:
            assert entry(line) == IPv4Network(next(found))
        else:
            exact: Network | str | None = None
            with suppress(ValueError):
                exact = entry(line)
            assert not isinstance(exact, IPv4Network) or line != str(exact).removesuffix("/32")


@given(
    st.binary(max_size=200)
    | st.lists(LINES, max_size=10).map(lambda lines: "\n".join([*lines, ""]).encode())
)
def test_any_bytes_are_a_table_or_a_broken_line(raw: bytes) -> None:
    """Invariant: nothing else is raised, and the line is one of the file."""
    try:
        read(raw)
    except BrokenLine as fault:
        told = fault
    else:
        return
    assert 1 <= told.line <= raw.count(b"\n") + 1


def test_a_large_file_of_everything_is_as_its_lines_say() -> None:
    draw = random.Random(7)
    networks = [
        str(IPv4Network((draw.getrandbits(32), draw.randint(8, 32)), strict=False))
        for _ in range(20_000)
    ]
    names = [
        f"{draw.choice(['', '.', '@', 'ann@'])}h{draw.getrandbits(40):x}.example"
        for _ in range(20_000)
    ]
    lines = [*networks, *names]
    draw.shuffle(lines)
    table = read("".join(line + "\n" for line in lines).encode())
    assert len(table) == len(set(networks)) + len(set(names))
    assert all(holds(table, name) for name in names)
    assert not any(holds(table, f"x{name}") for name in names)
    exact = {IPv4Network(text) for text in networks}
    for _ in range(2000):
        address = ip_address(draw.getrandbits(32))
        inside = [
            one
            for length in range(33)
            if (one := IPv4Network((int(address), length), strict=False)) in exact
        ]
        expected = str(inside[-1]).removesuffix("/32") if inside else ""
        assert table.address(address)[1] == expected
