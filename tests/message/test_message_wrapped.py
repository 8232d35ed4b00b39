"""Text that stands in wrappers: S/MIME, OpenPGP armour, invitations, cards, yEnc, and what is not
in the message at all.
"""

from __future__ import annotations

import base64
import time
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from oborona.message import calendars, pgp_armor, signed_data, yenc
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.model import Message
from oborona.message.parse import parse

HEAD = b"From: a@b.example\nSubject: x\n"
INSIDE = (
    b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>Win at <a "
    b"href='http://evil.example/a'>our shop</a>\r\n"
)


def _certificate(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Ann")])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), 1, begin, begin + timedelta(days=3650)
    )
    return builder.sign(key, hashes.SHA256())


def signed(content: bytes) -> bytes:
    """Return an opaque S/MIME object, as another library makes it."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        pkcs7.PKCS7SignatureBuilder()
        .set_data(content)
        .add_signer(_certificate(key), key, hashes.SHA256())
    )
    return builder.sign(serialization.Encoding.DER, [pkcs7.PKCS7Options.Binary])


def element(tag: int, content: bytes) -> bytes:
    """Return one element in DER."""
    length = len(content)
    if length < 128:
        return bytes((tag, length)) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 128 + len(octets))) + octets + content


def compressed(content: bytes) -> bytes:
    """Return a compressed-data object. Source: RFC 3274 s1.1."""
    algorithm = element(0x30, element(6, bytes.fromhex("2a864886f70d0109100308")))
    octets = element(0xA0, element(4, zlib.compress(content)))
    wrapped = element(0x30, element(6, bytes.fromhex("2a864886f70d010701")) + octets)
    inside = element(0x30, element(2, b"\0") + algorithm + wrapped)
    return element(
        0x30, element(6, bytes.fromhex("2a864886f70d0109100109")) + element(0xA0, inside)
    )


def smime(octets: bytes, name: str = "smime.p7m") -> Message:
    fields = (
        f"Content-Type: application/pkcs7-mime; name={name}\nContent-Transfer-Encoding: base64\n\n"
    )
    return parse(HEAD + fields.encode() + base64.encodebytes(octets))


def names(message: Message) -> list[str]:
    return [finding.name for finding in message.findings]


@pytest.mark.parametrize(
    "wrap",
    [
        signed,
        compressed,
        lambda content: compressed(
            b"Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\n"
            + base64.encodebytes(signed(content))
        ),
    ],
)
def test_what_is_wrapped_is_read(wrap: object) -> None:
    assert callable(wrap)
    message = smime(wrap(INSIDE))
    assert message.text == "Win at our shop"
    assert [link.url for link in message.links] == ["http://evil.example/a"]
    assert message.attachments == ()
    assert message.parts[-1].content_type == "text/html"
    assert message.mime_tree.startswith("application/pkcs7-mime(")
    assert message.depth == message.parts[-1].depth == message.mime_tree.count("(")
    assert names(message) == []


def test_attachments_inside_are_attachments() -> None:
    inside = (
        b"Content-Type: multipart/mixed; "
        b"boundary=y\r\n\r\n--y\r\n\r\nhello\r\n--y\r\nContent-Type: application/zip; "
        b"name=a.zip\r\n\r\nPK\r\n--y--\r\n"
    )
    message = smime(signed(inside))
    assert message.text == "hello"
    assert [file.name for file in message.attachments] == ["a.zip"]
    assert [part.path for part in message.parts] == ["", "1", "1.1", "1.2"]


def test_a_signed_file_is_a_file() -> None:
    message = smime(signed(b"<?xml version='1.0'?><invoice/>"), "invoice.xml.p7m")
    assert [(file.name, file.extension) for file in message.attachments] == [("invoice.xml", "xml")]


def test_what_is_encrypted_is_said_to_be() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    builder = pkcs7.PKCS7EnvelopeBuilder().set_data(b"secret").add_recipient(_certificate(key))
    message = smime(builder.encrypt(serialization.Encoding.DER, []))
    assert names(message) == ["message-encrypted"]
    assert [file.name for file in message.attachments] == ["smime.p7m"]


def test_wrappers_in_wrappers_have_an_end() -> None:
    octets = INSIDE
    for _ in range(6):
        octets = (
            b"Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\n"
            + base64.encodebytes(compressed(octets))
        )
    message = parse(HEAD + octets.replace(b"\r\n", b"\n"))
    assert "mime-too-deep" in names(message)
    assert len(message.parts) == 4


def test_a_compressed_bomb_is_cut() -> None:
    held = signed_data.read(compressed(b"\0" * (64 << 20)))
    assert len(held.content) == signed_data.MAX_CONTENT


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_an_object_cut_short_is_read_as_far_as_it_goes(cut: int) -> None:
    octets = signed(INSIDE)
    held = signed_data.read(octets[:cut])
    assert INSIDE.startswith(held.content)


@given(st.binary(max_size=200))
def test_any_octets_are_no_error(octets: bytes) -> None:
    signed_data.read(octets)
    start = bytes.fromhex("308006092a864886f70d010702a080308002010131003080060100a080")
    assert not signed_data.read(start + octets).encrypted


def test_pieces_of_indefinite_length_are_put_together() -> None:
    start = bytes.fromhex("308006092a864886f70d010702a080308002010131003080060100a080")
    assert (
        signed_data.read(start + b"\x24\x80\x04\x02ab\x24\x80\x04\x01c\0\0\x04\x01d\0\0").content
        == b"abcd"
    )


SIGNED_BESIDE = (
    b"Content-Type: multipart/signed; boundary=x\n\n--x\n\nhello\n--x\nContent-Type: "
    b"application/pgp-signature; name=signature.asc\n\n%s\n--x--\n"
)


def test_a_signature_beside_its_text_is_no_attachment() -> None:
    message = parse(
        HEAD + SIGNED_BESIDE % b"-----BEGIN PGP SIGNATURE-----\n\nabcd\n-----END PGP SIGNATURE-----"
    )
    assert (message.text, message.attachments) == ("hello", ())


def test_what_is_no_signature_stays_an_attachment() -> None:
    message = parse(HEAD + SIGNED_BESIDE % b"MZ\x90\0\x03\0\0\0")
    assert [(file.name, file.kind) for file in message.attachments] == [("signature.asc", "exe")]


CLEAR = """-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA256

