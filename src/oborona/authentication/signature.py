"""What a DKIM-Signature, ARC-Message-Signature or ARC-Seal says of itself: read strictly, before
the DNS is asked.

Sources: RFC 6376 sections 3.2, 3.5 and 6.1.1; RFC 8301 (rsa-sha1); RFC 8463 (ed25519-sha256); RFC
8616 (other letters in d= and s=); RFC 8617 sections 4.1.2 and 4.1.3 (i= is the instance, there is
no v=; a seal has cv= and neither h=, c= nor bh=).

What can't be read, or is of a version or algorithm that nobody here knows, is `neutral`; what says
something that RFC 6376 s6.1.1 answers with PERMFAIL is `permerror`; rsa-sha1 is `policy`, as an
algorithm that is not accepted (RFC 8301 s3.1, RFC 8601 s2.7.1).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec
from dkim.util import InvalidTagValueList

from oborona.authentication.canonical import Canonicalization
from oborona.authentication.keys import plain_base64, tags
from oborona.authentication.model import AuthResult
from oborona.authentication.names import fqdn
from oborona.domains import MAX_HOST, normal_host

# of one field; mail servers cut header lines at 100 kB, honest signatures have under 4
MAX_OCTETS: Final = 65_536
MAX_IDENTITY: Final = 320  # characters of i= that are kept: local part, @, domain
START: Final = 8  # characters of b= that tell signatures apart, RFC 6008 s4

_SELECTOR: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(rb"[0-9]{1,76}")  # RFC 6376 s3.5: l= has 76 digits at most
_INSTANCE: Final = re.compile(rb"[0-9]{1,2}")  # RFC 8617 s4.2.1
MAX_INSTANCE: Final = 50  # RFC 8617 s4.2.1


class SignatureField(StrEnum):
    """The three fields that carry signatures, by their names in lower case."""

    DKIM = "dkim-signature"
    MESSAGE = "arc-message-signature"
    SEAL = "arc-seal"


_REQUIRED: Final = {
    SignatureField.DKIM: (b"v", b"a", b"b", b"bh", b"d", b"h", b"s"),
    SignatureField.MESSAGE: (b"i", b"a", b"b", b"bh", b"d", b"h", b"s"),
    SignatureField.SEAL: (b"i", b"a", b"b", b"cv", b"d", b"s"),
}
_ALGORITHMS: Final = {b"rsa-sha256": "rsa", b"ed25519-sha256": "ed25519"}
_CANONS: Final = {canon.value.encode(): canon for canon in Canonicalization}


class SignatureClaim(msgspec.Struct, kw_only=True):
    """What one signature says.

    `problem` is the result it has by its own words, and then later members may be unset.
    """

    problem: AuthResult | None = None
    why: str = ""
    algorithm: str = ""  # a=, lower case
    kind: str = ""  # of key that it needs
    domain: str = ""  # d=, lower case, A-labels
    selector: str = ""
    identity: str = ""  # i= as given
    identity_domain: str = ""  # lower case
    signature: bytes = b""
    start: str = ""
    body_hash: bytes = b""
    signed: tuple[bytes, ...] = ()  # h=, lower case
    head: Canonicalization = Canonicalization.SIMPLE
    body: Canonicalization = Canonicalization.SIMPLE
    length: int | None = None
    signed_at: int | None = None  # Unix time
    expires: int | None = None  # Unix time
    instance: int = 0  # of ARC
    chain: str = ""  # cv=


class _Unusable(Exception):  # noqa: N818 - says what became of a signature
    def __init__(self, result: AuthResult, why: str) -> None:
        self.result = result
        self.why = why


def read_claim(field: bytes, form: SignatureField) -> SignatureClaim:
    """Return what a signature says of itself; never raises.

    Args:
        field: name, colon, value, CRLF.
        form: which of the three it is.
    """
    claim = SignatureClaim()
    try:
        _read(claim, field, form)
    except _Unusable as unusable:
        claim.problem = unusable.result
        claim.why = unusable.why
    return claim


def _read(claim: SignatureClaim, field: bytes, form: SignatureField) -> None:
    if len(field) > MAX_OCTETS:
        raise _Unusable(AuthResult.NEUTRAL, f"signature of {len(field)} octets")
    try:
        tag_values = tags(field.partition(b":")[2])
    except InvalidTagValueList:
        raise _Unusable(AuthResult.NEUTRAL, "signature syntax error") from None
    if form is not SignatureField.DKIM:
        claim.instance = instance_number(tag_values.get(b"i", b""))
    _read_names(claim, tag_values)
    for tag in _REQUIRED[form]:
        if tag not in tag_values:
            raise _Unusable(AuthResult.NEUTRAL, f"no {tag.decode()}=")
    _read_algorithm(claim, tag_values, form)
    claim.signature = _octets(tag_values, b"b")
    claim.signed_at = _number(tag_values, b"t")
    if form is SignatureField.SEAL:
        _read_seal(claim, tag_values)
    else:
        _read_message_tags(claim, tag_values, form)


def _read_names(claim: SignatureClaim, tag_values: dict[bytes, bytes]) -> None:
    """Note who signs, first of all: reports name them even when the rest can't be read."""
    claim.domain = fqdn(_text(tag_values.get(b"d", b"")))
    claim.selector = _selector(_text(tag_values.get(b"s", b"")))
    claim.start = _printable(b"".join(tag_values.get(b"b", b"")[:100].split()))[:START]
    claim.identity = _printable(tag_values.get(b"i", b"")[:MAX_IDENTITY])
    claim.algorithm = _printable(tag_values.get(b"a", b"")[:40]).lower()
    for tag, read in ((b"d", claim.domain), (b"s", claim.selector)):
        if tag in tag_values and not read:
            raise _Unusable(AuthResult.NEUTRAL, f"{tag.decode()}= is no name")


