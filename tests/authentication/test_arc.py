"""ARC: whole chains, and every way a chain may be broken (RFC 8617 section 5.2).

The subjects are those of the drafts' arc_test_suite.
"""

from __future__ import annotations

from collections.abc import Container

import dkim
import pytest
from cryptography.hazmat.primitives.hashes import SHA1

from oborona.authentication.arc import arc_questions, verify_arc
from oborona.authentication.model import Arc, AuthResult
from oborona.authentication.signed_message import read_signed_message
from tests.asking import Table
from tests.authentication.signing import AAR, LETTER, NOW, chain, ed25519, rsa, sealed
from tests.authentication.test_dkim import KEY_512, table


async def verified(
    raw: bytes, keys: Table | None = None, *, trusted: Container[str] = (), truncated: bool = False
) -> Arc:
    letter = read_signed_message(raw, truncated=truncated)
    return await verify_arc(letter, keys or table(rsa().record), now=NOW, trusted=trusted)


# -- chains that pass ------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 50])
async def test_a_whole_chain_passes(length: int) -> None:
    found = await verified(chain(LETTER, length))
    assert (found.result, found.why) == (AuthResult.PASS, "")
    assert found.instances == length
    assert found.sealers == ("example.org",) * length
    assert (found.trusted, found.dmarc) == ("", AuthResult.NONE)


async def test_ed25519_seals() -> None:
    raw = chain(LETTER, 2, ed25519())
    assert (await verified(raw, table(ed25519().record))).result is AuthResult.PASS


async def test_no_chain() -> None:
    keys = Table()
    for raw in (LETTER, b"", b"\r\n\r\n", b"no header"):
        assert await verified(raw, keys) == Arc()
    assert keys.asked == []


async def test_dkimpy_seals_and_it_passes() -> None:
    raw = LETTER
    for number, arc in enumerate((b"none", b"pass", b"pass"), 1):
        seen = b"Authentication-Results: mx%d.example; spf=pass; arc=%b\r\n" % (number, arc) + raw
        site = b"mx%d.example" % number
        lines = dkim.arc_sign(seen, b"s1", b"example.org", rsa().pem, site, timestamp=NOW - 60)
        assert len(lines) == 3
        raw = b"".join(lines) + seen
        found = await verified(raw)
        assert (found.result, found.instances, found.why) == (AuthResult.PASS, number, "")


@pytest.mark.parametrize("order", ["sma", "ams", "mas", "asm"])
async def test_the_order_of_the_fields_of_a_set_does_not_matter(order: str) -> None:
    raw = sealed(sealed(LETTER, parts=order), instance=2, parts=order)
    assert (await verified(raw)).result is AuthResult.PASS


async def test_sets_in_any_order_and_other_fields_between() -> None:
    raw = chain(LETTER, 3)
    fields = raw.replace(b"\r\n ", b"\0").partition(b"Received:")[0].splitlines(keepends=True)
    mixed = b"X-Other: 1\r\n".join([*fields[6:], *fields[:3], *fields[3:6]])
    raw = mixed.replace(b"\0", b"\r\n ") + raw[raw.index(b"Received:") :]
    assert (await verified(raw)).result is AuthResult.PASS


@pytest.mark.parametrize(
    ("message", "seal"),
    [
        ({"zz": "unknown"}, {"zz": "unknown"}),
        ({"t": None}, {"t": None}),
        ({"t": str(NOW)}, {"t": "1"}),
        ({"s": "s1 ", "d": " EXAMPLE.org"}, {"d": "Example.ORG", "s": "s1"}),
        ({"h": "from : to\r\n : subject:x-none"}, {}),
        ({"h": "FROM:from:To"}, {}),
        ({"v": "1"}, {}),
        ({"x": str(NOW + 60)}, {"c": "relaxed/relaxed"}),
    ],
)
async def test_variants_that_pass(
    message: dict[str, str | None], seal: dict[str, str | None]
) -> None:
    raw = sealed(LETTER, message=message, seal=seal)
    for changed in (
        raw,
        raw.replace(b"\r\n", b"\n"),
        raw.replace(b"ARC-", b"arc-").replace(b"Seal", b"SEAL"),
        raw.replace(b"; a=", b";\r\n\t a="),
    ):
        found = await verified(changed)
        assert found.result is AuthResult.PASS, found.why


