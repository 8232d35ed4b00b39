"""Authentication-Results: what is written is read back, by authres.

What others wrote is read with care.
"""

import doctest
import re
import time
from pathlib import Path

import authres
import authres.core
import authres.dkim_b
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.authentication.header import MAX_READ, authentication_results, dmarc_of
from oborona.authentication.model import (
    Arc,
    AuthIdentity,
    AuthResult,
    DkimSignature,
    Dmarc,
    DmarcPolicy,
    IpRev,
    Spf,
)

LONG_S = 5.0

FULL = AuthIdentity(
    spf=Spf(result=AuthResult.PASS, domain="bounce.example.com", why="ip4:192.0.2.0/24"),
    spf_helo=Spf(result=AuthResult.NONE, domain="mail.example.com", scope="helo"),
    dkim=(
        DkimSignature(
            result=AuthResult.PASS,
            domain="example.com",
            selector="s1",
            identity="@example.com",
            algorithm="rsa-sha256",
            start="abcd+/12",
        ),
        DkimSignature(
            result=AuthResult.FAIL,
            domain="list.test",
            selector="k",
            identity="jo.do@sub.list.test",
            algorithm="ed25519-sha256",
            start="Zabcdefg",
            why="the body was changed",
        ),
    ),
    dmarc=Dmarc(result=AuthResult.PASS, domain="example.com", policy=DmarcPolicy.REJECT),
    arc=Arc(result=AuthResult.PASS, instances=2, sealers=("a.test", "b.test"), trusted="b.test"),
    iprev=IpRev(result=AuthResult.PASS, name="mail.example.com"),
)


def test_a_whole_one() -> None:
    value = authentication_results(FULL, "mx.local.test", ip="192.0.2.1")
    assert value == (
        "mx.local.test; spf=pass smtp.mailfrom=bounce.example.com; spf=none "
        "smtp.helo=mail.example.com; "
        'dkim=pass header.d=example.com header.s=s1 header.a=rsa-sha256 header.b="abcd+/12"; '
        'dkim=fail reason="the body was changed" header.d=list.test header.i=jo.do@sub.list.test '
        "header.s=k "
        "header.a=ed25519-sha256 header.b=Zabcdefg; "
        "dmarc=pass (p=reject) header.from=example.com policy.dmarc=none; "
        "arc=pass (i=2 trusted=b.test) smtp.remote-ip=192.0.2.1; iprev=pass policy.iprev=192.0.2.1"
    )


def test_one_of_a_message_that_proved_nothing() -> None:
    assert (
        authentication_results(AuthIdentity(), "mx.local.test")
        == "mx.local.test; spf=none; dkim=none; dmarc=none"
    )


def test_reasons_of_trouble() -> None:
    identity = AuthIdentity(
        spf=Spf(
            result=AuthResult.PERMERROR,
            domain="a.test",
            why="Unknown mechanism found: ipv4:192.0.2.1",
        ),
        dmarc=Dmarc(
            result=AuthResult.FAIL,
            domain="a.test",
            policy=DmarcPolicy.REJECT,
            disposition=DmarcPolicy.QUARANTINE,
            why="record at _dmarc.a.test",
        ),
    )
    assert authentication_results(identity, "mx.test") == (
        'mx.test; spf=permerror reason="Unknown mechanism found: ipv4:192.0.2.1" '
        "smtp.mailfrom=a.test; dkim=none; "
        'dmarc=fail (p=reject) reason="record at _dmarc.a.test" header.from=a.test '
        "policy.dmarc=quarantine"
    )


def test_ipv6_is_quoted() -> None:
    identity = AuthIdentity(
        iprev=IpRev(result=AuthResult.FAIL),
        arc=Arc(result=AuthResult.FAIL, instances=1, why="cv=fail"),
    )
    assert authentication_results(identity, "mx.test", ip="2001:db8::1").split("; ")[-2:] == [
        'arc=fail (i=1) reason="cv=fail" smtp.remote-ip="2001:db8::1"',
        'iprev=fail policy.iprev="2001:db8::1"',
    ]


