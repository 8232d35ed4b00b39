"""A site in miniature that is attacked: the daemon's own scan, glance, counters, events and
believer, with a clock and proofs that tests set.

What is left out is the wire: no mail server, no DNS.  What SPF and DKIM would say is handed in with
each message, and what a door would do with an answer is read off it.
"""

from __future__ import annotations

import asyncio
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from oborona import state_files
from oborona.authentication.model import AuthIdentity, AuthResult, Dmarc, Spf
from oborona.domains import registrable
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent, StoredEvent
from oborona.feedback.label_counter import LabelCounter
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing.event_message import SiteHashing
from oborona.feedback.processing.event_processor import EventProcessor, EventRetention
from oborona.feedback.processing.ports import JournaledMessage as Journaled
from oborona.feedback.processing.ports import NoVerdicts
from oborona.message.model import Message
from oborona.message.shingles import Hasher
from oborona.policy.accounting import record_verdict, vouching_pairs
from oborona.policy.disclosure import public_verdict
from oborona.policy.envelope_stages import check_envelope
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.headers import HeaderDetail, our_headers
from oborona.policy.load import Policy, load_policy
from oborona.policy.local_clients import direction
from oborona.policy.memory_age import CounterMemoryAge
from oborona.policy.reputation_facts import first_contact
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.session import traps as trapping
from oborona.types import Action, Client, Envelope, RuleWindow, Stage
from tests.feedback.processing.scene import DAY, Journal, Kept_, Lists, Proposer

HERE: Final = "example.test"
NOW: Final = 1_800_000_000.0
TRAPS: Final = "trap.example.test"
ROOT: Final = Path(__file__).parents[2]
HASHER: Final = Hasher(b"k" * 32)
REFUSED: Final = frozenset({"refused", "550"})

_loaded: list[Policy] = []


def shipped() -> Policy:
    """Return the policy as it ships, with traps."""
    if not _loaded:
        policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
        traps = type(policy.trapped)([], [TRAPS], [])
        _loaded.append(msgspec.structs.replace(policy, trapped=traps))
    return _loaded[0]


class Proof(NoInquiry):
    """An inquiry that knows what the DNS says of one message.

    Args:
        spf: the domain of MAIL FROM, where SPF passes for it.
        author: the domain in From, where DMARC passes for it.
    """

    def __init__(self, spf: str = "", author: str = "") -> None:
        self._spf, self._author = spf, author

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        """Return what is proved."""
        spf = Spf(result=AuthResult.PASS, domain=self._spf) if self._spf else Spf()
        aligned = bool(self._author) and registrable(self._spf) == registrable(self._author)
        dmarc = Dmarc(
            domain=self._author,
            spf_aligned=aligned,
            result=AuthResult.PASS if aligned else AuthResult.NONE,
        )
        return SenderEvidence(identity=AuthIdentity(spf=spf, dmarc=dmarc))


class Answer(NamedTuple):
    """What became of a message."""

    word: str  # inbox, junk, 550, or refused: at connect
    ident: int = 0
    result: Scan | None = None

    @property
    def passed(self) -> bool:
        """Whether its reader finds it in the inbox."""
        return self.word == "inbox"

    @property
    def headers(self) -> dict[str, str]:
        """Our headers, as a copy has them."""
        assert self.result is not None
        return dict(
            our_headers(
                public_verdict(self.result.verdict, self.result.policy), "id", HeaderDetail.FULL
            )
        )