Hello,
- -----
dashes above
-----BEGIN PGP SIGNATURE-----
Version: GnuPG v2

iQEzBAEBCAAdFiEE
=abcd
-----END PGP SIGNATURE-----
A footer"""


def test_armour_is_taken_off() -> None:
    assert parse(HEAD + b"\n" + CLEAR.encode()).text == "Hello,\n-----\ndashes above\nA footer"


def test_words_in_the_place_of_a_signature_stay() -> None:
    text = CLEAR.replace("iQEzBAEBCAAdFiEE", "buy from http://evil.example now")
    assert "evil.example" in parse(HEAD + b"\n" + text.encode()).text


def test_armour_of_an_encrypted_text() -> None:
    assert names(
        parse(HEAD + b"\n-----BEGIN PGP MESSAGE-----\n\nabcd\n-----END PGP MESSAGE-----\n")
    ) == ["message-encrypted"]
    both = (
        b"Content-Type: multipart/encrypted; boundary=x\n\n--x\nContent-Type: "
        b"application/pgp-encrypted\n\nVersion: 1\n--x\nContent-Type: "
        b"application/octet-stream; name=encrypted.asc\n\n-----BEGIN PGP MESSAGE-----\n--x--\n"
    )
    assert names(parse(HEAD + both)) == ["message-encrypted"]


@given(
    st.lists(
        st.sampled_from(
            [*"-\n aB:=", "-----BEGIN PGP SIGNED MESSAGE-----\n", "-----BEGIN PGP SIGNATURE-----\n"]
        ),
        max_size=60,
    ).map("".join)
)
def test_armour_never_adds(text: str) -> None:
    findings = Findings()
    assert len(pgp_armor.strip_armor(text, findings)) <= len(text)


CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:1@a.example
SUMMARY;LANGUAGE=en:Prize\\, yours
LOCATION:Main Street 5
DESCRIPTION:Come to http://evil.ex
 ample/win\\nand call +1 202 555 0143
ORGANIZER;CN="Ann: boss";ROLE=CHAIR:mailto:ann@evil.example
URL:http://other.example/
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR
"""


def test_an_invitation_is_read_by_what_people_see() -> None:
    message = parse(HEAD + b"Content-Type: text/calendar; charset=utf-8\n\n" + CALENDAR.encode())
    assert message.text.split("\n") == [
        "Prize, yours", "Main Street 5", "Come to http://evil.example/win", "and call +1 202 555 0143", "Ann: boss ann@evil.example", "http://other.example/",
    ]  # fmt: skip
    assert {link.host for link in message.links} == {"evil.example", "other.example"}
    assert message.addresses == ("ann@evil.example",)
    assert "+12025550143" in {entity.value for entity in message.entities}


