"""DMARC: records, discovery, alignment, what is asked for; the cases of authheaders.

Hostile records.
"""

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.authentication.dmarc import MAX_FROM, check_dmarc, dmarc_questions
from oborona.authentication.dmarc_record import (
    MAX_RECORD,
    DmarcRecord,
    UnusableDmarcRecord,
    is_dmarc_record,
    parse_dmarc_record,
)
from oborona.authentication.model import AuthResult, DkimSignature, Dmarc, DmarcPolicy, Spf
from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from tests.asking import Table
from tests.peers.dns import Records

LONG_S = 5.0


def spf(domain: str, result: str = "pass", scope: str = "mfrom") -> Spf:
    return Spf(result=AuthResult(result), domain=domain, scope=scope)


def dkim(domain: str, result: str = "pass") -> DkimSignature:
    return DkimSignature(result=AuthResult(result), domain=domain)


async def check(
    records: Records | str | bytes,
    *froms: str,
    by_spf: Spf = Spf(),  # noqa: B008 - frozen
    by_dkim: tuple[DkimSignature, ...] = (),
    sample: float = 50.0,
    table: Any = None,
) -> Dmarc:
    """The record of example.com, or records by name."""
    zone = {"_dmarc.example.com": {"TXT": records}} if isinstance(records, str | bytes) else records
    asker = table or Table(zone)
    return await check_dmarc(
        froms or ("example.com",), spf=by_spf, dkim=by_dkim, asker=asker, sample=sample
    )


# records


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (b"v=DMARC1; p=none", True), (b"v=DMARC1;p=none", True), (b"v=DMARC1", True), (b"V = DMARC1 ; p=none", True),
        (b"v=DMARC1 p=none", False), (b"v=DMARC10; p=none", False), (b"v=dmarc1; p=none", False), (b"p=none", False),
        (b" v=DMARC1; p=none", False), (b'"v=DMARC1; p=none"', False), (b"v=spf1 -all", False), (b"", False),
        (b"p=none; v=DMARC1", False), (b"\xff\xfe", False),
    ],
)  # fmt: skip
def test_which_texts_are_records(text: bytes, is_one: bool) -> None:
    assert is_dmarc_record(text) is is_one


def test_a_record_with_all_tags() -> None:
    text = (
        b"v=DMARC1; p=reject; sp=quarantine; np=none; adkim=s; aspf=s; pct=20; t=y; psd=y; "
        b"rua=mailto:a@b.test; fo=1"
    )
    assert parse_dmarc_record(text) == DmarcRecord(
        policy=DmarcPolicy.REJECT,
        subdomains=DmarcPolicy.QUARANTINE,
        missing=DmarcPolicy.NONE,
        strict_dkim=True,
        strict_spf=True,
        percent=20,
        testing=True,
        suffix=True,
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (b"v=DMARC1; p=reject", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1 ;\tP = ReJeCt\t;", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1;;;p=reject;;", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; p=reject; p=none", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; p=reject; x=y; =; what; y=", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; rua=mailto:a@b.test; p=reject", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (
            b"v=DMARC1; p=reject; adkim=strict; aspf=S",
            DmarcRecord(policy=DmarcPolicy.REJECT, strict_spf=True),
        ),
        (b"v=DMARC1; p=reject; pct=0", DmarcRecord(policy=DmarcPolicy.REJECT, percent=0)),
        (b"v=DMARC1; p=reject; pct=100", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; p=reject; pct=101", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; p=reject; pct=-1", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; p=reject; pct=5%", DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; p=reject; pct=" + b"1" * 5000, DmarcRecord(policy=DmarcPolicy.REJECT)),
        ("v=DMARC1; p=reject; pct=\u0665".encode(), DmarcRecord(policy=DmarcPolicy.REJECT)),
        (b"v=DMARC1; rua=mailto:a@b.test", DmarcRecord(policy=DmarcPolicy.NONE)),
        (
            b"v=DMARC1; p=none; sp=reject",
            DmarcRecord(policy=DmarcPolicy.NONE, subdomains=DmarcPolicy.REJECT),
        ),
        (b"v=DMARC1; p=none; psd=n", DmarcRecord(policy=DmarcPolicy.NONE, suffix=False)),
        (b"v=DMARC1; p=none; psd=u", DmarcRecord(policy=DmarcPolicy.NONE)),
        (b"v=DMARC1; p=rejct; rua=mailto:a@b.test", DmarcRecord(policy=DmarcPolicy.NONE)),
        (
            b"v=DMARC1; p=reject; sp=bad; rua=x, mailto:a@b.test",
            DmarcRecord(policy=DmarcPolicy.NONE),
        ),
        (b"v=DMARC1; p=; rua=https://b.test/", DmarcRecord(policy=DmarcPolicy.NONE)),
    ],
)
def test_records_that_can_be_used(text: bytes, want: DmarcRecord) -> None:
    assert parse_dmarc_record(text) == want


