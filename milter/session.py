"""One connection of a mail server, whatever protocol carries it: asks policy at each stage, answers, counts, journals, logs.

    connect → helo → mail → rcpt… → end of message → mail → …

Every wait has a deadline, every call a crash barrier: past either, the mail server gets the configured answer, the log a traceback under the
message's id, and the message the finding `partial`.  What a scan computes is bounded by the parser's limits, not by the clock.  Counting and the journal come after the answer.  Nothing of one message
is left when the next begins; what belongs to the connection is its client and its HELO.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol

import msgspec

from oborona.authentication.header import results
from oborona.config import Milter
from oborona.feedback.events.model import Event
from oborona.milter import trapping
from oborona.milter.gather import MAX_HEADERS, Gathered
from oborona.milter.inquiry import Inquirer
from oborona.milter.journaled import entry_of
from oborona.milter.log import event
from oborona.milter.reply import ACCEPT, CONTINUE, FIELD_NAME, AddHeader, Answer, RemoveHeader, Reply, refuse
from oborona.milter.status import Tally
from oborona.policy.decide import unfinished
from oborona.policy.glance import glance
from oborona.policy.headers import LOOKED_AT, OUR_NAMES, foreign, ours, reason, trace
from oborona.policy.history import REPIP_BAD
from oborona.policy.load import Policy
from oborona.policy.own import is_own
from oborona.policy.ports import CounterWriter
from oborona.policy.scan import Scan, Site, scan
from oborona.policy.settling import counts, settle, settle_put_off, settle_refused
from oborona.policy.signatures import Signature
from oborona.policy.stages import Deciding
from oborona.recheck.entry import Entry
from oborona.recheck.ident import Numbers, sign, to_text
from oborona.types import Action, Client, Envelope, Stage, Verdict

log = logging.getLogger("oborona.session")

_PLACES: Final = {
    Stage.CONNECT: (554, "Connection"),
    Stage.SENDER: (550, "Sender"),
    Stage.RECIPIENT: (550, "Recipient"),
}
TOO_MANY_HEADERS: Final = "too-many-headers"  # decides: forged headers among so many could not be removed
REPORT: Final = "report"  # decides: spam that somebody reports is in the message, and is not theirs


async def _kept_nowhere(_event: Event) -> bool:
    """Say that an event is written down, for a session whose traps nobody follows."""
    return True


class InForce(Protocol):
    """The policy in force, whichever that is at the time."""

    @property
    def current(self) -> Policy:
        """The one in use, for what is no message's."""
        ...

    async def now(self) -> Policy:
        """Return the one that a message is judged by that begins now; never raises."""
        ...


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions of a worker work with."""

    site: Site
    settings: Milter
    contact: str  # said in refusals; empty = nothing
    policy: InForce
    counters: CounterWriter
    journal: Callable[[Entry], None]
    # is told of the policy that judged a message, before that is journaled
    ruled: Callable[[Policy], None] = lambda _policy: None
    numbers: Numbers
    signing_key: bytes
    inquire: Callable[[], Inquirer]  # a new one for each connection
    own: Callable[[str, str], bool]  # is a client one of ours, by its address and the port it came to
    tally: Tally
    clock: Callable[[], float]  # Unix seconds
    # counts signatures that were found
    signed: Callable[[Iterable[Signature], float], None] = lambda _found, _now: None
    late: Callable[[int, Scan], None] = lambda _ident, _scan: (
        None
    )  # gets what was settled: pictures may be unread
    # is told of each message and its verdict: whom our own people write to, they know
    wrote: Callable[[Envelope, Verdict, float], None] = lambda _envelope, _verdict, _now: None
    deciding: Deciding = msgspec.field(default_factory=Deciding)
    sighted: Callable[[Scan, float], None] = lambda _scan, _now: None  # is told of what may be a campaign
    # writes down what came to a trap; tells whether it is on the disk
    trap: Callable[[Event], Awaitable[bool]] = _kept_nowhere
    reports: frozenset[str] = frozenset()  # addresses where people and sites report mail, in lower case


class Session:
    """A `Door` over the policy.

    Args:
        bench: what the worker's sessions share.
        content: messages follow their envelopes; where none does, nothing is asked ahead for what is decided by them.
    """

    def __init__(self, bench: Bench, *, content: bool = True) -> None:
        self._bench = bench
        self._content = content
        self._macros: dict[str, str] = {}
        self._client = Client()
        self._own = False
        self._inquirer = bench.inquire()
        self._helo = ""
        self._sender = ""
        self._recipients: list[str] = []
        self._policy: Policy | None = None  # that the message at hand began with; it ends with it

    @property
    def waits(self) -> frozenset[Stage]:
        """Stages where the policy of this moment can refuse before the content."""
        return self._bench.deciding(self._bench.policy.current)

    def learn(self, macros: Mapping[str, str]) -> None:
        """Take macros of the mail server, names without braces."""
        self._macros.update(macros)

    async def connect(self, client: Client) -> Reply:
        """Judge the client by its address and name."""
        port = self._macros.get(
            "daemon_port", ""
        )  # comes before the connection; no other macro may outlive the last one
        self.close()
        self._client = client
        if client.login:
            self._macros["auth_authen"] = client.login
        self._own = self._bench.own(client.ip, port)
        self._inquirer = self._bench.inquire()
        return await self._stage(Stage.CONNECT)

    async def helo(self, name: str) -> Reply:
        """Take the name; it is judged with the sender."""
        self._helo = name
        return CONTINUE

    async def mail(self, sender: str, params: tuple[str, ...]) -> Reply:
        """Begin a message and judge its sender."""
        self.abort()
        self._sender = sender
        self._policy = await self._bench.policy.now()
        return await self._stage(Stage.SENDER)

    async def rcpt(self, recipient: str, params: tuple[str, ...]) -> Reply:
        """Judge one recipient; a refused one is not the message's."""
        self._recipients.append(recipient)
        reply = await self._stage(Stage.RECIPIENT)
        if reply.answer is not Answer.CONTINUE:
            self._recipients.pop()
        return reply

    async def end_of_message(self, message: Gathered) -> Reply:
        """Judge the whole message, answer, and then count, journal and log it."""
        bench, now = self._bench, self._bench.clock()
        ident = bench.numbers.next(now)
        policy = self._policy or await bench.policy.now()
        envelope, inquirer = trapping.trapped(self._envelope(), policy), self._inquirer
        self._forget()
        loop = asyncio.get_running_loop()
        started = loop.time()
        result: Scan | Verdict
        try:
            if len(message.headers) >= MAX_HEADERS:
                result = _too_many_headers(policy)
            elif trapping.is_report(envelope.recipients, bench.reports):
                result = _report(policy)
            else:
                async with asyncio.timeout(bench.settings.deadline_s):
                    result = await scan(
                        message.raw, envelope, bench.site, policy, inquirer, now=now, size=message.size
                    )
                    result = trapping.judged(result, policy.traps.then)
            reply = self._answer(result, message, ident, policy)
        except Exception as error:  # noqa: BLE001 - the crash barrier: any fault of ours ends here, with its traceback
            result = self._unfinished(ident, error, policy)
            reply = self._answer(result, message, ident, policy)
        inquirer.end_message()
        if envelope.traps:
            reply = await self._trapped(reply, result, policy, envelope, message, ident, now)
        # after the answer: the transport writes the reply before the loop comes to this
        loop.call_soon(self._settle, result, policy, envelope, message, ident, now, loop.time() - started)
        return reply

    async def _trapped(
        self,
        reply: Reply,
        result: Scan | Verdict,
        policy: Policy,
        envelope: Envelope,
        message: Gathered,
        ident: int,
        now: float,
    ) -> Reply:
        """Return the answer to a message that came to a trap, once that is written down."""
        message_id = result.message.message_id if isinstance(result, Scan) else ""
        kept = True
        try:
            event_of = trapping.event_of(message.raw, envelope, ident, message_id, now)
            if event_of is not None:
                kept = await self._bench.trap(event_of)
        except Exception as error:  # noqa: BLE001 - the crash barrier
            self._log_fault(ident, error, Stage.CONTENT)
            kept = False
        if not kept and trapping.alone(envelope) and reply.answer in trapping.TAKEN:
            return refuse(451, "4.7.1", self._words("Try again later", ident))
        return trapping.delivered(reply, envelope, policy.traps.then)

    def abort(self) -> None:
        """Forget the message at hand."""
        self._inquirer.end_message()
        self._forget()

    def _forget(self) -> None:
        self._sender = ""
        self._recipients = []
        self._policy = None
        self._macros.pop("i", None)

    def close(self) -> None:
        """Forget everything: the connection is over."""
        self.abort()
        self._inquirer.close()
        self._macros.clear()
        self._client, self._helo, self._own = Client(), "", False

    def _envelope(self) -> Envelope:
        return Envelope(
            client=self._client,
            helo=self._helo,
            sender=self._sender,
            recipients=tuple(self._recipients),
            login=self._macros.get("auth_authen", ""),
            own=self._own,
            queue_id=self._macros.get("i", ""),
        )

    async def _stage(self, stage: Stage) -> Reply:
        """Judge what is known at a stage; a fault there is no reason to refuse anybody."""
        bench = self._bench
        policy = self._policy or await bench.policy.now()
        deciding = bench.deciding(policy)
        if stage not in deciding:
            later = self._content or any(one.order > stage.order for one in deciding)
            if later and stage.order >= policy.verdict.first.order:
                self._inquirer.begin(
                    stage, self._envelope(), policy
                )  # who waits later finds the answers there
            return CONTINUE
        now, envelope = bench.clock(), self._envelope()
        ident = bench.numbers.next(now)
        try:
            async with asyncio.timeout(bench.settings.command_deadline_s):
                seen = await glance(envelope, stage, bench.site, policy, self._inquirer, now=now)
        except Exception as error:  # noqa: BLE001 - the crash barrier
            self._log_fault(ident, error, stage)
            return CONTINUE
        for fault in seen.faults:
            event(log, logging.WARNING, "fault", id=to_text(ident), stage=stage, what=fault)
        if seen.verdict.action not in (Action.REJECT, Action.TEMPFAIL) or not policy.verdict.refuse:
            if seen.wait_s:
                await asyncio.sleep(seen.wait_s)
            return CONTINUE
        self._log(ident, policy, envelope, seen.verdict, stage=stage)
        if seen.verdict.action is Action.TEMPFAIL:
            return refuse(451, "4.7.1", self._words("Try again later", ident))
        asyncio.get_running_loop().call_soon(self._settle_refused, envelope, now)
        decided = seen.verdict.decided_by
        listed = next((one for one in policy.dns_lists if one.name == decided), None)
        client = decided == REPIP_BAD or (listed and all(of.stage is Stage.CONNECT for of in listed.of))
        code, place = _PLACES[
            Stage.CONNECT if client else stage
        ]  # a sender is not to blame for his mail server
        why = f", listed by {decided}" if listed else ""
        return refuse(code, "5.7.1", self._words(f"{place} refused{why}", ident))

    def _unfinished(self, ident: int, error: Exception, policy: Policy) -> Verdict:
        self._log_fault(ident, error, Stage.CONTENT)
        return unfinished(
            "deadline" if isinstance(error, TimeoutError) else "fault",
            action=Action(self._bench.settings.on_failure),
            spam_score=policy.verdict.spam_score,
        )

    def _answer(self, result: Scan | Verdict, message: Gathered, ident: int, policy: Policy) -> Reply:
        verdict = result.verdict if isinstance(result, Scan) else result
        if verdict.action is Action.TEMPFAIL:
            return refuse(451, "4.7.1", self._words("Try again later", ident))
        if verdict.decided_by == TOO_MANY_HEADERS:
            return refuse(550, "5.6.0", self._words("Message has too many headers", ident))
        if verdict.action is Action.REJECT and policy.verdict.refuse:
            return refuse(550, "5.7.1", self._words("Message refused as spam", ident))
        return Reply(
            answer=ACCEPT.answer,
            edits=(
                *self._removals(message),
                *self._results(result),
                *(AddHeader(*header) for header in ours(verdict, sign(ident, self._bench.signing_key))),
            ),
        )

    def _results(self, result: Scan | Verdict) -> tuple[AddHeader, ...]:
        """What authentication found; our own people's mail is not authenticated that way."""
        if not isinstance(result, Scan) or is_own(result.envelope):
            return ()
        return (
            AddHeader(
                *trace(
                    results(result.evidence.identity, self._bench.site.name, ip=result.envelope.client.ip)
                ),
                top=True,
            ),
        )

    def _removals(self, message: Gathered) -> list[RemoveHeader]:
        """What came in under our names; the last of a name first, so that no removal moves another's place."""
        seen: dict[str, int] = {}
        forged = []
        for raw_name, raw_value in message.headers:
            name = raw_name.decode("ascii", "replace")
            low = name.lower()
            if not low.startswith(OUR_NAMES) or not FIELD_NAME.fullmatch(
                name
            ):  # no reader takes another for ours
                continue
            seen[low] = seen.get(low, 0) + 1
            if foreign(low, raw_value[:LOOKED_AT].decode("ascii", "replace"), self._bench.site.name):
                forged.append(RemoveHeader(name, seen[low]))
        return forged[::-1]

    def _words(self, what: str, ident: int) -> str:
        """Short and generic, with the id under which the log has the detail."""
        contact = f"; {self._bench.contact}" if self._bench.contact else ""
        return f"{what}, reference {to_text(ident)}{contact}"

    def _settle(
        self,
        result: Scan | Verdict,
        policy: Policy,
        envelope: Envelope,
        message: Gathered,
        ident: int,
        now: float,
        took: float,
    ) -> None:
        verdict = result.verdict if isinstance(result, Scan) else result
        scanned = result if isinstance(result, Scan) else None
        try:
            if scanned is not None:
                self._bench.tally.judged(verdict, took)
                settle(
                    scanned.pieces,
                    scanned.counted,
                    self._bench.counters,
                    now=now,
                    first=scanned.facts.repuser_first,
                )
                self._bench.wrote(envelope, scanned.counted, now)
                self._bench.sighted(scanned, now)
                if not is_own(envelope):
                    self._bench.tally.authenticated(scanned.evidence.identity)
                if scanned.put_off is not None:
                    settle_put_off(scanned.put_off, self._bench.counters, now=now)
                self._bench.signed(scanned.signatures.signatures, now)
                for fault in (*scanned.faults, *scanned.failed):
                    event(log, logging.WARNING, "fault", id=to_text(ident), stage=Stage.CONTENT, what=fault)
                self._bench.ruled(scanned.policy)
            self._bench.journal(entry_of(ident, now, policy, envelope, message.size, verdict, scanned))
            if scanned is not None and counts(verdict):
                self._bench.late(ident, scanned)
        except Exception as error:  # noqa: BLE001 - the answer is out: what failed here costs a count, not the mail
            self._log_fault(ident, error, Stage.CONTENT)
        self._log(
            ident,
            policy,
            envelope,
            verdict,
            stage=Stage.CONTENT,
            size=message.size,
            ms=round(took * 1000, 1),
        )

    def _settle_refused(self, envelope: Envelope, now: float) -> None:
        site, counters = self._bench.site, self._bench.counters
        try:
            settle_refused(envelope, site.hasher, site.places.find(envelope.client.ip), counters, now=now)
        except Exception:
            log.exception("fault in counting a refusal")  # which no mail hangs on

    def _log_fault(self, ident: int, error: Exception, stage: Stage) -> None:
        log.error("fault id=%s stage=%s", to_text(ident), stage, exc_info=error)

    def _log(
        self,
        ident: int,
        policy: Policy,
        envelope: Envelope,
        verdict: Verdict,
        *,
        stage: Stage,
        **more: object,
    ) -> None:
        self._bench.tally.count(stage, verdict.action)
        event(
            log,
            logging.INFO,
            "verdict",
            id=to_text(ident),
            queue=envelope.queue_id,
            client=envelope.client.ip,
            helo=envelope.helo,
            sender=envelope.sender,
            recipients=len(envelope.recipients),
            recipient=envelope.recipients[0] if envelope.recipients else "",
            stage=stage,
            verdict=verdict.action,
            score=verdict.score,
            line=verdict.line,
            decided_by=verdict.decided_by,
            reason=reason(verdict),
            policy=policy.version,
            **({"trap": envelope.traps[0]} if envelope.traps else {}),
            **(
                {}
                if verdict.would is None
                else {"would": verdict.would.action, "would_score": verdict.would.score}
            ),
            **more,
        )


def _report(policy: Policy) -> Verdict:
    return Verdict(action=Action.ACCEPT, score=0.0, line=policy.verdict.spam_score, decided_by=REPORT)


def _too_many_headers(policy: Policy) -> Verdict:
    line = policy.verdict.reject_score
    return Verdict(action=Action.REJECT, score=0.0, line=line, decided_by=TOO_MANY_HEADERS)
