"""The site: what a worker and the keeper do with outgoing mail, by the code that does it, with real
counters, a real file of accounts and a clock of the mail's own.

Left out: bytes (a text is one piece, which all that are nearly alike share; what content alone
makes of a message is drawn), pairs that no limit or rule here asks for, the journal, the spool of
excesses, several workers.  The rules are those of 60-outgoing.toml, the tests those of
61-accounts.toml.
"""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.outgoing.letter import Letter, Sender
from benchmarks.outgoing.population import Population
from benchmarks.outgoing.world import DAYS
from oborona.accounts.excess import Excess
from oborona.accounts.followed_accounts import FollowedAccounts
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.inspector import Inspector, inspector_rules
from oborona.config import WorkerSettings
from oborona.config.inspector import InspectorSettings
from oborona.counters.store import LmdbCounters
from oborona.counters.window import BUCKET_S
from oborona.counters.writer import LmdbCounterWriter
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import ACCEPT, ReplyAction, SessionReply
from oborona.ident import JournalIdGenerator
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.unique_pairs import (
    MAX_PAIRED_RECIPIENTS,
    account_pairs,
    account_place,
    contacts,
    envelope_pairs,
)
from oborona.policy.accounting import read_counts, record_new_recipients, record_verdict
from oborona.policy.counts import MessageCounts
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.facts.build import with_mass
from oborona.policy.load import Policy, load_policy
from oborona.policy.outgoing_table import OutgoingOutcome
from oborona.policy.reputation_facts import elsewhere, first_contact
from oborona.policy.scan import ScanSite
from oborona.policy.verdict import Evaluator, VerdictGrounds, judge
from oborona.session.account_refusal import is_blocked
from oborona.session.inquiry import Inquirer
from oborona.session.judged_message import JudgedMessage, keep_verdict
from oborona.session.outgoing_limits import account_of, check_message
from oborona.session.services import SessionServices
from oborona.types import (
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Location,
    RuleHit,
    RuleWindow,
    Shingle,
    Stage,
    Verdict,
)

ROOT: Final = Path(__file__).resolve().parents[2]
START: Final = 1_799_625_600.0  # a Monday, midnight UTC
FILES: Final = ("60-outgoing.toml", "61-accounts.toml")
CONTENT: Final = "CONTENT"  # the rule that stands for all of content
MAILING: Final = "OWN_MAILING_BEGINS"
JUDGE_S: Final = 2.0  # excesses wait so long for the keeper
FLUSHED: Final = 60  # messages at most between two looks of the writer
GIVES_UP: Final = 20  # refusals in a row, of a program that sends spam
COMES_AGAIN_S: Final = 86_400.0 + 1800  # of a spammer who was refused
_READ: Final = (ShingleType.ACCOUNT_IPS, ShingleType.ACCOUNT_COUNTRIES)
"""Of what pairs count: all that limits and rules here ask for."""
_SPAM: Final = RuleHit(name=CONTENT, score=100.0, say="")
_HOLD: Final = SessionReply(
    answer=ReplyAction.HOLD, code=550, enhanced="5.7.1", text="Message looks like spam"
)


class Answer(msgspec.Struct, frozen=True):
    """What became of a message, and why."""

    outcome: OutgoingOutcome
    by: str = ""  # limit, rule or state; empty where it leaves
    passed: bool = False  # a live limit, or the rule on mailings


Seen = Callable[[Sender, Letter, Answer], None]


class _Policies:
    """The policy of the site, in its folder; `CurrentPolicy` of sessions."""

    def __init__(self, folder: Path, source: Path) -> None:
        self._folder = folder
        folder.mkdir()
        for name in FILES:
            shutil.copy(source / name, folder / name)
        self.live = False
        self.mailers: set[str] = set()
        self.load()

    def load(self) -> None:
        """Read the policy again."""
        lines = "# what the site says itself\n"
        if self.live:
            limits = load_policy(self._folder, SCHEMA).limits
            lines += "".join(f'[[limit]]\nname = "{each.name}"\nmode = "live"\n' for each in limits)
        if self.mailers:
            named = ", ".join(f"'{login}'" for login in sorted(self.mailers))
            lines += f'[[condition]]\nname = "OWN_MAILERS"\nwhen = "login in [{named}]"\n'
        (self._folder / "90-local.toml").write_text(lines)
        self.current = load_policy(self._folder, SCHEMA)

    async def now(self) -> Policy:
        """Return the policy of a message."""
        return self.current


