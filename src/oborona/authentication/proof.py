"""Who sent a message, as far as somebody who was asked bears it out: what a reputation, or a list
of one person, may hang on.

    author          the address in From: SPF, or a DKIM signature over the whole text, passed for
                    its domain or one above it, up to the registrable one, and no other domain
                    stands in From; or a trusted sealer (ARC) saw DMARC pass for it
    author_domain   the registrable domain of that
    sender          MAIL FROM: SPF passed for its domain; a bounce has none
    account         the login that the mail server let in

Whoever writes another's name into From or MAIL FROM has his own name here, or none.  A domain
answers for its people: which of them wrote a letter is its word and no more.  It answers for the
names below it, and these do not answer for it: relaxed alignment, which DMARC has by default, would
let whoever was lent a name below a domain write as its owner.

Source: RFC 7489 section 3.1 (alignment), RFC 8617 section 7.2.1 (a sealer's word).
"""

from __future__ import annotations

from collections.abc import Sequence

from oborona.authentication.model import AuthIdentity, AuthResult
from oborona.authentication.names import fqdn
from oborona.domains import registrable
from oborona.types import Envelope, ProvedIdentity


def prove_sender(
    identity: AuthIdentity, envelope: Envelope, author: str = "", from_domains: Sequence[str] = ()
) -> ProvedIdentity:
    """Return who sent a message, as far as it was proved.

    Args:
        identity: what SPF, DKIM, DMARC and ARC found.
        envelope: of the message.
        author: the address in From; empty = none, or not known yet.
        from_domains: distinct domains in From: a letter of several authors has none here.
    """
    domain = (
        _domain(author) if len(from_domains) <= 1 and _author(identity, _domain(author)) else ""
    )
    return ProvedIdentity(
        author=_normal(author, domain) if domain else "",
        author_domain=registrable(domain) if domain else "",
        sender=proved_mail_from(identity, envelope),
        account=envelope.login.lower(),
    )


def proved_mail_from(identity: AuthIdentity, envelope: Envelope) -> str:
    """Return MAIL FROM, where SPF passed for its domain; else nothing."""
    spf, domain = identity.spf, _domain(envelope.sender)
    passed = spf.result is AuthResult.PASS and bool(domain) and spf.domain == domain
    return _normal(envelope.sender, domain) if passed else ""


def _author(identity: AuthIdentity, domain: str) -> bool:
    dmarc, arc = identity.dmarc, identity.arc
    if not domain:
        return False
    if domain == dmarc.domain:
        if dmarc.spf_aligned and _answers(identity.spf.domain, domain):
            return True
        signed = (
            signature
            for signature in identity.dkim
            if signature.result is AuthResult.PASS and not signature.unsigned
        )
        if dmarc.dkim_aligned and any(_answers(signature.domain, domain) for signature in signed):
            return True
    return bool(arc.trusted) and arc.dmarc is AuthResult.PASS and fqdn(arc.dmarc_domain) == domain


def _answers(proof: str, domain: str) -> bool:
    """Tell whether a domain that SPF or DKIM proved answers for one in From: it is that, or above
    it within the same organisation.
    """
    name = fqdn(proof)
    if name == domain:
        return bool(name)
    return domain.endswith(f".{name}") and registrable(name) == registrable(domain)


def _domain(address: str) -> str:
    return fqdn(address.rpartition("@")[2]) if "@" in address else ""


def _normal(address: str, domain: str) -> str:
    return f"{address.rpartition('@')[0].lower()}@{domain}"
