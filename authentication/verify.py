"""Who sent a message: what the envelope proved, completed by what the message proves itself."""

from __future__ import annotations

from collections.abc import Container, Sequence

import msgspec

from oborona.authentication import dkim
from oborona.authentication.arc import arc_questions, verify_arc
from oborona.authentication.dkim import verify_dkim
from oborona.authentication.dmarc import check_dmarc
from oborona.authentication.letter import Letter
from oborona.authentication.model import Identity, Result
from oborona.dns import Asker, Kind
from oborona.domains import registrable


def questions(letter: Letter, from_domains: Sequence[str], *, limit: int) -> tuple[tuple[str, Kind], ...]:
    """Return what `verify` is going to ask for certain, so that all of it can be asked at once beforehand.

    Args:
        letter: the message.
        from_domains: of the addresses in From.
        limit: DKIM signatures that are looked at.
    """
    names = [*dkim.questions(letter, limit=limit), *arc_questions(letter)]
    for domain in from_domains:
        names += [f"_dmarc.{domain}", f"_dmarc.{registrable(domain)}"]
    return tuple((name, Kind.TXT) for name in dict.fromkeys(names))


async def verify(
    letter: Letter,
    envelope: Identity,
    from_domains: Sequence[str],
    asker: Asker,
    *,
    now: float,
    limit: int,
    trusted: Container[str],
    sample: float,
) -> Identity:
    """Return the whole identity of a message.

    Args:
        letter: the message.
        envelope: SPF and iprev of its client and sender.
        from_domains: of the addresses in From; empty = DMARC is not asked about.
        asker: for keys and policies.
        now: Unix seconds.
        limit: DKIM signatures that are looked at.
        trusted: ARC sealers that are believed.
        sample: from 0 up to 100: where this message falls among those of which a domain wants a percentage to be acted upon.

    Guaranteed: never raises, whatever the message and the DNS hold.
    """
    signatures, more = await verify_dkim(letter, asker, now=now, limit=limit)
    chain = await verify_arc(letter, asker, now=now, trusted=trusted)
    result = await check_dmarc(from_domains, spf=envelope.spf, dkim=signatures, asker=asker, sample=sample)
    return msgspec.structs.replace(envelope, dkim=signatures, dkim_more=more, arc=chain, dmarc=result)


def unanswered(identity: Identity) -> tuple[str, ...]:
    """Return the methods that got no answer from the DNS in time."""
    methods = {
        "spf": (identity.spf.result, identity.spf_helo.result),
        "dkim": tuple(one.result for one in identity.dkim),
        "dmarc": (identity.dmarc.result,),
        "arc": (identity.arc.result,),
        "iprev": (identity.iprev.result,),
    }
    return tuple(name for name, results in methods.items() if Result.TEMPERROR in results)
