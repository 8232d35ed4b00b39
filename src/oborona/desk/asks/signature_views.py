"""Signatures as a page shows them: some at a time with how often each was found, those that are
found in mail that people pardon, and all as a file.
"""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.asks.signatures import FILED
from oborona.desk.call import Question, ask
from oborona.desk.signatures.pardons import PardonedSignature, pardoned_signatures
from oborona.desk.signatures.store import open_signatures
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures import Signature, SignatureFlag
from oborona.stores.signatures.hit_counts import DAY_S
from oborona.stores.signatures.listing import (
    STALE_DAYS,
    SignatureChoice,
    SignatureView,
    find_signatures,
)
from oborona.stores.signatures.rows import SignatureHits, SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.types import RuleMode

MOST: Final = 200  # of a page
MOST_SKIPPED: Final = 400_000


class SignaturePageQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which signatures.

    Args:
        view: of them.
        text: that stands in what they look for, or is their id; empty = any.
        owner: of this one alone; empty = of all.
        flag: of this one alone; None = of spam and of good mail.
        skip: those before the page.
        most: on the page.
    """

    view: SignatureView = SignatureView.IN_FORCE
    text: Annotated[str, Meta(max_length=500)] = ""
    owner: Annotated[str, Meta(max_length=500)] = ""
    flag: SignatureFlag | None = None
    skip: Annotated[int, Meta(ge=0, le=MOST_SKIPPED)] = 0
    most: Annotated[int, Meta(ge=1, le=MOST)] = 50


class SignatureRow(msgspec.Struct, frozen=True, kw_only=True):
    """A signature of a page.

    Args:
        signature: itself.
        state: of the store; `file` = it stands in a file of the policy.
        expired: it is over.
        today: how often it was found since midnight UTC.
        fortnight: in the last 14 days, as far as that was counted.
        total: in all.
        last: when last, Unix seconds; 0 = never.
        stale: it has been in force for 30 days, and was not found.
    """

    signature: Signature
    state: str
    expired: bool
    today: int
    fortnight: int
    total: int
    last: float
    stale: bool


class SignaturePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of signatures; those of policy files are behind those of the store.

    Args:
        now: when they were looked at, Unix seconds.
        number: how many there are in all.
        signatures: of the page.
    """

    now: float
    number: int
    signatures: list[SignatureRow]


@ask("signatures.find", Right.SIGNATURE, Right.POLICY_SEE)
def find_page(site: Site, caller: Caller, asked: SignaturePageQuestion) -> SignaturePage:
    """Return a page of signatures, with how often each was found.

    Raises:
        PolicyError: the policy can't be read.
        StoreError: the store can't be used.
    """
    now = time.time()
    choice = SignatureChoice(
        view=asked.view, text=asked.text.strip(), owner=asked.owner.strip(), flag=asked.flag
    )
    marks = asked.flag is SignatureFlag.MARK  # of which tens of thousands ship
    filed = [
        one
        for one in site.policy().signatures.values()
        if (one.flag is SignatureFlag.MARK) is marks and _is_chosen(one, choice)
    ]
    with open_signatures(site) as store:
        stored, number = find_signatures(store, choice, skip=asked.skip, most=asked.most, now=now)
        filed = _seen_by(filed, store, choice.view, now)
        first = max(0, asked.skip - number)
        page = [record.signature for record in stored]
        page += filed[first : first + asked.most - len(stored)] if len(stored) < asked.most else []
        names = [signature.id for signature in page]
        hits, fortnight = store.hits(now, names), store.fortnight_hits(names, now)
    return SignaturePage(
        now=now,
        number=number + len(filed),
        signatures=[
            _row(
                signature,
                FILED if place >= len(stored) else SignatureState.ACTIVE,
                stored[place].decided if place < len(stored) else 0.0,
                hits.get(signature.id, SignatureHits()),
                fortnight.get(signature.id, 0),
                now,
            )
            for place, signature in enumerate(page)
        ],
    )


class PardonedQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class PardonedSignatures(msgspec.Struct, frozen=True, kw_only=True):
    """Signatures that were found in mail which people said is no spam.

    Args:
        signatures: the most pardoned first.
        pardons: how many were looked at, the newest.
        complete: False: there are more, or the time was over.
    """

    signatures: list[PardonedSignature]
    pardons: int
    complete: bool


@ask("signatures.pardoned", Right.SIGNATURE, Right.POLICY_SEE)
def list_pardoned(site: Site, caller: Caller, asked: PardonedQuestion) -> PardonedSignatures:
    """Return the signatures that were found in mail of two weeks that people pardoned.

    Raises:
        StoreError: the log of events or the journal can't be read.
    """
    found, pardons, complete = pardoned_signatures(site, time.time())
    return PardonedSignatures(signatures=found, pardons=pardons, complete=complete)


class SignatureFile(msgspec.Struct, frozen=True, kw_only=True):
    """All active signatures of the store, as `signatures.import` takes them.

    Args:
        content: a JSON object a line.
        number: how many there are.
    """

    content: str
    number: int


@ask("signatures.content", Right.SIGNATURE, Right.POLICY_SEE)
def export_signatures(site: Site, caller: Caller, asked: Question) -> SignatureFile:
    """Return all active signatures of the store as lines.

    Raises:
        StoreError: the store can't be used.
    """
    with open_signatures(site) as store:
        records = store.all(SignatureState.ACTIVE)
    lines = [msgspec.json.encode(record.signature).decode() + "\n" for record in records]
    return SignatureFile(content="".join(lines), number=len(lines))


def _is_chosen(signature: Signature, choice: SignatureChoice) -> bool:
    """Tell whether a signature of a file is looked for, whenever it was found."""
    if choice.flag not in (None, signature.flag) or choice.owner not in ("", signature.owner):
        return False
    text = choice.text.lower()
    return text in signature.value.lower() or text == signature.id.lower()


def _seen_by(
    filed: list[Signature], store: SignatureStore, view: SignatureView, now: float
) -> list[Signature]:
    """Return the signatures of files that a view has, in its order."""
    if not filed:
        return []
    hits = store.hits(now) if view in (SignatureView.FOUND, SignatureView.STALE) else {}
    match view:
        case SignatureView.FOUND:
            today = {name: one.today for name, one in hits.items() if one.today}
            found = [one for one in filed if one.id in today and not one.expired(now)]
            return sorted(found, key=lambda one: -today[one.id])
        case SignatureView.STALE:
            late = now - STALE_DAYS * DAY_S
            heard = {name for name, one in hits.items() if one.last >= late}
            return [one for one in filed if one.id not in heard and not one.expired(now)]
        case SignatureView.SHADOW:
            return [one for one in filed if one.mode is RuleMode.SHADOW and not one.expired(now)]
        case SignatureView.ENDING:
            return sorted((one for one in filed if one.expires > now), key=lambda one: one.expires)
        case SignatureView.OVER:
            return [one for one in filed if one.expired(now)]
        case SignatureView.IN_FORCE:
            return [one for one in filed if not one.expired(now)]


def _row(
    signature: Signature,
    state: str,
    decided: float,
    hits: SignatureHits,
    fortnight: int,
    now: float,
) -> SignatureRow:
    late = now - STALE_DAYS * DAY_S
    old = max(signature.created, decided) < late
    return SignatureRow(
        signature=signature,
        state=state,
        expired=signature.expired(now),
        today=hits.today,
        fortnight=fortnight,
        total=hits.total,
        last=hits.last,
        stale=old and hits.last < late and not signature.expired(now),
    )
