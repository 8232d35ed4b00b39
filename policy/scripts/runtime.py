"""A machine for the scripts of one policy: Lua 5.4 by lupa, closed, and held to limits
(docs/adr/0016).

What scripts see and how they are run stands in `guard.lua`, `library.lua` and `sandbox.lua`, which
are loaded first and alone have the whole of Lua.  No object of Python is ever in a script's hands;
functions of ours are called by those files only.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from lupa.lua54 import LuaError, LuaRuntime

from oborona.policy.scripts.answers import ScriptAnswers

STRIDE: Final = 200  # steps of the machine between two looks at the limits
STEPS: Final = 1_000_000  # of one function for one message
SECONDS: Final = 0.05  # of processor time, of one function for one message
ALL_SECONDS: Final = 0.2  # the same of all functions
LOADING_STEPS: Final = 10_000_000  # of one file as it is read
LOADING_SECONDS: Final = 2.0
MEMORY: Final = 8 << 20  # bytes that scripts may fill
LOADED: Final = 4 << 20  # bytes that they may hold once they are read
RESERVE: Final = 8 << 20  # bytes above it: for what is on its way, and one text more
FUNCTIONS: Final = 1_000  # rules and checks
FIELDS: Final = 100  # keys and values of one of them
_NAME: Final = "=oborona"  # of our own files, by which they are told from scripts


class RegisteredFunction(NamedTuple):
    """A rule or check that a script has registered."""

    kind: str  # rule, check
    file: int  # number of the script
    line: int  # of the call
    slot: int
    first: int  # line of its function
    last: int
    fields: dict[str, Any]


class FunctionResult(NamedTuple):
    """The result of a function on a message."""

    slot: int
    failed: bool
    share: float | None  # of the score; 1 for true
    words: str  # or the error


class ScriptRuntime:
    """One machine; scripts are loaded, it is sealed, and then runs for any number of messages.

    Args:
        answers: to what scripts ask; what they are about changes from message to message.
        registered: gets the rules and checks that scripts give.
    """

    def __init__(self, answers: ScriptAnswers, registered: list[RegisteredFunction]) -> None:
        self._answers = answers
        self._lua = LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=_refuse,
            max_memory=MEMORY + RESERVE,
        )
        outside = self._lua.table_from(
            {
                b"fetch": answers.fetch,
                b"count": answers.count,
                b"found": answers.found,
                b"matches": answers.matches,
                b"captures": answers.captures,
                b"within": answers.within,
                b"turned": answers.turned,
                b"complain": answers.complain,
                b"register": _register(registered),
                b"kinds": self._lua.table_from(answers.kinds),
                b"orders": self._lua.table_from(answers.orders),
                b"limits": self._lua.table_from(_LIMITS),
            }
        )
        arguments: list[Any] = [outside]
        for name in ("guard", "library", "sandbox"):
            code = files("oborona.policy.scripts").joinpath(f"{name}.lua").read_bytes()
            arguments.append(self._lua.execute(_LOAD, code, _NAME.encode(), *arguments))
        self._load, self._seal, self._run = (
            arguments[-1][name] for name in (b"load", b"seal", b"run")
        )

    def load(self, number: int, text: str) -> str:
        """Run a script, which registers its rules and checks.

        Return what is wrong with it, or nothing.

        Args:
            number: of the file; errors begin with it and a line: `3:12: ...`.
            text: of the file.
        """
        try:
            problem = self._load(number, text.encode())
        except LuaError as fault:
            return _first_line(fault)
        return _text(problem) if problem else ""

    def seal(self) -> bool:
        """End loading: everything is read-only from here on; return whether it is small enough."""
        try:
            return bool(self._seal() * 1024 <= LOADED)
        except LuaError:  # out of memory
            return False

    def table(self, slots: Sequence[int]) -> Any:
        """Return slots in the form that `run` takes."""
        return self._lua.table_from(slots)

    def run(self, slots: Any, order: int, facts: Any) -> list[FunctionResult]:
        """Run functions over the facts of a message; those that say nothing are left out.

        Args:
            slots: whose; made by `table`.
            order: of the stage whose facts are known.
            facts: of the message; None: empty ones.

        Never raises.
        """
        self._answers.facts = facts
        try:
            rows = self._run(slots, order)
        except LuaError as fault:
            return [FunctionResult(0, True, None, _first_line(fault))]
        finally:
            self._answers.facts = None
        if rows is None:
            return []
        return [
            FunctionResult(
                abs(slot),
                slot < 0,
                None if share is False else share,
                _text(words) if words else "",
            )
            for slot, share, words in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
        ]


_LOAD: Final = (
    b"local code, name = ... local run, fault = load(code, name, 't') return assert(run, "
    b"fault)(select(3, ...))"
)
_LIMITS: Final = {
    b"stride": STRIDE,
    b"steps": STEPS,
    b"seconds": SECONDS,
    b"all_seconds": ALL_SECONDS,
    b"loading_steps": LOADING_STEPS,
    b"loading_seconds": LOADING_SECONDS,
    b"memory_kb": MEMORY // 1024,
    b"functions": FUNCTIONS,
    b"fields": FIELDS,
}


def _register(registered: list[RegisteredFunction]) -> Any:
    """Return what collects rules and checks.

    Not a method, so that Lua holds no machine of its own.
    """

    def register(
        kind: bytes, file: int, line: int, slot: int, first: int, last: int, *flat: Any
    ) -> None:
        fields = {
            _text(key): _value(value) for key, value in zip(flat[::2], flat[1::2], strict=True)
        }
        registered.append(RegisteredFunction(_text(kind), file, line, slot, first, last, fields))

    return register


def _refuse(_: object, __: object, ___: bool) -> str:
    """Objects of Python have no attributes in Lua."""
    raise AttributeError("no attributes")


def _value(value: Any) -> Any:
    return _text(value) if isinstance(value, bytes) else value


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")


def _first_line(fault: LuaError) -> str:
    return str(fault).partition("\n")[0] or "takes too much memory"