class Site:
    """A site with accounts, limits and an inspector.

    Args:
        folder: for its stores.
        source: folder of the policy that ships.
        senders: its accounts and their mail.
    """

    def __init__(self, folder: Path, source: Path, senders: Population) -> None:
        self.now = START
        self.senders = senders
        self.policies = _Policies(folder / "policy.d", source)
        self.store = IncidentStore(folder / "accounts.db")
        self.store.put([*senders.records.values()], by="import", now=START)
        self.followed = FollowedAccounts(folder / "accounts.db")
        self.followed.look()
        counters = folder / "counters"
        self._writer = LmdbCounterWriter(counters, durability="none", report=lambda _: None)
        self._counters = LmdbCounters(
            counters, "site", durability="none", environment=self._writer.environment
        )
        self._excesses: list[Excess] = []
        self._asked: list[tuple[float, Callable[[], None]]] = []  # what people come to, by time
        self._asked_number = 0
        self.hasher = Hasher(b"a month of outgoing mail")
        self.services = SessionServices(
            site=ScanSite(name="mx.example", hasher=self.hasher, counters=self._counters),
            settings=WorkerSettings(),
            contact="",
            policy=self.policies,
            counters=self._counters,
            journal=lambda _entry: None,
            numbers=JournalIdGenerator(0),
            signing_key=bytes(32),
            new_inquiry=_nobody,
            own=lambda _ip, _port: False,
            clock=lambda: self.now,
            accounts=self.followed,
            known_accounts=self.followed.directory,
            excess=_Sink(self._excesses),
        )

    def close(self) -> None:
        """Let the stores go."""
        self._counters.close()
        self._writer.close()
        self.followed.close()
        self.store.close()

    def accounts_changed(self) -> None:
        """Have the worker follow what was said of accounts."""
        self.followed.look()

    def inspector(self) -> Inspector:
        """Return the inspector, live with the limits."""
        settings = InspectorSettings()
        return Inspector(
            self.store,
            lambda: self.policies.current.account_tests,
            inspector_rules(settings),
            live=self.policies.live,
            clock=lambda: self.now,
        )

    async def run(self, seen: Seen, tick: Callable[[float], None], ticks: list[float]) -> None:
        """Let all mail come, in the order of time.

        Args:
            seen: is told of each message.
            tick: is called at moments, seconds from the first midnight.
            ticks: these moments, in their order; it may add some.
        """
        waiting: list[tuple[float, int, Letter]] = []
        senders = self.senders.senders
        for number, sender in enumerate(senders):
            letter = next(sender.letters, None)
            if letter is not None:
                heapq.heappush(waiting, (letter.at, number, letter))
        heapq.heapify(ticks)
        flushed, messages = 0.0, 0
        again: dict[int, float] = {}  # when a spammer who was refused comes again
        while waiting:
            at, number, letter = heapq.heappop(waiting)
            sender = senders[number]
            while ticks and ticks[0] <= at:
                when = heapq.heappop(ticks)
                self.judge_excesses(START + when)
                self.now = START + when
                tick(when)
            self.judge_excesses(START + at)
            if not sender.closed and at < DAYS * 86_400.0:
                if at >= again.get(number, 0.0):
                    self.now = START + at
                    answer = await self.take(letter)
                    seen(sender, letter, answer)
                    if sender.spam and _wait(sender, answer):
                        again[number] = at + COMES_AGAIN_S
                following = next(sender.letters, None)
                if following is not None:
                    heapq.heappush(waiting, (following.at, number, following))
            messages += 1
            if at - flushed >= BUCKET_S or messages >= FLUSHED:
                flushed, messages = at, 0
                self._counters.flush(self.now)
                while self._writer.step(self.now):
                    pass

    def judge_excesses(self, now: float) -> None:
        """Have the keeper judge what has waited long enough at Unix time `now`."""
        if not self._excesses or now - self._excesses[0].at < JUDGE_S:
            return
        self.now = self._excesses[0].at + JUDGE_S
        due = [excess for excess in self._excesses if excess.at <= self.now]
        del self._excesses[: len(due)]
        inspector = self.inspector()
        with self.store.transaction():
            for excess in due:
                inspector.take(excess)
        self.followed.look()

    async def take(self, letter: Letter) -> Answer:
        """Return what becomes of a message: as a session, `judge_message` and `keep_verdict` do."""
        services, policy, now = self.services, self.policies.current, self.now
        envelope = Envelope(
            client=Client(ip=letter.ip, login=letter.login),
            sender=letter.sender,
            recipients=letter.recipients,
            login=letter.login,
            own=True,
        )
        if is_blocked(services, envelope):
            block = self.followed.of(letter.login, now)
            assert block is not None
            state = block.state.value
            banned = state == "banned"
            return Answer(OutgoingOutcome.REJECT if banned else OutgoingOutcome.TEMPFAIL, state)
        pieces = self._pieces(letter, envelope)
        known, _ = await read_counts(
            self._counters, _to_read(pieces), now, prefix=CounterPrefix.OUT
        )
        verdict = _verdict(letter, envelope, known, policy, now)
        held = policy.outgoing.outcome(verdict.action, refuse=True) is OutgoingOutcome.HOLD
        ident = services.numbers.next(now)
        message = RawMessage(raw=b"", headers=(), size=letter.size)
        ruling, _ = await check_message(
            services, message, envelope, policy, ident, now, _HOLD if held else ACCEPT, known
        )
        judged = JudgedMessage(
            result=verdict,
            policy=policy,
            envelope=envelope,
            message=message,
            ident=ident,
            now=now,
            took_s=0.0,
            limits=ruling,
        )
        keep_verdict(services, judged)  # without a scan: what a scan's pieces count follows
        record_verdict(
            pieces,
            verdict,
            self._counters,
            now=now,
            first=first_contact(known, RuleWindow.FORTNIGHT),
            prefix=CounterPrefix.OUT,
        )
        if ruling.new_recipients:
            account = account_of(services, envelope)
            record_new_recipients(account, ruling.new_recipients, self._counters, now=now)
        outcome = judged.outcome
        assert outcome is not None, "mail with a login leaves"
        passed = any(not each.limit.shadow for each in ruling.passed)
        if outcome is OutgoingOutcome.ACCEPT:
            return Answer(outcome, passed=passed)
        by = ruling.by.limit.name if ruling.by is not None else verdict.rules[0].name
        return Answer(outcome, by, passed=passed or by != CONTENT)

    def _pieces(self, letter: Letter, envelope: Envelope) -> CountedPieces:
        hasher = self.hasher
        where = Location(country=letter.country)
        shingles = [
            hasher.shingle(ShingleType.ACCOUNT, letter.login),
            hasher.shingle(ShingleType.CLIENT_IP, letter.ip),
        ]
        if letter.text:
            shingles.append(hasher.shingle(ShingleType.TEMPLATE, letter.text))
        if letter.list_id:
            shingles.append(hasher.shingle(ShingleType.LIST, letter.list_id))
        known_to = hasher.pairs(
            ShingleType.SENDER_RECIPIENT,
            ShingleType.SENDER_RECIPIENTS,
            [letter.sender.encode()],
            [recipient.encode() for recipient in letter.recipients[:MAX_PAIRED_RECIPIENTS]],
        )
        found = (*envelope_pairs(envelope, hasher, where), *known_to)
        if self.services.limits.plan(self.policies.current).asks_new:
            found = (*found, *account_pairs(letter.login, envelope, hasher))
        return CountedPieces(
            shingles=tuple(shingles),
            pairs=found,
            contacts=contacts(found, author=False),
            place=account_place(envelope, hasher),
        )