@pytest.mark.parametrize(
    "canon", ["simple/simple", "simple/relaxed", "relaxed/simple", "relaxed", "simple"]
)
async def test_a_message_signature_has_any_canonical_form(canon: str) -> None:
    assert (await verified(sealed(LETTER, canon=canon))).result is AuthResult.PASS


async def test_a_missing_c_is_simple() -> None:
    """As RFC 8617 s4.1.2 takes over from DKIM; in the drafts, and for dkimpy, it was relaxed."""
    assert (
        await verified(sealed(LETTER, message={"c": None}, canon="simple/simple"))
    ).result is AuthResult.PASS
    assert (
        await verified(sealed(LETTER, message={"c": None}, canon="relaxed/relaxed"))
    ).result is AuthResult.FAIL


async def test_message_and_seal_of_different_domains() -> None:
    raw = sealed(LETTER, seal={"d": "seal.example", "s": "x"})
    keys = Table(
        {
            "s1._domainkey.example.org": {"TXT": rsa().record},
            "x._domainkey.seal.example": {"TXT": rsa().record},
        }
    )
    found = await verified(raw, keys)
    assert (found.result, found.sealers) == (AuthResult.PASS, ("seal.example",))
    assert set(arc_questions(read_signed_message(raw), now=NOW)) == {
        "s1._domainkey.example.org",
        "x._domainkey.seal.example",
    }


async def test_an_older_message_signature_need_not_hold() -> None:
    once = sealed(LETTER)
    changed = once.replace(b"Subject: Tea", b"Subject: [list] Tea").replace(
        b"Anna\r\n", b"Anna\r\n-- \r\nlist\r\n"
    )
    assert (await verified(sealed(changed, instance=2))).result is AuthResult.PASS


async def test_what_the_message_signature_may_sign() -> None:
    raw = sealed(
        LETTER,
        signed=["From", "ARC-Authentication-Results", "ARC-Message-Signature", "DKIM-Signature"],
    )
    raw = sealed(raw, instance=2, signed=["From", "ARC-Authentication-Results"])
    assert (await verified(raw)).result is AuthResult.PASS


async def test_instances_with_a_leading_zero_are_instances() -> None:
    """position = 1*2DIGIT, RFC 8617 s4.2.1."""
    assert (await verified(sealed(LETTER, instance="01", cv="none"))).result is AuthResult.PASS


@pytest.mark.parametrize("prefix", ["i=1;", " i = 1 ;", "\ti\r\n =\r\n 1\r\n ;"])
async def test_the_instance_of_results_folded(prefix: str) -> None:
    raw = sealed(LETTER).replace(b"Results: i=1;", b"Results: " + prefix.encode())
    assert (await verified(raw)).why in (
        "",
        "seal 1: signature did not verify",
    )  # found, whatever it is worth


# -- chains that fail ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"at four?", b"at five?", "message signature 2: body hash did not verify"),
        (b"Subject: Tea", b"Subject: Pea", "message signature 2: signature did not verify"),
        (
            b"i=2; mx.example; spf=pass",
            b"i=2; mx.example; spf=fail",
            "seal 2: signature did not verify",
        ),
        (
            b"i=1; mx.example; spf=pass",
            b"i=1; mx.example; spf=fail",
            "seal 2: signature did not verify",
        ),
        (
            b"From: Anna",
            b"From: x@example.com\r\nFrom: Anna",
            "message signature 2: a From field is not signed",
        ),
        (b"cv=pass; d=example.org", b"cv=pass; d=example.net", "seal 2: no key for signature"),
        (b"t=1799999940; cv=none", b"t=1799999941; cv=none", "seal 2: signature did not verify"),
    ],
)
async def test_an_altered_message_fails(old: bytes, new: bytes, why: str) -> None:
    raw = chain(LETTER, 2)
    assert raw.count(old) == 1
    found = await verified(raw.replace(old, new))
    assert (found.result, found.why, found.instances) == (AuthResult.FAIL, why, 2)
    assert found.sealers == ()


