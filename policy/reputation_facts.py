"""RepUser, RepEntity and karma of one message, as facts: from its counts, its proved sender, and
pins; pure.

All are computed from the base records that a scan reads anyway; if the sender has enough of a past,
the judgement of his time-line (`policy.histories`) replaces his base record.  Names of entities are
looked for only if there is something to report of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from oborona.domains import registrable
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.redirects import is_service
from oborona.policy.counts import MessageCounts, is_elsewhere
from oborona.policy.facts import Facts, with_values
from oborona.policy.histories import Judgements
from oborona.reputation.address import RepIP
from oborona.reputation.entity import ALL, EntityGroup, EntityStanding, is_shared, judge, standing
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.karma import PINNED, KarmaInputs, karma
from oborona.reputation.pins import Pins
from oborona.types import Metric, ProvedIdentity, RuleWindow, Shingle, Window

SORTS: Final[tuple[tuple[int, str, str], ...]] = (
    (int(ShingleType.LINK_DOMAIN), "link domain", "links_domains"),
    (int(ShingleType.PHONE), "telephone", "phones"),
    (int(ShingleType.WALLET), "wallet", "wallets"),
    (int(ShingleType.HANDLE), "messenger name", "handles"),
    (int(ShingleType.CHECKSUM), "attachment", ""),
    (int(ShingleType.CODE), "code", "pictures_codes"),
    (int(ShingleType.PICTURE), "picture", ""),
    (int(ShingleType.PICTURE_PHONE), "telephone in a picture", ""),
    (int(ShingleType.PICTURE_ADDRESS), "address in a picture", ""),
    (int(ShingleType.URL), "link", ""),
    (int(ShingleType.HOST), "host", "links_hosts"),
    (int(ShingleType.ADDRESS), "mail address", "addresses"),
    (int(ShingleType.MEMBER_CHECKSUM), "file in an archive", ""),
)
"""The entities of a message, those that tell most first: their type, their word, and the fact that
has their names; empty = none has.
"""

_WHO: Final = tuple(map(int, (ShingleType.ACCOUNT, ShingleType.AUTHOR, ShingleType.PROVED_SENDER)))
# plain numbers: an enum's member is hashed in Python, and every scan asks
_FROM, _AUTHOR_DOMAIN = int(ShingleType.FROM), int(ShingleType.AUTHOR_DOMAIN)
_NETWORK, _SYSTEM = int(ShingleType.CLIENT_NETWORK), int(ShingleType.AS_NUMBER)
_LINK_DOMAIN, _LINK_SENDERS = int(ShingleType.LINK_DOMAIN), int(ShingleType.LINK_SENDERS)
_FACTS: Final = {kind: fact for kind, _, fact in SORTS}

Pinned = Mapping[int, Mapping[int, EntityStanding]]
"""What analysts have said, by type and by place among the pieces of the type."""

NOT_PINNED: Final[Pinned] = {}
NOT_JUDGED: Final[Judgements] = {}
# that a pin gives
_SHARE: Final = {
    ReputationFlag.GOOD: 0.0,
    ReputationFlag.UNKNOWN: 0.5,
    ReputationFlag.POOR: 0.75,
    ReputationFlag.BAD: 1.0,
}
_POOR: Final = -25.0  # trust of an address that is poor, at most
_BAD: Final = -60.0  # of one that is bad
_NOTHING: Final = EntityStanding()
_NONE: Final[Mapping[int, EntityStanding]] = {}


class ReputationInputs(NamedTuple):
    """The inputs of a message's reputation, beside its counts."""

    who: ProvedIdentity
    hasher: Hasher
    shared: Collection[str] = ()  # domains that everybody uses, by the site's lists
    pinned: Pinned = NOT_PINNED
    own: bool = False  # the client is one of ours: nothing is remembered of it
    judgements: Judgements = NOT_JUDGED  # of time-lines


