"""What every message of the corpus gets, as text: the outputs of two states of the program can be compared with `diff`.

    python -m tests.whole.verdicts FILE                 all 6,046 messages, some minutes of one core
    python -m tests.whole.verdicts FILE --count 500     the first 500 of the same order

One process, one clock, one key, counters in memory and a DNS that knows no name: nothing but the program decides what is
written.  Each message comes with the envelope that it had when it arrived.  It passes the stages before the content and a
real session, is counted, and is judged again: with evidence that came late, from its journal entry by the facts of then,
and as the keeper does, with the counts of a day later.  The policy is the one that ships, with `SITE` over it: what a site
may add to the order of a verdict and the shipped policy leaves empty.  Durations are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from oborona.authentication.model import Dmarc, Identity, Result, Spf
from oborona.config import Work
from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.milter.bench import Bench
from oborona.milter.letter import gathered
from oborona.milter.log import logfmt
from oborona.milter.reply import AddHeader, Reply
from oborona.milter.session import Session
from oborona.milter.status import Tally
from oborona.policy.engines import Asked, EngineSays, Remembered
from oborona.policy.evidence import Evidence, Silence
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.folders import PACKAGED, Folders
from oborona.policy.glance import glance
from oborona.policy.headers import Detail
from oborona.policy.load import Policy, load_policy
from oborona.policy.models.final.features import NAME as FINAL_MODEL
from oborona.policy.models.ports import Untaught
from oborona.policy.ports import View
from oborona.policy.rules import VerdictLines
from oborona.policy.scan import Scan, Site, again
from oborona.policy.tables import FinalTable
from oborona.recheck.asks import asks
from oborona.recheck.entry import Entry
from oborona.recheck.ident import TIME_SHIFT, Numbers
from oborona.recheck.judged import Judge
from oborona.recheck.now import facts_now, pieces_of
from oborona.recheck.then import facts_then
from oborona.reputation.dnslists import Listing
from oborona.reputation.subject import Subject
from oborona.types import Client, Envelope, RuleHit, Stage, Verdict
from tests.asking import inquirer
from tests.letters import CORPUS, Kind, Letter, as_it_arrived

START: Final = 1_795_170_000.0  # Unix seconds of the first message
STEP_S: Final = 20.0  # to the next one
SEED: Final = 1
KEY: Final = b"k" * 32
BEFORE_CONTENT: Final = (Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT)
LATE_S: Final = 60.0
DAY_S: Final = 86_400.0
SITE: Final = {
    "90-site.toml": """
[verdict]
shadow_spam_score = 80
[repip]
bad = "reject"
[final]
mode = "live"
[[group]]
name = "SITE"
cap = 30
[[rule]]
name = "SITE_LINKS"
when = "links > 3"
score = 20
group = "SITE"
[[rule]]
name = "SITE_WORDS"
when = "text.words > 100"
score = 15
group = "SITE"
[[rule]]
name = "SITE_TRIAL"
when = "fired(SITE_LINKS) or found('site-lines')"
score = 60
mode = "shadow"
[[rule]]
name = "SITE_CLIENT"
when = "endswith(client.ip, '.1')"
score = 90
stage = "connect"
[[local_list]]
name = "SITE_DENIED"
action = "deny"
of = ["client", "sender"]
entries = ["64.0.0.0/6", ".msn.com"]
[[local_list]]
name = "SITE_ALLOWED"
action = "allow"
of = ["helo", "from"]
entries = [".net", ".com"]
[[local_list]]
name = "SITE_TRIED"
action = "deny"
of = ["sender"]
entries = [".org"]
mode = "shadow"
[[dns_list]]
name = "SITE_LISTED"
zone = "listed.example"
of = ["client"]
scores = { "127.0.0.2" = 40, "127.0.0.3" = 25 }
""",
    "91-site.lua": """
oborona.check { name = "site-lines", run = function() return facts.links > 5 and tostring(facts.links) end }
oborona.rule { name = "SITE_LUA", score = 12, when = function() return facts.links / 10 end }
oborona.rule { name = "SITE_LUA_CLIENT", score = 3, stage = "connect",
    when = function() return endswith(facts.client.ip, "7") end }
