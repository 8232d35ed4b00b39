"""One reader's verdict on a message: the site's verdict, changed by the reader's own entries.

The order, of which docs/people/personal.md has the table:

    enforced lists of the site      decide; nothing personal changes them
    the person's entries            deny: at least the spam folder; allow: the inbox
    the person's contacts           take CONTACT_POINTS off the score, and one step off the verdict
    policy                          the score, held to the person's own spam threshold

No personal entry lets in a message with a finding of `MALWARE`: a contact's account may have been
broken into.  A text that was called good moves from the spam folder to the inbox, but is refused as
before: anybody who has the text can send it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from oborona.domains import registrable
from oborona.message.hashing import ShingleType
from oborona.policy.counts import shared_values
from oborona.policy.facts import Facts
from oborona.reputation.personal import (
    NOBODY,
    EntryAction,
    MessageOrigin,
    PersonalEntryKind,
    PersonalMatch,
    PersonalProfile,
    list_name,
    mail_address,
)
from oborona.reputation.subject import ListSubject
from oborona.types import Action, ProvedIdentity, RuleHit, Shingle, Verdict

PERSONAL: Final = "PERSONAL"  # decides, as a name
CONTACT_POINTS: Final = 50.0  # half of what makes spam
# recipients of a message whose lists are asked; policy speaks for the others
MOST_ASKED: Final = 100
MALWARE: Final = frozenset(
    {
        "disguised-program",
        "document-launch",
        "document-macros-run",
        "executable-attachment",
        "packed-program",
        "password-beside-archive",
        "virus",
    }
)
"""Findings that no personal entry lets in."""

_TEXT: Final = frozenset({ShingleType.WORDS, ShingleType.CHARACTERS})
_SEVERITY: Final = {Action.ACCEPT: 0, Action.SPAM: 1, Action.TEMPFAIL: 2, Action.REJECT: 3}


class DeliveredFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a judged message at the delivery door, or at the end of the scan."""

    action: Action
    score: float
    spam_score: float
    reject_score: float
    decided_by: str
    enforced: bool  # a list of the site decided
    malware: bool
    author: str = ""  # proved address in From
    author_domain: str = ""  # its registrable domain
    sender: str = ""  # proved MAIL FROM
    list_id: str = ""
    list_domain: str = ""  # proved registrable domain beside it
    text: tuple[Shingle, ...] = ()  # values of its fingerprints
    claimed: str = ""  # address in From, proved or not
    claimed_sender: str = ""  # MAIL FROM, proved or not
    own: bool = False  # one of our own people sent it


class ReaderVerdict(msgspec.Struct, frozen=True):
    """The verdict for one reader."""

    action: Action
    decided_by: str
    say: str
    line: float  # that the score was held to


class Persons(Protocol):
    """What is known of persons."""

    async def of(self, address: str) -> PersonalProfile:
        """Return what is known of the person behind a recipient's address.

        An empty `PersonalProfile` where nothing is, or can be read now.
        """
        ...


class NoPersons:
    """No person has entries."""

    async def of(self, address: str) -> PersonalProfile:
        """Return `NOBODY`."""
        return NOBODY


def delivered_facts(
    facts: Facts,
    proved: ProvedIdentity,
    shingles: Iterable[Shingle],
    verdict: Verdict,
    *,
    spam_score: float,
    reject_score: float,
    lists: Iterable[str],
) -> DeliveredFacts:
    """Return what personal entries are asked about.

    Args:
        facts: of the message, as it was judged or as the journal has them.
        proved: who sent it.
        shingles: of the message.
        verdict: of the site.
        spam_score: the policy's spam line.
        reject_score: its line of refusal.
        lists: names of the site's own lists.
    """
    return DeliveredFacts(
        action=verdict.action,
        score=verdict.score,
        spam_score=spam_score,
        reject_score=reject_score,
        decided_by=verdict.decided_by,
        enforced=verdict.decided_by in lists,
        malware=not MALWARE.isdisjoint(facts.findings),
        author=proved.author,
        author_domain=proved.author_domain,
        sender=proved.sender,
        list_id=facts.list_id,
        list_domain=list_domain(
            facts.list_id, () if facts.dkim_unsigned else facts.dkim_domains, proved
        )
        if facts.list_id
        else "",
        text=text_values(shingles),
        claimed=facts.from_address,
        claimed_sender=facts.sender,
        own=facts.client_own,
    )


def text_values(shingles: Iterable[Shingle]) -> tuple[Shingle, ...]:
    """Return the values of a text's fingerprints among a message's shingles."""
    return tuple(shingle for shingle in shingles if shingle.type in _TEXT)


def list_domain(list_id: str, signed: Iterable[str], proved: ProvedIdentity) -> str:
    """Return the proved registrable domain that a list's message comes from: the List-Id's own
    before any other; empty where none is.

    Args:
        list_id: of the message.
        signed: domains whose signatures over the whole text passed.
        proved: who sent it.
    """
    sent = registrable(proved.sender.rpartition("@")[2])
    domains = [
        domain
        for domain in (proved.author_domain, sent, *sorted(map(registrable, signed)))
        if domain
    ]
    own = registrable(list_id)
    return own if own in domains else domains[0] if domains else ""


def shown_values(message: DeliveredFacts) -> MessageOrigin:
    """Return what a message shows, in the normal form of entries."""
    claimed = mail_address(message.claimed)
    return MessageOrigin(
        author=mail_address(message.author),
        author_domain=message.author_domain,
        sender=mail_address(message.sender),
        list_id=list_name(message.list_id),
        list_domain=message.list_domain,
        claimed=claimed,
        claimed_domain=registrable(claimed.rpartition("@")[2]),
        claimed_sender=mail_address(message.claimed_sender),
        text=frozenset(message.text),
        own=message.own,
    )