class _Sink:
    """Takes excesses on their way to the inspector."""

    def __init__(self, excesses: list[Excess]) -> None:
        self._excesses = excesses

    def take(self, excess: Excess) -> None:
        """Keep one."""
        self._excesses.append(excess)


def _to_read(pieces: CountedPieces) -> tuple[Shingle, ...]:
    distinct = dict.fromkeys(pair.distinct for pair in pieces.pairs)
    read = (each for each in distinct if each.type in _READ)
    return (*pieces.shingles, *read, *pieces.contacts, *pieces.place)


def _nobody() -> Inquirer:
    raise AssertionError("nobody asks the DNS here")


def _wait(sender: Sender, answer: Answer) -> bool:
    """Note what a spammer's program hears; tell whether it gives up for a day."""
    refused = answer.outcome in (OutgoingOutcome.REJECT, OutgoingOutcome.TEMPFAIL)
    sender.refused = sender.refused + 1 if refused else 0
    if sender.refused < GIVES_UP:
        return False
    sender.refused = 0
    return True


def _verdict(
    letter: Letter, envelope: Envelope, known: MessageCounts, policy: Policy, now: float
) -> Verdict:
    facts = with_mass(
        Facts(
            known=known,
            time_now=now,
            client_ip=letter.ip,
            client_own=True,
            outgoing=True,
            login=letter.login,
            sender=letter.sender,
            recipients=len(letter.recipients),
            repuser_first=first_contact(known),
            repuser_elsewhere=elsewhere(known),
        )
    )
    grounds = VerdictGrounds(envelope=envelope, hits=(_SPAM,) if letter.caught else ())
    return judge(facts, grounds, Stage.CONTENT, Evaluator(policy=policy)).verdict
