"""Results of authentication in the words of their RFCs, and all of them together as the identity of
a message.

Sources: RFC 7208 (SPF), RFC 6376, 8301, 8463 (DKIM), RFC 7489 (DMARC), RFC 8617 (ARC), RFC 8601
(iprev, and the words of all).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from oborona.domains import registrable


class AuthResult(StrEnum):
    """The words of RFC 8601 section 2.7; which of them a method uses is its own RFC's matter."""

    NONE = "none"  # nothing to check: no record, no signature
    PASS = "pass"  # noqa: S105 - a word of the RFC
    FAIL = "fail"
    SOFTFAIL = "softfail"  # SPF: probably not
    NEUTRAL = "neutral"  # SPF: no statement; DKIM: a signature that can't be read
    POLICY = "policy"  # DKIM: an algorithm or key that is not accepted, and not looked at further
    TEMPERROR = "temperror"  # the DNS did not answer: evidence of nothing
    PERMERROR = "permerror"  # a record or signature that can't be used


class DmarcPolicy(StrEnum):
    """What a domain asks to be done with mail that fails DMARC."""

    NONE = "none"
    QUARANTINE = "quarantine"
    REJECT = "reject"


class Spf(msgspec.Struct, frozen=True, kw_only=True):
    """SPF of one identity."""

    result: AuthResult = AuthResult.NONE
    domain: str = ""  # that was checked, lower case
    scope: str = "mfrom"  # or helo
    why: str = ""  # short, printable, for people; may hold words of the domain's owner


class DkimSignature(msgspec.Struct, frozen=True, kw_only=True):
    """One DKIM signature."""

    result: AuthResult
    domain: str = ""  # d=, lower case; empty where it can't be read
    selector: str = ""
    identity: str = ""  # i= as given, else @d
    algorithm: str = ""  # a=, lower case
    key_bits: int = 0  # 0 = unknown
    length: int | None = None  # l=: octets of the body that are signed
    unsigned: int = 0  # octets of the body behind them
    testing: bool = False  # t=y in the key record
    # the signed fields bear it out, but the message is too large for the body to be checked
    unseen: bool = False
    start: str = ""  # first eight characters of b=, for header.b
    why: str = ""


class Dmarc(msgspec.Struct, frozen=True, kw_only=True):
    """DMARC of the domain in From."""

    result: AuthResult = AuthResult.NONE  # none, pass, fail, temperror, permerror
    domain: str = ""  # in From
    organisational: str = ""  # its organisational domain
    policy: DmarcPolicy = (
        DmarcPolicy.NONE
    )  # that applies to this domain as published: p, sp or np; none without a record
    # what it asks for this message: after result, t and pct
    disposition: DmarcPolicy = DmarcPolicy.NONE
    percent: int = 100  # pct
    testing: bool = False  # t=y
    spf_aligned: bool = False  # SPF passed with an aligned domain
    dkim_aligned: bool = False
    why: str = ""


class Arc(msgspec.Struct, frozen=True, kw_only=True):
    """ARC chain of a message."""

    result: AuthResult = (
        AuthResult.NONE
    )  # none, pass, fail; temperror where a key could not be asked for
    instances: int = 0
    sealers: tuple[str, ...] = ()  # d= of the seals, oldest first; empty unless the chain passed
    # the sealer whose word is taken: all seals from there to us are of trusted sealers; empty =
    # none
    trusted: str = ""
    dmarc: AuthResult = AuthResult.NONE  # what the trusted sealer says it saw
    dmarc_domain: str = ""  # of which domain in From; empty where he does not say
    why: str = ""


class IpRev(msgspec.Struct, frozen=True, kw_only=True):
    """Does the client's name lead back to its address? RFC 8601 section 3."""

    result: AuthResult = AuthResult.NONE  # none (no address), pass, fail, temperror, permerror
    name: str = ""  # that passed


class AuthIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a message, as far as it was proved."""

    spf: Spf = Spf()
    spf_helo: Spf = Spf(scope="helo")
    dkim: tuple[DkimSignature, ...] = ()  # in the order of the header, topmost first
    dkim_more: int = 0  # signatures beyond the limit, not looked at
    dmarc: Dmarc = Dmarc()
    arc: Arc = Arc()
    iprev: IpRev = IpRev()

    @property
    def disposition(self) -> DmarcPolicy:
        """What the domain in From asks to be done, unless a trusted ARC sealer saw the message pass
        (RFC 8617 section 7.2.1).
        """
        reported = self.arc.dmarc_domain
        ours = not reported or registrable(reported) == registrable(self.dmarc.domain)
        return (
            DmarcPolicy.NONE
            if self.arc.dmarc is AuthResult.PASS and ours
            else self.dmarc.disposition
        )

    @property
    def unsigned(self) -> int:
        """Octets of the body behind what the best signature covers: of those of From's
        organisation, or else of all that passed.
        """
        passed = [signature for signature in self.dkim if signature.result is AuthResult.PASS]
        organisation = registrable(self.dmarc.domain)
        aligned = [
            signature
            for signature in passed
            if organisation and registrable(signature.domain) == organisation
        ]
        return min((signature.unsigned for signature in aligned or passed), default=0)

    @property
    def dkim_domains(self) -> tuple[str, ...]:
        """Distinct d= that passed."""
        return tuple(
            dict.fromkeys(
                signature.domain for signature in self.dkim if signature.result is AuthResult.PASS
            )
        )

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Methods that got no answer from the DNS in time."""
        methods = {
            "spf": (self.spf.result, self.spf_helo.result),
            "dkim": tuple(signature.result for signature in self.dkim),
            "dmarc": (self.dmarc.result,),
            "arc": (self.arc.result,),
            "iprev": (self.iprev.result,),
        }
        return tuple(name for name, results in methods.items() if AuthResult.TEMPERROR in results)
