"""Matches an envelope or message against the site's local lists.

Subjects are checked in the order in which a mail server tells them: client, its name, HELO, sender,
recipient, From; the first that any list holds decides.  A subject that anybody can write may allow
mail only if it was proved: a HELO or sender by SPF; From by DMARC's alignment for its own domain
and any other in From, and not by a signature that leaves out part of the text.  To deny mail,
no proof is needed.

A recipient is the one of the current RCPT TO; a whole message is allowed for its recipients only if
all of them are on the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oborona.authentication.model import AuthIdentity, AuthResult
from oborona.authentication.names import fqdn
from oborona.reputation.locallists import ListAction, LocalListMatch, LocalLists
from oborona.reputation.subject import ListSubject
from oborona.types import Envelope, Finding, RuleHit, RuleMode, Stage

NOT_COUNTED: Final = "allow-not-counted"  # as a finding

_NOBODY: Final = AuthIdentity()
_PROVED_BY: Final = {
    ListSubject.HELO: ("spf",),
    ListSubject.SENDER: ("spf",),
    ListSubject.FROM: ("spf", "dkim", "dmarc"),
}
"""What anybody can write → what proves it."""
_MACHINE: Final = frozenset({ListSubject.CLIENT, ListSubject.RDNS, ListSubject.HELO})
"""What is said of where mail comes from, and not of whom: one of our people who logs in there is
kept out by none of it.
"""


def match_local_lists(
    lists: LocalLists,
    envelope: Envelope,
    stage: Stage,
    identity: AuthIdentity = _NOBODY,
    author: str = "",
) -> LocalListMatch | None:
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
        matches = [lists.look(subject, value) for value in values]
        if envelope.login and subject in _MACHINE:
            matches = [
                match if match is None or match.action is ListAction.ALLOW else None
                for match in matches
            ]
        for match in matches:
            if match is not None and match.action is ListAction.DENY:
                return match
        if matches and all(matches) and _believed(subject, identity, author):
            return matches[0]
    return None


def uncounted_allows(
    lists: LocalLists, envelope: Envelope, identity: AuthIdentity, author: str
) -> Iterator[Finding]:
    """Yield the allows of live lists that were not counted at the content stage, since nobody
    proved who it is; what would count instead is told.

    Args:
        lists: of the policy.
        envelope: whole.
        identity: what was proved.
        author: the address in From.
    """
    matches: dict[
        str, ListSubject
    ] = {}  # an entry that matches twice is told once, with the proofs of From, the last
    for subject, values in _values(envelope, Stage.CONTENT, author):
        if subject in _PROVED_BY and not _believed(subject, identity, author):
            for match in filter(None, (lists.look(subject, value) for value in values)):
                if match.action is ListAction.ALLOW:
                    matches[f"{match.list} has {match.entry}"] = subject
    for has, subject in matches.items():
        yield not_counted(has, subject, identity, envelope)


def not_counted(
    has: str, subject: ListSubject, identity: AuthIdentity, envelope: Envelope
) -> Finding:
    """Return the finding of an allow that was not counted.

    Args:
        has: which list has which entry.
        subject: what of the message it matched.
        identity: what was proved.
        envelope: whose client could be allowed instead.
    """
    signed = sorted(
        (signature.result for signature in identity.dkim),
        key=lambda result: result is not AuthResult.PASS,
    )
    results = {
        "spf": identity.spf_helo.result if subject is ListSubject.HELO else identity.spf.result,
        "dkim": signed[0] if signed else AuthResult.NONE,
        "dmarc": identity.dmarc.result,
    }
    proofs = ", ".join(f"{name}={results[name]}" for name in _PROVED_BY[subject])
    evidence = f"{has}, not counted: nobody proved it ({proofs})"
    if identity.unsigned and subject is ListSubject.FROM:
        evidence += "; the DKIM signature leaves out part of the text"
    client = envelope.client.ip
    return Finding(NOT_COUNTED, f"{evidence}; allow client {client}" if client else evidence)


def shadow_matches(
    lists: LocalLists,
    envelope: Envelope,
    stage: Stage,
    identity: AuthIdentity = _NOBODY,
    author: str = "",
) -> list[RuleHit]:
    """Return what lists in shadow mode would have decided; arguments as of `match_local_lists`."""
    if not lists.on_trial:
        return []
    return [
        RuleHit(
            name=one.list, score=0.0, say=f"would {one.action} {one.entry}", mode=RuleMode.SHADOW
        )
        for subject, values in _values(envelope, stage, author)
        for value in values
        if (one := lists.look(subject, value, shadow=True)) is not None
        and (one.action is ListAction.DENY or _believed(subject, identity, author))
    ]


def _values(
    envelope: Envelope, stage: Stage, author: str
) -> Iterator[tuple[ListSubject, tuple[str, ...]]]:
    recipients = envelope.recipients if stage is Stage.CONTENT else envelope.recipients[-1:]
    evidence = (
        (ListSubject.CLIENT, (envelope.client.ip,)),
        (ListSubject.RDNS, (envelope.client.name,)),
        (ListSubject.HELO, (envelope.helo,)),
        (ListSubject.SENDER, (envelope.sender,)),
        (ListSubject.RECIPIENT, recipients),
        (ListSubject.FROM, (author,)),
    )
    for subject, values in evidence:
        if subject.stage.order <= stage.order:
            yield subject, tuple(value for value in values if value)


def _believed(subject: ListSubject, identity: AuthIdentity, author: str) -> bool:
    match subject:
        case ListSubject.HELO:
            return identity.spf_helo.result is AuthResult.PASS
        case ListSubject.SENDER:
            return identity.spf.result is AuthResult.PASS
        case ListSubject.FROM:
            dmarc, domain = identity.dmarc, fqdn(author.rpartition("@")[2])
            proved = dmarc.spf_aligned or (dmarc.dkim_aligned and not identity.unsigned)
            return proved and bool(domain) and domain == dmarc.domain
        case _:
            return True
