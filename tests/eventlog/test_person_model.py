"""A model of persons: what it is trained on, what it says, and who sees it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oborona.config.eventlog import PersonModelMode
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.export.feedback import SCHEMA as FEEDBACK
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.examples import ADMIN_WEIGHT, PersonExamples, independent_rules
from oborona.eventlog.persons.model import PersonModel, known_names, read_model
from oborona.eventlog.persons.word_book import PersonWord, PersonWordBook
from oborona.eventlog.policy_rules import EventRules, PolicyRules
from oborona.eventlog.slots import DAY_S, SLOT_S, slot_name
from oborona.eventlog.suppression.book import RuleSuppression, SuppressionBook
from oborona.eventlog.tables.parquet import read_table
from oborona.eventlog.thresholds import LATE_S
from oborona.feedback.final.train import NotTrainable, train
from oborona.policy.folders import PolicyFolders
from oborona.policy.models.final.examples import FinalExample
from oborona.policy.models.final.file import BrokenModel, encode
from tests.eventlog.test_day_pass import PassedLog
from tests.eventlog.worlds import CLICKS, ENGINE, START, opened_log

MIDNIGHT = START // 86_400 * 86_400
DAYS = 6
ROBOTS, PEOPLE = 25, 60
RULES = """
[[event_rule]]
name = "SUSPECT"
log  = "CLICKS"
when = "person.score != none and person.score > 0.5"
say  = "p={person.score:.2f}"

[[event_rule]]
name = "SUSPECT_AGAIN"
log  = "CLICKS"
when = "fired(SUSPECT) and amount == none"
say  = "again"

[[event_rule]]
name = "DEAR"
log  = "CLICKS"
when = "amount > 10"
say  = "dear"
"""


def made_day(day: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return events of robots, who click once a second, and of people, who do a little of all."""
    chance = random.Random(f"{seed} {day}")
    told = []
    for robot in range(ROBOTS):
        at = chance.randrange(3600, 70_000)
        told += [(1000 + robot, "click", at + n) for n in range(25)]
    for person in range(PEOPLE):
        for _ in range(chance.randrange(2, 9)):
            told.append((person, chance.choice(("click", "show")), chance.randrange(86_000)))
    start = MIDNIGHT + day * DAY_S
    return [
        {
            "id": number, "time": datetime.fromtimestamp(start + at, UTC), "event": event,
            "person": person, "key": day * 100_000 + number, "page": f"p{chance.randrange(9)}",
            "amount": None,
        }
        for number, (person, event, at) in enumerate(told)
    ]  # fmt: skip


