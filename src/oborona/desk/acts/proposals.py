"""Acts of two persons on a draft: one proposes it, another one approves or declines."""

from __future__ import annotations

from oborona.desk.call import act
from oborona.desk.policy.draft_change import DraftOrder
from oborona.desk.policy.draft_note import DraftDecline
from oborona.desk.policy.guarded_publication import publish_live
from oborona.desk.policy.guards import check_reason
from oborona.desk.policy.proposal import approved, decline_draft, propose_draft
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right


class ProposeDraftOrder(DraftOrder, kw_only=True):
    """A draft that another person is to publish live.

    Args:
        sure: it is meant to change so much as the preview has shown.
    """

    sure: bool = False


@act("policy.propose", Right.POLICY_DRAFT, about=("draft",))
def propose(site: Site, caller: Caller, asked: ProposeDraftOrder) -> PolicyPublication:
    """Propose a draft as it is; whoever changes it makes that void."""
    check_reason(asked)
    return propose_draft(site, caller, asked.draft, asked.reason, sure=asked.sure, dry=asked.dry)


class ProposedOrder(DraftOrder, kw_only=True):
    """Whose proposal is meant: it stands in the audit log beside who answers it.

    Args:
        proposer: who has proposed it.
    """

    proposer: str


class ApproveOrder(ProposedOrder, kw_only=True):
    """A proposal that is approved.

    Args:
        digest: of the text that was proposed, as the approver has seen it.
    """

    digest: str


@act("policy.approve", Right.POLICY_PUBLISH, about=("draft", "proposer"))
def approve(site: Site, caller: Caller, asked: ApproveOrder) -> PolicyPublication:
    """Publish live what another person has proposed, and wait until all workers judge by it."""
    check_reason(asked)
    return publish_live(
        site,
        caller,
        asked.draft,
        asked.reason,
        sure=False,
        dry=asked.dry,
        proposal_of=lambda draft: approved(
            caller, draft.note, draft.digest, asked.proposer, asked.digest
        ),
    )


@act("policy.decline", Right.POLICY_DRAFT, about=("draft", "proposer"))
def decline(site: Site, caller: Caller, asked: ProposedOrder) -> DraftDecline:
    """Decline a proposal with words for who made it, or take one's own back."""
    check_reason(asked)
    return decline_draft(site, caller, asked.draft, asked.proposer, asked.reason, dry=asked.dry)
