"""DKIM: the signatures of a message, each with its result.

RFC 6376, with 8301 (algorithms), 8463 (Ed25519), 8616 (other letters).

Results in the words of RFC 8601 s2.7.1:

    pass       the signature holds; it says that d= answers for the message, not that the message is
               any good
    fail       body or signed fields are not what was signed, or a From field was added that is not
               signed (RFC 6376 s8.15)
    policy     rsa-sha1, or a key under 1024 bits (both "failed", RFC 8301), or one too costly to
               use: not looked at further
    neutral    can't be read: syntax, version, algorithm, canonical form, query method; or the
               message is too large to be checked. Its signed fields are checked all the same, if
               its header is here: `unseen` says that they bear the signature out
    permerror  what RFC 6376 s6.1.1 and s6.1.2 answer with PERMFAIL: From not signed, i= outside d=,
               expired or from the future, no key, revoked, not for this algorithm, not for mail
    temperror  the key could not be asked for

Of dkimpy its lists of tags are used; it seals and canonicalises for the tests, and is their oracle.
Its own verifying costs 738 µs for a letter of 6 kB where this costs 121
(benchmarks/authentication.py): it canonicalises by regular expression, for each signature anew, and
computes RSA in Python. It also asks the DNS while others wait, and some of its expressions take
quadratic time on hostile mail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.authentication.keys import key_name
from oborona.authentication.model import DkimSignature
from oborona.authentication.names import fqdn
from oborona.authentication.signature import SignatureClaim, SignatureField
from oborona.authentication.signature_check import check_message, without_key
from oborona.authentication.signed_message import SignedMessage
from oborona.dns import DnsAsker
from oborona.domains import registrable

# honest mail has one to four: its own, its service's, and one for each forwarder; each may cost a
# question
LIMIT: Final = 8
# signatures among which those of From's domain are looked for when there are more than the limit
MAX_READ: Final = 64

_NAME: Final = SignatureField.DKIM.encode()


def dkim_questions(
    letter: SignedMessage, *, now: float, limit: int = LIMIT, from_domains: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the names of the key records (TXT) that `verify_dkim` will ask for, so that they can
    be asked for all at once.

    Arguments as there. Those of From's organisations come first.
    """
    ours = _organisations(from_domains)
    claims = [
        claim
        for place, claim in _claims(letter, limit, ours)
        if without_key(letter, claim, now=now) is None
    ]
    claims.sort(key=lambda claim: _foreign(claim, ours))
    return tuple(dict.fromkeys(key_name(claim.selector, claim.domain) for claim in claims))


async def verify_dkim(
    letter: SignedMessage,
    asker: DnsAsker,
    *,
    now: float,
    limit: int = LIMIT,
    from_domains: Sequence[str] = (),
) -> tuple[tuple[DkimSignature, ...], int]:
    """Return the signatures of a message, topmost first, and how many beyond the limit were not
    looked at; never raises.

    Args:
        letter: the message.
        asker: for the keys.
        now: Unix time.
        limit: how many signatures are looked at.
        from_domains: of the addresses in From. When there are more signatures than the limit, those
            of their organisations are looked at before others: DMARC hangs on them.
    """
    signatures = []
    for place, claim in _claims(letter, limit, _organisations(from_domains)):
        checked = await check_message(letter, place, claim, asker, now=now)
        length = claim.length
        signatures.append(
            DkimSignature(
                result=checked.result,
                domain=claim.domain,
                selector=claim.selector,
                identity=claim.identity or (f"@{claim.domain}" if claim.domain else ""),
                algorithm=claim.algorithm,
                key_bits=checked.key_bits,
                length=length,
                unsigned=0 if length is None else max(0, letter.body_octets(claim.body) - length),
                testing=checked.testing,
                unseen=checked.unseen,
                start=claim.start,
                why=checked.why,
            )
        )
    return tuple(signatures), max(0, len(letter.places.get(_NAME, ())) - limit)


def _organisations(domains: Sequence[str]) -> frozenset[str]:
    return frozenset(registrable(name) for domain in domains if (name := fqdn(domain)))


def _claims(
    letter: SignedMessage, limit: int, ours: frozenset[str]
) -> list[tuple[int, SignatureClaim]]:
    """Return the signatures to look at, topmost first."""
    places = letter.places.get(_NAME, [])
    if len(places) > limit and ours:
        readable = places[: max(MAX_READ, limit)]
        places = sorted(
            sorted(
                readable, key=lambda place: _foreign(letter.claim(place, SignatureField.DKIM), ours)
            )[:limit]
        )
    return [(place, letter.claim(place, SignatureField.DKIM)) for place in places[:limit]]


def _foreign(claim: SignatureClaim, ours: frozenset[str]) -> bool:
    """Tell whether a signature is of none of some organisations.

    Sorting by it puts theirs first, and leaves the rest in order.
    """
    return registrable(claim.domain) not in ours