@pytest.mark.parametrize(
    "text",
    [b"v=DMARC1; p=rejct", b"v=DMARC1; p=", b"v=DMARC1; p=reject; sp=bad", b"v=DMARC1; p=none; np=bad; rua=nobody",
     b"v=DMARC1; p=\xff", b"v=DMARC1; p=reject;" + b" " * MAX_RECORD, b"v=DMARC1", b"v=DMARC1; adkim=s; sp=reject"],
)  # fmt: skip
async def test_records_that_cannot_be_used(text: bytes) -> None:
    with pytest.raises(UnusableDmarcRecord):
        parse_dmarc_record(text)
    found = await check(text)
    assert (found.result, found.disposition) == (
        AuthResult.NONE,
        DmarcPolicy.NONE,
    )  # no DMARC processing, RFC 9989 s4.10.1
    assert found.why.startswith("_dmarc.example.com: ")
    assert found.why.isprintable()


@given(
    st.one_of(
        st.binary(max_size=500),
        st.text(alphabet="vpsnt=; \tDMARC1rejctquanio,:%0159", max_size=200),
    )
)
@settings(max_examples=500, deadline=None)
def test_any_record_is_survived(tail: bytes | str) -> None:
    """Invariant: a result of the RFC's words, and never more than the record's own policy is asked
    for.
    """
    text = b"v=DMARC1;" + (tail if isinstance(tail, bytes) else tail.encode())
    found = asyncio.run(check({}, table=_Always(text)))
    assert found.result in (AuthResult.FAIL, AuthResult.NONE)
    assert found.disposition in (DmarcPolicy.NONE, DmarcPolicy.QUARANTINE, found.policy)
    assert found.why.isprintable()


class _Always:
    """Answers every TXT question the same way."""

    def __init__(self, *texts: bytes) -> None:
        self._texts = texts

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        return DnsAnswer(outcome=DnsOutcome.FOUND, records=self._texts)


async def test_huge_records_take_no_time() -> None:
    start = time.monotonic()
    for part in (
        b";",
        b"=",
        b"a=b;",
        b"p=none;",
        b"rua=mailto:",
        b" ",
        b"\t",
        b",",
        b"v=DMARC1;",
        b"v\t \t",
    ):
        await check({}, table=_Always(b"v=DMARC1;" + part * 16_000))
        await check({}, table=_Always(part * 16_000))
        await check({}, table=_Always(b"v=DMARC1; p=x; rua=" + part * 700))
    assert time.monotonic() - start < LONG_S


# discovery


async def test_the_record_of_the_domain_itself() -> None:
    table = Table(
        {
            "_dmarc.a.example.com": {"TXT": "v=DMARC1; p=reject; sp=none"},
            "_dmarc.example.com": {"TXT": "v=DMARC1"},
        }
    )
    found = await check({}, "a.Example.COM.", table=table)
    assert found == Dmarc(
        result=AuthResult.FAIL,
        domain="a.example.com",
        organisational="example.com",
        policy=DmarcPolicy.REJECT,
        disposition=DmarcPolicy.REJECT,
        why="record at _dmarc.a.example.com",
    )
    assert table.asked == [("_dmarc.a.example.com", DnsType.TXT)]


@pytest.mark.parametrize(
    ("sp", "policy"), [("", "reject"), ("sp=quarantine", "quarantine"), ("sp=none", "none")]
)
async def test_the_record_of_the_organisation(sp: str, policy: str) -> None:
    found = await check(f"v=DMARC1; p=reject; {sp}", "a.b.example.com")
    assert (found.policy, found.disposition, found.organisational) == (
        policy,
        policy,
        "example.com",
    )


