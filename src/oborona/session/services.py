"""The services that all sessions of a worker share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec

from oborona.accounts.account import AccountBlock
from oborona.accounts.excess import Excess, ExcessSink
from oborona.accounts.limits.memory import LimitMemory
from oborona.accounts.sending_account import KnownAccounts, NoAccounts
from oborona.config import WorkerSettings
from oborona.feedback.events.model import FeedbackEvent
from oborona.ident import JournalIdGenerator
from oborona.journal.entry import JournalEntry
from oborona.journal.refusal import RefusalSink
from oborona.policy.headers import HeaderDetail
from oborona.policy.load import Policy
from oborona.policy.ports import CounterAdder
from oborona.policy.scan import Scan, ScanSite
from oborona.policy.signatures import Signature
from oborona.policy.stages import DecidingStages
from oborona.session.concurrency_limit import ConcurrencyLimit
from oborona.session.inquiry import Inquirer
from oborona.session.quarantine.scan_tracker import ScanTracker
from oborona.types import Envelope, Verdict


async def _no_entry(_number: int) -> JournalEntry | None:
    """Return None: a session without a journal knows of no message."""
    return None


async def _kept_nowhere(_event: FeedbackEvent) -> bool:
    """Say that an event is written down, for a session whose traps nobody follows."""
    return True


class _NobodyFollows:
    """A sink of excesses for a session of which nobody follows them."""

    def take(self, excess: Excess) -> None:
        """Let it be: the log has it."""


class BlockedAccounts(Protocol):
    """The accounts whose mail is not taken."""

    @property
    def known(self) -> bool:
        """Whether the site has any accounts, blocked or not."""
        ...

    def of(self, login: str, now: float) -> AccountBlock | None:
        """Return why mail of a login is not taken at Unix time `now`; None: it is taken."""
        ...


class NobodyBlocked:
    """Takes mail of every account, for a session whose accounts nobody follows."""

    known = False

    def of(self, _login: str, _now: float) -> AccountBlock | None:
        """Return None: it is taken."""
        return None


class CurrentPolicy(Protocol):
    """The policy that is in force at the moment of the call."""

    @property
    def current(self) -> Policy:
        """The one in use, for what is no message's."""
        ...

    async def now(self) -> Policy:
        """Return the one that a message is judged by that begins now; never raises."""
        ...


class SessionServices(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions of a worker work with."""

    site: ScanSite
    settings: WorkerSettings
    contact: str  # said in refusals; empty = nothing
    door: str = ""  # the listener that these sessions come by, for metrics
    detail: HeaderDetail = HeaderDetail.NAMES  # how much headers say of why
    policy: CurrentPolicy
    counters: CounterAdder
    # has what was counted survive the death of this process, by Unix seconds; never raises
    written: Callable[[float], None] = lambda _now: None
    journal: Callable[[JournalEntry], None]
    # records who was refused before the content, and gives the reference to tell
    refusals: RefusalSink = RefusalSink()
    # returns an entry of the journal by its number, and waits for one that is being written;
    # None: there is none
    entry: Callable[[int], Awaitable[JournalEntry | None]] = _no_entry
    # is told of the policy that judged a message, before that is journaled
    record_policy: Callable[[Policy], None] = lambda _policy: None
    numbers: JournalIdGenerator
    signing_key: bytes
    new_inquiry: Callable[[], Inquirer]  # a new one for each connection
    # is a client one of ours, by its address and the port it came to
    own: Callable[[str, str], bool]
    clock: Callable[[], float]  # Unix seconds
    accounts: BlockedAccounts = NobodyBlocked()
    known_accounts: KnownAccounts = NoAccounts()  # by what limits and their formulas ask
    # counts signatures that were found
    signed: Callable[[Iterable[Signature], float], None] = lambda _found, _now: None
    late: Callable[[int, Scan], None] = lambda _ident, _scan: (
        None
    )  # gets what was settled: pictures may be unread
    # is told of each message and its verdict: whom our own people write to, they know
    learn_contacts: Callable[[Envelope, Verdict, float], None] = lambda _envelope, _verdict, _now: (
        None
    )
    deciding: DecidingStages = msgspec.field(default_factory=DecidingStages)
    # is told of what may be a campaign
    observe_campaign: Callable[[Scan, float], None] = lambda _scan, _now: None
    # has it known that a message is held, by Unix seconds; never raises
    held: Callable[[float], None] = lambda _now: None
    # writes down what came to a trap; tells whether it is on the disk
    trap: Callable[[FeedbackEvent], Awaitable[bool]] = _kept_nowhere
    # addresses where people and sites report mail, in lower case
    reports: frozenset[str] = frozenset()
    concurrency: ConcurrencyLimit = msgspec.field(default_factory=lambda: ConcurrencyLimit(1 << 30))
    flights: ScanTracker = msgspec.field(default_factory=ScanTracker)  # what is being scanned
    limits: LimitMemory = msgspec.field(default_factory=LimitMemory)
    # is told of each message of an account that passes a limit
    excess: ExcessSink = _NobodyFollows()