@pytest.mark.parametrize(
    "domain",
    [
        "a.test; dmarc=pass",
        "a.test\r\nX-Spam: no",
        'a"b.test',
        "a.test (",
        "a.test)",
        "a@b.test",
        "\\",
        "ä.test",
        "",
    ],
)
def test_no_value_says_more_than_itself(domain: str) -> None:
    identity = AuthIdentity(
        spf=Spf(result=AuthResult.FAIL, domain=domain, why=domain),
        spf_helo=Spf(result=AuthResult.FAIL, domain=domain, scope="helo", why=domain),
        dkim=(DkimSignature(result=AuthResult.FAIL, domain=domain, selector=domain, identity=f"{domain}@{domain}",
                        algorithm=domain, start=domain, why=domain),),
        dmarc=Dmarc(result=AuthResult.FAIL, domain=domain, why=domain),
        arc=Arc(result=AuthResult.PASS, trusted=domain, why=domain),
    )  # fmt: skip
    value = authentication_results(identity, "mx.test", ip=domain)
    assert dmarc_of(value).result is AuthResult.FAIL
    # for readers that split there without a look at quotes
    assert value.count(";") == (5 if domain else 4)
    assert "\n" not in value


TEXT = st.one_of(
    st.text(max_size=300),
    st.text(alphabet='ab.-@;=()"\\ \r\n\t/+,:?<>[]é!', max_size=40),
    st.sampled_from(
        ["example.com", "a@example.com", '"a b"@example.com', "@", "none", "reason", "2001:db8::1"]
    ),
)
RESULT = st.sampled_from(list(AuthResult))
SPF = st.builds(Spf, result=RESULT, domain=TEXT, why=TEXT)
IDENTITY = st.builds(
    AuthIdentity,
    spf=SPF,
    spf_helo=SPF,
    dkim=st.lists(
        st.builds(DkimSignature, result=RESULT, domain=TEXT, selector=TEXT, identity=TEXT, algorithm=TEXT, start=TEXT, why=TEXT),
        max_size=3,
    ).map(tuple),
    dmarc=st.builds(
        Dmarc, result=RESULT, domain=TEXT, why=TEXT, policy=st.sampled_from(DmarcPolicy), disposition=st.sampled_from(DmarcPolicy)
    ),
    arc=st.builds(Arc, result=RESULT, instances=st.integers(0, 60), trusted=TEXT, why=TEXT),
    iprev=st.builds(IpRev, result=RESULT, name=TEXT),
)  # fmt: skip


@given(IDENTITY, st.from_regex(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", fullmatch=True), TEXT)
@settings(max_examples=500, deadline=None)
def test_what_is_written_is_read_back(identity: AuthIdentity, site: str, ip: str) -> None:
    """Invariant: one line of printable ASCII, in which authres finds each result with each of its
    values, and nothing else.
    """
    value = authentication_results(identity, site, ip=ip)
    assert value.isascii()
    assert value.isprintable()
    read = authres.AuthenticationResultsHeader.parse_value(value)
    without_comments = re.sub(r" \((?:p|i)=[^()]*\)", "", value)
    assert read.header_value().lower() == without_comments.lower()  # authres lowers the site's name
    methods = [(part.method, part.result) for part in read.results]
    expected = [("spf", identity.spf.result)]
    expected += [("spf", identity.spf_helo.result)] if identity.spf_helo.domain else []
    expected += [("dkim", one.result) for one in identity.dkim] or [("dkim", AuthResult.NONE)]
    expected += [("dmarc", identity.dmarc.result)]
    assert methods[: len(expected)] == expected
    assert {method for method, _result in methods[len(expected) :]} <= {"arc", "iprev"}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("mx.test; dmarc=pass header.from=a.test", "pass"),
        ("mx.test; spf=fail; dmarc=fail (p=REJECT sp=REJECT dis=NONE) header.from=a.test", "fail"),
        ("mx.test 1; dmarc=temperror", "temperror"),
        ("mx.test; DMARC=Pass", "pass"),
        ("i=1; mx.test; dmarc=pass", "pass"),
        (b"i=50;\r\n\tmx.test;\r\n\tspf=none;\r\n\tdmarc=permerror", "permerror"),
        ("i=1; mx.test; dmarc=pass; dmarc=pass", "pass"),
        # contradictions, other words, other places: nothing
        ("i=1; mx.test; dmarc=pass; dmarc=fail", "none"),
        ("mx.test; dmarc=bestguesspass", "none"),
        ("mx.test; dmarc=none", "none"),
        ("mx.test; spf=pass smtp.mailfrom=dmarc=pass", "none"),
        ('mx.test; spf=pass reason="; dmarc=pass"', "none"),
        ("mx.test; spf=pass (; dmarc=pass)", "none"),
        ("mx.test; none", "none"),
        ("mx.test", "none"),
        ("i=1", "none"),
        ("", "none"),
        (b"\xff\x00", "none"),
        ("mx.test; dmarc=pass" + " " * MAX_READ, "none"),
    ],
)  # fmt: skip
def test_what_others_say_of_dmarc(value: str | bytes, result: str) -> None:
    assert dmarc_of(value).result == result


