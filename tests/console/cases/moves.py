"""Moves in their states, and acts on them."""

import msgspec

from oborona.desk.acts.recheck import MovesOutcome, MoveUndoOutcome
from oborona.desk.asks.recheck import MovePage, RecheckFigures
from oborona.people.rights import Role
from oborona.recheck.moves import Move, MoveState
from tests.console.page_case import PageCase
from tests.console.stub_desk import NOW, DeskRefusalError

DONE = Move(
    id=17, message=5, recipient="joe@\u202ea.example", source="INBOX", target="Junk <b>",
    time=NOW, changed=NOW, due=NOW, tries=1, state=MoveState.DONE, note="", why="MASS_TEXT many",
    score=112.0, line=100.0, event="learned", because="", undoes=None,
)  # fmt: skip
BACK = msgspec.structs.replace(DONE, id=18, state=MoveState.KEPT, note="it was read", undoes=17)
RUNS = RecheckFigures(
    runs=True, trouble="", paused=None, paused_since=None, waiting=0.0, looked={},
    moves={"done": 12},
)  # fmt: skip
PAUSED = msgspec.structs.replace(RUNS, runs=False, paused="too many at once", paused_since=NOW)


def shown(figures: object, *moves: Move, following: int | None = None) -> dict[str, object]:
    """Return the desk's answers."""
    return {
        "recheck.status": msgspec.to_builtins(figures),
        "recheck.moves": msgspec.to_builtins(MovePage(moves=moves, next=following)),
    }


UNDONE = msgspec.to_builtins(MoveUndoOutcome(moves=(DONE,), runs=True))
NUMBER = msgspec.to_builtins(MovesOutcome(moves=3, runs=False))

CASES = [
    PageCase(
        name="moves",
        path="/moves?state=done",
        role=Role.ANALYST,
        answers=shown(RUNS, DONE, BACK, following=17),
        texts=("moved: 12", "MASS_TEXT", "takes move 17 back", "it was read", "Undo many"),
    ),
    PageCase(
        name="moves-paused",
        path="/moves",
        role=Role.DUTY,
        answers=shown(PAUSED, DONE),
        texts=("Moves have stopped since", "too many at once", "Resume", "does not run"),
    ),
    PageCase(
        name="moves-none",
        path="/moves",
        role=Role.AUDITOR,
        answers=shown(RUNS),
        texts=("No move of this kind is kept.",),
    ),
    PageCase(
        name="moves-away",
        path="/moves?before=x",
        role=Role.SUPPORT,
        answers={"recheck.moves": DeskRefusalError(503, "moves.db: there is none")},
        texts=("Moves can't be read now", "moves.db"),
    ),
    PageCase(
        name="moves-undo",
        path="/moves/undo",
        role=Role.SUPPORT,
        form={"id": "17"},
        answers={"recheck.undo": UNDONE},
        texts=("1 move is taken back", "joe@U+202Ea.example", "Do it"),
    ),
    PageCase(
        name="moves-undo-many",
        path="/moves/undo",
        role=Role.ANALYST,
        form={"since": "1795862400", "rule": "MASS_TEXT"},
        answers={"recheck.undo": UNDONE},
        texts=("1 move is taken back",),
    ),
    PageCase(
        name="moves-resume",
        path="/moves/resume",
        role=Role.DUTY,
        form={},
        answers={"recheck.resume": NUMBER},
        texts=("3 moves", "does not run"),
    ),
    PageCase(
        name="moves-discard",
        path="/moves/discard",
        role=Role.DUTY,
        form={"step": "do", "reason": "a mistake", "key": "k"},
        answers={"recheck.discard": NUMBER},
        texts=("Done", "3 moves"),
    ),
]