class ModelledLog(PassedLog):
    """A log of several days, each delivered on its end."""

    def __init__(self, log: Any, tmp_path: Path, rules: PolicyRules) -> None:
        super().__init__(log, tmp_path, lambda: rules.of_day("clicks"))
        self.rules = rules.of_day("clicks")
        self.work = tmp_path / "work"

    def give_days(self, days: range) -> None:
        """Deliver, check and merge whole days."""
        self.now = MIDNIGHT + (days.stop + 1) * DAY_S
        self.give({slot_name(MIDNIGHT + (day + 1) * DAY_S - SLOT_S): made_day(day) for day in days})
        self.now += 3601
        self.merge()

    def given_out_last(self) -> dict[int, list[str]]:
        """Return the rules of each row of the last day, by id."""
        table = self.delivered(DAY)
        rows = table.rows(table.files(max(table.counts())))
        assert rows is not None
        return {one["id"]: one["rules"] for one in rows.to_pylist()}

    def examples(self, words: dict[int, PersonWord] | None = None) -> list[FinalExample]:
        """Return what a model is trained on."""
        assert self.rules.log is not None
        made = PersonExamples(
            CLICKS, self.rules.log, independent_rules(self.rules, CLICKS), words or {},
            SuppressionBook(self.log.store, "clicks"), self.log.engine, self.work,
        )  # fmt: skip
        days = self.delivered(DAY)
        return list(made.of_days(days, sorted(days.counts())))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what is known of a person."""
        assert self.rules.log is not None
        return known_names(CLICKS, self.rules.log, self.rules.log.counted)


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelledLog]:
    """A log with six days."""
    tmp_path = tmp_path_factory.mktemp("modelled")
    folder = tmp_path / "policy.d"
    folder.mkdir()
    (folder / "50-events.toml").write_text(RULES)
    rules = PolicyRules(PolicyFolders.of(folder), [CLICKS], ENGINE)
    with opened_log(tmp_path, rules=lambda: rules.of("clicks")) as log:
        site = ModelledLog(log, tmp_path, rules)
        site.give_days(range(DAYS))
        yield site


@pytest.fixture(scope="module")
def octets(modelled: ModelledLog) -> bytes:
    """A model that was trained on these days."""
    trained = train(modelled.examples(), modelled.names, policy="p", now=1.0)
    return encode(trained.model)


def test_it_is_trained_on_persons_as_rules_marked_them(modelled: ModelledLog) -> None:
    examples = modelled.examples()
    assert len(examples) == DAYS * (ROBOTS + PEOPLE)
    fraud = {one.name.split()[1] for one in examples if one.spam}
    assert fraud == {str(1000 + robot) for robot in range(ROBOTS)}
    first = dict(zip(modelled.names, examples[-1].numbers.tolist(), strict=True))
    assert (first["events"], first["person.day[click]"], first["least gap"]) == (25, 25, 1)
    assert (first["most in a minute"], first["seconds from first to last"]) == (25, 24)
    assert [one.time for one in examples] == sorted(one.time for one in examples)


def test_the_word_of_an_admin_stands_above_the_rules(modelled: ModelledLog) -> None:
    words = {
        1000: PersonWord(person=1000, fraud=False, why="our own", time=1.0),
        3: PersonWord(person=3, fraud=True, why="bought", time=1.0),
    }
    told = {
        (one.name.split()[1], one.spam, one.weight)
        for one in modelled.examples(words)
        if one.name.split()[1] in ("1000", "3", "4")
    }
    assert told == {("1000", False, ADMIN_WEIGHT), ("3", True, ADMIN_WEIGHT), ("4", False, 1.0)}


def test_for_whom_rules_are_suppressed_is_no_example_of_that_day(modelled: ModelledLog) -> None:
    whole = {one.name for one in modelled.examples()}
    book = SuppressionBook(modelled.log.store, "clicks")
    since = MIDNIGHT + DAY_S
    for person in (4, 1000):
        book.begin(
            RuleSuppression(
                person=person, since=since, until=since + 9, who="eve", why="ours", asked=since
            )
        )
    try:
        left_out = whole - {one.name for one in modelled.examples()}
        word = PersonWord(person=4, fraud=True, why="bought", time=1.0)
        told = whole - {one.name for one in modelled.examples({4: word})}
    finally:
        with modelled.log.store.transaction() as db:
            db.execute("DELETE FROM suppression")
    date = DAY.slot(since)
    assert left_out == {f"{date} 4", f"{date} 1000"}
    assert told == {f"{date} 1000"}, "an admin's word stands above it"


def test_no_label_is_made_of_its_own_outcome(modelled: ModelledLog) -> None:
    assert independent_rules(modelled.rules, CLICKS) == {"ABNORMAL", "DEAR"}


def test_what_verdicts_have_a_part_in_is_no_label_and_no_feature(tmp_path: Path) -> None:
    text = (
        Path("etc/policy.d/70-events.toml").read_text()
        + """
