"""The models, and acts on them."""

from typing import Any

import msgspec

from oborona.desk.acts.models import FinalModelOutcome, RollbackOutcome, UnlearnOutcome
from oborona.desk.asks.models import LabelList, ModelFigures, SnapshotFigures, SnapshotList
from oborona.desk.models.final_models import FinalModelReport
from oborona.feedback.label import LabelKind, LabelSource, LabelState, StoredLabel
from oborona.feedback.statistics import FeedbackStatistics, ModelAgreement, PersonLabels
from oborona.feedback.weights_file import WeightsHeader
from oborona.people.rights import Role
from oborona.policy.final_table import FinalMode
from oborona.policy.models.final.choice import FinalChoice
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW

MODEL = ModelFigures(
    version="3.17",
    speaks=False,
    missing={"spam": 40, "ham": 0},
    trouble="",
    weights=WeightsHeader(epoch=3, position=17, spam=160, ham=900),
    trainer=None,
    figures=FeedbackStatistics(
        said=(),
        persons=(
            PersonLabels(person="eve@e.example \u202e", spam=3, ham=1),
            PersonLabels(person="", spam=1, ham=0),
        ),
        waiting=2,
        kept={},
        last=NOW,
        agreement=ModelAgreement(number=10, agreed=8, missed=1, wronged=1, bins=()),
    ),
)
LABEL = StoredLabel(
    id=4, time=NOW, kind=LabelKind.SPAM, source=next(iter(LabelSource)), person="eve@e.example",
    weight=0.5, message_id="<1@a.example>", journal=7, state=LabelState.LEARNED, reason="<b>",
    changed=NOW, changed_by="", margin=None,
)  # fmt: skip
SNAPSHOT = SnapshotFigures(
    id=2, time=NOW, why="daily", position=10, epoch=3, spam=150, ham=800, octets=1 << 20
)
FINAL = FinalModelReport(
    model="ab12", trained_at=NOW, policy="8121", mode=next(iter(FinalMode)), live=True,
    spam=0.9, reject=None, shipped=None, choice=FinalChoice(), training={},
)  # fmt: skip
ANSWERS: dict[str, Any] = {
    "model.status": msgspec.to_builtins(MODEL),
    "model.words": msgspec.to_builtins(LabelList(labels=(LABEL,))),
    "model.history": msgspec.to_builtins(SnapshotList(snapshots=(SNAPSHOT,))),
    "model.final_status": msgspec.to_builtins(FINAL),
}
FINAL_BACK = msgspec.to_builtins(FinalModelOutcome(version="ab11"))

CASES = [
    PageCase(
        name="models",
        path="/models",
        role=Role.ADMIN,
        answers=ANSWERS,
        texts=("3.17", "40 more of spam", "8 of 10", "the site", "Take back", "Go back", "ab12"),
    ),
    PageCase(
        name="models-empty",
        path="/models",
        role=Role.AUDITOR,
        answers=ANSWERS
        | {"model.words": {"labels": []}, "model.history": {"snapshots": []}}
        | {"model.final_status": msgspec.to_builtins(msgspec.structs.replace(FINAL, model=None))},
        texts=("Labels come when people say", "The trainer keeps one", "none"),
    ),
    PageCase(
        name="models-away",
        path="/models",
        role=Role.ANALYST,
        texts=("can't be read", "Not available now"),
    ),
    PageCase(
        name="models-unlearn",
        path="/models/unlearn",
        role=Role.ANALYST,
        form={"id": "4"},
        answers={"model.unlearn": msgspec.to_builtins(UnlearnOutcome(taken_back=(4,)))},
        texts=("1 label is taken back",),
    ),
    PageCase(
        name="models-roll-back",
        path="/models/roll-back",
        form={"id": "2"},
        answers={"model.rollback": msgspec.to_builtins(RollbackOutcome(aside=2, back=1))},
        texts=("2 labels are set aside, 1 is put back",),
    ),
    PageCase(
        name="models-final-back",
        path="/models/final/roll-back",
        form={"step": "do", "reason": "worse", "key": "k"},
        answers={"model.final_rollback": FINAL_BACK},
        texts=("In force is the model ab11.", "Undo"),
    ),
    PageCase(
        name="models-final-remove",
        path="/models/final/remove",
        form={},
        answers={"model.final_remove": FINAL_BACK | {"version": ""}},
        texts=("the rules do",),
    ),
]
