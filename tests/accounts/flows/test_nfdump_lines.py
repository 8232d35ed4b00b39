"""Lines of nfdump: whatever comes, records are sound and every line is told."""

from hypothesis import example, given
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.nfdump_lines import LINE_OCTETS, MOST_EXPORTERS, NfdumpLines

GOOD = (
    b"1700000000.250,1700000000.100,   0.050,     192.0.2.1,  198.51.100.7, 40000,  12,   4800,"
    b"...AP.SF,203.0.113.1\n"
)


def test_a_line_is_a_record() -> None:
    table = AddressTable()
    lines = NfdumpLines(table)
    parsed = lines.parse(GOOD)
    records = parsed.records
    assert (len(records), parsed.wrong, parsed.rest) == (1, 0, b"")
    assert table.text_of(int(records.source[0])) == "192.0.2.1"
    assert table.text_of(int(records.destination[0])) == "198.51.100.7"
    assert records.received.tolist() == [1_700_000_000_250]
    assert records.begin.tolist() == [1_700_000_000_100]
    assert records.end.tolist() == [1_700_000_000_150]
    assert (records.packets.tolist(), records.octets.tolist()) == ([12], [4800])
    assert records.flags.tolist() == [0x1B]
    assert lines.exporters == ["203.0.113.1"]


def test_ipv6_is_read() -> None:
    table = AddressTable()
    line = GOOD.replace(b"    192.0.2.1", b" 2001:db8::1")
    parsed = NfdumpLines(table).parse(line)
    assert table.text_of(int(parsed.records.source[0])) == "2001:db8::1"


def test_a_line_in_two_pieces_is_one() -> None:
    lines = NfdumpLines(AddressTable())
    first = lines.parse(GOOD + GOOD[:30])
    assert (len(first.records), first.rest) == (1, GOOD[:30])
    assert len(lines.parse(first.rest + GOOD[30:]).records) == 1


FIELDS = st.one_of(
    st.sampled_from(
        [b"", b" ", b"-1", b"1", b"9" * 18, b"9" * 19, b"1.5 M", b"192.0.2.1", b"256.0.0.1", b"::"]
    ),
    st.sampled_from(
        [b"1700000000.123", b"0.1", b".123", b"........", b"CEUAPRSF", b"\xff\xfe", b"1.2.3.4.5"]
    ),
    st.binary(max_size=30),
)


@given(st.lists(st.lists(FIELDS, min_size=8, max_size=11).map(b",".join), max_size=8))
@example([b"," * 9])
@example([b"," * LINE_OCTETS])
def test_every_line_is_a_sound_record_or_wrong(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    parsed = NfdumpLines(AddressTable()).parse(GOOD + data)
    records = parsed.records
    assert len(records) + parsed.wrong == data.count(b"\n") + 1
    assert len(records) >= 1
    for column in (records.packets, records.octets, records.source, records.destination):
        assert (column >= 0).all()


@given(st.binary(max_size=2000))
def test_octets_of_any_kind_are_read(data: bytes) -> None:
    parsed = NfdumpLines(AddressTable()).parse(data)
    assert len(parsed.records) + parsed.wrong == data.count(b"\n")
    assert parsed.rest == data[data.rfind(b"\n") + 1 :]


def test_exporters_beyond_a_thousand_are_wrong() -> None:
    data = b"".join(
        GOOD.replace(b"203.0.113.1", b"10.0.%d.%d" % divmod(number, 250))
        for number in range(MOST_EXPORTERS + 5)
    )
    lines = NfdumpLines(AddressTable())
    parsed = lines.parse(data)
    assert (len(parsed.records), parsed.wrong) == (MOST_EXPORTERS, 5)
