"""A message taken apart as a scan does it, and what is read late with it; nothing is judged."""

from __future__ import annotations

import time
from typing import Final, Self

import msgspec

from oborona import secret
from oborona.authentication.proof import prove_sender
from oborona.daemon.site_name import site_name
from oborona.desk.site import Site
from oborona.message.dissection import DissectedSignature, Dissection
from oborona.message.dissector import build_dissection
from oborona.message.findings import NAMES
from oborona.message.parse import parse
from oborona.message.pictures.enrichment import enrich_message
from oborona.message.recording_hasher import RecordingHasher
from oborona.message.shingles import shingles
from oborona.policy.checks import CHECKS, FINDINGS
from oborona.policy.checks.context import CheckContext
from oborona.policy.evidence import Inquiry
from oborona.policy.load import Policy
from oborona.policy.pictures import FINDINGS as OF_PICTURES
from oborona.policy.ports import GeoIpLookup, Pictures
from oborona.policy.signatures import Signature, SignatureFinder
from oborona.types import Envelope, Finding

MEANINGS: Final = {**NAMES, **FINDINGS, **OF_PICTURES}


class DissectingTools(msgspec.Struct, frozen=True, kw_only=True):
    """What each message is taken apart with."""

    envelope: Envelope
    policy: Policy
    keys: secret.SiteKeys
    places: GeoIpLookup
    pictures: Pictures
    signatures: SignatureFinder
    regions: tuple[str, ...]
    site: str

    @classmethod
    def of(cls, site: Site, envelope: Envelope, pictures: Pictures) -> Self:
        """Return those of a site.

        Args:
            site: whose policy, keys and signatures.
            envelope: that messages come with.
            pictures: who looks at them.
        """
        return cls(
            envelope=envelope,
            policy=site.policy(),
            keys=site.keys(),
            places=site.places(),
            pictures=pictures,
            signatures=site.signatures(),
            regions=tuple(site.loaded.settings.site.regions.split()),
            site=site_name(site.loaded),
        )


async def dissect_message(
    name: str, raw: bytes, tools: DissectingTools, inquiry: Inquiry
) -> Dissection:
    """Take a message apart as a scan does, and what is read late with it.

    What would have to ask the counters is left out.

    Args:
        name: of its file.
        raw: as it came.
        tools: of the site.
        inquiry: of the DNS.
    """
    message = parse(raw, regions=tools.regions)
    findings: list[Finding] = []
    for work in (tools.pictures.look, tools.pictures.read):
        if message.pictures:
            view = await work(message.pictures)
            findings += view.findings
            message = enrich_message(message, view.pictures, tools.regions)
    evidence = await inquiry.whole(message, tools.envelope, tools.policy, truncated=False)
    recorder = RecordingHasher(tools.keys.shingles)
    pieces = shingles(
        message,
        tools.envelope,
        recorder,
        evidence.identity.dkim_domains,
        tools.places.find(tools.envelope.client.ip),
        prove_sender(
            evidence.identity,
            tools.envelope,
            message.from_.address if message.from_ else "",
            message.from_domains,
        ),
    )
    now = time.time()
    context = CheckContext(
        message=message,
        envelope=tools.envelope,
        site=tools.site,
        now=now,
        brands=tools.policy.brands,
        people=tools.policy.people,
    )
    findings += [finding for check in CHECKS if (finding := check(context)) is not None]
    return build_dissection(
        message,
        pieces,
        recorder.sources,
        [*message.findings, *findings],
        MEANINGS,
        signatures=map(_marked, tools.signatures.find(message, now).signatures),
        file=name,
        keyed=tools.keys is not secret.UNKEYED,
    )


def _marked(signature: Signature) -> DissectedSignature:
    return DissectedSignature(
        id=signature.id,
        flag=signature.flag,
        kind=signature.kind,
        where=signature.where,
        value=signature.value,
        owner=signature.owner,
        reason=signature.reason,
        mode=signature.mode,
        score=signature.score,
    )
