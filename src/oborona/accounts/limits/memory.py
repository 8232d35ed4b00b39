"""What one process keeps of limits between messages."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from oborona.accounts.limits.plan import LimitPlan
from oborona.accounts.limits.usual import AccountPast
from oborona.policy.load import Policy
from oborona.types import Shingle

KEPT: Final = 4096  # pasts in a process; the least recently used go first


class LimitMemory:
    """The plan of the policy in use, and who sent how much on earlier days, for the day.

    Attributes:
        blind: the counters could not be asked, which has been said.
    """

    def __init__(self) -> None:
        self.blind = False
        self._policy: Policy | None = None
        self._plan = LimitPlan(())
        self._pasts: OrderedDict[tuple[int, Shingle], tuple[int, AccountPast]] = OrderedDict()

    def plan(self, policy: Policy) -> LimitPlan:
        """Return what a policy's limits need, worked out once while it is in use."""
        if self._policy is not policy:
            self._policy, self._plan = policy, LimitPlan(policy.limits)
        return self._plan

    def past(self, place: int, shingle: Shingle, day: int) -> AccountPast | None:
        """Return what is known of somebody's earlier days; None where that is of another day.

        Args:
            place: `PlannedLimit.place` of what is counted.
            shingle: who it is.
            day: number of today.
        """
        entry = self._pasts.get((place, shingle))
        if entry is None or entry[0] != day:
            return None
        self._pasts.move_to_end((place, shingle))
        return entry[1]

    def keep(self, place: int, shingle: Shingle, day: int, past: AccountPast) -> None:
        """Keep what was found of somebody's earlier days."""
        self._pasts[place, shingle] = day, past
        self._pasts.move_to_end((place, shingle))
        if len(self._pasts) > KEPT:
            self._pasts.popitem(last=False)
