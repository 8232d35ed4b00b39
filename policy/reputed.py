"""RepUser, RepEntity and karma of one message, as facts: from its counts, what was proved of its
sender, and what analysts have pinned; pure.

Everything is read off the base records that a scan has anyway; where who wrote it has enough of a
past, the judgement of his time-line (`policy.pasts`) stands in the place of his base record.  Names
of entities are looked for only where there is something to say of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from oborona.domains import registrable
from oborona.message.hashing import Hasher, Type
from oborona.message.redirects import is_service
from oborona.policy.facts import Facts, with_values
from oborona.policy.known import Known
from oborona.policy.pasts import Judgements
from oborona.reputation.address import RepIP
from oborona.reputation.entity import ALL, Sort, Standing, is_shared, judge, standing
from oborona.reputation.flag import Flag
from oborona.reputation.karma import PINNED, Standings, karma
from oborona.reputation.pins import Pins
from oborona.types import Metric, Proved, Shingle, Span, Window

SORTS: Final[tuple[tuple[int, str, str], ...]] = (
    (int(Type.LINK_DOMAIN), "link domain", "links_domains"),
    (int(Type.PHONE), "telephone", "phones"),
    (int(Type.WALLET), "wallet", "wallets"),
    (int(Type.HANDLE), "messenger name", "handles"),
    (int(Type.CHECKSUM), "attachment", ""),
    (int(Type.CODE), "code", "pictures_codes"),
    (int(Type.PICTURE), "picture", ""),
    (int(Type.PICTURE_PHONE), "telephone in a picture", ""),
    (int(Type.PICTURE_ADDRESS), "address in a picture", ""),
    (int(Type.URL), "link", ""),
    (int(Type.HOST), "host", "links_hosts"),
    (int(Type.ADDRESS), "mail address", "addresses"),
    (int(Type.MEMBER_CHECKSUM), "file in an archive", ""),
)
"""The entities of a message, those that tell most first: their type, their word, and the fact that
has their names; empty = none has.
"""

_WHO: Final = tuple(map(int, (Type.ACCOUNT, Type.AUTHOR, Type.PROVED_SENDER)))
# plain numbers: an enum's member is hashed in Python, and every scan asks
_FROM, _AUTHOR_DOMAIN = int(Type.FROM), int(Type.AUTHOR_DOMAIN)
_NETWORK, _SYSTEM = int(Type.CLIENT_NETWORK), int(Type.AS_NUMBER)
_LINK_DOMAIN, _LINK_SENDERS = int(Type.LINK_DOMAIN), int(Type.LINK_SENDERS)
_FACTS: Final = {kind: fact for kind, _, fact in SORTS}

Pinned = Mapping[int, Mapping[int, Standing]]
"""What analysts have said, by type and by place among the pieces of the type."""

NOT_PINNED: Final[Pinned] = {}
NOT_JUDGED: Final[Judgements] = {}
# that a pin gives
_SHARE: Final = {Flag.GOOD: 0.0, Flag.UNKNOWN: 0.5, Flag.POOR: 0.75, Flag.BAD: 1.0}
_POOR: Final = -25.0  # trust of an address that is poor, at most
_BAD: Final = -60.0  # of one that is bad
_NOTHING: Final = Standing()
_NONE: Final[Mapping[int, Standing]] = {}


class Seen(NamedTuple):
    """What a message's reputation is read from, beside its counts."""

    who: Proved
    hasher: Hasher
    shared: Collection[str] = ()  # domains that everybody uses, by the site's lists
    pinned: Pinned = NOT_PINNED
    own: bool = False  # the client is one of ours: nothing is remembered of it
    judgements: Judgements = NOT_JUDGED  # of time-lines


def pins_of(asked: Sequence[Shingle], pins: Pins, now: float) -> Pinned:
    """Return what analysts have said of some shingles.

    Args:
        asked: in the order in which their counts are read.
        pins: in force.
        now: Unix seconds: what is over then says nothing.
    """
    if pins.none_of(asked):
        return NOT_PINNED
    found: dict[int, dict[int, Standing]] = {}
    for at, shingle in enumerate(asked):
        pin = pins.of(shingle, now)
        if pin is not None:
            place = sum(one.type == shingle.type for one in asked[:at])
            said = Standing(pin.flag, PINNED[pin.flag], _SHARE[pin.flag], pin.say)
            found.setdefault(shingle.type, {})[place] = said
    return found


def pin_address(known: Known, pinned: Pinned) -> None:
    """Have what an analyst said of the client's address, or else of its network, stand in the place
    of what is counted of it.
    """
    said = pinned.get(Type.CLIENT_IP) or pinned.get(Type.CLIENT_NETWORK)
    if said:
        flag, trust, share, say = said[0][:4]
        known.pinned = RepIP(flag=flag, share=share, confidence=float(trust != 0), say=say)


