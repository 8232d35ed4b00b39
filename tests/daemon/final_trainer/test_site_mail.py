"""The site's mail as examples: what people did is read from the stores in which it stands."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from oborona import state_files
from oborona.daemon.final_trainer.labels import LabelSign
from oborona.daemon.final_trainer.site_mail import OF_SILENCE, ShippedPart, SiteMail, site_mail
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventDecision, EventKind, FeedbackEvent
from oborona.feedback.final.campaign_groups import CampaignGroups
from oborona.feedback.label_store import LabelStore
from oborona.message.hashing import ShingleType
from oborona.policy.load import Policy
from oborona.recheck.moves import MoveDecision, MoveStore
from oborona.stores.persons.store import PersonStore
from oborona.types import Shingle
from tests.daemon.final_trainer.made_site import DAY_S, made_site, rules

NUMBER = 70


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Policy, list[int]]:
    policy = rules(tmp_path / "policy.d")
    now = time.time() - 3 * DAY_S
    idents = made_site(tmp_path / "state", policy, spam=0, ham=NUMBER, now=now)
    return tmp_path / "state", policy, idents


def read(site: tuple[Path, Policy, list[int]], most: int = 1000) -> SiteMail:
    state, policy, _ = site
    shipped = ShippedPart(None, 0.0, policy.final, policy.verdict, policy.groups)
    return site_mail(state, policy, None, shipped, most=most, now=time.time())


def unsay(site: tuple[Path, Policy, list[int]], but: int = 0) -> None:
    """Take all words back but the first ones."""
    with LabelStore(site[0] / state_files.FEEDBACK) as store:
        words = sorted(one.id for one in store.last(1000))[but:]
        store.take_back(words, reason="-", by="test", now=time.time())


def test_words_come_first_and_the_newest_are_kept(site: tuple[Path, Policy, list[int]]) -> None:
    mail = read(site)
    assert [one.ident for one in mail.messages] == site[2]
    assert {one.sign for one in mail.messages} == {LabelSign.WORD}
    assert not any(one.example.spam for one in mail.messages)
    assert len({one.campaign for one in mail.messages}) == NUMBER
    assert [one.ident for one in read(site, most=10).messages] == site[2][-10:]


def test_without_words_nothing_is_told(site: tuple[Path, Policy, list[int]]) -> None:
    unsay(site)
    assert read(site).messages == []


def test_an_answer_tells_of_a_message_that_nobody_spoke_of(
    site: tuple[Path, Policy, list[int]],
) -> None:
    unsay(site)
    with PersonStore(site[0] / state_files.PERSONS) as persons:
        came = time.time() - 23 * DAY_S
        persons.written({"p0@b.example": ["ann100000@a100000.example"]}, now=came + DAY_S)
    (answered,) = read(site).messages
    assert (answered.ident, answered.sign) == (site[2][0], LabelSign.ANSWERED)
    assert answered.example.weight == 1.0


def test_what_was_opened_and_left_tells_of_reporters_alone(
    site: tuple[Path, Policy, list[int]],
) -> None:
    state, _, idents = site
    now = time.time()
    unsay(site)
    with LabelStore(state / state_files.FEEDBACK) as store:
        # p1 speaks of mail, and did so before anything of this came
        from oborona.feedback.label import Label, LabelKind, LabelSource

        for number in range(2):
            label = Label(
                kind=LabelKind.SPAM, source=LabelSource.COMPLAINT, time=now - 60 * DAY_S,
                digest=bytes([number]) * 16, features=b"", person="p1@b.example", journal=number + 1,
            )  # fmt: skip
            store.add([label], now=now)
    with EventLog(state / state_files.EVENTS) as log:
        receipts = log.add(
            [
                FeedbackEvent(
                    what=EventKind.READ, way=EventChannel.MAILBOX, time=now - 4 * DAY_S,
                    person=f"p{person}@b.example", ident=idents[-7 + person - 1],
                )
                for person in (1, 2)
            ],
            now=now,
        )  # fmt: skip
        log.decide(
            [(one.id, EventDecision(counts=True, own=False, weight=1.0)) for one in receipts],
            now=now,
        )
    mail = read(site)
    assert mail.messages
    assert {one.sign for one in mail.messages} == {LabelSign.LEFT}
    assert {one.example.weight for one in mail.messages} == {OF_SILENCE}
    places = [idents.index(one.ident) for one in mail.messages]
    assert {place % 7 for place in places} == {1}, "of the others silence says nothing"
    moved = mail.messages[0].ident
    moves = MoveStore(state / state_files.MOVES)
    moves.decide(
        [
            MoveDecision(
                message=moved, recipient="p1@b.example", source="INBOX", target="Junk", why="x",
                score=1.0, line=1.0, event="x",
            )
        ],
        now=now,
    )  # fmt: skip
    with moves.transaction() as db:
        db.execute("UPDATE move SET state = 'done'")
    moves.close()
    assert moved not in {one.ident for one in read(site).messages}


def test_features_that_were_not_kept_are_none(site: tuple[Path, Policy, list[int]]) -> None:
    mail = read(site)
    place = mail.names.index("text.words")
    numbers = [one.example.numbers[place] for one in mail.messages]
    assert all(number > 0 for number in numbers)
    assert not np.isnan(numbers).any()


def test_near_duplicates_are_one_campaign() -> None:
    groups = CampaignGroups()
    text = [Shingle(ShingleType.TEXT, 1), *(Shingle(ShingleType.WORDS, n) for n in range(32))]
    near = [Shingle(ShingleType.TEXT, 2), *(Shingle(ShingleType.WORDS, n) for n in range(3, 35))]
    far = [Shingle(ShingleType.TEXT, 3), *(Shingle(ShingleType.WORDS, n) for n in range(28, 60))]
    first = groups.of(text)
    assert groups.of(near) == first
    assert groups.of(far) != first
    assert groups.of(()) != groups.of(()), "what has no pieces is like nothing"