def pins_of(shingles: Sequence[Shingle], pins: Pins, now: float) -> Pinned:
    """Return what analysts have said of some shingles.

    Args:
        shingles: in the order in which their counts are read.
        pins: in force.
        now: Unix seconds: what is over then says nothing.
    """
    if pins.none_of(shingles):
        return NOT_PINNED
    standings: dict[int, dict[int, EntityStanding]] = {}
    for at, shingle in enumerate(shingles):
        pin = pins.of(shingle, now)
        if pin is not None:
            place = sum(piece.type == shingle.type for piece in shingles[:at])
            pinned_standing = EntityStanding(pin.flag, PINNED[pin.flag], _SHARE[pin.flag], pin.say)
            standings.setdefault(shingle.type, {})[place] = pinned_standing
    return standings


def pin_address(counts: MessageCounts, pinned: Pinned) -> None:
    """Have what an analyst said of the client's address, or else of its network, stand in the place
    of what is counted of it.
    """
    pinned_standing = pinned.get(ShingleType.CLIENT_IP) or pinned.get(ShingleType.CLIENT_NETWORK)
    if pinned_standing:
        flag, trust, share, say = pinned_standing[0][:4]
        counts.pinned = RepIP(flag=flag, share=share, confidence=float(trust != 0), say=say)


def with_reputation(facts: Facts, inputs: ReputationInputs) -> Facts:
    """Return the facts of a message with its reputation.

    Args:
        facts: with its counts; what they say of links and contacts names the entities.
        inputs: what the counts are of.
    """
    counts, who, pinned = facts.known, inputs.who, inputs.pinned
    names = _Names(facts, inputs)
    shared = _shared(facts, inputs, names)
    reader = facts.recipient_domain
    everybodys = partial(_is_everybodys, names, shared | {registrable(reader)}, reader)
    # what the sender himself sent in the last day speaks neither for him nor for what is around
    # him, nor for what he links to
    today = counts.ham(_FROM, Window.DAY)
    entities = judge(_sorts(counts, pinned), names.of, everybodys, today)
    account, author, sender = (
        _standing_of(counts, pinned, kind, inputs.judgements, ALL) for kind in _WHO
    )
    domain = _standing_of(counts, pinned, _AUTHOR_DOMAIN, inputs.judgements, today)
    user = account if who.account else author if who.author else sender
    whole = karma(
        KarmaInputs(
            account=account,
            author=author,
            sender=sender,
            domain=domain,
            address=_NOTHING if inputs.own else _of_address(counts.repip_beside()),
            network=_NOTHING if inputs.own else _standing_of(counts, pinned, _NETWORK, own=today),
            system=_NOTHING if inputs.own else _standing_of(counts, pinned, _SYSTEM, own=today),
            entities=EntityStanding(entities.flag, entities.worst, said=entities.say),
            has_author=bool(who.author),
        )
    )
    return with_values(
        facts,
        author=who.author,
        author_domain=who.author_domain,
        sender_proved=who.sender,
        repuser_flag=user.flag.value,
        repuser_share=user.share,
        repuser_first=first_contact(counts),
        repuser_elsewhere=elsewhere(counts),
        repentity_flag=entities.flag.value,
        repentity_worst=entities.worst,
        repentity_bad=entities.bad,
        repentity_sudden=entities.sudden,
        repentity_fresh=entities.fresh,
        repentity_why=entities.say,
        repentity_shared=shared,
        karma=float(whole.value),
        karma_why=whole.say,
    )


def client_standings(counts: MessageCounts, pinned: Pinned, *, own: bool) -> KarmaInputs:
    """Return what karma before the content is made of at least: the client's address, network and
    system; of one of ours nothing is remembered.
    """
    if own:
        return KarmaInputs()
    return KarmaInputs(
        address=_of_address(counts.repip()),
        network=_standing_of(counts, pinned, _NETWORK),
        system=_standing_of(counts, pinned, _SYSTEM),
    )


def sender_standing(
    counts: MessageCounts, sender: ProvedIdentity, pinned: Pinned
) -> EntityStanding:
    """Return the standing of the sender before the content: of the login, or else of MAIL FROM
    where SPF passed.
    """
    return _standing_of(
        counts,
        pinned,
        ShingleType.ACCOUNT if sender.account else ShingleType.PROVED_SENDER,
        own=ALL,
    )


def first_contact(counts: MessageCounts, span: RuleWindow = RuleWindow.EARLIER) -> bool | None:
    """Tell whether none of the recipients had mail from this sender in a span of time.

    None where that is not known.

    Args:
        counts: counts of the message's pieces.
        span: a message and its copies lie in the last day, which `EARLIER` leaves out.
    """
    for kind in (ShingleType.ENTITY_RECIPIENT, ShingleType.SENDER_RECIPIENT):
        if counts.rows.get(kind):
            return not counts.most(kind, span, Metric.SEEN)
    return None