def test_headers_of_large_sites() -> None:
    google = (
        "i=2; mx.google.com;\r\n       dkim=pass header.i=@gmail.com header.s=20230601 "
        "header.b=KC8N+/x=;\r\n"
        "       arc=pass (i=1 spf=pass spfdomain=a.test dkim=pass dkdomain=a.test dmarc=pass "
        "fromdomain=a.test);\r\n"
        "       spf=pass (google.com: domain of a@a.test designates 192.0.2.1 as permitted "
        "sender) smtp.mailfrom=a@a.test;\r\n"
        "       dmarc=fail (p=NONE sp=QUARANTINE dis=NONE) header.from=gmail.com"
    )
    microsoft = (
        "i=1; mx.microsoft.com 1; spf=pass\r\n smtp.mailfrom=a.test; dmarc=pass action=none "
        "header.from=a.test;\r\n"
        " dkim=pass header.d=a.test; arc=none"
    )
    assert dmarc_of(google).result is AuthResult.FAIL
    assert dmarc_of(microsoft).result is AuthResult.PASS


@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='i=1;mx.test dmarcpassfail()"\\\r\n\t/=@', max_size=200),
    )
)
@settings(max_examples=500, deadline=None)
def test_any_header_is_survived(value: bytes | str) -> None:
    """Invariant: a word that DMARC has."""
    assert dmarc_of(value).result in set(AuthResult) - {
        AuthResult.SOFTFAIL,
        AuthResult.NEUTRAL,
        AuthResult.POLICY,
    }


@pytest.mark.parametrize(
    "part", ["(", "a=b ", "smtp.x=y ", "; spf=pass", "\\a", '"', "\r\n ", ";", "i=1;", "((a)"]
)
def test_hostile_headers_take_no_time(part: str) -> None:
    start = time.monotonic()
    for value in (
        part * 2_000_000,
        ("mx.test; spf=pass " + part * MAX_READ)[:MAX_READ],
        f"mx.test; dmarc=pass {part * 500}",
    ):
        dmarc_of(value)
    assert time.monotonic() - start < LONG_S


def test_authres_holds_what_it_promises() -> None:
    """Its own examples, those of RFC 8601 among them, run against the version that is installed."""
    examples = Path(authres.core.__file__).parent / "tests"
    failed, tried = doctest.testfile(str(examples), module_relative=False)
    assert tried > 300
    assert failed == 0


@pytest.mark.parametrize(
    ("value", "domain"),
    [
        ("i=1; mx.test; dmarc=pass header.from=Bank.Example", "bank.example"),
        ("mx.test; dmarc=pass (p=reject) header.from=bank.example; spf=pass", "bank.example"),
        ("mx.test; dmarc=pass", ""),
        ("mx.test; dmarc=pass header.from=a.example; dmarc=pass header.from=b.example", ""),
    ],
)
def test_of_which_domain_a_header_speaks(value: str, domain: str) -> None:
    assert dmarc_of(value).domain == domain
