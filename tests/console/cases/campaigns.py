"""The queue, and a case in its states."""

import msgspec

from oborona.desk.acts.campaigns import CampaignOutcome
from oborona.desk.asks.campaign_details import CampaignDetails
from oborona.desk.asks.campaign_offers import (
    CampaignOffers,
    CountedMail,
    OfferedPin,
    OfferedSignature,
)
from oborona.desk.asks.campaigns import CampaignCase, CampaignList
from oborona.desk.call import UndoCall
from oborona.desk.campaigns.campaign_mail import CampaignMail
from oborona.desk.campaigns.campaign_times import CampaignBar
from oborona.desk.campaigns.case_queue import CampaignSummary, CaseUrgency, SpokenSum
from oborona.desk.campaigns.further_effects import ShownEffect
from oborona.desk.labels.lessons import LessonResult
from oborona.desk.reputation.statement import ShownPin
from oborona.feedback.cases.effects import EffectKind, EffectState
from oborona.feedback.cases.store import CaseDecision, CaseLock, CaseNote, CaseVerdict
from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from oborona.people.rights import Role
from oborona.policy.signatures import SignatureKind, SignatureScope
from oborona.reputation.flag import ReputationFlag
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

SUMMARY = CampaignSummary(
    id=1812,
    first=NOW - 3600,
    last=NOW - 60,
    complaints=SpokenSum(reports=12, people=11, believed=9, weight=4.5, proven=2),
    pardons=SpokenSum(reports=4, people=4, believed=1, weight=0.8, proven=1),
    traps=3,
    contested=True,
    by_site=False,
    known=False,
    proposals=("s17",),
    sample=7,
)
OPEN = CampaignCase(
    summary=SUMMARY,
    urgency=CaseUrgency.CONTESTED,
    why="contested",
    copies=1204,
    sample="06AV3K9W2M4QE",
    lock=CaseLock(by="analyst", until=NOW + 500),
    decision=None,
    snooze=None,
)
DECISION = CaseDecision(
    id=1, campaign=1812, verdict=CaseVerdict.SPAM, by="joe", at=NOW, reason="a fraud <b>",
    withdrawn=(3,), taught=(9,), done=True,
)  # fmt: skip
EVENT = StoredEvent(
    id=3, what=EventKind.PARDON, way=EventChannel.SIEVE, time=NOW - 90, heard=NOW - 90,
    person="eve@e.example", ident=7, message_id="<1@a.example>", mailbox="INBOX",
    source="dovecot", decided=NOW - 80, counts=True, own=True, weight=0.3, rules=(),
    say="believed", message=b"", campaign=1812, turn=1, done=1, word=4, effects=("allowed",),
)  # fmt: skip
TRAP = msgspec.structs.replace(EVENT, id=4, what=EventKind.TRAP, person="", decided=None)


def details(case: CampaignCase, *, whole: bool = True, done: bool = True) -> dict[str, object]:
    """Return what the desk tells of a case."""
    if not done:
        begun = msgspec.structs.replace(DECISION, done=False)
        case = msgspec.structs.replace(case, decision=begun)
    shown = CampaignDetails(
        case=case,
        mail=CampaignMail(
            messages=("06AV3K9W2M4QE",),
            clients=("203.0.113.9",),
            subjects=("Your \u202eparcel <script>",),
            verdicts={"spam": 1},
        )
        if whole
        else CampaignMail(),
        events=(EVENT, TRAP) if whole else (),
        samples=(3,),
        notes=(CaseNote(id=1, by="joe", at=NOW, text="a shop\nthat moved \u202e"),)
        if whole
        else (),
        bars=tuple(
            CampaignBar(time=NOW + 3600 * hour, copies=10 * hour, complaints=hour, pardons=0)
            for hour in range(24)
        ),
        by_hour=True,
    )
    return dict(msgspec.to_builtins(shown))


def listed(*cases: CampaignCase, more: bool = False) -> object:
    """Return what the desk lists."""
    return msgspec.to_builtins(CampaignList(campaigns=cases, more=more))


