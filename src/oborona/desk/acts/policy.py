"""Acts on the policy: publication, roll-back, reload."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.desk.call import ActOrder, NotAllowedError, act
from oborona.desk.policy.draft_change import DraftOrder
from oborona.desk.policy.guarded_publication import publish_live, publish_on_trial
from oborona.desk.policy.guarded_roll_back import roll_back_to
from oborona.desk.policy.guards import check_reason
from oborona.desk.policy.proposal import check_alone
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.policy.reload_outcome import PolicyReloaded, reloaded
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class PublishOrder(DraftOrder, kw_only=True):
    """A draft that is to be published.

    Args:
        live: it decides about mail; False: in shadow mode, which changes no verdict.
        sure: it is meant to change so much as the preview has shown.
        alone: live without the second person whom the settings want; at the terminal alone.
        without: machines of the site that are not waited for.
    """

    live: bool = False
    sure: bool = False
    alone: bool = False
    without: tuple[str, ...] = ()


@act("policy.publish", Right.POLICY_SHADOW, Right.POLICY_PUBLISH, about=("draft", "live"))
def publish(site: Site, caller: Caller, asked: PublishOrder) -> PolicyPublication:
    """Publish a draft, in shadow mode or live, and wait until all workers judge by it."""
    needed = Right.POLICY_PUBLISH if asked.live else Right.POLICY_SHADOW
    if not caller.may(needed):
        raise NotAllowedError(f"publishing {'live' if asked.live else 'to shadow'} needs {needed}")
    check_reason(asked)
    if not asked.live:
        return publish_on_trial(
            site, caller, asked.draft, asked.reason, dry=asked.dry, without=asked.without
        )
    check_alone(site, caller, alone=asked.alone)
    return publish_live(
        site,
        caller,
        asked.draft,
        asked.reason,
        sure=asked.sure,
        dry=asked.dry,
        without=asked.without,
    )


class RollBackOrder(ActOrder, kw_only=True):
    """A version that is to be in force again.

    Args:
        version: its number.
        sure: it is meant to change so much as a preview would show.
        without: machines of the site that are not waited for.
    """

    version: Annotated[int, Meta(ge=1)]
    sure: bool = False
    without: tuple[str, ...] = ()


@act("policy.roll_back", Right.POLICY_PUBLISH, about=("version",))
def roll_back(site: Site, caller: Caller, asked: RollBackOrder) -> PolicyPublication:
    """Publish an earlier version again; of files that the desk may not write nothing is changed."""
    check_reason(asked)
    return roll_back_to(
        site,
        caller,
        asked.version,
        asked.reason,
        sure=asked.sure,
        dry=asked.dry,
        without=asked.without,
    )


@act("policy.reload", Right.RELOAD)
def reload_policy(site: Site, caller: Caller, asked: ActOrder) -> PolicyReloaded:
    """Have the daemon read the policy files now, and wait until all workers judge by them."""
    return reloaded(site.state, dry=asked.dry)