async def test_a_first_seal_that_does_not_hold_fails_below_one_that_does() -> None:
    raw = sealed(sealed(LETTER, seal={"b": "AAAA"}), instance=2)
    found = await verified(raw)
    assert (found.result, found.why) == (AuthResult.FAIL, "seal 1: signature did not verify")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["pass"], "cv=pass in set 1"),
        (["fail"], "cv=fail in set 1"),
        (["none", "none"], "cv=none in set 2"),
        (["none", "fail"], "cv=fail in set 2"),
        (["none", "fail", "pass"], "cv=fail in set 2"),
        (["none", "pass", "fail"], "cv=fail in set 3"),
        (["none", "pass", "none"], "cv=none in set 3"),
        (["pass", "pass"], "cv=pass in set 1"),
        (["good"], "seal 1: unknown cv="),
        (["PASS"], "seal 1: unknown cv="),
    ],
)
async def test_cv_none_in_the_first_and_pass_in_the_others(values: list[str], why: str) -> None:
    raw = LETTER
    for instance, cv in enumerate(values, 1):
        raw = sealed(raw, instance=instance, cv=cv)
    keys = table(rsa().record)
    found = await verified(raw, keys)
    assert (found.result, found.why) == (AuthResult.FAIL, why)
    assert keys.asked == []


@pytest.mark.parametrize("part", ["s", "m", "a"])
@pytest.mark.parametrize("instance", [1, 2, 3])
async def test_a_field_that_is_missing_or_twice_fails(part: str, instance: int) -> None:
    names = {"s": "arc-seal", "m": "arc-message-signature", "a": "arc-authentication-results"}
    rest = "sma".replace(part, "")
    raw = LETTER
    twice = LETTER
    for number in (1, 2, 3):
        raw = sealed(raw, instance=number, parts=rest if number == instance else "sma")
        twice = sealed(twice, instance=number, parts="sma" + part if number == instance else "sma")
    found = await verified(raw)
    assert (found.result, found.why) == (AuthResult.FAIL, f"no {names[part]} in set {instance}")
    found = await verified(twice)
    assert (found.result, found.why) == (AuthResult.FAIL, f"{names[part]} twice in set {instance}")


async def test_a_set_that_is_missing_fails() -> None:
    for numbers in ([2], [1, 3], [2, 3], [50]):
        raw = LETTER
        for number in numbers:
            raw = sealed(raw, instance=number)
        found = await verified(raw)
        assert found.result is AuthResult.FAIL
        assert found.why.endswith(f"in set {min(set(range(1, 4)) - set(numbers))}")


@pytest.mark.parametrize(
    "instance", ["0", "51", "99", "100", "001", "", "x", "1x", "-1", "+1", "1.0", "one", "\u0661"]
)
async def test_instances_that_are_none_fail(instance: str) -> None:
    found = await verified(sealed(LETTER, instance=instance, cv="none"))
    assert found.result is AuthResult.FAIL
    assert found.why.endswith("without instance")


@pytest.mark.parametrize(
    "field", ["ARC-Seal", "ARC-Message-Signature", "ARC-Authentication-Results"]
)
async def test_one_field_without_instance_spoils_a_chain(field: str) -> None:
    for value in ("x", "", "d=example.org; s=s1", "mx.example; i=2", "i=1 i=2;"):
        found = await verified(f"{field}: {value}\r\n".encode() + chain(LETTER, 2))
        assert (found.result, found.why) == (AuthResult.FAIL, f"{field.lower()} without instance")


async def test_more_than_fifty_sets_fail() -> None:
    set_51 = sealed(LETTER, instance=51, cv="pass")[: -len(LETTER)]
    keys = table(rsa().record)
    found = await verified(set_51 + chain(LETTER, 50), keys)
    assert (found.result, found.why) == (AuthResult.FAIL, "more than 50 sets")
    assert keys.asked == []