def elsewhere(counts: MessageCounts) -> bool | None:
    """Tell whether an account sends from where it is not known, as of `is_elsewhere`; None for mail
    without a login.
    """
    rows = counts.rows.get(ShingleType.ACCOUNT_IP)
    return is_elsewhere(rows[0]) if rows else None


def _standing_of(
    counts: MessageCounts,
    pinned: Pinned,
    kind: int,
    judgements: Judgements = NOT_JUDGED,
    own: int = 0,
) -> EntityStanding:
    """Return the standing of the only piece of a type: an analyst's word, or else by its time-line,
    or else by its base record.
    """
    rows = counts.rows.get(kind)
    if not rows:
        return _NOTHING
    if kind in pinned:
        return pinned[kind][0]
    base, judged = standing(rows[0], own), judgements.get(kind)
    return (
        base
        if judged is None
        else EntityStanding(judged.flag, judged.trust, base.share, judged.say)
    )


def _of_address(repip: RepIP) -> EntityStanding:
    trust = repip.confidence * repip.trust
    if repip.flag is ReputationFlag.BAD:
        trust = min(trust, _BAD)
    elif repip.flag is ReputationFlag.POOR:
        trust = min(trust, _POOR)
    return EntityStanding(repip.flag, trust, repip.share, repip.say)


def _sorts(counts: MessageCounts, pinned: Pinned) -> list[EntityGroup]:
    """Return the entities of a message by sort, those that tell most first."""
    rows = counts.rows
    return [
        EntityGroup(
            kind,
            word,
            rows[kind],
            kind == _LINK_DOMAIN,
            rows.get(_LINK_SENDERS, ()) if kind == _LINK_DOMAIN else (),
            pinned.get(kind, _NONE),
        )
        for kind, word, _ in SORTS
        if kind in rows
    ]


def _is_everybodys(
    names: _Names, shared: frozenset[str], reader: str, kind: int, place: int
) -> bool:
    """Tell whether good and bad mail share an entity by its nature: an address of the reader's own,
    a domain or a host of many.
    """
    if kind == ShingleType.ADDRESS:
        return names.of(kind, place).rpartition("@")[2] == reader
    if kind in (ShingleType.LINK_DOMAIN, ShingleType.HOST):
        name = names.of(kind, place)
        return bool(name) and registrable(name) in shared
    return False


def _shared(facts: Facts, inputs: ReputationInputs, names: _Names) -> frozenset[str]:
    """Return the domains among a message's links that many senders share, by their names or by
    their past.
    """
    services = {name for name in facts.links_domains if name in inputs.shared or is_service(name)}
    rows = facts.known.rows
    senders = rows.get(ShingleType.LINK_SENDERS, ())
    for place, row in enumerate(rows.get(ShingleType.LINK_DOMAIN, ())[: len(senders)]):
        if is_shared(row, senders[place]):
            services.add(names.of(ShingleType.LINK_DOMAIN, place))
    return frozenset(services - {""})


class _Names:
    """The names of entities, by their places among those of their type.

    Each looked for when it is asked for.
    """

    def __init__(self, facts: Facts, inputs: ReputationInputs) -> None:
        self._facts = facts
        self._seen = inputs
        self._found: dict[int, list[str]] = {}  # by type, in the order of its places

    def of(self, kind: int, place: int) -> str:
        """Return a name; empty where the facts do not have it."""
        if kind not in self._found:
            self._found[kind] = self._named(kind)
        named = self._found[kind]
        return named[place] if place < len(named) else ""

    def _named(self, kind: int) -> list[str]:
        hasher = self._seen.hasher
        names = {hasher.shingle(kind, name).hash: name for name in self._candidates(kind)}
        if not names:
            return []
        return [names.get(value, "") for sort, value in self._facts.known.asked if sort == kind]

    def _candidates(self, kind: int) -> Iterable[str]:
        fact = _FACTS[kind]
        values: frozenset[str] = getattr(self._facts, fact) if fact else frozenset()
        return values