def reader_verdict(message: DeliveredFacts, person: PersonalProfile, now: float) -> ReaderVerdict:
    """Return the verdict for one reader: pure.

    Args:
        message: as the site judged it; one that another reader's entry has decided counts by its
            score.
        person: the reader.
        now: Unix seconds.
    """
    action, decided_by = message.action, message.decided_by
    if decided_by == PERSONAL:
        action, decided_by = _held(message.score, message.spam_score, message.reject_score), "score"
    line = min(message.spam_score * person.strictness, message.reject_score)
    site = ReaderVerdict(
        action,
        decided_by,
        "",
        message.reject_score if action is Action.REJECT else message.spam_score,
    )
    if message.enforced or action is Action.TEMPFAIL or person.empty:
        return site
    match = person.match(shown_values(message), now, shared_values)
    if match is not None and match.side is EntryAction.DENY:
        return ReaderVerdict(
            max(action, Action.SPAM, key=_severity), PERSONAL, f"their list: {match.say}", line
        )
    if match is not None and not message.malware:
        return _for(message, action, match, site, line)
    return _strict(message, site, line, person)


def _for(
    message: DeliveredFacts, action: Action, match: PersonalMatch, site: ReaderVerdict, line: float
) -> ReaderVerdict:
    """Return what somebody who is allowed, or known, makes of a message."""
    if match.side is EntryAction.CONTACT:
        own_action = _held(message.score - CONTACT_POINTS, line, message.reject_score)
        if action is Action.REJECT:  # one step
            own_action = max(own_action, Action.SPAM, key=_severity)
        words = f"their {match.say}, -{CONTACT_POINTS:g}"
    else:
        words = f"their list: {match.say}"
        if match.kind is PersonalEntryKind.TEXT and action is Action.REJECT:
            return site
        own_action = Action.ACCEPT
    if own_action is action and match.side is EntryAction.CONTACT:
        return site
    return ReaderVerdict(own_action, PERSONAL, words, line)


def _strict(
    message: DeliveredFacts, site: ReaderVerdict, line: float, person: PersonalProfile
) -> ReaderVerdict:
    """Return the site's verdict with the person's line in the place of the policy's.

    Malware is held to the stricter of both.
    """
    if message.malware:
        line = min(line, message.spam_score)
    own_action = _held(message.score, line, message.reject_score)
    if (
        site.action is own_action
        or _held(message.score, message.spam_score, message.reject_score) is own_action
    ):
        return site  # what was not decided by the score is not decided by a line
    return ReaderVerdict(
        own_action, PERSONAL, f"their line, {person.strictness:g} of the policy's", line
    )


def _held(score: float, spam_score: float, reject_score: float) -> Action:
    return (
        Action.REJECT
        if score >= reject_score
        else Action.SPAM
        if score >= spam_score
        else Action.ACCEPT
    )


def _severity(action: Action) -> int:
    return _SEVERITY[action]


def unproved_allows(
    message: DeliveredFacts, people: Sequence[PersonalProfile], now: float
) -> Iterator[tuple[str, ListSubject]]:
    """Yield what readers allow and what was not counted, since nobody proved who it is: whose list
    has what, and what of the message it is.

    Args:
        message: as the site judged it.
        people: its readers.
        now: Unix seconds.
    """
    shown = shown_values(message)
    for person in people:
        for kind, value in person.unproved(shown, now) if not person.empty else ():
            of = ListSubject.SENDER if kind is PersonalEntryKind.SENDER else ListSubject.FROM
            yield f"the list of {person.address} has {value}", of


async def readers(recipients: Sequence[str], persons: Persons) -> tuple[PersonalProfile, ...]:
    """Return what is known of each distinct recipient of a message.

    Nothing where nobody has said anything, as for most mail.

    Args:
        recipients: of its envelope.
        persons: what is known of them; of at most `MOST_ASKED` recipients.
    """
    distinct = tuple(dict.fromkeys(recipients))
    profiles = [await persons.of(person) for person in distinct[:MOST_ASKED]]
    if all(profile.empty for profile in profiles):
        return ()
    return (*profiles, *(NOBODY for _ in distinct[MOST_ASKED:]))


def mildest_verdict(
    message: DeliveredFacts, people: Sequence[PersonalProfile], now: float
) -> ReaderVerdict | None:
    """Return the one verdict for all readers of a message, the least severe of theirs.

    None where it is the site's.

    Args:
        message: as the site judged it.
        people: its readers.
        now: Unix seconds.
    """
    best = min(
        (reader_verdict(message, person, now) for person in people),
        key=lambda verdict: _severity(verdict.action),
    )
    if best.decided_by != PERSONAL:
        return None
    if len(people) == 1:
        return best
    if best.action is message.action:
        return None
    # what one of them has written into a list is not told to the others
    return msgspec.structs.replace(
        best, say=f"the mildest of {len(people)} recipients' verdicts, by a list of theirs"
    )


def personal_verdict(verdict: Verdict, personal: ReaderVerdict) -> Verdict:
    """Return a verdict that lists of its readers decide, whatever its score."""
    hit = RuleHit(name=PERSONAL, score=0.0, say=personal.say)
    return msgspec.structs.replace(
        verdict,
        action=personal.action,
        line=personal.line,
        decided_by=personal.decided_by,
        rules=(hit, *verdict.rules),
    )