""",
}
WORDS: Final = (
    EngineSays(engine="rspamd", action="add header", score=7.5, line=15.0, symbols=("BAYES_SPAM",)),
    EngineSays(engine="spamd", action="ham", score=0.3, line=5.0),
    EngineSays(engine="clamd", action="found", virus="Win.Test.EICAR_HDB-1"),
    EngineSays(engine="rspamd", unknown="timeout"),
)
"""Of other engines, in turn; every other message has none."""


class _Listed(Silence):
    """Evidence of what a DNS list says of some clients, and of an SPF that passes for others."""

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> Evidence:
        ip = envelope.client.ip
        listing = Listing(
            name="SITE_LISTED", of=Subject.CLIENT, asked=ip, codes=("127.0.0.2",), score=40.0, say=ip
        )
        domain = envelope.sender.rpartition("@")[2]
        identity = Identity(
            spf=Spf(result=Result.PASS, domain=domain), dmarc=Dmarc(result=Result.PASS, domain=domain)
        )
        return Evidence(
            listings=(listing,) if ip.endswith(("3", "8")) else (),
            identity=identity if ip.endswith(("2", "4")) else Identity(),
            unanswered=("dkim",) if ip.endswith("5") else (),
        )


class _Engines:
    """Engines beside ours whose words are those of `WORDS`."""

    def __init__(self) -> None:
        self.words: tuple[EngineSays, ...] = ()

    def ask(self, raw: bytes, envelope: Envelope, size: int, policy: Policy) -> Asked | None:
        return Remembered(self.words) if self.words else None


class _Final(Untaught):
    """A final model that tells what it was given."""

    def weigh(
        self, facts: Facts, hits: Sequence[RuleHit], table: FinalTable, lines: VerdictLines
    ) -> tuple[RuleHit, ...]:
        seen = " ".join(f"{hit.name}={hit.score:g}" for hit in hits)
        return (RuleHit(name=FINAL_MODEL, score=len(seen) % 7 - 3.0, say=seen, mode=table.mode),)


class _Numbers(Numbers):
    """Ids without chance."""

    def next(self, now: float) -> int:
        return int(now) << TIME_SHIFT


class _InForce:
    """One policy for all messages."""

    def __init__(self, policy: Policy) -> None:
        self.current = policy

    async def now(self) -> Policy:
        return self.current


class _Lines(logging.Handler):
    """Takes log lines, without what they say of time."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = {name: value for name, value in getattr(record, "fields", {}).items() if name != "ms"}
        fault = f" {record.exc_info[1]!r}" if record.exc_info else ""
        self.lines.append(f"{record.levelname} {record.getMessage()} {logfmt(fields)}{fault}")


