"""A few calls for tests of what all calls have in common."""

import threading
from pathlib import Path

import msgspec

from oborona.desk.call import ActOrder, Call, CallError, NotFoundError, Question, UndoCall
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.errors import PolicyError
from oborona.people.caller import Caller, CallWay, Scope
from oborona.people.rights import Right, Role, rights_of


class NameQuestion(Question, kw_only=True):
    name: str = ""


class NameAnswer(msgspec.Struct):
    name: str
    by: str


class PinOrder(ActOrder, kw_only=True):
    entity: str = ""
    fails: str = ""


class PinAnswer(msgspec.Struct):
    pinned: int
    undo: UndoCall | None = None


class Recorder:
    def __init__(self) -> None:
        self.done: list[str] = []
        self.hold = threading.Event()
        self.hold.set()

    def ask_name(self, site: Site, caller: Caller, asked: NameQuestion) -> NameAnswer:
        self.hold.wait(20)
        if asked.name == "nobody":
            raise NotFoundError("nobody is not there")
        return NameAnswer(asked.name, caller.name)

    def pin(self, site: Site, caller: Caller, asked: PinOrder) -> PinAnswer:
        if asked.fails == "told":
            raise CallError("it can't be")
        if asked.fails == "policy":
            raise PolicyError("the policy can't be used")
        if asked.fails:
            raise ZeroDivisionError(asked.fails)
        if not asked.dry:
            self.done.append(asked.entity)
        undo = UndoCall("reputation.clear", {"entity": asked.entity})
        return PinAnswer(len(self.done), None if asked.dry else undo)

    def calls(self) -> dict[str, Call]:
        track, entity = (Right.TRACK, Right.OWN), (Right.ENTITY,)
        made = [
            Call(
                "names.show", self.ask_name, NameQuestion, NameAnswer, track, True, False, ("name",)
            ),
            Call(
                "content.show",
                self.ask_name,
                NameQuestion,
                NameAnswer,
                (Right.CONTENT,),
                True,
                False,
            ),
            Call("site.show", self.ask_name, NameQuestion, NameAnswer, track, False, False),
            Call(
                "reputation.set", self.pin, PinOrder, PinAnswer, entity, True, True, (), ("entity",)
            ),
        ]
        return {call.name: call for call in made}


def person(name: str, *roles: Role, scope: Scope = Scope()) -> Caller:  # noqa: B008 - frozen
    given = frozenset(roles)
    return Caller(
        name=name, roles=given, rights=rights_of(given), scope=scope, way=CallWay.PAGE,
        source="session=1", place="192.0.2.1",
    )  # fmt: skip


def site_of(state: Path) -> Site:
    state.mkdir(exist_ok=True)
    file = state.parent / "oborona.toml"
    file.write_text("")
    return Site(SiteSource(file, {"paths.state": str(state)}), lambda _text: None)
