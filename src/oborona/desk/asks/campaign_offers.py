"""What a decision of a campaign may do beside labels and reports: what all its messages have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from oborona import state_files
from oborona.desk.asks.campaign_details import CampaignQuestion
from oborona.desk.asks.campaigns import MOST_EVENTS, find_campaign
from oborona.desk.call import ask
from oborona.desk.campaigns.campaign_mail import campaign_entries, whole_pieces
from oborona.desk.campaigns.shared_entities import TEXTS, shared_pins, shared_signatures
from oborona.desk.events.event_log import open_event_log
from oborona.desk.refusals import UnknownNameError
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.reputation.statement import ShownPin, shown_pin
from oborona.desk.signatures.store import open_signatures
from oborona.desk.site import Site
from oborona.errors import ConfigError, StoreError
from oborona.message.shingles import Hasher
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import SignatureKind, SignatureScope
from oborona.stores.counters import open_readonly
from oborona.stores.signatures.rows import SignatureState
from oborona.types import Metric, Shingle, Window


class CountedMail(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of two weeks that have something; None where the counters can't be read."""

    seen: int | None = None
    spam: int = 0
    pardons: int = 0


class OfferedSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature that a decision can add, or put in force.

    Args:
        proposal: its id, where it waits for a decision; else empty.
        kind: of what it looks for.
        value: what it looks for.
        where: it is looked for.
        mail: that has it, of all that came.
        evidence: of a proposal: how many messages had it, of how many.
    """

    proposal: str
    kind: SignatureKind
    value: str
    where: SignatureScope
    mail: CountedMail
    evidence: tuple[int, int] | None = None


class OfferedPin(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that all messages have, with the override that stands; None = there is none."""

    entity: str
    kind: str
    mail: CountedMail
    pin: ShownPin | None


class CampaignOffers(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision can stand on.

    Args:
        messages: of the campaign that were found in the journal: all of them have it.
        complete: these are all.
        signatures: that it can add, or put in force.
        pins: whose reputation it can set.
    """

    messages: int
    complete: bool
    signatures: tuple[OfferedSignature, ...]
    pins: tuple[OfferedPin, ...]


@ask("campaigns.offers", Right.TEACH)
def list_offers(site: Site, caller: Caller, asked: CampaignQuestion) -> CampaignOffers:
    """Return what all messages of a campaign have, as far as it can be named.

    Raises:
        NotFoundError: there is no such campaign.
        StoreError: the log of events or the journal can't be read.
    """
    now, settings = time.time(), site.loaded.settings.site
    with open_event_log(site) as log:
        summary = find_campaign(log, asked.id)
        events = log.of_campaign(asked.id, MOST_EVENTS)
        known = [event.ident for event in events if event.ident is not None]
        entries, complete = campaign_entries(
            site, whole_pieces(log, asked.id), list(dict.fromkeys(known)), summary.first
        )
        kept = (raw for event in reversed(events) if (raw := log.raw(event.id)))
        texts = [raw for raw, _ in zip(kept, range(TEXTS), strict=False)]
    if not entries:
        return CampaignOffers(messages=0, complete=complete, signatures=(), pins=())
    hasher = Hasher(site.keys().shingles)
    shared = shared_signatures(entries, texts, hasher, settings.regions.split())
    entities = shared_pins(entries, [one.signature for one in shared], hasher, settings.networks)
    pieces = [piece for one in shared for piece in one.shingles]
    counted = _counted(site, [*pieces, *(one.shingle for one in entities)], now)
    signatures = _proposals(site, summary.proposals)
    signatures += [
        OfferedSignature(
            proposal="",
            kind=one.signature.kind,
            value=one.signature.value,
            where=one.signature.where,
            mail=max((counted[shingle] for shingle in one.shingles), key=_seen),
        )
        for one in shared
    ]
    with pins_for_reading(site) as store:
        pins = [None if store is None else store.of(one.shingle, now) for one in entities]
    return CampaignOffers(
        messages=len(entries),
        complete=complete,
        signatures=tuple(signatures),
        pins=tuple(
            OfferedPin(
                entity=named.name,
                kind=named.kind,
                mail=counted[named.shingle],
                pin=None if pin is None else shown_pin(pin),
            )
            for named, pin in zip(entities, pins, strict=True)
        ),
    )


def _proposals(site: Site, names: Sequence[str]) -> list[OfferedSignature]:
    """Return the signatures that were proposed for a campaign, and wait still."""
    if not names or not (site.state / state_files.SIGNATURES).exists():
        return []
    found = list[OfferedSignature]()
    with open_signatures(site) as store:
        for name in names:
            try:
                record = store.get(name)
            except (KeyError, UnknownNameError):
                continue
            if record.state is not SignatureState.PROPOSED:
                continue
            support, of = record.evidence.get("support"), record.evidence.get("of")
            told = isinstance(support, int) and isinstance(of, int)
            found.append(
                OfferedSignature(
                    proposal=name,
                    kind=record.signature.kind,
                    value=record.signature.value,
                    where=record.signature.where,
                    mail=CountedMail(),
                    evidence=(int(str(support)), int(str(of))) if told else None,
                )
            )
    return found


def _counted(site: Site, shingles: Sequence[Shingle], now: float) -> dict[Shingle, CountedMail]:
    """Return what the counters remember of pieces."""
    asked = list(dict.fromkeys(shingles))
    try:
        with open_readonly(site.loaded.settings, site.state) as store:
            rows = asyncio.run(store.read(asked, now)) if asked else []
    except (StoreError, ConfigError) as error:
        site.notice(f"{error}; how much mail has it is not known")
        return dict.fromkeys(asked, CountedMail())
    return {
        piece: CountedMail(
            seen=row[Window.FORTNIGHT][Metric.SEEN],
            spam=row[Window.FORTNIGHT][Metric.SPAM],
            pardons=row[Window.FORTNIGHT][Metric.PARDONS],
        )
        for piece, row in zip(asked, rows, strict=True)
    }


def _seen(mail: CountedMail) -> int:
    return mail.seen or 0
