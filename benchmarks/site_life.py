"""A site's life: mail of several sources in order of arrival, people who tell of a share of it, and
the final model that trains itself. When does it take over, and what is caught and lost before and
after, beside the model that comes with Oborona alone?

    python benchmarks/site_life.py --mail DIR [--corpus DIR] --told 0.2 > life.json
    python benchmarks/site_life.py --mail DIR --told 0.2 --mistakes

Mail as for `sources.py`. Each source keeps its own order of time; all of them run beside each other
over `--days`, each evenly. A message goes to one of `--people`, through the whole pipeline, with
counters, content model and journal as they are by then; nothing is asked on the network. Its reader
tells what it is with the chance `--told` (with `--mistakes`: only where it lies in the wrong
folder), a hundred messages later. Reports reach the store of labels, and the training is the
product's own: its plan by its own settings, its report, its choice, which the next message is
judged by.

The same life is lived a second time with the site's own model in shadow: the difference is what the
model made better or worse. One line of JSON on standard output, a table on standard error. Takes
the extra `ml`.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.new_site import new_site  # noqa: E402
from benchmarks.sources import SourcedMessage, head_of, mail_options, messages  # noqa: E402
from oborona import state_files  # noqa: E402
from oborona.config.final_trainer import FinalTrainingSettings  # noqa: E402
from oborona.counters.memory import MemoryCounters  # noqa: E402
from oborona.daemon.final_trainer.installation import follow_report  # noqa: E402
from oborona.daemon.final_trainer.training_round import run_round  # noqa: E402
from oborona.feedback.final.backtest import BacktestContentModel  # noqa: E402
from oborona.feedback.label import Label, LabelKind, LabelSource  # noqa: E402
from oborona.feedback.label_store import LabelStore  # noqa: E402
from oborona.ident import JournalIdGenerator  # noqa: E402
from oborona.journal.journal import JournalWriter  # noqa: E402
from oborona.policy.accounting import record_verdict  # noqa: E402
from oborona.policy.evidence import NoInquiry  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.final_table import FinalMode  # noqa: E402
from oborona.policy.load import Policy, load_policy  # noqa: E402
from oborona.policy.local_clients import direction  # noqa: E402
from oborona.policy.models.content.features import ContentFeatures, features  # noqa: E402
from oborona.policy.models.final.succession import told  # noqa: E402
from oborona.policy.scan import Scan, scan  # noqa: E402
from oborona.policy.signatures import LiveSignatures  # noqa: E402
from oborona.session.journal_entry import entry_of  # noqa: E402
from oborona.stores.final_model import FollowedFinalModel  # noqa: E402
from oborona.stores.final_training_plan import training_plan, word_tally  # noqa: E402
from oborona.stores.final_training_record import read_record, readable_choice  # noqa: E402
from oborona.types import Action, Amounts, CountedPieces  # noqa: E402

BEGINNING: Final = 1_780_000_000.0  # Unix seconds: any moment will do
DAY_S: Final = 86_400.0
DELAY: Final = 100  # further messages, before people's word comes
SEED: Final = 1


class JudgedArrival(NamedTuple):
    """A message of a life, and where it was put."""

    time: float
    source: str
    spam: bool
    filed: bool


class _Word(NamedTuple):
    due: int  # after so many messages
    ident: int
    person: str
    spam: bool
    action: Action
    features: ContentFeatures
    pieces: CountedPieces


class SiteLife:
    """One life of a site.

    Args:
        state: an empty state folder.
        policy: that judges.
        options: of the command.
        trains: whether the site's own model is trained; otherwise it never is.
    """

    def __init__(self, state: Path, policy: Policy, options: Any, *, trains: bool) -> None:
        self._state = state
        self._policy = policy
        self._options = options
        self._settings = FinalTrainingSettings(enabled=trains, hours=options.hours)
        self._final = FollowedFinalModel.of_site(state, SCHEMA)
        self._final.look()
        # one that was taught nothing says nothing
        self._content = BacktestContentModel(10**9 if options.no_texts else 5)
        self._counters = MemoryCounters()
        self._site = msgspec.structs.replace(
            new_site(LiveSignatures(policy.signatures), self._final),
            content=self._content,
            counters=self._counters,
        )
        self._labels = LabelStore(state / state_files.FEEDBACK)
        self._chance = random.Random(SEED)  # noqa: S311 - the same mail is told of each time
        self._idents = JournalIdGenerator(start=lambda: 0)
        self._waiting: deque[_Word] = deque()
        self._number = 0
        self.judged: list[JudgedArrival] = []
        self.reports: list[dict[str, Any]] = []
        self._truth: dict[int, bool] = {}

    async def run(self, mail: Sequence[tuple[float, SourcedMessage]]) -> None:
        """Live through mail, in order of time."""
        async with await JournalWriter.open(self._state / state_files.JOURNAL) as journal:
            day = 0
            for now, message in mail:
                if (now - BEGINNING) // DAY_S > day:
                    day = int((now - BEGINNING) // DAY_S)
                    await journal.flush()
                    self._train(now)
                await self._take(journal, now, message)
        self._labels.close()

    async def _take(self, journal: JournalWriter, now: float, message: SourcedMessage) -> None:
        person = f"person{self._chance.randrange(self._options.people)}@site.example"
        draw = self._chance.random()
        envelope = msgspec.structs.replace(message.envelope, recipients=(person,))
        result = await scan(message.raw, envelope, self._site, self._policy, NoInquiry(), now=now)
        ident, action = self._idents.next(now), result.verdict.action
        journal.append(
            entry_of(ident, now, self._policy, envelope, len(message.raw), result.verdict, result)
        )
        self._truth[ident] = message.spam
        record_verdict(
            result.pieces,
            result.verdict,
            self._counters,
            now=now,
            prefix=direction(result.envelope),
        )
        filed = action in (Action.SPAM, Action.REJECT)
        self.judged.append(JudgedArrival(now, message.source, message.spam, filed))
        self._number += 1
        if draw < self._options.told and (not self._options.mistakes or filed is not message.spam):
            self._waiting.append(self._word(ident, person, message.spam, result))
        while self._waiting and self._waiting[0].due <= self._number:
            self._hear(self._waiting.popleft(), now)

    def _word(self, ident: int, person: str, spam: bool, result: Scan) -> _Word:
        return _Word(
            self._number + DELAY, ident, person, spam, result.verdict.action,
            features(result.message), result.pieces,
        )  # fmt: skip

    def _hear(self, word: _Word, now: float) -> None:
        self._content.learn(word.features, spam=word.spam)
        kind = LabelKind.SPAM if word.spam else LabelKind.HAM
        source = LabelSource.COMPLAINT if word.spam else LabelSource.PARDON
        label = Label(
            kind=kind, source=source, time=now, digest=word.ident.to_bytes(16), features=b"",
            person=word.person, journal=word.ident,
        )  # fmt: skip
        self._labels.add([label], now=now)
        if (word.action in (Action.SPAM, Action.REJECT)) is not word.spam:
            amounts = Amounts(complaints=1) if word.spam else Amounts(pardons=1)
            self._counters.add(CountedPieces(shingles=word.pieces.shingles, pairs=()), amounts, now)

    def _train(self, now: float) -> None:
        plan = training_plan(self._settings, read_record(self._state), word_tally(self._state))
        if plan.waits or now < plan.at:
            return
        words = word_tally(self._state).total
        found = run_round(self._state, self._policy, most=self._settings.messages, now=now)
        result = follow_report(self._state, found.report, found.model, words=words)
        self._final.look()
        wrong = [
            one.example.spam
            for one in found.mail.messages
            if one.example.spam is not self._truth[one.ident]
        ]
        self.reports.append(
            {
                "day": round((now - BEGINNING) / DAY_S),
                "words": words,
                "signs": found.signs,
                "result": found.report.comparison.result,
                "told": told(found.report.comparison),
                "why_not": found.report.why_not,
                "held_back": found.report.held_back,
                "since": found.report.since.result,
                "since_told": told(found.report.since),
                "installs": result.installs,
                "worse": result.worse,
                "shipped": readable_choice(self._state).shipped,
                "decides": readable_choice(self._state).own != "",
                "contradicted": found.mail.contradicted,
                "examples": len(found.mail.messages),
                "spam_called_good": wrong.count(False),
                "good_called_spam": wrong.count(True),
            }
        )
        print(json.dumps(self.reports[-1]), file=sys.stderr, flush=True)


def main() -> None:
    """Live twice, and print what was caught and lost."""
    parser = mail_options(__doc__ or "")
    parser.add_argument("--told", type=float, default=0.2, help="share that people tell of")
    parser.add_argument("--mistakes", action="store_true", help="of what lies in a wrong folder")
    parser.add_argument(
        "--no-texts", action="store_true", help="reports name a message and bring no text to learn"
    )
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--days", type=float, default=60.0, help="over which all mail comes")
    parser.add_argument("--hours", type=float, default=24.0, help="between two trainings")
    parser.add_argument(
        "--shipped-points", type=float, help="that the model that comes with Oborona may add"
    )
    options = parser.parse_args()
    if options.mail is None and options.corpus is None:
        parser.error("name mail by --mail, --corpus or both")
    policy = load_policy(options.policy, SCHEMA)
    if options.shipped_points is not None:
        final = msgspec.structs.replace(policy.final, shipped_points=options.shipped_points)
        policy = msgspec.structs.replace(policy, final=final)
    assert policy.final.mode is FinalMode.AUTO
    mail = list(in_order(list(messages(options)), options.days))
    lives = []
    for trains in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            life = SiteLife(Path(folder), policy, options, trains=trains)
            asyncio.run(life.run(mail))
            lives.append(life)
    print(json.dumps(_told_lives(options, *lives)))


def in_order(mail: Sequence[SourcedMessage], days: float) -> Iterator[tuple[float, SourcedMessage]]:
    """Yield messages with the Unix seconds at which they come.

    Each source evenly over the days, in its own order of time.
    """
    by_kind: dict[tuple[str, bool], list[SourcedMessage]] = {}
    for message in mail:
        by_kind.setdefault((message.source, message.spam), []).append(message)
    placed = []
    for number, kind in enumerate(sorted(by_kind)):
        several = sorted(by_kind[kind], key=lambda one: (_date(one), one.path))
        for place, message in enumerate(several):
            share = (place + (number + 1) / (len(by_kind) + 1)) / len(several)
            placed.append((BEGINNING + share * days * DAY_S, message.path, message))
    for when, _, message in sorted(placed, key=lambda one: one[:2]):
        yield when, message


def _date(message: SourcedMessage) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        return parsedate_to_datetime(str(head_of(message.raw).get("Date", ""))).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _told_lives(options: Any, with_own: SiteLife, without: SiteLife) -> dict[str, Any]:
    taken = [report for report in with_own.reports if report["installs"]]
    day = taken[0]["day"] if taken else None
    until = BEGINNING + (options.days + 1 if day is None else day) * DAY_S
    shown = Table(title=f"people tell of {options.told:.0%}; takes over on day {day}")
    for name in ("source", "label", "when", "messages", "filed", "filed, shipped alone"):
        shown.add_column(name)
    rows = []
    for source, spam in sorted({(one.source, one.spam) for one in with_own.judged}):
        for when, later in (("before", False), ("after", True)):
            places = [
                place
                for place, one in enumerate(with_own.judged)
                if (one.source, one.spam) == (source, spam) and (one.time >= until) is later
            ]
            row = {
                "source": source,
                "label": "spam" if spam else "ham",
                "when": when,
                "messages": len(places),
                "filed": sum(with_own.judged[place].filed for place in places),
                "shipped_alone": sum(without.judged[place].filed for place in places),
            }
            rows.append(row)
            shown.add_row(*map(str, row.values()))
    Console(stderr=True).print(shown)
    return {
        "benchmark": "site_life",
        "told": options.told,
        "mistakes": options.mistakes,
        "no_texts": options.no_texts,
        "takes_over_on_day": day,
        "reports": with_own.reports,
        "rows": rows,
    }


if __name__ == "__main__":
    main()