class Attacked:
    """The site.

    Args:
        state: a folder.
        old: the site has a past: its counters reach back twelve days.
    """

    def __init__(self, state: Path, *, old: bool = True) -> None:
        self.now = NOW
        self._loop = (
            asyncio.Runner()
        )  # whose own `run` shows each result to a signal handler: a second for each scan
        self.policy = shipped()
        self.counters = Kept_()
        self.journal, self.lists = Journal(), Lists()
        self.site = ScanSite(
            name=f"mx.{HERE}", hasher=HASHER, counters=self.counters, memory=CounterMemoryAge()
        )
        self.log, self.words = (
            EventLog(state / state_files.EVENTS),
            LabelStore(state / state_files.FEEDBACK),
        )
        self._believers = EventLog(state / state_files.EVENTS)
        self._believer = EventProcessor(
            self._believers,
            self.words,
            journal=self.journal,
            lists=self.lists,
            proposer=Proposer(),
            keys=SiteHashing(hasher=HASHER, feedback=b"f" * 32, site=f"mx.{HERE}"),
            kept=EventRetention(raw_s=7 * DAY, events_s=400 * DAY),
            verdicts=NoVerdicts(),
            person_weight=1.0,
            people=3,
            clock=lambda: self.now,
            monotonic=lambda: self.now,
        )
        self._counting = LabelCounter(self.counters)
        self._number = 0
        if old:
            self.now -= 12 * DAY
            self.mail(
                "192.0.2.250",
                "first@first.example",
                f"old@{HERE}",
                "The first letter that ever came here",
            )
            self.now = NOW

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()
        self.log.close()
        self._believers.close()
        self.words.close()

    def connects(self, ip: str) -> bool:
        """Tell whether a client is let in."""
        found = self._loop.get_loop().run_until_complete(
            check_envelope(
                Envelope(client=Client(ip=ip)),
                Stage.CONNECT,
                self.site,
                self.policy,
                NoInquiry(),
                now=self.now,
            )
        )
        return found.verdict.action is Action.ACCEPT

    def mail(
        self,
        ip: str,
        sender: str,
        recipients: str | tuple[str, ...],
        text: str,
        *,
        author: str = "",
        proved: bool = False,
        link: str = "",
    ) -> Answer:
        """Send a message.

        Args:
            ip: of the client.
            sender: MAIL FROM.
            recipients: one or more.
            text: of the body.
            author: in From; empty = the sender.
            proved: SPF passes for MAIL FROM, and DMARC for From where it aligns.
            link: that follows the text.
        """
        if not self.connects(ip):
            return Answer("refused")
        to = (recipients,) if isinstance(recipients, str) else recipients
        envelope = trapping.with_traps(
            Envelope(
                client=Client(ip=ip),
                helo=f"h{zlib.crc32(ip.encode())}.example",
                sender=sender,
                recipients=to,
            ),
            self.policy,
        )
        self._number += 1
        number = self._number
        author = author or sender
        body = f"{text}\n{link}\n" if link else f"{text}\n"
        raw = (
            f"From: {author}\nTo: {to[0]}\nSubject: {text[:24]}\nDate: Fri, 15 Jan 2027 08:00:00 "
            f"+0000\n"
            f"Message-ID: <{number}@x.example>\nContent-Type: text/plain; charset=utf-8\n\n{body}"
        ).encode()
        at = sender.rpartition("@")[2] if proved else ""
        proof = Proof(at, author.rpartition("@")[2] if proved else "")
        result = self._loop.get_loop().run_until_complete(
            scan(raw, envelope, self.site, self.policy, proof, now=self.now)
        )
        self._settle(result)
        self._journal(number, result, to)
        if envelope.traps:
            event = trapping.trap_event(raw, envelope, number, result.message.message_id, self.now)
            assert event is not None
            self.log.add([event], now=self.now)
            self.run()
        words = {
            Action.ACCEPT: "inbox",
            Action.SPAM: "junk",
            Action.REJECT: "550",
            Action.TEMPFAIL: "451",
        }
        return Answer(words[result.verdict.action], number, result)

    def _settle(self, result: Scan) -> None:
        known = result.facts.known
        record_verdict(
            result.pieces,
            result.counted,
            self.counters,
            now=self.now,
            first=first_contact(known, RuleWindow.FORTNIGHT),
            vouching=vouching_pairs(
                result.envelope, result.behind.who, known, result.counted, HASHER
            ),
            prefix=direction(result.envelope),
        )

    def _journal(self, number: int, result: Scan, to: tuple[str, ...]) -> None:
        facts: dict[str, Any] = msgspec.structs.asdict(result.facts)
        self.journal.known[number] = Journaled(
            id=number,
            time=self.now,
            verdict=result.verdict.action,
            message_id=result.message.message_id,
            recipients=frozenset(to),
            facts={
                name: facts[name]
                for name in ("author", "author_domain", "sender_proved", "login", "from_address")
            },
            shingles=result.pieces.shingles,
            counted_spam=result.verdict.action in (Action.SPAM, Action.REJECT),
        )

    def says(
        self, what: EventKind, person: str, ident: int, way: EventChannel = EventChannel.SIEVE
    ) -> StoredEvent:
        """Let a person say something of a message of theirs; return the event as it was decided."""
        event = FeedbackEvent(what=what, way=way, time=self.now, person=person, ident=ident)
        found = self.log.add([event], now=self.now)[0].id
        self.run()
        return self.log.get(found)

    def complains(self, person: str, answer: Answer) -> StoredEvent:
        """Let a person press the button for spam."""
        return self.says(EventKind.COMPLAINT, person, answer.ident)

    def ages(self, person: str, *, days: float = 60.0, right: float = 0.0) -> str:
        """Give a person a past; return the person."""
        with self.log.transaction() as db:
            db.execute(
                (
                    "INSERT INTO person (person, complaints, pardons, right, first) VALUES "
                    "(?, 0, 0, ?, ?)"
                ),
                (person, right, self.now - days * DAY),
            )
        return person

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.run()

    def run(self) -> None:
        """Let everybody do all there is to do."""
        while self._believer.step() or self._counting.step(self.words, self.now):
            pass