async def test_a_record_of_a_public_suffix_holds_below_it_and_makes_nobody_its_neighbours_author() -> (
    None
):
    """RFC 9989 s4.10.2 knows no list: the record is the organisation's.

    Aligned are names of one customer alone.
    """
    zone: Records = {"_dmarc.co.uk": {"TXT": "v=DMARC1; p=reject"}}
    assert (await check(zone, "example.co.uk")).disposition is DmarcPolicy.REJECT
    assert (await check(zone, "co.uk")).disposition is DmarcPolicy.REJECT
    assert (await check(zone, "a.co.uk", by_spf=spf("b.co.uk"))).result is AuthResult.FAIL
    assert (await check(zone, "x.a.co.uk", by_spf=spf("y.a.co.uk"))).result is AuthResult.PASS


# what the tree walk of RFC 9989 s4.10 decides

N = {"TXT": "v=DMARC1; p=reject; psd=n"}
Y = {"TXT": "v=DMARC1; p=reject; psd=y"}
U = {"TXT": "v=DMARC1; p=reject"}
NOTHING = {"TXT": "v=DMARC1; p=none"}


@pytest.mark.parametrize(
    ("zone", "author", "proved", "result", "disposition"),
    [
        # the border moved down: the middle name is the organisation
        ({"b.example.com": N}, "a.b.example.com", "", "fail", "reject"),
        ({"b.example.com": N, "example.com": NOTHING}, "a.b.example.com", "", "fail", "reject"),
        ({"b.example.com": N, "example.com": NOTHING}, "a.b.example.com", "c.b.example.com", "pass", "none"),
        ({"b.example.com": N, "example.com": NOTHING}, "a.b.example.com", "example.com", "fail", "reject"),
        ({"b.example.com": N, "example.com": NOTHING}, "b.example.com", "example.com", "fail", "reject"),
        ({"b.example.com": N, "example.com": NOTHING}, "x.example.com", "b.example.com", "fail", "none"),
        # nothing said: the shortest name with a record
        ({"b.example.com": U}, "a.b.example.com", "", "fail", "reject"),
        ({"b.example.com": U, "example.com": NOTHING}, "a.b.example.com", "", "fail", "none"),
        ({"b.example.com": U, "example.com": NOTHING}, "a.b.example.com", "example.com", "pass", "none"),
        ({"a.example.com": U, "example.com": U}, "a.example.com", "b.example.com", "pass", "none"),
        ({"b.example.com": U}, "b.example.com", "example.com", "fail", "reject"),
        ({}, "a.example.com", "b.example.com", "none", "none"),
        # a suffix that no list knows (RFC 9989 appendix B.4)
        ({"bank.example": Y}, "giant.bank.example", "mega.bank.example", "fail", "reject"),
        ({"bank.example": Y}, "a.giant.bank.example", "b.giant.bank.example", "pass", "none"),
        ({"bank.example": Y, "giant.bank.example": U}, "giant.bank.example", "mega.bank.example", "fail", "reject"),
        ({"bank.example": Y}, "bank.example", "bank.example", "pass", "none"),
        # a suffix that the list knows too
        ({"gov": Y, "x.a.gov": U}, "x.a.gov", "a.gov", "pass", "none"),
        ({"gov": Y}, "x.a.gov", "b.gov", "fail", "reject"),
    ],
)  # fmt: skip
async def test_the_tree_walk(
    zone: Any, author: str, proved: str, result: str, disposition: str
) -> None:
    records: Records = {f"_dmarc.{name}": record for name, record in zone.items()}
    for proof in ({"by_spf": spf(proved)}, {"by_dkim": (dkim("other.test"), dkim(proved))}):
        found = await check(records, author, **proof)
        assert (found.result, found.disposition) == (result, disposition)
        assert (found.spf_aligned or found.dkim_aligned) is (
            result == "pass" or (result == "none" and bool(proved))
        )