SETTLED = msgspec.structs.replace(
    OPEN, why="settled", urgency=CaseUrgency.SETTLED, copies=None, lock=None, decision=DECISION,
    snooze=CaseLock(by="kim", until=NOW + 3600),
)  # fmt: skip
OUTCOME = msgspec.to_builtins(
    CampaignOutcome(
        id=1812,
        verdict=CaseVerdict.SPAM,
        taught=(LessonResult(message="06AV3K9W2M4QE", result="new"),),
        unlearned=(),
        events=(3,),
        persons=1,
        undo=UndoCall(call="campaigns.undecide", asked={"id": 1812}),
    )
)
DECIDE = {"verdict": "spam", "teach": "1", "withdraw": "1"}
MAIL = CountedMail(seen=1204, spam=1100, pardons=2)
OFFERS = CampaignOffers(
    messages=7,
    complete=False,
    signatures=(
        OfferedSignature(
            proposal="s17", kind=SignatureKind.PHRASE, value="your parcel \u202e<b>",
            where=SignatureScope.SUBJECT, mail=CountedMail(), evidence=(12, 15),
        ),
        OfferedSignature(
            proposal="", kind=SignatureKind.DOMAIN, value="parcel-x.example",
            where=SignatureScope.ANY, mail=MAIL,
        ),
    ),
    pins=(
        OfferedPin(
            entity="203.0.113.0/24", kind="network", mail=MAIL,
            pin=ShownPin(
                entity="203.0.113.0/24", kind="network", name="203.0.113.0/24",
                flag=ReputationFlag.POOR, reason="seen", by="kim <b>", since=NOW, until=0.0,
            ),
        ),
        OfferedPin(entity="link:parcel-x.example", kind="link", mail=CountedMail(), pin=None),
    ),
)  # fmt: skip
EFFECTS = (
    ShownEffect(
        kind=EffectKind.SIGNATURE, about="parcel-x.example", state=EffectState.DONE, mode="live",
        until=NOW + 86_400,
    ),
    ShownEffect(
        kind=EffectKind.PROPOSAL, about="your parcel \u202e<b>", state=EffectState.IDLE,
        mode="shadow", before="proposed", say="somebody has decided about it meanwhile",
    ),
    ShownEffect(
        kind=EffectKind.PIN, about="203.0.113.0/24", state=EffectState.LEFT, flag="bad",
        before="poor", say="kim has set it to good since",
    ),
    ShownEffect(kind=EffectKind.MOVES, about="", state=EffectState.UNDONE, messages=7, copies=310),
)  # fmt: skip
FURTHER = {
    **DECIDE, "signature[]": "domain:any:parcel-x.example", "proposal[]": "s17", "recheck": "1",
    "signature_mode": "live", "signature_days": "30", "pin[]": "203.0.113.0/24", "pin_days": "7",
}  # fmt: skip

