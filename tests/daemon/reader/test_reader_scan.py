"""Pictures in the scan: looked at before the lists are asked, read before the answer where the
verdict hangs on them, else after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from oborona.counters.memory import MemoryCounters
from oborona.daemon.reader.late_reader import LATE, LateReader
from oborona.daemon.reader.picture_client import PictureClient
from oborona.daemon.reader.wire import PictureContent, PictureOutcome, PictureResult, ReaderTask
from oborona.ident import first_id_at
from oborona.journal.entry import LateFindings
from oborona.message.model import Message, Picture
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.accounting import record_verdict
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.local_clients import direction
from oborona.policy.pictures import STOPPED, UNREAD
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.policy.signatures import Signature, SignatureBook, SignatureFlag, SignatureKind
from oborona.session.inquiry import Inquirer
from oborona.types import Action, Amounts, Client, CountedPieces, Envelope, Metric, RuleMode, Window
from tests.asking import Table, means
from tests.daemon.reader.mails import FEW_WORDS, WORDS, drawn, letter
from tests.daemon.reader.plans import eventually

NOW = 1_795_170_000.0
LINK = "https://casino.example/win"
SEEN = PictureResult(
    PictureOutcome.DONE, PictureContent(kind="png", width=900, height=300, frames=1, legible=True)
)
WITH_CODE = PictureResult(
    PictureOutcome.DONE,
    PictureContent(kind="png", width=900, height=300, frames=1, codes=(LINK,), legible=True),
)
BLANK = PictureResult(PictureOutcome.DONE, PictureContent())
POLICY = """
[verdict]
spam_score = 100
reject_score = 200
[pictures]
wait_from = 30
[[rule]]
name = "GREY"
when = "text.words < 10"
score = 40
[[rule]]
name = "CASINO"
when = "'casino.example' in links.domains"
score = 70
[[dns_list]]
name = "LISTED"
zone = "list.test"
of = ["links"]
score = 90
probe = ""
"""


class Reading:
    """Looks and reads as a test says, and remembers what it was asked."""

    def __init__(self, look: PictureResult = SEEN, read: PictureResult = BLANK) -> None:
        self.results = {ReaderTask.LOOK: look, ReaderTask.READ: read}
        self.asked: list[tuple[ReaderTask, bool]] = []
        self.go = asyncio.Event()
        self.go.set()

    async def ask(
        self, task: ReaderTask, picture: Picture, *, urgent: bool, within_s: float
    ) -> PictureResult:
        self.asked.append((task, urgent))
        await self.go.wait()
        return self.results[task]


class Office:
    """A policy, counters, lists and a reader, and what late reading leaves in the journal."""

    def __init__(self, folder: Path, reading: Reading) -> None:
        (folder / "10.toml").write_text(POLICY)
        self.policy: Policy = load_policy(folder, SCHEMA)
        self.reading = reading
        self.counts = MemoryCounters()
        self.means = means(Table({"casino.example.list.test": {"A": "127.0.0.2"}}), now=NOW)
        self.journal: list[LateFindings] = []
        self.signed: list[str] = []
        self.site = ScanSite(
            name="mx.test",
            hasher=Hasher(b"k" * 32),
            counters=self.counts,
            pictures=PictureClient(reading, look_s=1.0, read_s=1.0),
        )

    async def scan(self, raw: bytes) -> Scan:
        await self.means.lists.probe(self.policy.dns_lists)
        envelope = Envelope(
            client=Client(ip="192.0.2.7"), sender="ann@a.example", recipients=("joe@example.test",)
        )
        return await scan(raw, envelope, self.site, self.policy, self.inquirer(), now=NOW)

    def inquirer(self) -> Inquirer:
        return Inquirer(self.means)

    def late(self, *, most: int = 10, pauses_s: tuple[float, ...] = (0.0, 0.0)) -> LateReader:
        return LateReader(
            PictureClient(self.reading, look_s=1.0, read_s=1.0, urgent=False),
            self.site,
            new_inquiry=self.inquirer,
            counters=self.counts,
            journal=self.journal.append,
            signed=lambda found, _: self.signed.extend(one.id for one in found),
            clock=lambda: NOW + 1,
            most=most,
            pauses_s=pauses_s,
        )


Make = Callable[..., Office]


@pytest.fixture
def office(tmp_path: Path) -> Make:
    return lambda **results: Office(tmp_path, Reading(**results))


def read(text: str) -> PictureResult:
    return PictureResult(PictureOutcome.DONE, PictureContent(text=text))


async def test_a_link_in_a_code_is_judged_asked_of_lists_and_counted(office: Make) -> None:
    at = office(look=WITH_CODE)
    result = await at.scan(letter(drawn("x"), words=WORDS))
    assert result.facts.links_domains == {"casino.example"}
    assert result.facts.lists_content == {"LISTED"}
    assert result.verdict.score == 160
    assert (
        at.site.hasher.shingle(ShingleType.LINK_DOMAIN, "casino.example") in result.pieces.shingles
    )


async def test_a_mail_without_pictures_asks_nobody(office: Make) -> None:
    at = office()
    await at.scan(letter(None))
    assert at.reading.asked == []


async def test_a_mail_with_words_does_not_wait_for_its_picture_to_be_read(office: Make) -> None:
    at = office(read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    assert at.reading.asked == [(ReaderTask.LOOK, True)]
    assert result.verdict.action is Action.ACCEPT


async def test_a_picture_and_nothing_else_is_read_before_the_answer_if_it_is_grey(
    office: Make,
) -> None:
    at = office(read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=FEW_WORDS))
    assert at.reading.asked == [(ReaderTask.LOOK, True), (ReaderTask.READ, True)]
    assert {hit.name for hit in result.verdict.rules} == {"GREY", "CASINO", "LISTED"}
    assert result.verdict.action is Action.REJECT
    assert result.message.pictures[0].read


async def test_one_below_the_grey_or_over_the_line_is_not_waited_for(office: Make) -> None:
    at = office(look=WITH_CODE)
    assert (await at.scan(letter(drawn("x"), words=FEW_WORDS))).verdict.score == 200
    assert at.reading.asked == [(ReaderTask.LOOK, True)]
    at = office()
    at.policy = msgspec.structs.replace(
        at.policy, pictures=msgspec.structs.replace(at.policy.pictures, wait_from=50)
    )
    assert (await at.scan(letter(drawn("x"), words=FEW_WORDS))).verdict.score == 40
    assert at.reading.asked == [(ReaderTask.LOOK, True)]


@pytest.mark.parametrize(
    "outcome",
    [PictureOutcome.LATE, PictureOutcome.AWAY, PictureOutcome.REFUSED, PictureOutcome.UNABLE],
)
async def test_what_should_have_been_read_and_was_not_is_found_and_is_no_fault(
    office: Make, outcome: PictureOutcome
) -> None:
    result = await office(read=PictureResult(outcome)).scan(letter(drawn("x"), words=FEW_WORDS))
    assert UNREAD in result.facts.findings
    assert result.faults == ()
    assert result.verdict.action is Action.ACCEPT


async def test_a_reader_that_is_away_is_no_finding_where_nothing_hangs_on_it(office: Make) -> None:
    at = office(look=PictureResult(PictureOutcome.AWAY))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    assert not result.facts.partial
    assert result.facts.findings == frozenset()


async def test_a_picture_that_had_to_be_stopped_is_a_finding_that_stays(office: Make) -> None:
    at = office(look=PictureResult(PictureOutcome.STOPPED), read=read("x"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    assert STOPPED in result.facts.findings


async def test_the_counts_of_a_second_judgement_do_not_hold_the_message_itself(
    office: Make,
) -> None:
    at = office(look=PictureResult(PictureOutcome.LATE), read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    record_verdict(
        result.pieces, result.verdict, at.counts, now=NOW, prefix=direction(result.envelope)
    )
    at.reading.results[ReaderTask.LOOK] = SEEN
    domain = at.site.hasher.shingle(ShingleType.LINK_DOMAIN, "casino.example")
    at.counts.add(CountedPieces(shingles=(domain,), pairs=()), Amounts(seen=7, spam=7), NOW)
    late = at.late()
    late.add(1, result)
    await eventually(lambda: bool(at.journal))
    (row,) = await at.counts.read((domain,), NOW)
    assert row[Window.DAY][Metric.SEEN] == 8, (
        "and the new piece is counted, once, as the message was"
    )
    assert row[Window.DAY][Metric.SPAM] == 7
    (row,) = await at.counts.read((at.site.hasher.shingle(ShingleType.FROM, "ann@a.example"),), NOW)
    assert row[Window.DAY][Metric.SEEN] == 1, (
        "what was counted with the message is not counted again"
    )
    await late.close(0)


async def test_what_is_found_late_is_journaled_with_the_verdict_that_would_have_been(
    office: Make,
) -> None:
    at = office(read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    late = at.late()
    late.add(7, result)
    await eventually(lambda: bool(at.journal))
    (found,) = at.journal
    assert (found.id, found.before, found.score_before) == (7, Action.ACCEPT, 0.0)
    assert (found.verdict, found.score, found.decided_by) == (Action.SPAM, 160.0, "LISTED")
    assert found.facts["links_domains"] == {"casino.example"}
    assert "subject" not in found.facts
    assert not {"text", "text_raw"} & found.facts.keys()
    assert at.site.hasher.shingle(ShingleType.LINK_DOMAIN, "casino.example") in found.shingles
    assert not set(found.shingles) & set(result.pieces.shingles)
    assert at.reading.asked[1:] == [(ReaderTask.READ, False)], (
        "nobody waits for it; what was looked at is not again"
    )
    assert LATE.values == {("found",): 1}
    await late.close(0)


@pytest.mark.parametrize(("meaning", "score"), [(0.97, 110.0), (None, 50.0)])
async def test_what_became_grey_by_its_picture_is_asked_for_its_meaning(
    office: Make, tmp_path: Path, meaning: float | None, score: float
) -> None:
    class Meant:
        async def read(self, message: Message) -> float | None:
            return meaning

    (tmp_path / "20.toml").write_text(
        "[[rule]]\nname = 'WORDY'\nwhen = 'pictures.words > 3'\nscore = 50\n"
        "[[rule]]\nname = 'MEANT'\nwhen = 'model.meaning > 0.9'\nscore = 60\n"
    )
    at = office(read=read("five words in a picture"))
    at.site = msgspec.structs.replace(at.site, meanings=Meant())
    late = at.late()
    late.add(7, await at.scan(letter(drawn("x"), words=WORDS)))
    await eventually(lambda: bool(at.journal))
    assert (at.journal[0].score_before, at.journal[0].score) == (0.0, score)
    assert at.journal[0].facts.get("model_meaning") == meaning
    await late.close(0)


async def test_a_signature_that_is_found_late_is_counted_once(office: Make) -> None:
    at = office(read=read("golden watches for everybody"))
    marks = [
        Signature(
            id=name,
            flag=SignatureFlag.SPAM,
            kind=SignatureKind.PHRASE,
            value=value,
            mode=RuleMode.SHADOW,
        )
        for name, value in (("s1", "golden watches"), ("s2", WORDS), ("s3", "words of nobody"))
    ]
    at.site = msgspec.structs.replace(at.site, signatures=SignatureBook.of(marks))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    assert [one.id for one in result.signatures.signatures] == ["s2"], "counted with the message"
    late = at.late()
    late.add(7, result)
    await eventually(lambda: not late.waiting)
    assert at.signed == ["s1"]
    await late.close(0)


async def test_a_picture_with_nothing_in_it_leaves_no_row(office: Make) -> None:
    at = office(read=BLANK)
    late = at.late()
    late.add(7, await at.scan(letter(drawn("x"), words=WORDS)))
    await eventually(lambda: not late.waiting)
    assert at.journal == []
    assert LATE.values == {("nothing",): 1}
    await late.close(0)


async def test_a_picture_that_can_hold_no_text_is_not_read(office: Make) -> None:
    at = office(
        look=PictureResult(PictureOutcome.DONE, PictureContent(kind="png", width=900, height=300)),
        read=read("x"),
    )
    for words in (WORDS, FEW_WORDS):
        result = await at.scan(letter(drawn("x"), words=words))
        assert UNREAD not in result.facts.findings
        late = at.late()
        late.add(7, result)
        assert late.waiting == 0
        await late.close(0)
    assert {task for task, _ in at.reading.asked} == {ReaderTask.LOOK}


async def test_a_message_whose_pictures_are_read_or_that_has_none_is_not_taken(
    office: Make,
) -> None:
    at = office(read=read("x"))
    late = at.late()
    late.add(1, await at.scan(letter(None)))
    late.add(2, await at.scan(letter(drawn("x"), words=FEW_WORDS)))
    assert late.waiting == 0
    await late.close(0)


async def test_where_the_reader_is_busy_it_is_asked_again_and_then_given_up(office: Make) -> None:
    at = office(read=PictureResult(PictureOutcome.REFUSED))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    at.reading.asked.clear()
    late = at.late(pauses_s=(0.0, 0.0, 0.0))
    late.add(1, result)
    await eventually(lambda: LATE.values == {("unread",): 1})
    assert at.reading.asked == [(ReaderTask.READ, False)] * 3
    await late.close(0)


async def test_of_too_many_that_wait_the_oldest_go_and_are_counted(office: Make) -> None:
    at = office(read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    at.reading.go.clear()
    late = at.late(most=2)
    for ident in range(3):
        late.add(ident, result)
    assert (late.waiting, LATE.values) == (2, {("dropped",): 1})
    at.reading.go.set()
    await eventually(lambda: len(at.journal) == 2)
    assert {one.id for one in at.journal} == {1, 2}
    await late.close(0)


async def test_at_the_end_they_have_some_time_and_no_more(
    office: Make, caplog: pytest.LogCaptureFixture
) -> None:
    at = office(read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    at.reading.go.clear()
    late = at.late()
    late.add(1, result)
    asyncio.get_running_loop().call_later(0.05, at.reading.go.set)
    await late.close(5.0)
    assert len(at.journal) == 1
    at.reading.go.clear()
    late = at.late()
    late.add(2, result)
    await late.close(0.05)
    assert len(at.journal) == 1
    assert "pictures were not read" in caplog.text


async def test_a_fault_in_one_message_is_not_the_next_ones(
    office: Make, caplog: pytest.LogCaptureFixture
) -> None:
    at = office(read=read(f"Visit {LINK}"))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    broken = msgspec.structs.replace(result, policy=None)
    late = at.late()
    late.add(1, broken)
    late.add(2, result)
    await eventually(lambda: LATE.values == {("failed",): 1, ("found",): 1})
    assert [one.id for one in at.journal] == [2]
    assert "Traceback" in caplog.text
    await late.close(0)


async def test_late_reading_that_is_switched_off_takes_nothing(office: Make) -> None:
    at = office(read=read("x"))
    late = at.late(most=0)
    late.add(1, await at.scan(letter(drawn("x"), words=WORDS)))
    assert late.waiting == 0
    await late.close(0)


async def test_the_age_of_the_first_that_waits_is_told(office: Make) -> None:
    at = office(look=PictureResult(PictureOutcome.LATE))
    result = await at.scan(letter(drawn("x"), words=WORDS))
    late = at.late()
    assert late.age_s == 0.0
    for waits_s in (90.0, 30.0):
        late.add(first_id_at(NOW + 1 - waits_s), result)
    assert late.age_s == pytest.approx(90.0, abs=0.01)
    await late.close(0.0)
