"""The act by which one machine of several shares what was edited in its policy folder."""

from __future__ import annotations

from oborona.desk.call import ActOrder, act
from oborona.desk.policy.guards import check_reason
from oborona.desk.policy.proposal import check_alone
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.policy.shared_folder import share_folder
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class ShareOrder(ActOrder, kw_only=True):
    """What this machine's policy folder holds is to be in force on all machines.

    Args:
        take: the folder is to hold what the site has instead.
        alone: without the second person whom the settings want; at the terminal alone.
        without: machines of the site that are not waited for.
    """

    take: bool = False
    alone: bool = False
    without: tuple[str, ...] = ()


@act("policy.share", Right.POLICY_PUBLISH, about=("take",))
def share(site: Site, caller: Caller, asked: ShareOrder) -> PolicyPublication:
    """Publish on all machines of the site what the policy folder of this one holds."""
    check_reason(asked)
    check_alone(site, caller, alone=asked.alone)
    return share_folder(
        site,
        caller,
        asked.reason,
        take=asked.take,
        dry=asked.dry,
        without=asked.without,
    )