CASES = [
    PageCase(
        name="queue",
        path="/queue",
        role=Role.ANALYST,
        answers={"campaigns.list": listed(OPEN, more=True)},
        texts=("contested", "1 204", "12, weight 4.5", "analyst", "Older", "CSV"),
    ),
    PageCase(
        name="queue-all",
        path="/queue?settled=1&after=x",
        role=Role.AUDITOR,
        answers={"campaigns.list": listed(OPEN, SETTLED)},
        texts=("decided: spam", "not known", "put off until"),
    ),
    PageCase(
        name="queue-empty",
        path="/queue",
        role=Role.ANALYST,
        answers={"campaigns.list": listed()},
        texts=("No campaign needs a person now.",),
    ),
    PageCase(
        name="queue-away",
        path="/queue",
        role=Role.ANALYST,
        answers={"campaigns.list": DeskRefusalError(503, "events.db: nobody has said anything")},
        texts=("The queue can't be read now", "events.db"),
    ),
    PageCase(
        name="queue-not-yours", path="/queue", role=Role.READER, status=404, texts=("None found",)
    ),
    PageCase(
        name="queue-next",
        path="/queue/next?after=1812",
        role=Role.ANALYST,
        answers={"campaigns.list": listed(OPEN)},
        status=303,
    ),
    PageCase(
        name="case",
        path="/case/1812",
        role=Role.ANALYST,
        answers={"campaigns.show": details(OPEN)},
        texts=(
            "locked by analyst (you) until",
            "Spam",
            "Newsletter",
            "06AV3K9W2M4QE",
            "Keys",
            "U+202E",
        ),
    ),
    PageCase(
        name="case-offers",
        path="/case/1812",
        role=Role.ANALYST,
        answers={
            "campaigns.show": details(OPEN),
            "campaigns.offers": msgspec.to_builtins(OFFERS),
        },
        texts=(
            "All of 7 messages that were found have",
            "There may be more messages",
            "proposed: in 12 of 15 reported messages",
            "domain parcel-x.example",
            "in 1 204 messages of two weeks, 1 100 of them spam, 2 pardons",
            "now set to poor",
            "how much mail has it is not known",
            "judge delivered copies again",
        ),
    ),
    PageCase(
        name="case-no-offers",
        path="/case/1812",
        role=Role.ANALYST,
        answers={
            "campaigns.show": details(OPEN),
            "campaigns.offers": {"messages": 1, "complete": True, "signatures": [], "pins": []},
        },
        texts=("Nothing that can be named is in all of them.",),
    ),
    PageCase(
        name="case-effects-preview",
        path="/case/1812/decide",
        role=Role.ANALYST,
        form=FURTHER,
        answers={"campaigns.decide": {**OUTCOME, "effects": msgspec.to_builtins(EFFECTS)}},
        texts=(
            "Signature added: parcel-x.example",
            "live",
            "Proposed signature put in force:",
            "203.0.113.0/24 → bad (before: poor)",
            "left as it is",
            "kim has set it to good since",
            "7 delivered messages judged again: 310 copies to move",
        ),
    ),
    PageCase(
        name="case-effects-decided",
        path="/case/1812",
        role=Role.AUDITOR,
        answers={
            "campaigns.show": {
                **details(SETTLED, done=False),
                "effects": msgspec.to_builtins(EFFECTS),
            }
        },
        texts=("did not come to its end", "Reputation set:", "310 copies to move"),
    ),
    PageCase(
        name="case-decided",
        path="/case/1812",
        role=Role.DUTY,
        answers={"campaigns.show": details(SETTLED)},
        texts=("Decided: spam", "a fraud <b>", "Take back", "Wake it now"),
    ),
    PageCase(
        name="case-read-only",
        path="/case/1812",
        role=Role.AUDITOR,
        answers={"campaigns.show": details(SETTLED, whole=False)},
        texts=("copies not known", "none is in the journal any more", "none yet"),
    ),
    PageCase(
        name="case-unknown",
        path="/case/x",
        role=Role.ANALYST,
        answers={"campaigns.show": DeskRefusalError(404, "there is no campaign 0")},
        status=404,
    ),
    PageCase(
        name="case-preview",
        path="/case/1812/decide",
        role=Role.ANALYST,
        form=DECIDE,
        answers={"campaigns.decide": OUTCOME},
        texts=("Case 1812: spam", "06AV3K9W2M4QE", "1 report", "of 1 person", "Do it"),
    ),
    PageCase(
        name="case-done",
        path="/case/1812/decide",
        role=Role.ANALYST,
        form={**DECIDE, "step": "do", "reason": "I read it", "key": "k1"},
        answers={"campaigns.decide": OUTCOME},
        texts=("Done", "Undo", "Next case"),
    ),
    PageCase(
        name="case-undo",
        path="/case/1812/undecide",
        role=Role.ANALYST,
        form={},
        answers={"campaigns.undecide": {**OUTCOME, "taught": [], "unlearned": [4], "events": []}},
        texts=("1 label of the site is taken back",),
    ),
    PageCase(
        name="case-wrong-verdict",
        path="/case/1812/decide",
        role=Role.ANALYST,
        form={"verdict": "boring"},
        answers={"campaigns.decide": DeskRefusalError(422, "invalid enum value 'boring'")},
        status=422,
        texts=("invalid enum value",),
    ),
    PageCase(
        name="case-taken",
        path="/case/1812/take",
        role=Role.ANALYST,
        form={},
        answers={"campaigns.take": {}},
        status=303,
    ),
    PageCase(
        name="case-of-another",
        path="/case/1812/take",
        role=Role.ANALYST,
        form={},
        answers={
            "campaigns.take": DeskRefusalError(403, "joe looks at campaign 1812"),
            "campaigns.show": details(OPEN),
        },
        status=422,
        texts=("joe looks at campaign 1812",),
    ),
    PageCase(
        name="case-snoozed",
        path="/case/1812/snooze",
        role=Role.ANALYST,
        form={"for": "3600"},
        answers={"cases.snooze": {}},
        status=303,
    ),
    PageCase(
        name="case-noted",
        path="/case/1812/note",
        role=Role.SUPPORT,
        form={"text": "x"},
        answers={"cases.note": {}},
        status=303,
    ),
]