async def test_a_seal_must_not_have_h() -> None:
    found = await verified(sealed(LETTER, seal={"h": "from:to"}))
    assert (found.result, found.why) == (AuthResult.FAIL, "seal 1: h= in a seal")


async def test_a_message_signature_must_not_sign_seals() -> None:
    found = await verified(sealed(LETTER, signed=["From", "ARC-Seal"]))
    assert (found.result, found.why) == (AuthResult.FAIL, "message signature 1: a seal is signed")


async def test_a_message_signature_must_sign_from() -> None:
    """As RFC 8617 s4.1.2 takes over from DKIM; the suite of the drafts, and dkimpy, let it pass."""
    for tags in ({"h": ""}, {"h": "to:subject"}):
        found = await verified(sealed(LETTER, message=tags))
        assert (found.result, found.why) == (
            AuthResult.FAIL,
            "message signature 1: From is not signed",
        )


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ({"a": None}, "no a="),
        ({"a": ""}, "unknown algorithm"),
        ({"a": "rsa-sha1"}, "rsa-sha1"),
        ({"a": "rsa-sha512"}, "unknown algorithm"),
        ({"b": "yo-mama"}, "b= is no base64"),
        ({"b": "AAAA"}, "signature did not verify"),
        ({"d": None}, "no d="),
        ({"d": ""}, "d= is no name"),
        ({"d": "not a domain"}, "d= is no name"),
        ({"s": None}, "no s="),
        ({"s": ""}, "s= is no name"),
        ({"t": ""}, "t= is no number"),
        ({"t": "now"}, "t= is no number"),
        ({"s": "other"}, "no key for signature"),
    ],
)
async def test_tags_of_both_signatures(tags: dict[str, str | None], why: str) -> None:
    found = await verified(sealed(LETTER, message=tags))
    assert (found.result, found.why) == (AuthResult.FAIL, f"message signature 1: {why}")
    found = await verified(sealed(LETTER, seal=tags))
    assert (found.result, found.why) == (AuthResult.FAIL, f"seal 1: {why}")


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ({"bh": None}, "no bh="),
        ({"bh": ""}, "bh= is no base64"),
        ({"bh": "*"}, "bh= is no base64"),
        ({"bh": "AAAA"}, "body hash did not verify"),
        ({"c": ""}, "unknown canonical form"),
        ({"c": "loose/loose"}, "unknown canonical form"),
        ({"h": None}, "no h="),
        ({"t": str(NOW + 3600)}, "signed in the future"),
        ({"x": str(NOW - 3600)}, "signature expired"),
        ({"l": "9999"}, "body is shorter than l="),
    ],
)
async def test_tags_of_the_message_signature(tags: dict[str, str | None], why: str) -> None:
    found = await verified(sealed(LETTER, message=tags))
    assert (found.result, found.why) == (AuthResult.FAIL, f"message signature 1: {why}")


@pytest.mark.parametrize("field", [b"ARC-Seal:", b"ARC-Message-Signature:"])
@pytest.mark.parametrize(
    "changed", [b"i=1; i=1;", b"i=1;;", b"i=1; d=example.org;", b"i=1; _=x;", b"i=1; rubbish;"]
)
async def test_lists_of_tags_that_are_none(field: bytes, changed: bytes) -> None:
    raw = sealed(LETTER).replace(field + b" i=1;", field + b" " + changed)
    found = await verified(raw)
    assert (found.result, found.why) == (
        AuthResult.FAIL,
        f"{field[:-1].decode().lower()} without instance",
    )


async def test_names_of_tags_are_case_sensitive() -> None:
    assert (await verified(sealed(LETTER, seal={"s": None, "S": "s1"}))).why == "seal 1: no s="
    assert (
        await verified(sealed(LETTER, message={"d": None, "D": "x"}))
    ).why == "message signature 1: no d="


async def test_sha1_and_short_keys() -> None:
    assert (await verified(sealed(LETTER, hashed=SHA1()))).why == "message signature 1: rsa-sha1"
    found = await verified(sealed(LETTER), table(f"p={KEY_512}"))
    assert (found.result, found.why) == (AuthResult.FAIL, "message signature 1: key of 512 bits")


