"""One connection of the libmilter transport: what its callbacks do in libmilter's threads, and how
the loop hears of it.

Headers and body are gathered in the thread.  Steps that nobody waits for are put by, and go to the
loop in order with the next one that is waited for, so that a message costs one change of threads
for each answer; but where a refusal may follow, client and sender go at once, to be judged until
then.  libmilter calls back one step of a connection at a time, though not always from the same
thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from typing import Final, Protocol

import milter

from oborona.doors import arguments
from oborona.doors.guard import NO_ANSWER, HandlerGuard
from oborona.doors.handler import ConnectionHandler, ConnectionHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.probe import MACRO as PROBE
from oborona.doors.raw_message import RawMessageBuilder
from oborona.doors.reply import (
    BUSY,
    CONTINUE,
    TAKES,
    AddHeader,
    ReplyAction,
    SessionReply,
    in_removal_order,
    refused_hold,
)
from oborona.milter.protocol import (
    MACROS,
    MAX_VERSION,
    NO_END_OF_HEADERS,
    SET_MACROS,
    MilterTerms,
    agree,
)
from oborona.types import Stage

LOOP_LATE_S: Final = 2.0  # beyond a door's time, before a thread gives up on the loop itself
MAX_PUT_BY: Final = 64  # steps that nobody waits for, before they are handed over all the same

_CODES: Final = {
    ReplyAction.CONTINUE: milter.CONTINUE,
    ReplyAction.ACCEPT: milter.ACCEPT,
    ReplyAction.REJECT: milter.REJECT,
    ReplyAction.TEMPFAIL: milter.TEMPFAIL,
    ReplyAction.DISCARD: milter.DISCARD,
}
_NAMES: Final = {stage: tuple(names.split()) for stage, names in MACROS.items()}
_CONNECT, _MAIL, _RCPT, _END = MACROS  # stage numbers
_NAMES[_MAIL] += (f"{{{PROBE}}}",)  # no mail server is asked for it

Step = Callable[[], Awaitable[SessionReply]]

log = logging.getLogger("oborona.milter")


class LibmilterConnectionServer(Protocol):
    """What a connection needs of its server."""

    handler_factory: ConnectionHandlerFactory
    guard: HandlerGuard
    limit_bytes: int
    room: MemoryBudget
    loop: asyncio.AbstractEventLoop

    def note(self, outcome: str) -> None:
        """Count what became of a message that nobody judged."""
        ...


class LibmilterConnection:
    """Callbacks of one connection; each returns libmilter's number for its answer."""

    _door: ConnectionHandler

    def __init__(self, server: LibmilterConnectionServer, ctx: milter.Context) -> None:
        self._ctx = ctx
        self._loop = server.loop
        self._factory = server.handler_factory
        self._guard = server.guard
        self._gather = RawMessageBuilder(server.limit_bytes, server.room.hold())
        self._note = server.note
        self._put_by: list[Step] = []
        self._turn = asyncio.Lock()  # in the loop: one step at a time, whatever threads gave up on
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent = milter.NOREPLY
        self._in_message = False
        self._messages = 0

    @property
    def between_messages(self) -> bool:
        """Whether a message is done and no other has begun."""
        return self._messages > 0 and not self._in_message

    # --- the start ---

    def negotiate(self, options: list[int]) -> MilterTerms:
        """Agree on terms within the mail server's offer, which is `options` and becomes the answer.

        Raises:
            Exception: no door could be made.
        """
        self._open()
        # libmilter saw to the version, and older ones need the end of headers for their own order
        # of commands
        steps = options[1] & ~NO_END_OF_HEADERS
        self.terms = agree(MAX_VERSION, options[0], steps, self._door.waits)
        if not self.terms.edits:
            log.warning(
                "the mail server lets headers alone (actions %#x): messages go unmarked", options[0]
            )
        self._tell_terms()
        options[:2] = self.terms.actions, self.terms.protocol
        if self.terms.actions & SET_MACROS:
            for stage, names in MACROS.items():
                self._ctx.setsymlist(stage, names)
        return self.terms

    def assume(self, terms: MilterTerms) -> None:
        """Begin without a negotiation: answer everything, libmilter drops what the mail server does
        not wait for.
        """
        self._open()
        self.terms = MilterTerms(
            version=terms.version,
            actions=terms.actions,
            protocol=terms.protocol,
            waits=frozenset(Stage),
            answers=terms.answers,
        )
        self._silent = milter.CONTINUE
        self._tell_terms()

    def _tell_terms(self) -> None:
        if not self.terms.holds:
            self._put_by.append(self._notice_step(self._door.refuse_holds))

    def _open(self) -> None:
        opened: Future[ConnectionHandler] = Future()

        def make() -> None:
            try:
                opened.set_result(self._factory())
            except Exception as error:  # noqa: BLE001 - raised in the thread that waits
                opened.set_exception(error)

        self._loop.call_soon_threadsafe(make)
        self._door = opened.result(self._guard.guard_s + LOOP_LATE_S)

    # --- the steps ---

    def connect(self, host: str, address: object) -> int:
        """A client connected; `address` is what pymilter makes of its socket address."""
        ip, port = (str(address[0]), int(address[1])) if isinstance(address, tuple) else ("", 0)
        self._learn(_CONNECT)
        client = arguments.client_at_connect(host, ip, port)
        code = self._stage(Stage.CONNECT, lambda: self._guard.ask(self._door.connect(client)))
        self._ahead()
        return code

    def helo(self, name: str) -> int:
        """HELO or EHLO."""
        return self._stage(Stage.SENDER, lambda: self._guard.ask(self._door.helo(name)))

    def mail(self, argument: bytes, *more: bytes) -> int:
        """MAIL FROM."""
        sender, params = (
            arguments.path_address(arguments.peer_text(argument)),
            tuple(map(arguments.peer_text, more)),
        )
        self._forget()
        self._in_message = True
        self._learn(_MAIL)
        code = self._stage(Stage.SENDER, lambda: self._guard.ask(self._door.mail(sender, params)))
        self._in_message = code in (milter.CONTINUE, milter.NOREPLY)
        self._ahead()
        return code

    def rcpt(self, argument: bytes, *more: bytes) -> int:
        """RCPT TO."""
        recipient, params = (
            arguments.path_address(arguments.peer_text(argument)),
            tuple(map(arguments.peer_text, more)),
        )
        self._learn(_RCPT)
        code = self._stage(
            Stage.RECIPIENT, lambda: self._guard.ask(self._door.rcpt(recipient, params))
        )
        self._in_message = code != milter.ACCEPT
        return code

    def header(self, name: str, value: bytes) -> int:
        """One header."""
        self._gather.header(name.encode(), value, leading_space=self.terms.leading_space)
        return self._silent

    def body(self, chunk: bytes) -> int:
        """A piece of the body."""
        self._gather.body(chunk)
        return self._silent

    def silent(self) -> int:
        """A step that says nothing to us."""
        return self._silent

    def end(self) -> int:
        """The message is whole."""
        self._learn(_END)
        reply = self._judge()
        self._forget()
        self._in_message = False
        self._messages += 1
        if not self.terms.holds:
            reply = refused_hold(reply)
        if self.terms.edits and reply.answer in TAKES:
            for edit in in_removal_order(reply.edits):
                if isinstance(edit, AddHeader):
                    self._ctx.addheader(edit.name, self.terms.value(edit), 0 if edit.top else -1)
                else:
                    self._ctx.chgheader(edit.name, edit.index, None)
        if self.terms.removes and reply.answer in TAKES:
            for recipient in reply.removed:
                self._ctx.delrcpt(f"<{recipient}>")
        if reply.answer is ReplyAction.HOLD:
            self._ctx.quarantine(reply.text)
            return milter.ACCEPT
        return self._code(reply)

    def abort(self) -> int:
        """The message at hand is given up."""
        self._forget()
        self._in_message = False
        self._hand_over(self._notice_step(self._door.abort))
        return milter.CONTINUE

    def close(self) -> int:
        """The connection is over; must not wait, libmilter holds its locks."""
        self._forget()
        self._hand_over(self._notice_step(self._door.close))
        return milter.CONTINUE

    # --- the message at hand ---

    def _judge(self) -> SessionReply:
        if self._gather.crowded:
            reply = self._ask(self._busy, BUSY)
            self._hand_over(self._notice_step(self._door.abort))
            self._note("busy")
            return reply
        message = self._gather.finish()
        return self._ask(
            lambda: self._guard.judged(self._door.end_of_message(message), self._door, message),
            NO_ANSWER,
        )

    async def _busy(self) -> SessionReply:
        return self._guard.put_off(self._door, busy=True)

    def _forget(self) -> None:
        self._gather.reset()

    # --- to the loop and back ---

    def _learn(self, stage: int) -> None:
        """Have the door told the macros of a stage."""
        values: dict[str, str] = {}
        for name in _NAMES[stage]:
            try:
                value = self._ctx.getsymval(name)
            # pymilter's; the value is the client's doing and no name of ours
            except UnicodeDecodeError:
                continue
            if value is not None:
                values[name.strip("{}")] = value
        self._put_by.append(self._notice_step(lambda: self._door.learn(values)))

    def _notice_step(self, notice: Callable[[], None]) -> Step:
        async def tell() -> SessionReply:
            self._guard.tell(notice)
            return CONTINUE

        return tell

    def _stage(self, stage: Stage, step: Step) -> int:
        """Ask now if the mail server waits, else put the step by."""
        if stage in self.terms.waits:
            return self._code(self._ask(step, self._guard.failure))
        self._put_by.append(step)
        if len(self._put_by) >= MAX_PUT_BY:
            self._hand_over()
        return self._silent

    def _ahead(self) -> None:
        """Hand over what was put by, where it is judged until somebody waits for it."""
        if self._put_by and self.terms.waits:
            self._hand_over()

    def _ask(self, step: Step, failure: SessionReply) -> SessionReply:
        """Return the reply of a step, or `failure` where the loop has none in time."""
        answer: Future[SessionReply | None] = Future()
        self._hand_over(step, answer=answer)
        try:
            reply = answer.result(self._guard.guard_s + LOOP_LATE_S)
        except LateError:
            log.error("the event loop is late, answering %s", failure.answer)  # noqa: TRY400
            return failure
        return reply or failure

    def _hand_over(self, *steps: Step, answer: Future[SessionReply | None] | None = None) -> None:
        """Give the loop all that was put by and these steps."""
        work = [*self._put_by, *steps]
        self._put_by.clear()
        try:
            self._loop.call_soon_threadsafe(self._begin, work, answer)
        except RuntimeError:  # the loop is closed: the process is about to end
            if answer is not None:
                answer.set_result(None)

    def _begin(self, work: list[Step], answer: Future[SessionReply | None] | None) -> None:
        task = self._loop.create_task(self._do(work, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, work: list[Step], answer: Future[SessionReply | None] | None) -> None:
        reply = None
        try:
            async with self._turn:
                for step in work:
                    reply = await step()
        finally:
            if answer is not None and not answer.done():
                answer.set_result(reply)

    def _code(self, reply: SessionReply) -> int:
        if reply.code:
            self._ctx.setreply(str(reply.code), reply.enhanced, *reply.lines)
        return _CODES[reply.answer]