def _read_algorithm(
    claim: SignatureClaim, tag_values: dict[bytes, bytes], form: SignatureField
) -> None:
    if form is SignatureField.DKIM and tag_values[b"v"] != b"1":
        raise _Unusable(AuthResult.NEUTRAL, "incompatible version")
    if tag_values[b"a"] == b"rsa-sha1":
        raise _Unusable(AuthResult.POLICY, "rsa-sha1")
    claim.kind = _ALGORITHMS.get(tag_values[b"a"], "")
    if not claim.kind:
        raise _Unusable(AuthResult.NEUTRAL, "unknown algorithm")


def _read_seal(claim: SignatureClaim, tag_values: dict[bytes, bytes]) -> None:
    if b"h" in tag_values:  # RFC 8617 s4.1.3: must fail
        raise _Unusable(AuthResult.PERMERROR, "h= in a seal")
    claim.chain = _printable(tag_values[b"cv"])
    if claim.chain not in ("none", "pass", "fail"):
        raise _Unusable(AuthResult.NEUTRAL, "unknown cv=")


def _read_message_tags(
    claim: SignatureClaim, tag_values: dict[bytes, bytes], form: SignatureField
) -> None:
    claim.body_hash = _octets(tag_values, b"bh")
    claim.head, claim.body = _canons(tag_values.get(b"c", b"simple"))
    claim.length = _number(tag_values, b"l")
    claim.expires = _number(tag_values, b"x")
    claim.signed = tuple(
        name for part in tag_values[b"h"].split(b":") if (name := part.strip().lower())
    )
    if b"q" in tag_values and b"dns/txt" not in [
        method.strip() for method in tag_values[b"q"].split(b":")
    ]:
        raise _Unusable(AuthResult.NEUTRAL, "unknown query method")
    if b"from" not in claim.signed:
        raise _Unusable(AuthResult.PERMERROR, "From is not signed")
    if form is SignatureField.MESSAGE:
        if b"arc-seal" in claim.signed:  # RFC 8617 s4.1.2
            raise _Unusable(AuthResult.PERMERROR, "a seal is signed")
        return
    if b"i" in tag_values:
        claim.identity_domain = fqdn(_text(tag_values[b"i"].rpartition(b"@")[2]))
        within = claim.identity_domain == claim.domain or claim.identity_domain.endswith(
            f".{claim.domain}"
        )
        if b"@" not in tag_values[b"i"] or not within:
            raise _Unusable(AuthResult.PERMERROR, "i= is not within d=")


def instance_number(value: bytes) -> int:
    """Return the number of an ARC set, 0 when it is none; RFC 8617 s4.2.1."""
    number = int(value) if _INSTANCE.fullmatch(value) else 0
    return number if number <= MAX_INSTANCE else 0


def _octets(tag_values: dict[bytes, bytes], tag: bytes) -> bytes:
    try:
        octets = plain_base64(tag_values[tag])
    except ValueError:
        octets = b""
    if not octets:
        raise _Unusable(AuthResult.NEUTRAL, f"{tag.decode()}= is no base64")
    return octets


def _number(tag_values: dict[bytes, bytes], tag: bytes) -> int | None:
    if tag not in tag_values:
        return None
    if not _NUMBER.fullmatch(tag_values[tag]):
        raise _Unusable(AuthResult.NEUTRAL, f"{tag.decode()}= is no number")
    return int(tag_values[tag])


def _canons(value: bytes) -> tuple[Canonicalization, Canonicalization]:
    head, slash, body = value.partition(b"/")
    try:
        return _CANONS[head], _CANONS[body if slash else b"simple"]
    except KeyError:
        raise _Unusable(AuthResult.NEUTRAL, "unknown canonical form") from None


def _text(name: bytes) -> str:
    """Return a name's text, empty when it can be none."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return ""


def _selector(text: str) -> str:
    """Return a selector in lower case and A-labels (RFC 8616 s5), empty when it is none."""
    if not text.isascii():
        text = normal_host(text)
    text = text.lower()
    return text if len(text) <= MAX_HOST and _SELECTOR.fullmatch(text) else ""


def _printable(octets: bytes) -> str:
    text = octets.decode(errors="replace")
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
