"""What the site's own lists say of one envelope or message.

Subjects are asked in the order in which a mail server tells them: client, its name, HELO, sender, recipient, From; the first that any list holds
decides.  What anybody can write is believed to let mail in only when it was proved: a HELO or sender by SPF, an address in From by DMARC's
alignment for its own domain and any other in From, and not by a signature that leaves out part of the text; to keep mail out, any word is good enough.

A recipient is the one that is being asked about; a whole message is let in for its recipients only if all of them are on the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oborona.authentication.model import Identity, Result
from oborona.authentication.names import fqdn
from oborona.reputation.locallists import ListAction, LocalLists, Match
from oborona.reputation.subject import Subject
from oborona.types import Envelope, Mode, RuleHit, Stage

_NOBODY: Final = Identity()


def match(
    lists: LocalLists, envelope: Envelope, stage: Stage, identity: Identity = _NOBODY, author: str = ""
) -> Match | None:
    """Return the entry that decides, None where none does.

    Args:
        lists: of the policy.
        envelope: as far as it is known.
        stage: how far that is.
        identity: what was proved so far.
        author: the address in From, at the content stage.
    """
    if not lists.subjects:
        return None
    for subject, values in _values(envelope, stage, author):
        found = [lists.look(subject, value) for value in values]
        for one in found:
            if one is not None and one.action is ListAction.DENY:
                return one
        if found and all(found) and _believed(subject, identity, author):
            return found[0]
    return None


def shadowed(
    lists: LocalLists, envelope: Envelope, stage: Stage, identity: Identity = _NOBODY, author: str = ""
) -> list[RuleHit]:
    """Return what lists in shadow mode would have decided; arguments as of `match`."""
    if not any(one.mode is Mode.SHADOW for one in lists.lists):
        return []
    return [
        RuleHit(name=one.list, score=0.0, say=f"would {one.action} {one.entry}", mode=Mode.SHADOW)
        for subject, values in _values(envelope, stage, author)
        for value in values
        if (one := lists.look(subject, value, shadow=True)) is not None
        and (one.action is ListAction.DENY or _believed(subject, identity, author))
    ]


def _values(envelope: Envelope, stage: Stage, author: str) -> Iterator[tuple[Subject, tuple[str, ...]]]:
    recipients = envelope.recipients if stage is Stage.CONTENT else envelope.recipients[-1:]
    told = (
        (Subject.CLIENT, (envelope.client.ip,)),
        (Subject.RDNS, (envelope.client.name,)),
        (Subject.HELO, (envelope.helo,)),
        (Subject.SENDER, (envelope.sender,)),
        (Subject.RECIPIENT, recipients),
        (Subject.FROM, (author,)),
    )
    for subject, values in told:
        if subject.stage.order <= stage.order:
            yield subject, tuple(value for value in values if value)


def _believed(subject: Subject, identity: Identity, author: str) -> bool:
    match subject:
        case Subject.HELO:
            return identity.spf_helo.result is Result.PASS
        case Subject.SENDER:
            return identity.spf.result is Result.PASS
        case Subject.FROM:
            dmarc, domain = identity.dmarc, fqdn(author.rpartition("@")[2])
            proved = dmarc.spf_aligned or (dmarc.dkim_aligned and not identity.unsigned)
            return proved and bool(domain) and domain == dmarc.domain
        case _:
            return True