@pytest.mark.parametrize(
    "record",
    ["v=DKIM1; k=rsa; omgwhat", "p=", "v=DKIM1; s=tlsrpt; p={}", "h=sha1; p={}", "k=x; p={}"],
)
async def test_keys_that_can_not_be_used(record: str) -> None:
    assert (
        await verified(sealed(LETTER), table(record.format(rsa().material)))
    ).result is AuthResult.FAIL


# -- keys that can't be asked for ------------------------------------------------------------------


async def test_a_key_that_can_not_be_asked_for_is_a_temperror_unless_something_fails() -> None:
    raw = sealed(
        sealed(LETTER, seal={"d": "first.example"}), instance=2, seal={"d": "second.example"}
    )
    records = {
        f"s1._domainkey.{domain}": {"TXT": rsa().record}
        for domain in ("example.org", "first.example", "second.example")
    }
    assert (await verified(raw, Table(records))).sealers == ("first.example", "second.example")
    for name in records:
        found = await verified(raw, Table(records, broken=[(name, "TXT")]))
        assert (found.result, found.sealers) == (AuthResult.TEMPERROR, ())
        assert found.why.endswith("key: timeout")
        found = await verified(raw, Table({}, broken=[(name, "TXT")]))
        assert found.result is AuthResult.FAIL


async def test_a_message_without_its_end_is_not_judged() -> None:
    found = await verified(chain(LETTER, 2), truncated=True)
    assert (found.result, found.instances, found.why) == (
        AuthResult.NONE,
        2,
        "message too large to check",
    )


# -- whose word is taken ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trusted", "sealer", "dmarc"),
    [
        (set(), "", AuthResult.NONE),
        ({"one.example"}, "", AuthResult.NONE),  # who sealed after it may have lied
        ({"one.example", "two.example"}, "", AuthResult.NONE),
        ({"three.example"}, "a.three.example", AuthResult.NONE),
        ({"a.three.example"}, "a.three.example", AuthResult.NONE),
        ({"b.three.example", "hree.example", "example"}, "", AuthResult.NONE),
        ({"three.example", "two.example"}, "two.example", AuthResult.FAIL),
        ({"three.example", "one.example"}, "a.three.example", AuthResult.NONE),
        ({"three.example", "two.example", "one.example"}, "one.example", AuthResult.PASS),
    ],
)
async def test_the_oldest_of_an_unbroken_run_of_trusted_sealers(
    trusted: set[str], sealer: str, dmarc: AuthResult
) -> None:
    raw = sealed(LETTER, seal={"d": "one.example"})
    raw = sealed(
        raw, instance=2, seal={"d": "two.example"}, results=AAR.replace("dmarc=pass", "dmarc=fail")
    )
    raw = sealed(
        raw, instance=3, seal={"d": "a.three.example"}, results="mx.three.example; spf=pass"
    )
    keys = Table(
        {
            f"s1._domainkey.{domain}": {"TXT": rsa().record}
            for domain in ("example.org", "one.example", "two.example", "a.three.example")
        }
    )
    found = await verified(raw, keys, trusted=trusted)
    assert (found.result, found.trusted, found.dmarc) == (AuthResult.PASS, sealer, dmarc)


async def test_nobody_is_trusted_in_a_chain_that_fails() -> None:
    found = await verified(chain(LETTER, 2).replace(b"Tea", b"Pea"), trusted={"example.org"})
    assert (found.result, found.trusted, found.dmarc) == (AuthResult.FAIL, "", AuthResult.NONE)


async def test_questions_are_those_that_validating_asks() -> None:
    broken = sealed(sealed(LETTER, cv="fail"), instance=2)
    for raw in (
        chain(LETTER, 3),
        LETTER,
        broken,
        sealed(LETTER, seal={"a": "x"}),
        sealed(LETTER, parts="sm"),
    ):
        keys = table(rsa().record)
        await verified(raw, keys)
        assert set(arc_questions(read_signed_message(raw), now=NOW)) == {
            name for name, _ in keys.asked
        }