def with_reputation(facts: Facts, seen: Seen) -> Facts:
    """Return the facts of a message with its reputation.

    Args:
        facts: with its counts; what they say of links and contacts names the entities.
        seen: what the counts are of.
    """
    known, who, pinned = facts.known, seen.who, seen.pinned
    names = _Names(facts, seen)
    shared = _shared(facts, seen, names)
    reader = facts.recipient_domain
    everybodys = partial(_is_everybodys, names, shared | {registrable(reader)}, reader)
    # what the sender himself sent in the last day speaks neither for him nor for what is around
    # him, nor for what he links to
    today = known.ham(_FROM, Window.DAY)
    entities = judge(_sorts(known, pinned), names.of, everybodys, today)
    account, author, sender = (_one(known, pinned, kind, seen.judgements, ALL) for kind in _WHO)
    domain = _one(known, pinned, _AUTHOR_DOMAIN, seen.judgements, today)
    user = account if who.account else author if who.author else sender
    whole = karma(
        Standings(
            account=account,
            author=author,
            sender=sender,
            domain=domain,
            address=_NOTHING if seen.own else _of_address(known.repip_beside()),
            network=_NOTHING if seen.own else _one(known, pinned, _NETWORK, own=today),
            system=_NOTHING if seen.own else _one(known, pinned, _SYSTEM, own=today),
            entities=Standing(entities.flag, entities.worst, said=entities.say),
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
        repuser_first=first_contact(known),
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


def client_standings(known: Known, pinned: Pinned, *, own: bool) -> Standings:
    """Return what karma before the content is made of at least: the client's address, network and
    system; of one of ours nothing is remembered.
    """
    if own:
        return Standings()
    return Standings(
        address=_of_address(known.repip()),
        network=_one(known, pinned, _NETWORK),
        system=_one(known, pinned, _SYSTEM),
    )


def sender_standing(known: Known, who: Proved, pinned: Pinned) -> Standing:
    """Return the standing of the sender before the content: of the login, or else of MAIL FROM
    where SPF passed.
    """
    return _one(known, pinned, Type.ACCOUNT if who.account else Type.PROVED_SENDER, own=ALL)


def first_contact(known: Known, span: Span = Span.EARLIER) -> bool | None:
    """Tell whether none of the recipients had mail from this sender in a span of time.

    None where that is not known.

    Args:
        known: counts of the message's pieces.
        span: a message and its copies lie in the last day, which `EARLIER` leaves out.
    """
    for kind in (Type.ENTITY_RECIPIENT, Type.SENDER_RECIPIENT):
        if known.rows.get(kind):
            return not known.most(kind, span, Metric.SEEN)
    return None


def _one(
    known: Known, pinned: Pinned, kind: int, judgements: Judgements = NOT_JUDGED, own: int = 0
) -> Standing:
    """Return the standing of the only piece of a type: an analyst's word, or else by its time-line,
    or else by its base record.
    """
    rows = known.rows.get(kind)
    if not rows:
        return _NOTHING
    if kind in pinned:
        return pinned[kind][0]
    base, judged = standing(rows[0], own), judgements.get(kind)
    return base if judged is None else Standing(judged.flag, judged.trust, base.share, judged.say)


def _of_address(repip: RepIP) -> Standing:
    trust = repip.confidence * repip.trust
    if repip.flag is Flag.BAD:
        trust = min(trust, _BAD)
    elif repip.flag is Flag.POOR:
        trust = min(trust, _POOR)
    return Standing(repip.flag, trust, repip.share, repip.say)


def _sorts(known: Known, pinned: Pinned) -> list[Sort]:
    """Return the entities of a message by sort, those that tell most first."""
    rows = known.rows
    return [
        Sort(
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
    if kind == Type.ADDRESS:
        return names.of(kind, place).rpartition("@")[2] == reader
    if kind in (Type.LINK_DOMAIN, Type.HOST):
        name = names.of(kind, place)
        return bool(name) and registrable(name) in shared
    return False


def _shared(facts: Facts, seen: Seen, names: _Names) -> frozenset[str]:
    """Return the domains among a message's links that many senders share, by their names or by
    their past.
    """
    found = {name for name in facts.links_domains if name in seen.shared or is_service(name)}
    rows = facts.known.rows
    senders = rows.get(Type.LINK_SENDERS, ())
    for place, row in enumerate(rows.get(Type.LINK_DOMAIN, ())[: len(senders)]):
        if is_shared(row, senders[place]):
            found.add(names.of(Type.LINK_DOMAIN, place))
    return frozenset(found - {""})


class _Names:
    """The names of entities, by their places among those of their type.

    Each looked for when it is asked for.
    """

    def __init__(self, facts: Facts, seen: Seen) -> None:
        self._facts = facts
        self._seen = seen
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
        return [names.get(found, "") for one, found in self._facts.known.asked if one == kind]

    def _candidates(self, kind: int) -> Iterable[str]:
        fact = _FACTS[kind]
        found: frozenset[str] = getattr(self._facts, fact) if fact else frozenset()
        return found