class Corpus:
    """Judges messages one after the other, and tells all that came of each.

    Args:
        policy: of all of them.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._counters = MemoryCounters()
        self._now = START
        self._log = _Lines()
        self._engines = _Engines()
        self._entries: list[Entry] = []
        self._scans: list[Scan] = []
        self._judge = Judge(policy, _Final())
        self._asks = asks(policy)
        self._site = Site(
            name="mx.b.example",
            hasher=Hasher(KEY),
            counters=self._counters,
            engines=self._engines,
            final=_Final(),
        )
        self._session = Session(
            Bench(
                site=self._site,
                settings=Work(deadline_s=600.0, scan_cpu_s=300.0),
                contact="https://b.example/mail",
                detail=Detail.FULL,
                policy=_InForce(policy),
                counters=self._counters,
                journal=self._entries.append,
                numbers=_Numbers(),
                signing_key=KEY,
                clock=lambda: self._now,
                inquire=lambda: inquirer(now=self._now),
                own=lambda _ip, _port: False,
                tally=Tally(),
                late=lambda _ident, scanned: self._scans.append(scanned),
            )
        )
        logger = logging.getLogger("oborona")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(self._log)

    async def told(self, letter: Letter, place: int) -> list[str]:
        """Judge a message; return what came of it, line by line."""
        self._now = START + STEP_S * place
        self._engines.words = (WORDS[place // 2 % len(WORDS)],) if place % 2 else ()
        for waiting in (self._entries, self._scans, self._log.lines):
            waiting.clear()
        envelope = Envelope(
            client=Client(ip=letter.client_ip),
            helo=letter.helo,
            sender=letter.sender,
            recipients=(letter.recipient,),
            queue_id=f"Q{place}",
        )
        lines = [line async for line in self._before_content(envelope)]
        lines += replied(
            await self._session.whole(envelope, gathered(letter.wire, Work().max_message_bytes), "25")
        )
        await asyncio.sleep(0)  # the line of the log comes after the answer
        for entry in self._entries:
            lines += [f"journal {entry.verdict} {entry.score} {entry.decided_by} would={entry.would}"]
            lines += [f"  {one}" for one in (*entry.rules, *entry.findings)]
            lines += [line async for line in self._second(entry)]
        for scanned in self._scans:
            late = await again(
                scanned,
                View(pictures=scanned.message.pictures),
                self._site,
                Silence(),
                now=self._now + LATE_S,
                stage=Stage.RECHECK,
            )
            lines += shown("late", late.verdict)
        return lines + self._log.lines

    async def _before_content(self, envelope: Envelope) -> AsyncIterator[str]:
        for stage in BEFORE_CONTENT:
            seen = await glance(envelope, stage, self._site, self._policy, _Listed(), now=self._now)
            for line in shown(str(stage), seen.verdict):
                yield line
            yield f"  wait_s={seen.wait_s:g} karma={seen.karma} faults={seen.faults}"

    async def _second(self, entry: Entry) -> AsyncIterator[str]:
        """Yield what the entry gives by the facts of then, and as the keeper judges it by the counts of tomorrow."""
        then = facts_then(entry)
        if then is None:
            yield "  no facts are kept"
            return
        later = self._now + DAY_S
        today, _ = await facts_now(then, pieces_of(entry, None), self._policy, self._site, later)
        for name, stage, facts in (("again", Stage.CONTENT, then), ("keeper", Stage.RECHECK, today)):
            found = self._judge.judge(entry, self._asks, facts, stage=stage)
            if found is not None:
                for line in shown(name, found.verdict):
                    yield line
                yield f"  {found.mildest}..{found.severest} {found.lowest:g}..{found.highest:g} {found.unjudged}"


def shown(name: str, verdict: Verdict) -> list[str]:
    """Return a verdict, line by line."""
    head = f"{name} {verdict.action} {verdict.score} of {verdict.line} {verdict.decided_by} would={verdict.would}"
    return [head, *(f"  {one}" for one in (*verdict.rules, *verdict.findings))]


def replied(reply: Reply) -> list[str]:
    """Return an answer, line by line."""
    edits = (
        f"  {edit.name}: {edit.value}" if isinstance(edit, AddHeader) else f"  - {edit}"
        for edit in reply.edits
    )
    return [f"answer {reply.answer} {reply.code} {reply.enhanced} {reply.text}", *edits]


def letters() -> Iterator[tuple[str, Letter]]:
    """Yield all messages of the corpus as they arrived, with their names, in an order that chance drew once."""
    paths = sorted(CORPUS.glob("*/*.txt"))
    random.Random(SEED).shuffle(paths)
    for place, path in enumerate(paths):
        kind = Kind.SPAM if path.parent.name.startswith("spam-") else Kind.HAM
        yield (
            str(path.relative_to(CORPUS)),
            as_it_arrived(path.read_bytes(), kind, f"reader{place % 40}"),
        )


def policy() -> Policy:
    """Return the policy that ships, with `SITE` over it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SITE.items():
            Path(folder, name).write_text(text)
        return load_policy(Folders(own=Path(folder), shipped=PACKAGED), SCHEMA)


async def written(file: Path, count: int) -> int:
    """Write what messages get; return how many there were."""
    corpus, place = Corpus(policy()), 0
    with file.open("w", encoding="utf-8", errors="backslashreplace") as out:
        for place, (name, letter) in enumerate(islice(letters(), count), 1):
            out.write("\n".join([f"== {name}", *await corpus.told(letter, place), ""]))
    return place


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=1 << 30, help="messages; by default all")
    arguments = parser.parse_args()
    print(asyncio.run(written(arguments.file, arguments.count)), "messages")


if __name__ == "__main__":
    main()
