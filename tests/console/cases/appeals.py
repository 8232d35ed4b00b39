"""Appeals of senders, in the queue and by themselves."""

import msgspec

from oborona.desk.acts.appeals import AppealOutcome
from oborona.desk.asks.appeals import AppealList, AppealView
from oborona.desk.asks.campaigns import CampaignList
from oborona.desk.call import UndoCall
from oborona.feedback.cases.appeals import AppealState, RefusalReason
from oborona.people.rights import Role
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

WAITING = AppealView(
    id=17, reference="0SAH375J007Q5", address='"<b>"@bank.example', domain="bank.example",
    refused=NOW - 7200, put_off=True, reasons=(RefusalReason.LISTED, RefusalReason.NAME),
    at=NOW - 3600, text="We are a bank.\nPlease\u202e <script>alert(1)</script> look.",
    state=AppealState.WAITING, words="", by="", answered=0.0,
)  # fmt: skip
ANSWERED = msgspec.structs.replace(
    WAITING, state=AppealState.PARDONED, words="Sorry: our <i>mistake</i>.", by="joe", answered=NOW
)


def listed(*appeals: AppealView, waiting: int = 0, more: bool = False) -> dict[str, object]:
    """Return what the desk lists."""
    found = AppealList(appeals=appeals, waiting=waiting, more=more)
    return {"appeals.list": msgspec.to_builtins(found)}


def shown(appeal: AppealView) -> dict[str, object]:
    """Return what the desk tells of an appeal."""
    return {"appeals.show": msgspec.to_builtins(appeal)}


def outcome(appeal: AppealView, undo: str) -> object:
    """Return what an act comes to."""
    call = UndoCall(call=undo, asked={"id": 17})
    return msgspec.to_builtins(AppealOutcome(appeal=appeal, undo=call))


NO_CAMPAIGNS = {"campaigns.list": msgspec.to_builtins(CampaignList(campaigns=(), more=False))}
AWAY = {"campaigns.list": DeskRefusalError(503, "events.db: nobody has said anything")}
ANSWER = {"verdict": "pardon", "words": "Sorry: our <i>mistake</i>."}

CASES = [
    PageCase(
        name="queue-appeals",
        path="/queue",
        role=Role.ANALYST,
        answers=NO_CAMPAIGNS | listed(WAITING, waiting=12),
        texts=("Appeals of senders", "We are a bank.", "listed client", "12 appeals wait"),
    ),
    PageCase(
        name="queue-away-appeals",
        path="/queue",
        role=Role.ANALYST,
        answers=AWAY | listed(WAITING, waiting=1),
        texts=("The queue can't be read now", "We are a bank.", "1 appeal waits"),
    ),
    PageCase(
        name="appeals",
        path="/appeals",
        role=Role.ANALYST,
        answers=listed(WAITING, waiting=60, more=True),
        texts=("bank.example", "waits", "Older", "CSV"),
    ),
    PageCase(
        name="appeals-answered",
        path="/appeals?answered=1&after=x",
        role=Role.AUDITOR,
        answers=listed(ANSWERED),
        texts=("pardoned",),
    ),
    PageCase(
        name="appeals-none",
        path="/appeals",
        role=Role.ANALYST,
        answers=listed(),
        texts=("No appeal waits for an answer.",),
    ),
    PageCase(
        name="appeals-none-yet",
        path="/appeals?answered=1",
        role=Role.ANALYST,
        answers=listed(),
        texts=("None yet", "console.senders"),
    ),
    PageCase(
        name="appeal",
        path="/appeal/17",
        role=Role.ANALYST,
        answers=shown(WAITING),
        texts=("0SAH375J007Q5", "We are a bank.", "U+202E", "nothing else is proved", "Pardon"),
    ),
    PageCase(
        name="appeal-answered",
        path="/appeal/17",
        role=Role.ANALYST,
        answers=shown(ANSWERED),
        texts=("Answer: pardoned", "our <i>mistake</i>", "joe", "Take back"),
    ),
    PageCase(
        name="appeal-unknown",
        path="/appeal/x",
        role=Role.ANALYST,
        answers={"appeals.show": DeskRefusalError(404, "there is no appeal 0")},
        status=404,
    ),
    PageCase(
        name="appeal-preview",
        path="/appeal/17/answer",
        role=Role.ANALYST,
        form=ANSWER,
        answers={"appeals.answer": outcome(ANSWERED, "appeals.reopen")},
        texts=("Appeal 17: pardon it", "The refusal was a mistake.", "Do it"),
    ),
    PageCase(
        name="appeal-done",
        path="/appeal/17/answer",
        role=Role.ANALYST,
        form={**ANSWER, "step": "do", "reason": "a bank", "key": "k1"},
        answers={"appeals.answer": outcome(ANSWERED, "appeals.reopen")},
        texts=("Done", "Undo"),
    ),
    PageCase(
        name="appeal-met",
        path="/appeal/17/answer",
        role=Role.ANALYST,
        form={**ANSWER, "verdict": "boring"},
        answers={"appeals.answer": DeskRefusalError(409, "appeal 17 was answered by joe")},
        status=422,
        texts=("appeal 17 was answered by joe",),
    ),
    PageCase(
        name="appeal-reopen",
        path="/appeal/17/reopen",
        role=Role.ANALYST,
        form={},
        answers={"appeals.reopen": outcome(WAITING, "appeals.answer")},
        texts=("take the answer back", "waits for an answer again"),
    ),
]
