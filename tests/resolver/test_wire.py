"""The codec against dnspython, and against bytes that mean harm."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oborona.dns import DnsRecord, DnsType
from oborona.resolver import names, wire
from oborona.resolver.names import MalformedDnsMessage

ASKED = "Www.Example.test."
NAME = b"\3www\7example\4test\0"
OWNER = st.sampled_from([ASKED, "other.test.", "a.b.c.d.test.", "example.test."])
HOST = st.from_regex(r"\A([a-z0-9_-]{1,20}\.){1,5}\Z")
SECONDS = st.integers(0, 2**31 - 1)

RDATA = {
    DnsType.A: st.integers(0, 2**32 - 1).map(lambda number: str(IPv4Address(number))),
    DnsType.AAAA: st.integers(0, 2**128 - 1).map(lambda number: str(IPv6Address(number))),
    DnsType.NS: HOST,
    DnsType.CNAME: HOST,
    DnsType.PTR: HOST,
    DnsType.MX: st.builds("{} {}".format, st.integers(0, 65535), HOST),
    DnsType.TXT: st.lists(st.binary(max_size=255), min_size=1, max_size=4).map(
        lambda strings: " ".join(
            '"' + "".join(f"\\{octet:03d}" for octet in one) + '"' for one in strings
        )
    ),
    DnsType.SOA: st.builds("{} {} {} 2 3 4 5".format, HOST, HOST, st.integers(0, 2**32 - 1)),
}


def expected(rdata: dns.rdata.Rdata, kind: DnsType) -> DnsRecord:
    match kind:
        case DnsType.A | DnsType.AAAA:
            return str(ip_address(rdata.address))  # type: ignore[attr-defined]
        case DnsType.TXT:
            return b"".join(rdata.strings)  # type: ignore[attr-defined]
        case DnsType.MX:
            return rdata.preference, rdata.exchange.to_text(omit_final_dot=True).lower()  # type: ignore[attr-defined]
        case DnsType.SOA:
            return rdata.to_text().replace(". ", " ").lower()
        case _:
            return rdata.to_text().removesuffix(".").lower()


@st.composite
def answers(draw: st.DrawFn) -> tuple[DnsType, dns.message.Message]:
    kind = draw(st.sampled_from(list(DnsType)))
    response = dns.message.make_response(
        dns.message.make_query(ASKED, dns.rdatatype.RdataType(kind))
    )
    for owner in draw(st.lists(OWNER, unique=True, max_size=3)):
        values = draw(st.lists(RDATA[kind], min_size=1, max_size=5))
        if kind in (DnsType.CNAME, DnsType.SOA):  # singletons
            values = values[:1]
        response.answer.append(
            dns.rrset.from_text_list(owner, draw(SECONDS), "IN", kind.name, values)
        )
    if draw(st.booleans()):
        response.answer.append(dns.rrset.from_text("else.test.", 5, "IN", "HINFO", '"a" "b"'))
    return kind, response


@given(st.sampled_from(list(DnsType)), st.integers(0, 65535))
def test_questions_are_what_dnspython_reads(kind: DnsType, ident: int) -> None:
    question = dns.message.from_wire(ident.to_bytes(2) + wire.message(wire.question(NAME, kind)))
    assert question.id == ident
    assert question.flags == dns.flags.RD
    assert question.opcode() == dns.opcode.QUERY
    assert [
        (one.name.to_text(), int(one.rdtype), int(one.rdclass)) for one in question.question
    ] == [("www.example.test.", kind, 1)]
    assert (question.edns, question.payload, question.ednsflags) == (0, wire.PAYLOAD, 0)


@given(answers())
def test_answers_say_what_dnspython_says(case: tuple[DnsType, dns.message.Message]) -> None:
    kind, response = case
    data = response.to_wire()
    asked = wire.question(NAME, kind)
    assert wire.matches(data, asked)
    assert not wire.refusal(data)
    assert not wire.truncated(data)
    reply = wire.read(data, asked, kind)
    theirs = {
        rrset.name.canonicalize().to_wire(): ({expected(one, kind) for one in rrset}, rrset.ttl)
        for rrset in response.answer
        if int(rrset.rdtype) == kind
    }
    assert {owner: (set(records), ttl) for owner, (records, ttl) in reply.records.items()} == theirs
    assert all(len(records) == len(set(records)) for records, _ttl in reply.records.values())


@given(answers(), st.data())
def test_a_mutated_answer_is_read_or_malformed(
    case: tuple[DnsType, dns.message.Message], data: st.DataObject
) -> None:
    kind, response = case
    octets = bytearray(response.to_wire())
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(octets) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                octets[place] = data.draw(st.integers(0, 255))
            case "cut":
                del octets[max(place, 1) :]
            case "insert":
                octets[place:place] = data.draw(st.binary(max_size=20))
    look_at(bytes(octets), kind)


@given(st.binary(max_size=1500), st.sampled_from(list(DnsType)))
def test_any_bytes_behind_the_question_are_read_or_malformed(data: bytes, kind: DnsType) -> None:
    asked = wire.question(NAME, kind)
    look_at(b"\0\0\x81\x80\0\1" + data[:6] + asked + data[6:], kind)


@given(st.binary(max_size=1500))
def test_any_bytes_are_ours_or_not(data: bytes) -> None:
    look_at(data, DnsType.A)


def look_at(data: bytes, kind: DnsType) -> None:
    """The order in which a resolver looks.

    Invariant: a bool, a word, a Reply or Malformed, and every name in it can be asked for.
    """
    asked = wire.question(NAME, kind)
    if not wire.matches(data, asked) or wire.refusal(data) or wire.truncated(data):
        return
    try:
        reply = wire.read(data, asked, kind)
    except MalformedDnsMessage:
        return
    for owner, (target, ttl) in reply.aliases.items():
        assert names.read(owner, 0)[0] == owner
        assert names.read(target, 0)[0] == target
        assert 0 <= ttl < 2**31
    for records, ttl in reply.records.values():
        assert records
        assert 0 <= ttl < 2**31


def response(
    kind: str = "A", *answer: str, rcode: dns.rcode.Rcode = dns.rcode.NOERROR
) -> dns.message.Message:
    made = dns.message.make_response(dns.message.make_query(ASKED, kind))
    made.set_rcode(rcode)
    for line in answer:
        owner, ttl, its_kind, value = line.split(" ", 3)
        made.answer.append(dns.rrset.from_text(owner, int(ttl), "IN", its_kind, value))
    return made


def read(made: dns.message.Message, kind: DnsType = DnsType.A) -> wire.DnsResponse:
    return wire.read(made.to_wire(), wire.question(NAME, kind), kind)


def test_case_of_the_question_means_nothing() -> None:
    data = response("A", "WWW.example.TEST. 5 A 192.0.2.1").to_wire()
    assert wire.matches(data, wire.question(NAME, DnsType.A))
    assert read(response("A", "WWW.example.TEST. 5 A 192.0.2.1")).records == {
        NAME: (("192.0.2.1",), 5)
    }


@pytest.mark.parametrize(
    "change", ["query", "opcode", "name", "kind", "class", "two questions", "none"]
)
def test_what_answers_another_question_does_not_match(change: str) -> None:
    made = response("A", "www.example.test. 5 A 192.0.2.1")
    question = made.question[0]
    match change:
        case "query":
            made.flags &= ~dns.flags.QR
        case "opcode":
            made.set_opcode(dns.opcode.STATUS)
        case "name":
            made.question = [dns.rrset.from_text_list("www.example.test.evil.", 0, "IN", "A", [])]
        case "kind":
            made.question = [dns.rrset.from_text_list(question.name, 0, "IN", "AAAA", [])]
        case "class":
            made.question = [dns.rrset.from_text_list(question.name, 0, "CH", "A", [])]
        case "two questions":
            made.question.append(question)
        case "none":
            made.question = []
    assert not wire.matches(made.to_wire(), wire.question(NAME, DnsType.A))


@pytest.mark.parametrize(
    ("rcode", "why"), [("FORMERR", "formerr"), ("SERVFAIL", "servfail"), ("NOTIMP", "notimp"), ("REFUSED", "refused"), ("YXDOMAIN", "rcode-6")]
)  # fmt: skip
def test_refusals_have_a_word(rcode: str, why: str) -> None:
    made = response("A", rcode=dns.rcode.from_text(rcode))
    assert wire.refusal(made.to_wire()) == why
    made.question = []
    # some servers cut the question off
    assert wire.matches(made.to_wire(), wire.question(NAME, DnsType.A))


def test_extended_errors_are_no_denial() -> None:
    made = response("A")
    made.use_edns(0)
    made.set_rcode(dns.rcode.BADVERS)  # its lower bits are those of NOERROR
    with pytest.raises(MalformedDnsMessage):
        read(made)


def test_a_referral_is_no_denial() -> None:
    made = response("A")
    made.authority.append(dns.rrset.from_text("test.", 5, "IN", "NS", "ns.test."))
    with pytest.raises(MalformedDnsMessage):
        read(made)


@pytest.mark.parametrize(("ttl", "minimum", "kept"), [(60, 300, 60), (300, 60, 60), (0, 60, 0)])
def test_a_denial_is_kept_for_the_soa_s_ttl_and_minimum(ttl: int, minimum: int, kept: int) -> None:
    made = response("A", rcode=dns.rcode.NXDOMAIN)
    made.authority.append(
        dns.rrset.from_text("test.", ttl, "IN", "SOA", f"ns.test. a.test. 1 2 3 4 {minimum}")
    )
    assert read(made) == wire.DnsResponse(False, {}, {}, kept)
    made.authority.clear()
    assert read(made).denied is None


def test_a_ttl_with_its_highest_bit_is_none() -> None:
    data = bytearray(response("A", "www.example.test. 5 A 192.0.2.1").to_wire())
    data[-10] |= 0x80
    assert wire.read(bytes(data), wire.question(NAME, DnsType.A), DnsType.A).records[NAME] == (
        ("192.0.2.1",),
        0,
    )


def test_names_are_lower_case_and_the_root_is_empty() -> None:
    assert read(response("MX", "www.example.test. 5 MX 0 ."), DnsType.MX).records[NAME][0] == (
        (0, ""),
    )
    assert read(response("PTR", "www.example.test. 5 PTR Mail.EXAMPLE.test."), DnsType.PTR).records[
        NAME
    ][0] == ("mail.example.test",)


@pytest.mark.parametrize(
    ("kind", "rdata"),
    [
        (DnsType.A, "010203"), (DnsType.A, "0102030405"), (DnsType.A, ""), (DnsType.AAAA, "00" * 15), (DnsType.TXT, ""), (DnsType.TXT, "0561"),
        (DnsType.MX, "00"), (DnsType.MX, "0001"), (DnsType.MX, "000100ff"), (DnsType.PTR, ""), (DnsType.PTR, "c0ff"), (DnsType.PTR, "0000"),
        (DnsType.PTR, "40"), (DnsType.PTR, "8000"), (DnsType.SOA, "0000" + "00" * 19), (DnsType.SOA, "0000" + "00" * 21), (DnsType.CNAME, "0161"),
    ],
)  # fmt: skip
def test_a_broken_record_is_malformed(kind: DnsType, rdata: str) -> None:
    data = bytes.fromhex(rdata)
    record = b"\xc0\x0c" + kind.to_bytes(2) + b"\0\1\0\0\0\5" + len(data).to_bytes(2) + data
    asked = wire.question(NAME, kind)
    message = b"\0\0\x81\x80\0\1\0\1\0\0\0\0" + asked + record
    assert wire.matches(message, asked)
    with pytest.raises(MalformedDnsMessage):
        wire.read(message, asked, kind)


def test_records_are_bounded() -> None:
    asked = wire.question(NAME, DnsType.A)
    record = b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x7f\0\0"
    counts = wire.MAX_RECORDS.to_bytes(2), (wire.MAX_RECORDS + 1).to_bytes(2)
    few, many = (
        b"\0\0\x81\x80\0\1"
        + count
        + b"\0\0\0\0"
        + asked
        + b"".join(record + bytes([n % 256]) for n in range(600))
        for count in counts
    )
    assert len(wire.read(few, asked, DnsType.A).records[NAME][0]) == 256  # distinct ones
    with pytest.raises(MalformedDnsMessage):
        wire.read(many, asked, DnsType.A)


@given(st.binary(min_size=12, max_size=12), st.binary(max_size=40))
def test_a_datagram_that_breaks_off_is_no_answer(header: bytes, rest: bytes) -> None:
    assume(len(rest) < len(NAME))
    data = header + rest
    asked = wire.question(NAME, DnsType.A)
    assert not wire.matches(data, asked) or wire.refusal(data)