@pytest.mark.parametrize("labels", [3, 8, 9, 60, 120])
async def test_a_walk_asks_at_most_eight_questions(labels: int) -> None:
    name = ".".join(["a"] * (labels - 2)) + ".example.com"
    table = Table({"_dmarc.example.com": U})
    assert (await check({}, name, table=table)).disposition is DmarcPolicy.REJECT
    assert len(table.asked) <= 8
    assert set(table.asked) == {(one, DnsType.TXT) for one in dmarc_questions([name])}


@pytest.mark.parametrize(
    ("author", "proved", "questions"),
    [
        ("example.com", "example.com", 1),
        ("example.com", "other.test", 1),  # of another registered name: no walk makes them one
        ("news.example.com", "news.example.com", 2),
        ("example.com", "bounce.example.com", 2),
        ("news.example.com", "example.com", 2),
    ],
)
async def test_what_an_ordinary_message_asks(author: str, proved: str, questions: int) -> None:
    table = Table({"_dmarc.example.com": U})
    await check(
        {}, author, by_spf=spf(proved), by_dkim=(dkim(proved), dkim("esp.test")), table=table
    )
    assert len(set(table.asked)) == questions


async def test_a_walk_without_an_answer_is_a_temporary_error_only_where_it_decides() -> None:
    broken = Table({"_dmarc.example.com": U}, broken=[("_dmarc.bounce.example.com", "TXT")])
    assert (
        await check({}, by_spf=spf("bounce.example.com"), table=broken)
    ).result is AuthResult.TEMPERROR
    signed = (dkim("example.com"),)
    assert (
        await check({}, by_spf=spf("bounce.example.com"), by_dkim=signed, table=broken)
    ).result is AuthResult.PASS
    assert (
        await check({}, by_spf=spf("bounce.example.com", "fail"), table=broken)
    ).result is AuthResult.FAIL


@pytest.mark.parametrize(("exists", "policy"), [(True, "none"), (False, "reject")])
async def test_a_public_suffix_that_says_it_is_one(exists: bool, policy: str) -> None:
    """RFC 9989, as .gov does."""
    zone: Records = {"_dmarc.gov": {"TXT": "v=DMARC1; p=reject; sp=none; np=reject; psd=y"}}
    found = await check(
        {**zone, **({"example.gov": {"MX": "0 ."}} if exists else {})}, "example.gov"
    )
    assert (found.result, found.disposition) == (AuthResult.FAIL, policy)


@pytest.mark.parametrize(
    ("np", "exists", "policy"),
    [
        ("np=reject", False, "reject"),
        ("np=reject", True, "quarantine"),
        ("", False, "quarantine"),
        ("np=none", False, "none"),
    ],
)
async def test_names_that_do_not_exist(np: str, exists: bool, policy: str) -> None:
    zone: Records = {"_dmarc.example.com": {"TXT": f"v=DMARC1; p=none; sp=quarantine; {np}"}}
    table = Table({**zone, **({"x.a.example.com": {"TXT": "here"}} if exists else {})})
    assert (await check({}, "a.example.com", table=table)).disposition == policy
    assert (("a.example.com", DnsType.A) in table.asked) is bool(np)


async def test_whether_a_name_exists_is_asked_only_if_it_matters() -> None:
    zone: Records = {"_dmarc.example.com": {"TXT": "v=DMARC1; p=none; np=reject"}}
    passed, own = Table(zone), Table(zone)
    await check({}, "a.example.com", by_spf=spf("example.com"), table=passed)
    await check({}, "example.com", table=own)
    assert all(kind is DnsType.TXT for _name, kind in passed.asked + own.asked)


@pytest.mark.parametrize("place", ["_dmarc.a.example.com", "_dmarc.example.com"])
async def test_several_records_are_none(place: str) -> None:
    found = await check(
        {place: {"TXT": ["v=DMARC1; p=reject", "v=DMARC1; p=none"]}}, "a.example.com"
    )
    assert (found.result, found.why) == (AuthResult.NONE, f"several records at {place}")


async def test_several_records_at_one_name_are_none_and_the_walk_goes_on() -> None:
    two: dict[str, Any] = {"TXT": ["v=DMARC1; p=none", "v=DMARC1; p=none"]}
    found = await check({"_dmarc.a.example.com": two, "_dmarc.example.com": U}, "a.example.com")
    assert found.disposition is DmarcPolicy.REJECT


