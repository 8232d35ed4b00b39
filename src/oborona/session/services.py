"""What all sessions of a worker work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec

from oborona.config import Work
from oborona.feedback.events.model import Event
from oborona.ident import Numbers
from oborona.journal.entry import Entry
from oborona.policy.headers import Detail
from oborona.policy.load import Policy
from oborona.policy.ports import CounterWriter
from oborona.policy.scan import Scan, Site
from oborona.policy.signatures import Signature
from oborona.policy.stages import Deciding
from oborona.session.crowd import Crowd
from oborona.session.inquiry import Inquirer
from oborona.session.setapart.flights import Flights
from oborona.types import Envelope, Verdict


async def _kept_nowhere(_event: Event) -> bool:
    """Say that an event is written down, for a session whose traps nobody follows."""
    return True


class InForce(Protocol):
    """The policy in force, whichever that is at the time."""

    @property
    def current(self) -> Policy:
        """The one in use, for what is no message's."""
        ...

    async def now(self) -> Policy:
        """Return the one that a message is judged by that begins now; never raises."""
        ...


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions of a worker work with."""

    site: Site
    settings: Work
    contact: str  # said in refusals; empty = nothing
    detail: Detail = Detail.NAMES  # how much headers say of why
    policy: InForce
    counters: CounterWriter
    # has what was counted survive the death of this process, by Unix seconds; never raises
    written: Callable[[float], None] = lambda _now: None
    journal: Callable[[Entry], None]
    # is told of the policy that judged a message, before that is journaled
    ruled: Callable[[Policy], None] = lambda _policy: None
    numbers: Numbers
    signing_key: bytes
    inquire: Callable[[], Inquirer]  # a new one for each connection
    # is a client one of ours, by its address and the port it came to
    own: Callable[[str, str], bool]
    clock: Callable[[], float]  # Unix seconds
    # counts signatures that were found
    signed: Callable[[Iterable[Signature], float], None] = lambda _found, _now: None
    late: Callable[[int, Scan], None] = lambda _ident, _scan: (
        None
    )  # gets what was settled: pictures may be unread
    # is told of each message and its verdict: whom our own people write to, they know
    wrote: Callable[[Envelope, Verdict, float], None] = lambda _envelope, _verdict, _now: None
    deciding: Deciding = msgspec.field(default_factory=Deciding)
    # is told of what may be a campaign
    sighted: Callable[[Scan, float], None] = lambda _scan, _now: None
    # writes down what came to a trap; tells whether it is on the disk
    trap: Callable[[Event], Awaitable[bool]] = _kept_nowhere
    # addresses where people and sites report mail, in lower case
    reports: frozenset[str] = frozenset()
    crowd: Crowd = msgspec.field(default_factory=lambda: Crowd(1 << 30))
    flights: Flights = msgspec.field(default_factory=Flights)  # what is being scanned
