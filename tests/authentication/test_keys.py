"""Keys: from a real DNS server through the resolver of every process, and records that would cost
too much.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from oborona.authentication.arc import verify_arc
from oborona.authentication.dkim import verify_dkim
from oborona.authentication.keys import DkimKey, NoDkimKey, read_key
from oborona.authentication.model import AuthResult
from oborona.authentication.signed_message import read_signed_message
from oborona.resolver import Resolver, ResolverAddress
from tests.authentication.signing import LETTER, NOW, chain, dkim_field, ed25519, rsa
from tests.peers.dns import Fault, Zones

VECTORS = Path(__file__).parent / "vectors"


@pytest.fixture
def zones() -> Iterator[Zones]:
    with Zones() as server:
        yield server


async def results(raw: bytes, zones: Zones) -> list[tuple[AuthResult, str]]:
    async with Resolver([ResolverAddress(zones.host, zones.port)]) as resolver:
        found, _ = await verify_dkim(read_signed_message(raw), resolver, now=NOW)
    return [(one.result, one.why) for one in found]


async def test_keys_in_strings_of_255_octets_behind_an_alias_and_over_tcp(zones: Zones) -> None:
    for bits in (1024, 2048, 4096):
        pen = rsa(bits)
        padded = f"{pen.record}; n={'x' * 2000}"  # more than UDP carries
        zones.add({f"k{bits}._domainkey.example.org": {"CNAME": f"{bits}.keys.example"}})
        zones.add({f"{bits}.keys.example": {"TXT": padded if bits == 2048 else pen.record}})
        raw = dkim_field(LETTER, pen, tags={"s": f"k{bits}"}) + LETTER
        assert await results(raw, zones) == [(AuthResult.PASS, "")]


async def test_a_chain_is_validated_with_keys_of_the_dns(zones: Zones) -> None:
    zones.add({"s1._domainkey.example.org": {"TXT": rsa().record}})
    async with Resolver([ResolverAddress(zones.host, zones.port)]) as resolver:
        found = await verify_arc(
            read_signed_message(chain(LETTER, 3)), resolver, now=NOW, trusted={"example.org"}
        )
    assert (found.result, found.instances, found.trusted) == (AuthResult.PASS, 3, "example.org")
    assert zones.count("s1._domainkey.example.org", "TXT") == 1


async def test_the_messages_of_dkimpy_and_of_rfc_8463(zones: Zones) -> None:
    zones.add(
        {
            "brisbane._domainkey.football.example.com": {
                "TXT": "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
            },
            "test._domainkey.football.example.com": {
                "TXT": (VECTORS / "dkimpy/test.txt").read_text().strip()
            },
            "sed._domainkey.test.ex": {
                "TXT": (VECTORS / "dkimpy/eximtest.dns").read_text().strip()
            },
        }
    )
    for file, signatures in (
        ("rfc8463.eml", 2),
        ("dkimpy/rfc6376.signed.msg", 2),
        ("dkimpy/ed25519test2.msg", 1),
    ):
        assert (
            await results((VECTORS / file).read_bytes(), zones)
            == [(AuthResult.PASS, "")] * signatures
        )


async def test_no_key_and_no_answer_are_different_things(zones: Zones) -> None:
    raw = dkim_field(LETTER, rsa()) + LETTER
    assert await results(raw, zones) == [(AuthResult.PERMERROR, "no key for signature")]
    zones.add({"s1._domainkey.example.org": {"A": "192.0.2.1"}})
    assert await results(raw, zones) == [(AuthResult.PERMERROR, "no key for signature")]
    zones.fault("s1._domainkey.example.org", Fault.SERVFAIL)
    assert await results(raw, zones) == [(AuthResult.TEMPERROR, "key: servfail")]


async def test_names_too_long_for_the_dns_have_no_key(zones: Zones) -> None:
    for tags in ({"s": "s." * 100 + "s"}, {"d": "a." * 110 + "example"}):
        field = dkim_field(LETTER, rsa(), tags={"s": "s" * 60, **tags})
        assert await results(field + LETTER, zones) == [
            (AuthResult.PERMERROR, "no key for signature")
        ]


def rsa_record(bits: int, exponent: int) -> bytes:
    numbers = RSAPublicNumbers(exponent, (1 << bits - 1) + 12345)
    material = numbers.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b"p=" + b64encode(material)


@pytest.mark.parametrize(
    ("bits", "exponent", "why"),
    [
        (512, 65537, "key of 512 bits"),
        (1023, 65537, "key of 1023 bits"),
        (8193, 65537, "key of 8193 bits"),
        (3072, (1 << 3000) + 1, "key with a huge exponent"),
    ],
)
def test_rsa_keys_too_weak_or_too_costly_are_not_used(bits: int, exponent: int, why: str) -> None:
    assert read_key(rsa_record(bits, exponent)) == NoDkimKey(
        result=AuthResult.POLICY, why=why, bits=bits
    )


@pytest.mark.parametrize("bits", [1024, 8192])
def test_the_smallest_and_the_largest_rsa_key(bits: int) -> None:
    key = read_key(rsa_record(bits, 3))
    assert isinstance(key, DkimKey)
    assert (key.kind, key.bits) == ("rsa", bits)


def test_rsa_keys_with_and_without_their_algorithm() -> None:
    bare = rsa().private.public_key().public_bytes(Encoding.DER, PublicFormat.PKCS1)
    for material in (rsa().material, b64encode(bare).decode()):
        key = read_key(f"p={material}".encode())
        assert isinstance(key, DkimKey)
        assert key.bits == 1024


def test_keys_of_other_algorithms_are_no_rsa_keys() -> None:
    other = generate_private_key(SECP256R1()).public_key()
    material = b64encode(other.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    read = read_key(b"v=DKIM1; k=rsa; p=" + material)
    assert read == NoDkimKey(result=AuthResult.PERMERROR, why="key syntax error")


def test_a_record_is_read_once() -> None:
    assert read_key(ed25519().record.encode()) is read_key(ed25519().record.encode())