async def test_other_texts_beside_the_record_do_not_matter() -> None:
    texts: list[str | bytes] = [
        "v=spf1 -all",
        b"\xff",
        "v=DMARC1; p=reject",
        "v=DMARC2; p=none",
        "",
    ]
    assert (await check({"_dmarc.example.com": {"TXT": texts}})).disposition is DmarcPolicy.REJECT


async def test_no_record() -> None:
    found = await check({})
    assert found == Dmarc(domain="example.com", organisational="example.com", why="no record")


async def test_an_unknown_record_is_a_temporary_error_even_if_all_is_proved() -> None:
    found = await check(
        {}, by_spf=spf("example.com"), table=Table(broken=[("_dmarc.example.com", "TXT")])
    )
    assert (found.result, found.disposition) == (AuthResult.TEMPERROR, DmarcPolicy.NONE)
    assert found.why == "DNS timeout: TXT _dmarc.example.com"


# alignment


@pytest.mark.parametrize(
    ("mode", "proved", "author", "aligned"),
    [
        ("r", "example.com", "example.com", True), ("s", "example.com", "example.com", True),
        ("r", "EXAMPLE.com.", "example.com", True), ("s", "EXAMPLE.com.", "example.com", True),
        ("r", "bounce.example.com", "example.com", True), ("s", "bounce.example.com", "example.com", False),
        ("r", "example.com", "a.example.com", True), ("s", "example.com", "a.example.com", False),
        ("r", "a.example.com", "b.example.com", True), ("s", "a.example.com", "b.example.com", False),
        ("r", "example.org", "example.com", False), ("r", "badexample.com", "example.com", False),
        ("r", "com", "example.com", False), ("r", "", "example.com", False), ("r", "example.com.evil.test", "example.com", False),
        ("r", "b.co.uk", "a.co.uk", False), ("r", "x.a.co.uk", "a.co.uk", True), ("r", "co.uk", "a.co.uk", False),
        ("r", "b.blogspot.com", "a.blogspot.com", False), ("r", "xn--e1afmkfd.com", "пример.com", True),
        ("r", "пример.com", "a.xn--e1afmkfd.com", True),
    ],
)  # fmt: skip
async def test_alignment(mode: str, proved: str, author: str, aligned: bool) -> None:
    table = _Always(f"v=DMARC1; p=reject; adkim={mode}; aspf={mode}".encode())
    with_spf = await check({}, author, by_spf=spf(proved), table=table)
    with_dkim = await check(
        {}, author, by_dkim=(dkim("other.test"), dkim(proved, "fail"), dkim(proved)), table=table
    )
    assert (with_spf.spf_aligned, with_spf.dkim_aligned) == (aligned, False)
    assert (with_dkim.spf_aligned, with_dkim.dkim_aligned) == (False, aligned)
    for found in (with_spf, with_dkim):
        assert found.result is (AuthResult.PASS if aligned else AuthResult.FAIL)
        assert found.disposition is (DmarcPolicy.NONE if aligned else DmarcPolicy.REJECT)
        assert found.policy is DmarcPolicy.REJECT


async def test_modes_are_each_methods_own() -> None:
    record = "v=DMARC1; p=reject; adkim=s"
    assert (await check(record, by_spf=spf("a.example.com"))).result is AuthResult.PASS
    assert (await check(record, by_dkim=(dkim("a.example.com"),))).result is AuthResult.FAIL


@pytest.mark.parametrize("result", [word for word in AuthResult if word is not AuthResult.PASS])
async def test_only_a_pass_proves(result: AuthResult) -> None:
    record = "v=DMARC1; p=reject"
    for found in (
        await check(record, by_spf=spf("example.com", result)),
        await check(record, by_dkim=(dkim("example.com", result),)),
    ):
        assert found.result is (
            AuthResult.TEMPERROR if result is AuthResult.TEMPERROR else AuthResult.FAIL
        )


async def test_helo_proves_nothing() -> None:
    assert (
        await check("v=DMARC1; p=reject", by_spf=spf("example.com", scope="helo"))
    ).result is AuthResult.FAIL