def test_an_invitation_adds_what_no_other_text_has() -> None:
    parts = (
        "Content-Type: multipart/alternative; boundary=x\n\n--x\n\nPrize, yours\nMain Street "
        "5\n--x\nContent-Type: text/calendar; name=a.ics\n\n"
    )
    message = parse(HEAD + parts.encode() + CALENDAR.encode() + b"--x--\n")
    assert message.text.split("\n")[:3] == [
        "Prize, yours",
        "Main Street 5",
        "Come to http://evil.example/win",
    ]
    assert [file.name for file in message.attachments] == ["a.ics"]


def test_a_card_is_read_where_nothing_else_is() -> None:
    card = b"BEGIN:VCARD\nVERSION:3.0\nFN:Ann Lee\nORG:Shop;Sales\nTEL;TYPE=cell:+12025550143\nitem1.URL:http://shop.example\nEND:VCARD\n"
    part = b"Content-Type: text/vcard; name=a.vcf\n\n" + card
    assert parse(HEAD + part).text == "Ann Lee\nShop Sales\n+12025550143\nhttp://shop.example"
    both = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x\n" + part + b"--x--\n"
    assert parse(HEAD + both).text == "hello"


@given(
    st.lists(
        st.sampled_from([*'SUMARY;:"=\\\n ,n', "BEGIN:VALARM\n", "DESCRIPTION"]), max_size=100
    ).map("".join)
)
def test_any_calendar_is_read(text: str) -> None:
    assert (
        calendars.read(text).count("\n")
        <= text.count("\n") + text.count("\\n") + text.count("\\N") + 1
    )


def test_many_values_have_an_end() -> None:
    many = "".join(f"SUMMARY:event {number}\n" for number in range(5000))
    assert len(calendars.read(many).split("\n")) == calendars.MAX_VALUES


def encoded(content: bytes) -> bytes:
    """Return octets in yEnc, escaping what the draft says must be."""
    out = bytearray()
    for octet in (((plain + 42) % 256) for plain in content):
        if octet in b"\0\n\r=":
            out += bytes((61, (octet + 64) % 256))
        else:
            out.append(octet)
    return bytes(out)


@given(st.binary(max_size=300))
def test_yenc_comes_back(content: bytes) -> None:
    text = (
        b"before\n=ybegin line=400 size=9 name=a b.exe\n"
        + encoded(content)
        + b"\n=yend size=9\nafter\n"
    )
    assert yenc.files(text) == (b"before\nafter\n", [("a b.exe", content)])


def test_many_heads_in_yenc_are_read_once() -> None:
    begun = time.process_time()
    _, found = yenc.files(b"=ybegin line=1 size=1 name=x\n" * 20_000 + b"no line end")
    assert len(found) == 1  # that holds all that follows
    assert time.process_time() - begun < 1  # 14 s where each head is tried to the end


def test_a_file_in_yenc_may_end_without_a_line_end() -> None:
    assert yenc.files(b"a\n=ybegin line=128 size=3 name=x.bin\nabc") == (
        b"a\n",
        [("x.bin", b"789")],
    )


def test_a_file_in_yenc_is_an_attachment() -> None:
    text = (
        b"see\n=ybegin line=400 size=9 name=a.exe\n"
        + encoded(b"MZ\0\0 program")
        + b"\n=yend size=9\n"
    )
    message = parse(HEAD + b"\n" + text)
    assert message.text == "see"
    assert [(file.name, file.kind) for file in message.attachments] == [("a.exe", "exe")]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("message/partial", "message-partial"), ("message/external-body", "message-external")],
)
def test_what_is_not_here_is_said(kind: str, name: str) -> None:
    assert names(parse(HEAD + f"Content-Type: {kind}; id=1\n\nhello".encode())) == [name]


def test_a_limit_of_parts_holds_inside_too() -> None:
    inside = (
        b"Content-Type: multipart/mixed; boundary=y\r\n\r\n"
        + b"--y\r\n\r\na\r\n" * 50
        + b"--y--\r\n"
    )
    octets = base64.encodebytes(signed(inside))
    raw = (
        HEAD
        + b"Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\n"
        + octets
    )
    message = parse(raw, ParserLimits(parts=10))
    assert "mime-too-many-parts" in names(message)
    assert len(message.parts) <= 11
