"""What a message proves itself, put together with what its envelope proved: policies, keys and
seals, asked for all at once.

    policies of From's domains, keys of signatures   ─→ DKIM ─┐
    SPF, under way since MAIL FROM                   ─────────┼─→ DMARC
    keys of seals                                    ─→ ARC   │ (no part of DMARC)

What a sender's own name servers answer, or keep us waiting for, takes nothing from what the domain
in From says: policies and keys have a budget of their own, in which policies are asked for first;
so have the seals; and no question waits for SPF. So all of it together ends within the time of one
budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from oborona.authentication import dkim
from oborona.authentication.arc import arc_questions, is_sealed, verify_arc
from oborona.authentication.dkim import verify_dkim
from oborona.authentication.dmarc import check_dmarc, dmarc_questions
from oborona.authentication.model import Arc, AuthIdentity, DkimSignature, Spf
from oborona.authentication.signed_message import SignedMessage
from oborona.dns import DnsAsker, DnsType


async def verify(
    letter: SignedMessage,
    from_domains: Sequence[str],
    envelope: Coroutine[Any, Any, AuthIdentity],
    *,
    asker: Callable[[], DnsAsker],
    now: float,
    limit: int,
    trusted: Container[str],
    sample: float,
) -> AuthIdentity:
    """Return the whole identity of a message.

    Args:
        letter: the message.
        from_domains: of the addresses in From; empty = DMARC is not asked about.
        envelope: SPF and iprev of its client and sender.
        asker: a new one, with a budget of its own, which asks nothing twice.
        now: Unix seconds.
        limit: DKIM signatures that are looked at.
        trusted: ARC sealers that are believed.
        sample: from 0 up to 100: where this message falls among those of which a domain wants a
            percentage to be acted upon.
    """
    keys = asker()
    async with asyncio.TaskGroup() as group:
        sealing = (
            group.create_task(_chain(letter, asker(), trusted, now)) if is_sealed(letter) else None
        )
        sending = group.create_task(envelope)
        signatures, more = await _signatures(letter, from_domains, keys, limit, now)
        judged = partial(check_dmarc, from_domains, dkim=signatures, asker=keys, sample=sample)
        if not sending.done():
            await judged(
                spf=Spf()
                # as if it proved nothing: all that may be asked is asked now, and not when SPF has
                # taken its time
            )
    identity = sending.result()
    return msgspec.structs.replace(
        identity,
        dkim=signatures,
        dkim_more=more,
        arc=Arc() if sealing is None else sealing.result(),
        dmarc=await judged(spf=identity.spf),
    )


async def _signatures(
    letter: SignedMessage, from_domains: Sequence[str], asker: DnsAsker, limit: int, now: float
) -> tuple[tuple[DkimSignature, ...], int]:
    keys = dkim.dkim_questions(letter, now=now, limit=limit, from_domains=from_domains)
    await _ask((*dmarc_questions(from_domains), *keys), asker)
    return await verify_dkim(letter, asker, now=now, limit=limit, from_domains=from_domains)


async def _chain(
    letter: SignedMessage, asker: DnsAsker, trusted: Container[str], now: float
) -> Arc:
    await _ask(arc_questions(letter, now=now), asker)
    return await verify_arc(letter, asker, now=now, trusted=trusted)


async def _ask(names: Sequence[str], asker: DnsAsker) -> None:
    """Ask for TXT records all at once: those that stand first have the budget first, and the asker
    remembers what it was told.
    """
    if len(names) == 1:
        await asker.ask(names[0], DnsType.TXT)
    elif names:
        await asyncio.gather(*(asker.ask(name, DnsType.TXT) for name in names))