async def test_a_temporary_error_counts_only_if_it_could_have_proved_something() -> None:
    record = "v=DMARC1; p=reject"
    unclear = await check(record, by_dkim=(dkim("example.com", "temperror"),))
    assert (unclear.result, unclear.disposition, unclear.policy) == ("temperror", "none", "reject")
    assert (
        await check(record, by_spf=spf("a.example.com", "temperror"))
    ).result is AuthResult.TEMPERROR
    assert (
        await check(record, by_dkim=(dkim("evil.test", "temperror"),))
    ).result is AuthResult.FAIL
    assert (await check(record, by_spf=spf("evil.test", "temperror"))).result is AuthResult.FAIL
    both = await check(
        record, by_spf=spf("example.com", "temperror"), by_dkim=(dkim("example.com"),)
    )
    assert both.result is AuthResult.PASS


# what is asked for


@pytest.mark.parametrize(
    ("policy", "inside", "outside"),
    [
        ("reject", "reject", "quarantine"),
        ("quarantine", "quarantine", "none"),
        ("none", "none", "none"),
    ],
)
async def test_sampling_and_test_mode(policy: str, inside: str, outside: str) -> None:
    """RFC 7489 s6.6.4; RFC 9989: one level below under t=y."""
    record = f"v=DMARC1; p={policy}; pct=20"
    assert (await check(record, sample=0.0)).disposition == inside
    assert (await check(record, sample=19.99)).disposition == inside
    assert (await check(record, sample=20.0)).disposition == outside
    assert (await check(f"v=DMARC1; p={policy}", sample=99.99)).disposition == inside
    assert (await check(f"v=DMARC1; p={policy}; pct=0", sample=0.0)).disposition == outside
    assert (await check(f"v=DMARC1; p={policy}; t=y", sample=0.0)).disposition == outside
    assert (await check(f"v=DMARC1; p={policy}; t=y; pct=0", sample=99.0)).disposition == outside
    assert (await check(f"v=DMARC1; p={policy}; t=n", sample=99.0)).disposition == inside


# From


@pytest.mark.parametrize(
    "froms", [("",), ("localhost",), ("[192.0.2.1]",), ("a b.test", "x..y"), ("x" * 100_000,)]
)
async def test_no_domain_in_from(froms: tuple[str, ...]) -> None:
    found = await check_dmarc(
        froms, spf=spf("localhost"), dkim=[], asker=Table(broken=[("*", "*")]), sample=0
    )
    assert (found.result, found.why) == (AuthResult.NONE, "no domain in From")


async def test_nothing_in_from() -> None:
    assert (
        await check_dmarc([], spf=Spf(), dkim=[], asker=Table(), sample=0)
    ).result is AuthResult.NONE


async def test_of_several_domains_in_from_the_strictest_outcome_holds() -> None:
    zone: Records = {
        "_dmarc.reject.test": {"TXT": "v=DMARC1; p=reject"},
        "_dmarc.quarantine.test": {"TXT": "v=DMARC1; p=quarantine"},
        "_dmarc.none.test": {"TXT": "v=DMARC1; p=none"},
    }
    froms = ["none.test", "reject.test", "quarantine.test", "without.test"]
    for order in (froms, froms[::-1]):
        assert (await check(zone, *order)).domain == "reject.test"
        proved = await check(zone, *order, by_spf=spf("reject.test"))
        assert (proved.domain, proved.result) == ("quarantine.test", AuthResult.FAIL)
    both = await check(zone, "reject.test", "a.reject.test", by_spf=spf("reject.test"))
    assert both.result is AuthResult.PASS
    for order in (["without.test", "reject.test"], ["reject.test", "without.test"]):
        found = await check(zone, *order, by_spf=spf("reject.test"))
        assert (
            found.result is AuthResult.NONE
        )  # who proved itself lends nothing to who has no record
    assert (
        await check(zone, "reject.test", "REJECT.test.", by_spf=spf("reject.test"))
    ).result is AuthResult.PASS


