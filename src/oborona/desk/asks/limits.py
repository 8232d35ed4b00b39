"""The ask what limits on outgoing mail would have done to the journal's messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.accounts.limits.replay import LimitTrial
from oborona.counters.window import DAY_S
from oborona.desk.call import ask
from oborona.desk.policy.limit_trials import replayed_limits
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.limits import Limit

WITHIN_S: Final = 8.0  # of the ten that an ask has
MOST_SENDERS: Final = 100  # of a limit


class LimitsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which messages limits are tried on.

    Args:
        since_s: of the last so many seconds; two weeks before are read, too.
    """

    since_s: Annotated[float, Meta(gt=0, le=366 * DAY_S)] = 7 * DAY_S


class LimitEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What one limit would have done.

    Args:
        messages: that it would have stopped or told of.
        senders: messages of each, the most first.
        highest: the highest count that passed it; None = none did.
        line: that this count passed; None = none did.
        first: reference of the first message; empty = there is none.
    """

    messages: int
    senders: dict[str, int]
    highest: int | None
    line: float | None
    first: str


class TriedLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of the policy.

    Args:
        limit: its name.
        then: what it does.
        mode: shadow, live.
        effect: None = it can't be tried: the journal does not have what it counts.
    """

    limit: str
    then: str
    mode: str
    effect: LimitEffect | None


class TriedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the limits of a policy would have done, were they live.

    Args:
        outgoing: messages that left, or were to.
        complete: all messages were read; else the time was over, and the newest were not.
        limits: that are switched on.
    """

    outgoing: int
    complete: bool
    limits: tuple[TriedLimit, ...]


@ask("policy.limits", Right.ACCOUNT_SEE)
def try_limits(site: Site, _caller: Caller, asked: LimitsQuestion) -> TriedLimits:
    """Return which outgoing messages of the journal each limit would have stopped or told of.

    Raises:
        PolicyError: the policy can't be used.
        StoreError: the journal can't be read.
    """
    return tried_limits(
        site, asked, lambda _: lambda: None, most_senders=MOST_SENDERS, within_s=WITHIN_S
    )


def tried_limits(
    site: Site,
    asked: LimitsQuestion,
    begun: Callable[[int], Callable[[], None]],
    *,
    most_senders: int | None = None,
    within_s: float | None = None,
) -> TriedLimits:
    """Try limits as `policy.limits` does.

    Args:
        site: whose, with the policy that has the limits.
        asked: on which messages.
        begun: is told how many messages there are, and returns what is called with each.
        most_senders: of each limit that are named; None = all.
        within_s: it ends then; None = when all messages are read.
    """
    policy = site.policy()
    if not policy.limits:
        return TriedLimits(outgoing=0, complete=True, limits=())
    start = time.time() - asked.since_s
    run = asyncio.run(replayed_limits(policy, site.state, start, begun, within_s))
    return TriedLimits(
        outgoing=run.replay.outgoing,
        complete=run.complete,
        limits=tuple(
            _tried(one, run.replay.trials.get(one.name), most_senders) for one in policy.limits
        ),
    )


def _tried(limit: Limit, trial: LimitTrial | None, most_senders: int | None) -> TriedLimit:
    effect = None
    if trial is not None:
        highest = trial.highest
        effect = LimitEffect(
            messages=trial.messages,
            senders=dict(trial.senders.most_common(most_senders)),
            highest=None if highest is None else highest.value,
            line=None if highest is None else highest.most,
            first=trial.first,
        )
    return TriedLimit(limit=limit.name, then=limit.then, mode=limit.mode, effect=effect)