[[event_rule]]
name = "UNBELIEVED"
log  = "FEEDBACK"
when = "believed == false and event == 'complaint'"
say  = "not believed"
"""
    )
    (tmp_path / "50-events.toml").write_text(text)
    rules = PolicyRules(PolicyFolders.of(tmp_path), [FEEDBACK]).of_day("feedback")
    assert independent_rules(rules, FEEDBACK) == {"ABNORMAL", "PARDONS_ONLY", "TOO_FAST"}
    assert rules.log is not None
    names = known_names(FEEDBACK, rules.log, rules.log.counted)
    assert "person.distinct[way]" in names
    assert "person.distinct[reasons]" not in names


def test_it_tells_robots_from_people_and_says_why(modelled: ModelledLog, octets: bytes) -> None:
    modelled.model.write_bytes(octets)
    modelled.now = MIDNIGHT + DAYS * DAY_S + LATE_S
    assert modelled.go_over() == 4, "the last day, and three before it"
    path = modelled.log.folder.last_scores()
    assert path is not None
    assert path.name.startswith(slot_name(MIDNIGHT + (DAYS - 1) * DAY_S)[:10])
    rows = {one["person"]: one for one in read_table(path).to_pylist()}
    assert len(rows) == ROBOTS + PEOPLE
    assert min(rows[1000 + robot]["score"] for robot in range(ROBOTS)) > 0.9
    assert max(rows[person]["score"] for person in range(PEOPLE)) < 0.1
    assert any(name in rows[1000]["why"] for name in modelled.names), rows[1000]
    assert rows[3]["why"] == ""
    marks = {rule for rules in modelled.given_out_last().values() for rule in rules}
    assert "SUSPECT" not in marks, "in shadow no rule sees it"


def test_it_says_of_many_what_it_says_of_one(modelled: ModelledLog, octets: bytes) -> None:
    model = PersonModel(octets, modelled.names)
    vectors = np.array([one.numbers for one in modelled.examples()], np.float32)
    some = vectors[:, [modelled.names.index(name) for name in model.trained.features]]
    wanted = [model.trained.trees.raw(vector) for vector in some]
    assert model._raw(some) == pytest.approx(wanted)


def test_live_rules_see_it_in_passes_and_in_later_batches(
    modelled: ModelledLog, octets: bytes
) -> None:
    date = slot_name(MIDNIGHT + (DAYS - 1) * DAY_S)[:10]
    modelled.now = MIDNIGHT + DAYS * DAY_S + LATE_S + 60
    modelled.go_over()  # whatever is due without a model
    modelled.model.write_bytes(octets)
    modelled.scores = modelled.scores_of(PersonModelMode.LIVE)
    modelled.passes = modelled.begun()
    modelled.book.request(date)
    assert modelled.go_over() == 1
    done = modelled.book.last(date)
    assert done is not None
    assert f"model {PersonModel(octets, modelled.names).version}" in done.rules
    assert done.fired["SUSPECT"] == ROBOTS * 25
    of_day = modelled.log.folder.person_scores(date, 1).parent.glob(f"{date}.*")
    assert list(of_day) == [modelled.log.folder.person_scores(date, done.id)], "the last one alone"
    rules = modelled.scores.of_last_day(modelled.rules)
    assert rules.version == f"{modelled.rules.version} scores {date}.{done.id}"
    modelled.log.checker._asked = lambda: rules
    name = slot_name(MIDNIGHT + DAYS * DAY_S + 7 * SLOT_S)
    clicks = [
        one | {"id": n, "person": who}
        for n, who in enumerate((1001, 5, None))
        for one in made_day(DAYS)[:1]
    ]
    modelled.give({name: clicks})
    assert [("SUSPECT" in fired) for fired in modelled.log.rules(name)] == [True, False, False]
    modelled.now += 8 * DAY_S
    assert modelled.scores.of_last_day(modelled.rules) is modelled.rules, "too old"


@pytest.mark.parametrize("fault", ["cut", "changed", "empty", "of messages"])
def test_a_broken_model_says_nothing_and_is_told(
    modelled: ModelledLog, octets: bytes, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    shipped = Path("src/oborona/policy/models/final/shipped.model").read_bytes()
    broken = {
        "cut": octets[:-9], "changed": octets[:99] + b"x" + octets[100:], "empty": b"",
        "of messages": shipped,
    }[fault]  # fmt: skip
    modelled.model.write_bytes(broken)
    with pytest.raises(BrokenModel):
        read_model(modelled.model, modelled.names)
    scores = modelled.scores_of(PersonModelMode.LIVE)
    assert [scores.model(modelled.rules) for _ in range(2)] == [None, None]
    assert len([one for one in caplog.records if "says nothing" in one.message]) == 1


def test_a_log_that_no_policy_declares_has_no_model(modelled: ModelledLog, octets: bytes) -> None:
    modelled.model.write_bytes(octets)
    scores = modelled.scores_of(PersonModelMode.LIVE)
    assert scores.model(EventRules("none")) is None
    modelled.model.unlink()
    assert scores.model(modelled.rules) is None


def test_too_few_persons_are_refused(modelled: ModelledLog) -> None:
    with pytest.raises(NotTrainable, match="are the least"):
        train(modelled.examples()[:100], modelled.names, policy="p", now=1.0)


def test_words_are_kept_and_taken_back(tmp_path: Path) -> None:
    with LogStore(tmp_path / "eventlog.db") as store:
        book = PersonWordBook(store, "clicks")
        word = PersonWord(person=-7, fraud=True, why="bought", time=1.0)
        book.say(PersonWord(person=-7, fraud=False, why="", time=0.5))
        book.say(word)
        assert book.words() == {-7: word}
        assert PersonWordBook(store, "shows").words() == {}
        assert book.take_back(-7)
        assert not book.take_back(-7)