async def test_beyond_the_limit_of_domains_in_from_the_strictest_of_the_first_holds() -> None:
    own = [f"{number}.test" for number in range(MAX_FROM)]
    zone: Records = {"_dmarc.bank.test": {"TXT": "v=DMARC1; p=reject"}}
    for place in range(MAX_FROM):
        found = await check(zone, *own[:place], "bank.test", *own[place:])
        assert (found.domain, found.disposition) == ("bank.test", DmarcPolicy.REJECT)
    table = Table(zone)
    beyond = await check({}, *own, "bank.test", table=table)
    assert (beyond.result, beyond.why) == (AuthResult.PERMERROR, f"over {MAX_FROM} domains in From")
    assert "bank.test" not in {name.removeprefix("_dmarc.") for name, _ in table.asked}
    assert (await check({}, *(["a.test"] * 100_000))).result is AuthResult.NONE


async def test_of_several_domains_something_is_proved_only_if_it_is_for_all() -> None:
    """Who writes a friend's address beside his own has not proved to be the friend."""
    for bad in ("v=DMARC1; p=none", "v=DMARC1; p=bogus", "v=spf1"):
        zone: Records = {"_dmarc.evil.test": {"TXT": bad}}
        for froms in (("friend.test", "evil.test"), ("evil.test", "friend.test")):
            found = await check(zone, *froms, by_spf=spf("evil.test"), by_dkim=(dkim("evil.test"),))
            assert (found.spf_aligned, found.dkim_aligned) == (False, False)
    both = await check({}, "a.friend.test", "friend.test", by_spf=spf("friend.test"))
    assert (both.spf_aligned, both.dkim_aligned) == (True, False)
    many = [f"{number}.friend.test" for number in range(MAX_FROM + 1)]
    assert not (await check({}, *many, by_spf=spf("friend.test"))).spf_aligned, (
        "one was not looked at"
    )


async def test_what_is_asked_first_is_known_beforehand() -> None:
    froms = [
        "A.b.example.com",
        "a.b.example.com.",
        "example.com",
        "localhost",
        "пример.test",
        *(f"{one}.test" for one in "vwxyz"),
    ]
    table = Table({"_dmarc.com": {"TXT": "v=DMARC1; p=none; psd=y"}})
    await check({}, *froms, table=table)
    wanted = dmarc_questions(froms)
    assert wanted[:3] == (
        "_dmarc.a.b.example.com",
        "_dmarc.example.com",
        "_dmarc.xn--e1afmkfd.test",
    )
    assert wanted[-1] == "_dmarc.b.example.com", (
        "of the organisation and the domain before all between"
    )
    later = {"_dmarc.com", "_dmarc.test"}
    assert {name for name, _ in table.asked} - later == set(wanted)


async def test_a_signature_that_could_not_be_looked_at_disowns_nothing() -> None:
    record = "v=DMARC1; p=reject"
    unseen = DkimSignature(result=AuthResult.NEUTRAL, domain="example.com", unseen=True)
    found = await check(record, by_dkim=(unseen,))
    assert (found.result, found.disposition, found.policy) == ("permerror", "none", "reject")
    assert (found.why, found.dkim_aligned) == ("message too large to check its signature", False)
    foreign = DkimSignature(result=AuthResult.NEUTRAL, domain="evil.test", unseen=True)
    assert (await check(record, by_dkim=(foreign,))).disposition is DmarcPolicy.REJECT
    assert (
        await check(record, by_dkim=(dkim("example.com", "neutral"),))
    ).disposition is DmarcPolicy.REJECT
    assert (
        await check(record, by_dkim=(unseen,), by_spf=spf("example.com"))
    ).result is AuthResult.PASS
    assert (
        await check(record, by_dkim=(unseen, dkim("example.com", "temperror")))
    ).result is AuthResult.TEMPERROR


# The cases of authheaders 0.16.3 (authheaders/test/test_authentication.py), as domains and results.
# Where this differs:
#   bad     "p=none; reject" is permerror there. RFC 7489 s6.3: errors behind the version are
#           discarded, so it is p=none.
#   nofrom  no domain in From is permerror there. RFC 7489 s11.2: none, "no aligned identifier could
#           be extracted".

