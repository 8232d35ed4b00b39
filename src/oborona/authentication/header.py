"""The Authentication-Results header: ours written, a trusted sealer's read (RFC 8601, RFC 6008, RFC
7489 section 11, RFC 8617).

Whatever peers wrote is reduced, before it is written, to characters that need no quoting, `!` for
each other one; no domain has a `!`, so what was reduced is never taken for a name. Nothing but
ASCII is written, which RFC 8616 allows always. Quoted are IPv6 addresses and header.b alone; each
stands last in its result, since authres reads a quoted value only there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from authres import AuthenticationResultsHeader as Header
from authres import AuthResError, IPRevAuthenticationResult, SPFAuthenticationResult
from authres.arc import ARCAuthenticationResult
from authres.core import AuthenticationResult
from authres.dkim_b import DKIMAuthenticationResult
from authres.dmarc import DMARCAuthenticationResult

from oborona.authentication.model import Arc, AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.authentication.names import fqdn

MAX_VALUE: Final = 253  # characters, as a name has at most
MAX_REASON: Final = 100  # characters
# characters of a header that is read: authres takes time with the square of them
MAX_READ: Final = 4096

_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9_.+-]")
_NOT_LOCAL: Final = re.compile(r"[^A-Za-z0-9#$%&'*+/=^_`{|}~.-]")
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/=]")
_NOT_ADDRESS: Final = re.compile(r"[^0-9A-Fa-f:.]")
_NOT_REASON: Final = re.compile(
    r'[^ -~]|[";@\\]'
)  # authres leaves a value with @ unquoted, whatever else is in it
_INSTANCE: Final = re.compile(r"\s*i\s*=\s*[0-9]{1,3}\s*;")
_FOLD: Final = re.compile(r"\r?\n(?=[ \t])|[\r\n]")
_TROUBLE: Final = (AuthResult.FAIL, AuthResult.POLICY, AuthResult.TEMPERROR, AuthResult.PERMERROR)


def authentication_results(identity: AuthIdentity, site: str, *, ip: str = "") -> str:
    """Return the value of Authentication-Results for a message, on one line.

    Args:
        identity: all that was found out.
        site: the name that this header speaks for (authserv-id): letters, digits, `-`, `_` and
            single dots between.
        ip: the client's address; without it iprev is left out.

    Guaranteed: printable ASCII, and authres reads back the methods, results and values that stand
        here.
    """
    parts: list[AuthenticationResult] = [*_spf(identity), *map(_dkim, identity.dkim)]
    if not identity.dkim:
        parts.append(DKIMAuthenticationResult(result=AuthResult.NONE))
    parts.append(_dmarc(identity.dmarc))
    address = _NOT_ADDRESS.sub("", ip)
    if identity.arc.result is not AuthResult.NONE:
        parts.append(_arc(identity.arc, address))
    if address and identity.iprev.result is not AuthResult.NONE:
        parts.append(IPRevAuthenticationResult(result=identity.iprev.result, policy_iprev=address))
    value: str = Header(authserv_id=site, results=parts).header_value()
    return value


class ReportedDmarc(NamedTuple):
    """The DMARC result of a header."""

    result: AuthResult
    domain: str = ""  # header.from, lower case; empty where it names none


_NOTHING: Final = ReportedDmarc(AuthResult.NONE)


def dmarc_of(value: bytes | str) -> ReportedDmarc:
    """Return what a header says of DMARC: `dmarc=` of Authentication-Results or
    ARC-Authentication-Results.

    Args:
        value: of the header, folded or not, of any length.

    Returns: none if it says nothing, contradicts itself, uses a word that is not DMARC's, or can't
        be read. Never raises.
    """
    text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
    if len(text) > MAX_READ:
        return _NOTHING
    text = _INSTANCE.sub("", _FOLD.sub("", text), count=1)
    try:
        read = Header.parse_value(text).results
    except (AuthResError, RecursionError):
        return _NOTHING
    reports = {(part.result, _author(part)) for part in read if part.method == "dmarc"}
    if len(reports) != 1:
        return _NOTHING
    word, domain = reports.pop()
    words = {result.value: result for result in (AuthResult.PASS, *_TROUBLE)}
    return ReportedDmarc(words[word], domain) if word in words else _NOTHING


def _author(part: AuthenticationResult) -> str:
    """The domain in From that a result of DMARC is about."""
    named = {
        fqdn(str(property_.value))
        for property_ in part.properties
        if (property_.type, property_.name) == ("header", "from") and property_.value
    }
    return named.pop() if len(named) == 1 else ""


def _spf(identity: AuthIdentity) -> Iterator[AuthenticationResult]:
    mfrom, helo = identity.spf, identity.spf_helo
    yield SPFAuthenticationResult(
        result=mfrom.result, reason=_reason(mfrom), smtp_mailfrom=_plain(mfrom.domain)
    )
    if helo.domain:
        yield SPFAuthenticationResult(
            result=helo.result, reason=_reason(helo), smtp_helo=_plain(helo.domain)
        )


def _dkim(signature: DkimSignature) -> AuthenticationResult:
    domain = _plain(signature.domain)
    local, _at, at_domain = signature.identity.rpartition("@")
    at_domain = fqdn(at_domain)
    identity = f"{_NOT_LOCAL.sub('!', local[:MAX_VALUE])}@{at_domain}"
    part = DKIMAuthenticationResult(
        result=signature.result,
        reason=_reason(signature),
        header_d=domain,
        header_i=identity if at_domain and identity != f"@{domain}" else "",
    )
    if signature.selector:
        part.header_s = _plain(signature.selector)
    if signature.algorithm:
        part.header_a = _plain(signature.algorithm)
    start = _NOT_BASE64.sub("", signature.start[:MAX_VALUE])
    if start:
        part.header_b = start  # last: it may be quoted
    return part


def _dmarc(dmarc: Dmarc) -> AuthenticationResult:
    part = DMARCAuthenticationResult(
        result=dmarc.result, reason=_reason(dmarc), header_from=_plain(dmarc.domain)
    )
    if dmarc.result in (AuthResult.PASS, AuthResult.FAIL):
        part.policy = dmarc.disposition
        part.result_comment = f"p={dmarc.policy}"
    return part


def _arc(arc: Arc, address: str) -> AuthenticationResult:
    part = ARCAuthenticationResult(result=arc.result, reason=_reason(arc), smtp_remote_ip=address)
    part.result_comment = f"i={arc.instances}"
    if arc.trusted:
        part.result_comment += f" trusted={_plain(arc.trusted)}"
    return part


def _reason(result: Spf | DkimSignature | Dmarc | Arc) -> str:
    """Why something went wrong."""
    return _NOT_REASON.sub("?", result.why[:MAX_REASON]) if result.result in _TROUBLE else ""


def _plain(value: str) -> str:
    return _NOT_PLAIN.sub("!", value[:MAX_VALUE])
