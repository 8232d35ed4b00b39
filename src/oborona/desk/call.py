"""Calls: asks, which only read, and acts, which change something, each declared once.

From a declaration follow the route of the API, its decoder, its text in the OpenAPI document, who
may make it, and the rows of the audit log.  Commands and pages call the same functions.

    @ask("messages.find", Right.TRACK, scoped=True)
    def find_messages(site: Site, caller: Caller, asked: MessageQuestion) -> MessageList: ...

    @act("recheck.undo", Right.MOVE)
    def undo_moves(site: Site, caller: Caller, asked: UndoOrder) -> UndoneMoves: ...

A function is plain: it runs on a thread of the desk, and raises what is wrong as `CallError` or
another `OboronaError`.  A `scoped` one looks at `caller.scope` and neither shows nor changes what
is beyond it; one that is not is refused to those who have a scope.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

import msgspec

from oborona.audit.declarations import ACTS
from oborona.desk.site import Site
from oborona.errors import OboronaError
from oborona.people.caller import Caller
from oborona.people.rights import Right


class CallError(OboronaError):
    """A call that can't be answered, in words for who made it.

    Args:
        text: what is wrong.
        needs: what is missing: a right, `reason`, `password` (once more), `code`; `dry`: it can't
            be tried, only done; empty = nothing of these.
    """

    status = 422  # of HTTP
    wait_s = 0.0  # so long the next try is not looked at

    def __init__(self, text: str, needs: str = "") -> None:
        super().__init__(text)
        self.needs = needs


class NotFoundError(CallError):
    """What a call is about is not there, or not within the caller's scope."""

    status = 404


class NotAllowedError(CallError):
    """The caller may not."""

    status = 403


class ActOrder(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What every act is told.

    Args:
        reason: why it is done; who is not at the terminal must say, but of a dry run.
        dry: tell what would be done, and do nothing.
        key: the caller's own name of this order: the same again is answered and not done again.
    """

    reason: str = ""
    dry: bool = False
    key: str = ""


class Question(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What an ask is told that has nothing to say but why.

    Args:
        reason: why; some roles have some rights for a call that says so alone.
    """

    reason: str = ""


class UndoCall(msgspec.Struct, frozen=True):
    """The call that takes an act back.

    Args:
        call: its name.
        asked: what it is to be told, but the reason.
    """

    call: str
    asked: dict[str, Any]


class Call(NamedTuple):
    """A declaration.

    Args:
        name: as in the route and, of an act, in the audit log.
        function: does it.
        asked: type of what it is told.
        answer: type of what it returns.
        needs: one of these the caller must have.
        scoped: it heeds the caller's scope.
        acts: it changes something.
        person: fields of `asked` that name a person whose mail is read: that has a row.
        about: fields of `asked` that say what an act is about.
        tells_secret: its answer is told once and kept nowhere.
    """

    name: str
    function: Callable[[Site, Caller, Any], Any]
    asked: type[msgspec.Struct]
    answer: Any
    needs: tuple[Right, ...]
    scoped: bool
    acts: bool
    person: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    tells_secret: bool = False


CALLS: Final[dict[str, Call]] = {}
"""All of them, by name, once `oborona.desk.calls` is imported."""

_Function = TypeVar("_Function", bound=Callable[[Site, Any, Any], Any])


def ask(
    name: str, *needs: Right, scoped: bool = False, person: tuple[str, ...] = ()
) -> Callable[[_Function], _Function]:
    """Declare a function as an ask."""

    def declare(function: _Function) -> _Function:
        _declare(name, function, needs, scoped=scoped, acts=False, person=person)
        return function

    return declare


def act(
    name: str,
    *needs: Right,
    scoped: bool = False,
    about: tuple[str, ...] = (),
    tells_secret: bool = False,
) -> Callable[[_Function], _Function]:
    """Declare a function as an act, which `oborona.audit.declarations` knows."""
    assert name in ACTS, f"{name} stands in no declaration of the audit log"

    def declare(function: _Function) -> _Function:
        more = {"about": about, "tells_secret": tells_secret}
        _declare(name, function, needs, scoped=scoped, acts=True, **more)
        return function

    return declare


def _declare(
    name: str, function: Callable[..., Any], needs: tuple[Right, ...], *, acts: bool, **more: Any
) -> None:
    assert name not in CALLS, f"{name} is declared twice"
    assert needs, f"{name} needs no right"
    hints = get_type_hints(function)
    CALLS[name] = Call(name, function, hints["asked"], hints["return"], needs, acts=acts, **more)
