"""The refusal that a sender names: what is known of it, if he names its envelope's domain, too.

Who gives another domain, a reference of nobody, one that several share, one of mail that was taken
or is no longer kept, is told one and the same: nothing.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona import state_files
from oborona.desk.senders.refusal_reasons import refusal_reasons
from oborona.desk.site import Site
from oborona.domains import normal_host
from oborona.errors import PolicyError
from oborona.feedback.cases.appeals import RefusalReason
from oborona.ident import TEXT_LENGTH, from_text
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.journal.refusal import Refusal
from oborona.policy.load import Policy
from oborona.types import Action

_REFUSED: Final = (Action.REJECT, Action.TEMPFAIL)
_NAMED: Final = re.compile(
    rf"\breference[\s:]+([0-9A-Z]{{{TEXT_LENGTH}}})(?![0-9A-Z])", re.IGNORECASE
)


class RefusedMail(msgspec.Struct, frozen=True, kw_only=True):
    """What a sender may know of a refusal.

    Args:
        reference: of it.
        domain: of the envelope's sender.
        time: when, Unix seconds.
        put_off: it was refused for a while.
        reasons: why, by kinds.
    """

    reference: int
    domain: str
    time: float
    put_off: bool
    reasons: tuple[RefusalReason, ...]


def read_reference(text: str) -> int | None:
    """Return the reference that somebody pasted: alone, or the whole answer of a mail server.

    None = it has none.
    """
    text = " ".join(text.split())
    named = _NAMED.search(text)
    return from_text(named[1] if named else text.strip(" ,;.<>\"'"))


def domain_of(address: str) -> str:
    """Return the domain of an address in its normal form; empty = it has none."""
    _, at, host = address.strip().strip("<>").rpartition("@")
    return normal_host(host) if at else ""


async def refused_mail(site: Site, reference: int) -> RefusedMail | None:
    """Return the refusal of a reference, whoever asks; None = there is none with a sender.

    Raises:
        StoreError: the journal can't be read, or its row is damaged.
    """
    async with await JournalReader.open(site.state / state_files.JOURNAL) as journal:
        entry = await journal.get(reference)
        recorded = await journal.refusal(reference)
    policy = _policy(site)
    found: JournalEntry | Refusal | None = None
    if entry is not None and entry.verdict in _REFUSED:
        # a policy that refuses nobody marks such mail, and its reference is told to nobody
        tells = policy is None or policy.verdict.refuse or entry.verdict is Action.TEMPFAIL
        found = entry if tells else None
    elif recorded is not None and not recorded.shared:
        found = recorded.refusal
    domain = "" if found is None else domain_of(found.sender)
    if found is None or not domain:
        return None
    return RefusedMail(
        reference=reference,
        domain=domain,
        time=found.time,
        put_off=found.verdict is Action.TEMPFAIL,
        reasons=refusal_reasons(found.decided_by, found.rules, policy),
    )


def _policy(site: Site) -> Policy | None:
    try:
        return site.policy()
    except PolicyError as error:
        site.notice(f"{error}; senders are told no more than that their mail was refused")
        return None