AUTHHEADERS: Records = {
    "_dmarc.example.com": {"TXT": "v=DMARC1; p=reject; rua=mailto:dmarc.reports@valimail.com,mailto:dmarc_agg@vali.email"},
    "_dmarc.example.org": {"TXT": "v=DMARC1; p=none"},
    "_dmarc.example.net": {"TXT": "v=DMARC1; p=none; sp=reject"},
    "_dmarc.example.biz": {"TXT": "v=DMARC1; p=none; sp=quarantine; np=reject"},
    "_dmarc.nop.example.org": {"TXT": "v=DMARC1; sp=quarantine; np=reject"},
    "sub2.example.biz": {"CNAME": "host.example.biz."},
    "host.example.biz": {"A": "192.0.2.1"},
    "_dmarc.bad.example.com": {"TXT": "v=DMARC1; p=none; reject"},
    "_dmarc.gov": {"TXT": "v=DMARC1; p=reject; sp=none; np=reject; rua=mailto:dotgov_dmarc@cisa.dhs.gov; psd=y"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("froms", "signatures", "result", "domain", "disposition"),
    [
        (["example.com"], [dkim("example.com")], "pass", "example.com", "none"),
        (["bad.example.com"], [], "fail", "bad.example.com", "none"),
        ([], [], "none", "", "none"),
        (["example.gov"], [], "fail", "example.gov", "reject"),
        (["example.org", "example.com"], [dkim("example.com", "fail"), dkim("example.org")], "fail", "example.com", "reject"),
        (["example.com", "example.org"], [dkim("example.com", "fail"), dkim("example.org")], "fail", "example.com", "reject"),
        (["sub.example.net"], [dkim("sub.example.net", "fail")], "fail", "sub.example.net", "reject"),
        (["sub.example.biz"], [dkim("sub.example.biz", "fail")], "fail", "sub.example.biz", "reject"),
        (["sub2.example.biz"], [dkim("sub2.example.biz", "fail")], "fail", "sub2.example.biz", "quarantine"),
        (["nop.example.org"], [dkim("nop.example.org", "fail")], "none", "nop.example.org", "none"),
    ],
    ids=["dmarc", "bad", "nofrom", "psdsub", "mult_from", "mult_from2", "sub", "np1", "np2", "no_p"],
)  # fmt: skip
async def test_of_authheaders(
    froms: list[str], signatures: list[DkimSignature], result: str, domain: str, disposition: str
) -> None:
    found = await check_dmarc(froms, spf=Spf(), dkim=signatures, asker=Table(AUTHHEADERS), sample=0)
    assert (found.result, found.domain, found.disposition) == (result, domain, disposition)


@given(
    st.lists(st.text(max_size=80), max_size=8),
    st.text(max_size=80),
    st.text(max_size=80),
    st.floats(0, 99.9),
)
@settings(max_examples=300, deadline=None)
def test_any_names_are_survived(froms: list[str], by_spf: str, by_dkim: str, sample: float) -> None:
    """Invariant: a result of the RFC's words; a pass only for a domain that was proved.

    What is asked for exists as a name.
    """

    class Asker(_Always):
        async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
            assert name.isascii()
            assert ".." not in name
            return await super().ask(name, kind)

    found = asyncio.run(
        check_dmarc(
            froms,
            spf=spf(by_spf),
            dkim=[dkim(by_dkim)],
            asker=Asker(b"v=DMARC1; p=reject"),
            sample=sample,
        )
    )
    assert found.result in (AuthResult.NONE, AuthResult.PASS, AuthResult.FAIL, AuthResult.PERMERROR)
    assert (found.result is AuthResult.PASS) is (found.spf_aligned or found.dkim_aligned)


async def test_without_a_record_it_is_still_told_what_was_proved() -> None:
    sent, signed = spf("mail.example.org"), [dkim("example.org")]
    for found, by_spf, by_dkim in (
        (
            await check_dmarc(["example.org"], spf=sent, dkim=[], asker=Table(), sample=0),
            True,
            False,
        ),
        (
            await check_dmarc(["a.example.org"], spf=Spf(), dkim=signed, asker=Table(), sample=0),
            False,
            True,
        ),
        (
            await check_dmarc(["example.com"], spf=sent, dkim=signed, asker=Table(), sample=0),
            False,
            False,
        ),
    ):
        assert found.result is AuthResult.NONE
        assert (found.spf_aligned, found.dkim_aligned) == (by_spf, by_dkim)
