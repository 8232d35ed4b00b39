"""DKIM: each way a signature can be right, wrong or unreadable, in the words of RFC 8601."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.hashes import SHA1

from oborona.authentication.dkim import LIMIT, MAX_READ, dkim_questions, verify_dkim
from oborona.authentication.model import AuthResult, DkimSignature
from oborona.authentication.signed_message import read_signed_message
from tests.asking import Table
from tests.authentication.signing import LETTER, NOW, Pen, dkim_field, ed25519, rsa

VECTORS = Path(__file__).parent / "vectors"
KEY_512 = (  # Launchpad's of old, in the tests of dkimpy
    "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBANmBe10IgY+u7h3enWTukkqtUD5PR52T"
    "b/mPfjC0QJTocVBq6Za/PlzfV+Py92VaCak19F4WrbVTK5Gg5tW220MCAwEAAQ=="
)


def table(*records: str, name: str = "s1._domainkey.example.org") -> Table:
    return Table({name: {"TXT": list(records)}})


async def one(
    raw: bytes, keys: Table | None = None, *, now: float = NOW, truncated: bool = False
) -> DkimSignature:
    letter = read_signed_message(raw, truncated=truncated)
    found, more = await verify_dkim(letter, keys or table(rsa().record), now=now)
    assert len(found) == 1
    assert more == 0
    return found[0]


def signed(pen: Pen | None = None, raw: bytes = LETTER, **options: object) -> bytes:
    return dkim_field(raw, pen or rsa(), **options) + raw  # type: ignore[arg-type]


# -- that pass -------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["simple", "relaxed"])
@pytest.mark.parametrize("body", ["simple", "relaxed"])
@pytest.mark.parametrize("pen", [rsa, ed25519])
async def test_a_signature_passes(head: str, body: str, pen: Callable[[], Pen]) -> None:
    found = await one(signed(pen(), canon=f"{head}/{body}"), table(pen().record))
    assert found.result is AuthResult.PASS, found.why
    assert (found.domain, found.selector, found.identity) == ("example.org", "s1", "@example.org")
    assert found.algorithm == f"{pen().kind}-sha256"
    assert found.key_bits == (1024 if pen is rsa else 256)
    assert found.length is None
    assert not found.testing
    assert len(found.start) == 8


@pytest.mark.parametrize("bits", [1024, 2048, 4096])
async def test_rsa_keys_from_1024_bits(bits: int) -> None:
    pen = rsa(bits)
    found = await one(signed(pen), table(pen.record))
    assert (found.result, found.key_bits) == (AuthResult.PASS, bits)


async def test_the_example_of_rfc_8463() -> None:
    keys = Table(
        {
            "brisbane._domainkey.football.example.com": {
                "TXT": "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
            },
            "test._domainkey.football.example.com": {
                "TXT": (VECTORS / "dkimpy/test.txt").read_text().strip()
            },
        }
    )
    letter = read_signed_message((VECTORS / "rfc8463.eml").read_bytes())
    found, more = await verify_dkim(letter, keys, now=NOW)
    assert [(one.algorithm, one.result) for one in found] == [
        ("ed25519-sha256", AuthResult.PASS),
        ("rsa-sha256", AuthResult.PASS),
    ]
    assert more == 0
    assert dkim_questions(letter, now=NOW) == (
        "brisbane._domainkey.football.example.com",
        "test._domainkey.football.example.com",
    )


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        pytest.param({}, {"c": None}, id="no c= is simple/simple"),
        pytest.param({"canon": "relaxed"}, {}, id="relaxed alone is relaxed/simple"),
        pytest.param({}, {"i": "anna@example.org"}, id="i= with local part"),
        pytest.param({}, {"i": "anna@mail.EXAMPLE.org"}, id="i= in a subdomain"),
        pytest.param({}, {"i": '"a;@b"@example.org'.replace(";", "=3B")}, id="i= quoted"),
        pytest.param({}, {"q": "http/x : dns/txt"}, id="one query method of several"),
        pytest.param({}, {"t": str(NOW)}, id="t="),
        pytest.param({}, {"t": str(NOW + 200)}, id="clock a little ahead"),
        pytest.param({}, {"t": str(NOW), "x": str(NOW + 1)}, id="x="),
        pytest.param({}, {"x": str(NOW - 200)}, id="clock a little behind"),
        pytest.param({}, {"z": "From:x|To:y", "zz": "1", "r_1": "y"}, id="unknown tags"),
        pytest.param(
            {"signed": ["From", "X-None", "x-none", "To"]}, {}, id="fields that are not there"
        ),
        pytest.param(
            {"signed": ["FROM", "from", "sUbJect"]}, {}, id="From signed once more than it is there"
        ),
        pytest.param({}, {"h": "from : to :\r\n\t subject"}, id="h= folded"),
        pytest.param({}, {"d": "EXAMPLE.org"}, id="d= in upper case"),
    ],
)
async def test_variants_that_pass(change: dict[str, object], tags: dict[str, str | None]) -> None:
    options: dict[str, object] = {"canon": "simple/simple"} if "c" in tags else {}
    found = await one(dkim_field(LETTER, rsa(), tags=tags, **{**options, **change}) + LETTER)  # type: ignore[arg-type]
    assert found.result is AuthResult.PASS, found.why
    assert found.domain == "example.org"


@pytest.mark.parametrize(
    "record",
    [
        pytest.param("p={}", id="k= and v= left out"),
        pytest.param("v=DKIM1; h=sha1:sha256; s=*; t=y:x; n=notes; x=1; p={};", id="all tags"),
        pytest.param("k=rsa; v=DKIM1; p={}", id="v= not first: senders do it, dkimpy takes it"),
        pytest.param("v=DKIM1; s=other : email; p={}", id="several services"),
        pytest.param(" v = DKIM1 ;\tp = {} ", id="white space"),
    ],
)
async def test_key_records_that_pass(record: str) -> None:
    found = await one(signed(), table(record.format(rsa().material)))
    assert found.result is AuthResult.PASS, found.why
    assert found.testing is ("t=y" in record)


async def test_a_signature_field_refolded_on_its_way_still_passes_relaxed() -> None:
    raw = signed().replace(b"; d=", b";\r\n\td=").replace(b"DKIM-Signature: ", b"dkim-SIGNATURE:  ")
    assert (await one(raw)).result is AuthResult.PASS


async def test_line_feeds_alone_are_line_ends() -> None:
    for canon in ("simple/simple", "relaxed/relaxed"):
        assert (await one(signed(canon=canon).replace(b"\r\n", b"\n"))).result is AuthResult.PASS


@pytest.mark.parametrize("canon", ["simple/simple", "relaxed/relaxed"])
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"From: a@example.org\r\n\r\n", id="no body"),
        pytest.param(b"From: a@example.org\r\n", id="no empty line"),
        pytest.param(b"From: a@example.org", id="no line end"),
        pytest.param(b"From: a@example.org\r\n folded", id="no line end after a folded line"),
        pytest.param(b"From: a@example.org\r\n\r\n\r\n\r\n", id="empty lines"),
        pytest.param(b"From: a@example.org\r\n\r\ntext", id="body without line end"),
        pytest.param(b"From: a@example.org\r\n\r\n\r\rtext\r\r\n\r\n", id="bare CR"),
        pytest.param(
            b"From: \xff\xfe\x00 <a@example.org>\r\n\r\n\x00\xff \t \r\n", id="octets of all kinds"
        ),
    ],
)
async def test_odd_messages_pass_as_signed(raw: bytes, canon: str) -> None:
    found = await one(signed(raw=raw, canon=canon))
    assert found.result is AuthResult.PASS, found.why


async def test_u_labels_are_asked_for_as_a_labels() -> None:
    keys = table(rsa().record, name="xn--tea-dma._domainkey.xn--bcher-kva.example")
    found = await one(
        signed(tags={"d": "bücher.example", "i": "@bücher.example", "s": "teaé"}), keys
    )
    assert (found.result, found.domain) == (AuthResult.PASS, "xn--bcher-kva.example")
    assert found.selector == "xn--tea-dma"


async def test_several_key_records_are_tried_in_turn() -> None:
    found = await one(
        signed(), table("v=spf1 -all", ed25519().record, rsa(1024, 2).record, rsa().record)
    )
    assert found.result is AuthResult.PASS
    other = await one(signed(), table(rsa(1024, 2).record, ed25519().record))
    assert (other.result, other.why) == (AuthResult.FAIL, "signature did not verify")


# -- l= --------------------------------------------------------------------------------------------


async def test_what_is_signed_of_a_body_and_what_is_not() -> None:
    raw = signed(length=12, canon="simple/simple")
    found = await one(raw + b"buy here\r\n")
    assert found.result is AuthResult.PASS
    assert found.length == 12
    body = LETTER.partition(b"\r\n\r\n")[2] + b"buy here\r\n"
    assert found.unsigned == len(body) - 12
    whole = len(body) - len(b"buy here\r\n\r\n\r\n")
    assert (await one(signed(length=whole, canon="simple/simple"))).unsigned == 0


async def test_a_body_shorter_than_signed_fails() -> None:
    found = await one(signed(tags={"l": "5000"}))
    assert (found.result, found.why) == (AuthResult.FAIL, "body is shorter than l=")


# -- that do not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"at four?", b"at five?", "body hash did not verify"),
        (b"Anna\r\n", b"Anna\r\nbuy here\r\n", "body hash did not verify"),
        (b"Subject: Tea", b"Subject: Pea", "signature did not verify"),
        (b"To: Boris", b"To: Boris, all", "signature did not verify"),
        (b"; d=", b"; n=1; d=", "signature did not verify"),
        (
            b"From: Anna",
            b"From: Bank <bank@example.com>\r\nFrom: Anna",
            "a From field is not signed",
        ),
        (b"\r\nDate:", b"\r\nFrom: Bank <bank@example.com>\r\nDate:", "a From field is not signed"),
    ],
)
async def test_an_altered_message_fails(old: bytes, new: bytes, why: str) -> None:
    raw = signed()
    assert raw.count(old) == 1
    keys = table(rsa().record)
    found = await one(raw.replace(old, new), keys)
    assert (found.result, found.why) == (AuthResult.FAIL, why)
    asked = why == "signature did not verify"
    assert (found.key_bits, bool(keys.asked)) == (1024 if asked else 0, asked), (
        "only what hangs on the key asks for it"
    )
    assert bool(dkim_questions(read_signed_message(raw.replace(old, new)), now=NOW)) is asked


async def test_a_field_added_that_was_signed_as_missing_fails() -> None:
    raw = signed(signed=["From", "Reply-To"])
    assert (await one(b"Reply-To: x@example.com\r\n" + raw)).result is AuthResult.FAIL


async def test_a_signature_of_another_key_fails() -> None:
    assert (await one(signed(rsa(1024, 2)))).result is AuthResult.FAIL
    assert (await one(signed(ed25519()), table(ed25519(2).record))).result is AuthResult.FAIL


async def test_a_signature_cut_or_swollen_fails() -> None:
    for b in ("AAAA", "A" * 1000, "////"):
        assert (await one(signed(tags={"b": b}))).result is AuthResult.FAIL


async def test_sha1_never_passes() -> None:
    found = await one(signed(hashed=SHA1()))
    assert (found.result, found.why) == (AuthResult.POLICY, "rsa-sha1")
    assert found.algorithm == "rsa-sha1"


async def test_a_short_key_never_passes() -> None:
    found = await one(signed(), table(f"p={KEY_512}"))
    assert (found.result, found.why, found.key_bits) == (AuthResult.POLICY, "key of 512 bits", 512)


@pytest.mark.parametrize(
    ("tags", "result", "why"),
    [
        ({"v": "2"}, AuthResult.NEUTRAL, "incompatible version"),
        ({"v": None}, AuthResult.NEUTRAL, "no v="),
        ({"a": "rsa-sha512"}, AuthResult.NEUTRAL, "unknown algorithm"),
        ({"a": "RSA-SHA256"}, AuthResult.NEUTRAL, "unknown algorithm"),
        ({"a": ""}, AuthResult.NEUTRAL, "unknown algorithm"),
        ({"a": None}, AuthResult.NEUTRAL, "no a="),
        ({"bh": None}, AuthResult.NEUTRAL, "no bh="),
        ({"bh": "!!!!"}, AuthResult.NEUTRAL, "bh= is no base64"),
        ({"bh": ""}, AuthResult.NEUTRAL, "bh= is no base64"),
        ({"bh": "AAA"}, AuthResult.NEUTRAL, "bh= is no base64"),
        ({"b": "x"}, AuthResult.NEUTRAL, "b= is no base64"),
        ({"b": ""}, AuthResult.NEUTRAL, "b= is no base64"),
        ({"b": "AAAA=AAA"}, AuthResult.NEUTRAL, "b= is no base64"),
        ({"c": "relaxed/strict"}, AuthResult.NEUTRAL, "unknown canonical form"),
        ({"c": "relaxed/"}, AuthResult.NEUTRAL, "unknown canonical form"),
        ({"c": ""}, AuthResult.NEUTRAL, "unknown canonical form"),
        ({"d": None}, AuthResult.NEUTRAL, "no d="),
        ({"d": ""}, AuthResult.NEUTRAL, "d= is no name"),
        ({"d": "localhost"}, AuthResult.NEUTRAL, "d= is no name"),
        ({"d": "192.0.2.1"}, AuthResult.NEUTRAL, "d= is no name"),
        ({"d": "a..example"}, AuthResult.NEUTRAL, "d= is no name"),
        ({"d": "example.org(x)"}, AuthResult.NEUTRAL, "d= is no name"),
        ({"d": "a." * 130 + "example"}, AuthResult.NEUTRAL, "d= is no name"),
        ({"s": None}, AuthResult.NEUTRAL, "no s="),
        ({"s": ""}, AuthResult.NEUTRAL, "s= is no name"),
        ({"s": "a b"}, AuthResult.NEUTRAL, "s= is no name"),
        ({"h": None}, AuthResult.NEUTRAL, "no h="),
        ({"h": ""}, AuthResult.PERMERROR, "From is not signed"),
        ({"h": "To:Subject"}, AuthResult.PERMERROR, "From is not signed"),
        ({"i": "anna@example.com"}, AuthResult.PERMERROR, "i= is not within d="),
        ({"i": "anna@notexample.org"}, AuthResult.PERMERROR, "i= is not within d="),
        ({"i": "example.org"}, AuthResult.PERMERROR, "i= is not within d="),
        ({"i": "@org"}, AuthResult.PERMERROR, "i= is not within d="),
        ({"i": ""}, AuthResult.PERMERROR, "i= is not within d="),
        ({"l": "-1"}, AuthResult.NEUTRAL, "l= is no number"),
        ({"l": "1" * 77}, AuthResult.NEUTRAL, "l= is no number"),
        ({"l": "9" * 76}, AuthResult.FAIL, "body is shorter than l="),
        ({"q": "http/x"}, AuthResult.NEUTRAL, "unknown query method"),
        ({"t": "soon"}, AuthResult.NEUTRAL, "t= is no number"),
        ({"t": ""}, AuthResult.NEUTRAL, "t= is no number"),
        ({"t": str(NOW + 3600)}, AuthResult.PERMERROR, "signed in the future"),
        ({"x": "1e9"}, AuthResult.NEUTRAL, "x= is no number"),
        ({"x": str(NOW - 3600)}, AuthResult.PERMERROR, "signature expired"),
        ({"t": str(NOW), "x": str(NOW)}, AuthResult.PERMERROR, "expired before it was signed"),
    ],
)
async def test_what_a_signature_may_not_say(
    tags: dict[str, str | None], result: AuthResult, why: str
) -> None:
    found = await one(signed(tags=tags))
    assert (found.result, found.why) == (result, why)


@pytest.mark.parametrize(
    ("field", "domain"),
    [
        (b"DKIM-Signature:\r\n", ""),
        (b"DKIM-Signature: rubbish\r\n", ""),
        (b"DKIM-Signature: v=1; v=1; d=example.org\r\n", ""),
        (b"DKIM-Signature: v=1;; d=example.org\r\n", ""),
        (b"DKIM-Signature: 1=v; d=example.org\r\n", ""),
        (b"DKIM-Signature: =\r\n", ""),
        (b"DKIM-Signature: \xff\x00=\xff; d=example.org\r\n", ""),
        (b"DKIM-Signature: d=example.org; s=\xff\r\n", "example.org"),
        (b"DKIM-Signature: d=example.org; s=s1; i=\xff\x00\r\n\x1b;\r\n", "example.org"),
        (b"DKIM-Signature: " + b"; ".join(b"a%d=1" % n for n in range(100)) + b"\r\n", ""),
    ],
)
async def test_what_can_not_be_read_is_neutral_and_printable(field: bytes, domain: str) -> None:
    keys = table(rsa().record)
    found = await one(field + LETTER, keys)
    assert (found.result, found.domain) == (AuthResult.NEUTRAL, domain)
    assert keys.asked == []
    assert found.why
    assert all(
        part.isprintable() for part in (found.why, found.identity, found.start, found.algorithm)
    )


@pytest.mark.parametrize(
    ("records", "result", "why"),
    [
        ([], AuthResult.PERMERROR, "no key for signature"),
        (["v=spf1 -all"], AuthResult.PERMERROR, "key version"),
        (["v=DKIM2; p={}"], AuthResult.PERMERROR, "key version"),
        (["p="], AuthResult.PERMERROR, "key revoked"),
        (["v=DKIM1"], AuthResult.PERMERROR, "key syntax error"),
        (["v=DKIM1; p=!!!"], AuthResult.PERMERROR, "key syntax error"),
        (["v=DKIM1; p=AAAA"], AuthResult.PERMERROR, "key syntax error"),
        (["v=DKIM1; p={}; p={}"], AuthResult.PERMERROR, "key syntax error"),
        (["v=DKIM1; p={}"[:-1] + "x" * 9000 + "}"], AuthResult.PERMERROR, "key syntax error"),
        (["v=DKIM1; k=dsa; p={}"], AuthResult.PERMERROR, "key type unknown"),
        (["v=DKIM1; k=ed25519; p={}"], AuthResult.PERMERROR, "key syntax error"),
        (["v=DKIM1; s=tlsrpt; p={}"], AuthResult.PERMERROR, "key is not for mail"),
        (["v=DKIM1; s=; p={}"], AuthResult.PERMERROR, "key is not for mail"),
        (["v=DKIM1; h=sha1; p={}"], AuthResult.PERMERROR, "inappropriate hash algorithm"),
        ([ed25519().record], AuthResult.PERMERROR, "inappropriate key algorithm"),
        (["v=DKIM1; t=s; p={}"], AuthResult.PERMERROR, "key is not for the subdomain in i="),
    ],
)
async def test_keys_that_can_not_be_used(records: list[str], result: AuthResult, why: str) -> None:
    filled = [
        record.replace("{}", rsa().material).replace("{x", "x").replace("x}", "x")
        for record in records
    ]
    keys = table(*filled) if filled else Table()
    found = await one(signed(tags={"i": "anna@mail.example.org"}), keys)
    assert (found.result, found.why) == (result, why)


async def test_a_key_for_one_domain_takes_an_identity_of_that_domain() -> None:
    found = await one(signed(tags={"i": "anna@example.org"}), table(f"t=s; p={rsa().material}"))
    assert found.result is AuthResult.PASS


async def test_a_key_that_can_not_be_asked_for_is_a_temperror() -> None:
    found = await one(signed(), Table(broken=[("*", "*")]))
    assert (found.result, found.why) == (AuthResult.TEMPERROR, "key: timeout")


@pytest.mark.parametrize("cut", [0, 1, 40])
async def test_a_message_without_its_end_is_neutral_if_its_header_bears_the_signature_out(
    cut: int,
) -> None:
    raw = signed()
    found = await one(raw[: len(raw) - cut], truncated=True)
    assert (found.result, found.why) == (AuthResult.NEUTRAL, "message too large to check")
    assert (found.unseen, found.key_bits) == (True, 1024)


@pytest.mark.parametrize(
    ("raw", "records", "result", "why"),
    [
        (signed().replace(b"Subject: Tea", b"Subject: Pea"), [rsa().record], "fail", "signature did not verify"),
        (signed(), [ed25519().record], "permerror", "inappropriate key algorithm"),
        (signed(), [], "permerror", "no key for signature"),
        (signed(tags={"x": str(NOW - 9_000)}), [rsa().record], "permerror", "signature expired"),
        (b"From: Bank <bank@example.com>\r\n" + signed(), [rsa().record], "fail", "a From field is not signed"),
        (signed().partition(b"\r\n\r\n")[0], [rsa().record], "neutral", "header too large to check"),
        (signed().partition(b"\r\n\r\n")[0] + b"\r\nSub", [rsa().record], "neutral", "header too large to check"),
        (b"X: y\r\n" * 10_001 + signed(), [rsa().record], "", ""),
        (signed().replace(b"\r\nFrom:", b"\r\nX: y" * 10_000 + b"\r\nFrom:"), [rsa().record], "neutral", "header too large to check"),
    ],
    ids=["altered", "other key", "no key", "expired", "From added", "header cut", "field cut", "no signature left", "fields left out"],
)  # fmt: skip
async def test_without_its_end_a_message_is_no_way_past_its_header(
    raw: bytes, records: list[str], result: str, why: str
) -> None:
    letter = read_signed_message(raw, truncated=True)
    found, _ = await verify_dkim(letter, table(*records) if records else Table(), now=NOW)
    assert [(one.result, one.why) for one in found] == ([(result, why)] if result else [])
    assert not any(one.unseen for one in found)


async def test_a_message_without_signatures() -> None:
    assert await verify_dkim(read_signed_message(LETTER), Table(), now=NOW) == ((), 0)
    assert await verify_dkim(read_signed_message(b""), Table(), now=NOW) == ((), 0)


async def test_signatures_beyond_the_limit_are_counted() -> None:
    raw = signed()
    field = raw[: -len(LETTER)]
    letter = read_signed_message(field * 500 + LETTER)
    keys = table(rsa().record)
    found, more = await verify_dkim(letter, keys, now=NOW)
    assert [one.result for one in found] == [AuthResult.PASS] * LIMIT
    assert more == 500 - LIMIT
    assert len(keys.asked) == LIMIT
    assert dkim_questions(letter, now=NOW) == ("s1._domainkey.example.org",)


async def test_beyond_the_limit_those_of_the_author_are_looked_at_first() -> None:
    others = b"".join(
        dkim_field(LETTER, rsa(), tags={"d": f"list{number}.example"}) for number in range(LIMIT)
    )
    own, sub = (
        dkim_field(LETTER, rsa(), tags={"d": name}) for name in ("example.org", "mail.example.org")
    )
    letter = read_signed_message(others + own + sub + LETTER)
    keys = table(rsa().record)
    found, more = await verify_dkim(
        letter, keys, now=NOW, from_domains=("Shop.EXAMPLE.org.", "localhost")
    )
    assert [one.domain for one in found] == [
        *(f"list{number}.example" for number in range(LIMIT - 2)), "example.org", "mail.example.org",
    ]  # fmt: skip
    assert more == 2
    wanted = dkim_questions(letter, now=NOW, from_domains=("Shop.EXAMPLE.org.", "localhost"))
    assert wanted[:2] == ("s1._domainkey.example.org", "s1._domainkey.mail.example.org"), (
        "they have the budget first"
    )
    assert set(wanted) == {name for name, _ in keys.asked}
    without, _ = await verify_dkim(letter, keys, now=NOW)
    assert [one.domain for one in without] == [f"list{number}.example" for number in range(LIMIT)]


async def test_the_search_for_the_author_has_a_limit() -> None:
    """Reading thousands of signatures would cost more than checking eight."""
    own = dkim_field(LETTER, rsa())
    other = b"DKIM-Signature: v=1; a=rsa-sha256; d=list.example; s=s; h=from; bh=AAAA; b=AAAA\r\n"
    for before, seen in ((MAX_READ - 1, True), (MAX_READ, False)):
        letter = read_signed_message(other * before + own + LETTER)
        found, more = await verify_dkim(
            letter, table(rsa().record), now=NOW, from_domains=["example.org"]
        )
        assert (AuthResult.PASS in {one.result for one in found}) is seen
        assert more == before + 1 - LIMIT


async def test_each_signature_has_its_own_result_topmost_first() -> None:
    good = dkim_field(LETTER, rsa())
    other = dkim_field(LETTER, rsa(), tags={"d": "example.net"})
    found, _ = await verify_dkim(
        read_signed_message(b"DKIM-Signature: x\r\n" + other + good + LETTER),
        table(rsa().record),
        now=NOW,
    )
    assert [(one.result, one.domain) for one in found] == [
        (AuthResult.NEUTRAL, ""),
        (AuthResult.PERMERROR, "example.net"),
        (AuthResult.PASS, "example.org"),
    ]


# -- the messages of dkimpy's own tests ------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "results"),
    [
        ("rfc6376.signed.msg", [AuthResult.PASS, AuthResult.PASS]),
        ("rfc6376.signed.rsa.msg", [AuthResult.PASS]),
        ("rfc6376.signed.no_t.msg", [AuthResult.FAIL]),
        ("ed25519test2.msg", [AuthResult.PASS]),  # signed by Exim
        ("test.message.baddomain", [AuthResult.NEUTRAL]),  # d=legitimate.com(.attacker.com
        ("rfc6376.w1258.msg", []),
    ],
)
async def test_messages_of_dkimpy(file: str, results: list[AuthResult]) -> None:
    folder = VECTORS / "dkimpy"
    keys = Table(
        {
            "brisbane._domainkey.football.example.com": {
                "TXT": "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
            },
            "test._domainkey.football.example.com": {
                "TXT": (folder / "test.txt").read_text().strip()
            },
            "sed._domainkey.test.ex": {"TXT": (folder / "eximtest.dns").read_text().strip()},
        }
    )
    found, _ = await verify_dkim(read_signed_message((folder / file).read_bytes()), keys, now=NOW)
    assert [one.result for one in found] == results


@pytest.mark.parametrize(
    ("file", "result"),
    [
        ("test.txt", AuthResult.PASS),
        ("badk.txt", AuthResult.PERMERROR),
        ("badversion.txt", AuthResult.PERMERROR),
        ("test_bad.txt", AuthResult.PERMERROR),
        ("test_tlsrpt.txt", AuthResult.PERMERROR),
    ],
)
async def test_key_records_of_dkimpy(file: str, result: AuthResult) -> None:
    raw = (VECTORS / "dkimpy/rfc6376.signed.rsa.msg").read_bytes()
    record = (VECTORS / "dkimpy" / file).read_text().strip()
    found = await one(raw, table(record, name="test._domainkey.football.example.com"))
    assert found.result is result, found.why
    assert re.fullmatch("[ -~]*", found.why)
