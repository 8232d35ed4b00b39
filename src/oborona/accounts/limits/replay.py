"""What limits would have made of messages that were judged before: counted again, in memory.

The counts, the reads and the decision are those of live mail; only the store is another.  Each
limit is tried as if it were live, over the counts as they were: a limit that refuses would have
stopped some of what is counted here, so that it names as many messages as it would have refused, or
more.  What people said of mail, and whom a sender had written to before, is not replayed.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from oborona.accounts.limits.decision import MessageAmounts, PassedLimit, rule_on_limits
from oborona.accounts.limits.memory import LimitMemory
from oborona.accounts.limits.reader import count_new_recipients, read_limits, read_place
from oborona.accounts.limits.subjects import facts_of, subject_shingle
from oborona.accounts.sending_account import KnownAccounts
from oborona.counters.memory import MemoryCounters
from oborona.message.hashing import Hasher
from oborona.message.shingles import NOWHERE
from oborona.message.unique_pairs import account_pairs, account_place, envelope_pairs
from oborona.policy.accounting import record_new_recipients, record_place, record_sent
from oborona.policy.limit_table import LimitCount, LimitSubject
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_program
from oborona.types import Action, Amounts, CountedPieces, CounterPrefix, Envelope, Location

NOT_REPLAYED: Final = frozenset(
    {
        LimitCount.FIRST_CONTACTS,
        LimitCount.BOUNCES,
        LimitCount.UNKNOWN_USERS,
        LimitCount.COMPLAINTS,
        LimitCount.FAILED_LOGINS,
        LimitCount.TRAPS,
    }
)
_HASHER: Final = Hasher(bytes(32))  # nothing that it makes leaves the process
_SPAM: Final = (Action.SPAM, Action.REJECT)


class LimitTrial(msgspec.Struct, kw_only=True):
    """What one limit would have done."""

    messages: int = 0
    senders: Counter[str] = msgspec.field(default_factory=Counter)  # messages of each
    highest: PassedLimit | None = None
    first: str = ""  # reference of the first message


class LimitReplay:
    """Counts messages in the order of their time, and tries limits on them.

    Args:
        policy: has the limits, and says which mail leaves.
        start: Unix seconds; earlier messages are a past alone.
        accounts: of the site, as they are now.

    Attributes:
        outgoing: messages since the start that left, or were to.
        trials: what each limit would have done, by name.
    """

    def __init__(self, policy: Policy, start: float, accounts: KnownAccounts) -> None:
        self.outgoing = 0
        self.trials = {
            limit.name: LimitTrial() for limit in policy.limits if limit.count not in NOT_REPLAYED
        }
        self._policy = policy
        self._start = start
        self._accounts = accounts
        self._memory = LimitMemory()
        self._counters = MemoryCounters()

    async def take(
        self,
        envelope: Envelope,
        size: int,
        action: Action,
        at: float,
        reference: str,
        *,
        taken: bool,
        location: Location = NOWHERE,
    ) -> None:
        """Try the limits on a message, and count it.

        Args:
            envelope: of the message.
            size: octets.
            action: of its verdict.
            at: Unix seconds; not before that of the message before.
            reference: of the message.
            taken: by the mail server.
            location: of the client.
        """
        if not self._policy.outgoing.leaves(envelope):
            return
        plan = self._memory.plan(self._policy)
        fresh = 0
        if plan.asks_new:
            fresh = await count_new_recipients(envelope, _HASHER, self._counters, at)
        if at >= self._start:
            self.outgoing += 1
            if taken:  # what was refused passes no limit
                readings = await read_limits(
                    self._memory, plan.whole, envelope, _HASHER, self._counters, self._accounts, at
                )
                facts = facts_of(envelope, self._accounts, at)
                if plan.whole.asks_place:
                    facts.elsewhere = await read_place(envelope, _HASHER, self._counters, at)
                adds = MessageAmounts(
                    recipients=len(envelope.recipients), octets=size, new_recipients=fresh
                )
                program = is_program(envelope)
                ruling = rule_on_limits(readings, adds, facts, program=program)
                for passed in ruling.passed:
                    self._note(passed, envelope, reference)
        shingles = {
            subject: shingle
            for subject in LimitSubject
            if (shingle := subject_shingle(subject, envelope, _HASHER, self._accounts)) is not None
        }
        if action is not Action.TEMPFAIL:
            seen = CountedPieces(
                shingles=tuple(
                    shingle
                    for subject, shingle in shingles.items()
                    if subject in (LimitSubject.ACCOUNT, LimitSubject.ADDRESS)
                ),
                pairs=envelope_pairs(envelope, _HASHER, location),
            )
            if fresh:
                reached = account_pairs(envelope.login.lower(), envelope, _HASHER)
                seen = msgspec.structs.replace(seen, pairs=(*seen.pairs, *reached))
                account = shingles[LimitSubject.ACCOUNT]
                record_new_recipients(account, fresh, self._counters, now=at)
            amounts = Amounts(seen=1, spam=int(action in _SPAM))
            self._counters.add(seen, amounts, at, CounterPrefix.OUT)
            place = account_place(envelope, _HASHER)
            record_place(place, self._counters, left=taken and action not in _SPAM, now=at)
        if taken:
            subjects = tuple(shingles[one] for one in plan.subjects if one in shingles)
            record_sent(subjects, len(envelope.recipients), size, self._counters, now=at)

    def _note(self, passed: PassedLimit, envelope: Envelope, reference: str) -> None:
        trial = self.trials.get(passed.limit.name)
        if trial is None:
            return
        trial.messages += 1
        trial.senders[envelope.login.lower() or envelope.client.ip] += 1
        trial.first = trial.first or reference
        if trial.highest is None or passed.value > trial.highest.value:
            trial.highest = passed
