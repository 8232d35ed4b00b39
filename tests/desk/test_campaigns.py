"""Campaigns that need a person: their order, locks, decisions, and these taken back."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.desk.acts.cases import LOCKED_S
from oborona.desk.call import CallError, NotAllowedError, NotFoundError
from oborona.feedback.cases.store import CaseStore, CaseVerdict
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind
from oborona.feedback.processing.campaign_review import review_campaign
from oborona.feedback.processing.ports import NoVerdicts
from oborona.people.rights import Role
from tests.cli.journaled import LOTTERY, LUNCH
from tests.desk.spoken_site import ANN, BOB, EVE, SpokenSite, caller

COMPLAINT, PARDON, TRAP = EventKind.COMPLAINT, EventKind.PARDON, EventKind.TRAP
JOE, KIM = caller(Role.ANALYST, name="joe"), caller(Role.ANALYST, name="kim")


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    """Two complain of one message and one pardons it; of the other one complains."""
    spoken = SpokenSite(tmp_path)
    spoken.say(spoken.lunch, ANN, COMPLAINT, raw=LUNCH)
    spoken.say(spoken.lunch, BOB, COMPLAINT)
    with EventLog(spoken.state / state_files.EVENTS) as log, log.transaction() as db:
        past = (EVE, time.time() - 90 * 86_400)  # else nobody believes her
        db.execute(
            "INSERT INTO person (person, complaints, right, first) VALUES (?, 4, 3, ?)", past
        )
    spoken.say(spoken.lunch, EVE, PARDON)
    spoken.say(spoken.lottery, ANN, COMPLAINT, raw=LOTTERY)
    return spoken


def believed(site: SpokenSite) -> dict[int, tuple[object, ...]]:
    """Return what is decided of each event of a person."""
    return {
        one["id"]: (one["counts"], one["own"], one["weight"], one["rules"], one["say"])
        for one in site.ask("events.list", most=100)["events"]
        if one["person"]
    }


def labels(site: SpokenSite) -> list[tuple[str, str]]:
    """Return the labels that stand."""
    if not (site.state / state_files.FEEDBACK).exists():
        return []
    return [
        (one["kind"], one["message_id"])
        for one in site.ask("model.words")["labels"]
        if one["state"] not in ("taken-back", "refused")
    ]


def test_what_is_contested_comes_first(site: SpokenSite) -> None:
    listed = site.ask("campaigns.list")["campaigns"]
    assert [(one["summary"]["id"], one["why"]) for one in listed] == [
        (1, "contested"),
        (2, "unsettled"),
    ]
    first = listed[0]
    assert first["summary"]["complaints"]["people"] == 2
    assert first["summary"]["pardons"]["people"] == 1
    assert first["sample"] == site.lunch
    assert (first["lock"], first["decision"], first["copies"]) == (None, None, None)
    assert "how many copies came is not known" in site.notices[-1]


def test_a_campaign_shows_its_mail_and_what_was_said(site: SpokenSite) -> None:
    shown = site.ask("campaigns.show", id=1)
    assert shown["mail"]["messages"] == [site.lunch]
    assert shown["mail"]["clients"] == ["198.51.100.7"]
    assert shown["mail"]["subjects"] == ["lunch"]
    assert [one["person"] for one in shown["events"]] == [ANN, BOB, EVE]
    assert shown["samples"] == [1]


def test_a_trap_has_settled_it(site: SpokenSite) -> None:
    site.say(site.lottery, "", TRAP)
    assert [one["summary"]["id"] for one in site.ask("campaigns.list")["campaigns"]] == [1]
    settled = site.ask("campaigns.list", settled=True)["campaigns"]
    assert [one["why"] for one in settled] == ["contested", "settled"]
    assert site.ask("campaigns.list", settled=True, after=1, most=1)["more"] is False
    assert site.ask("campaigns.list", settled=True, most=1)["more"] is True


def test_one_looks_at_a_campaign_for_ten_minutes(
    site: SpokenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = site.stores()
    site.ask("campaigns.take", JOE, id=1, dry=True)
    assert site.stores() == stores
    taken = site.ask("campaigns.take", JOE, id=1)
    assert taken["lock"]["by"] == "joe"
    assert site.ask("campaigns.list")["campaigns"][0]["lock"]["by"] == "joe"
    for call, more in (("campaigns.take", {}), ("campaigns.decide", {"verdict": "spam"})):
        with pytest.raises(NotAllowedError, match="joe looks at campaign 1 until"):
            site.ask(call, KIM, id=1, **more)
    site.ask("campaigns.take", JOE, id=1), "for longer"
    later = time.time() + LOCKED_S + 1
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: later)
        assert site.ask("campaigns.list")["campaigns"][0]["lock"] is None
        assert site.ask("campaigns.take", KIM, id=1)["lock"]["by"] == "kim"
        undo = site.ask("campaigns.take", KIM, id=1)["undo"]
        site.ask(undo["call"], KIM, **undo["asked"])
        assert site.ask("campaigns.show", id=1)["case"]["lock"] is None


@pytest.mark.parametrize(
    ("verdict", "kind", "withdrawn"),
    [("spam", "spam", [3]), ("good", "ham", [1, 2]), ("newsletter", None, [1, 2])],
)
def test_a_decision_is_previewed_done_and_taken_back_exactly(
    site: SpokenSite, verdict: str, kind: str | None, withdrawn: list[int]
) -> None:
    before, stores = believed(site), site.stores()
    wanted = [ident for ident in withdrawn if before[ident][0]]
    assert wanted, "something is believed that the decision takes back"
    preview = site.ask("campaigns.decide", JOE, id=1, verdict=verdict, dry=True)
    assert site.stores() == stores
    done = site.ask("campaigns.decide", JOE, id=1, verdict=verdict, reason="I read it")
    assert done["events"] == preview["events"] == wanted
    assert [one["message"] for one in done["taught"]] == [
        one["message"] for one in preview["taught"]
    ]
    assert labels(site) == ([] if kind is None else [(kind, "1@a.example")])
    decided = believed(site)
    assert all(not decided[ident][0] for ident in wanted)
    assert decided[4] == before[4], "the other campaign is left alone"
    case = site.ask("campaigns.show", id=1)["case"]
    assert (case["decision"]["verdict"], case["decision"]["by"]) == (verdict, "joe")
    assert case["summary"]["by_site"] is (kind is not None)
    with pytest.raises(CallError, match="take that back first"):
        site.ask("campaigns.decide", KIM, id=1, verdict="spam")
    review(site)
    stores = site.stores()
    undo = done["undo"]
    site.ask(undo["call"], KIM, **undo["asked"], dry=True)
    assert site.stores() == stores
    site.ask(undo["call"], KIM, **undo["asked"])
    assert believed(site) == before
    assert labels(site) == []
    after = site.ask("campaigns.show", id=1)["case"]
    assert after["decision"] is None
    assert after["summary"]["by_site"] is False
    review(site)
    assert believed(site) == before, "the review finds what it found before"
    with pytest.raises(NotFoundError, match="nobody has decided campaign 1"):
        site.ask("campaigns.undecide", id=1)
    site.ask("campaigns.decide", KIM, id=1, verdict="spam")


def review(site: SpokenSite) -> None:
    """Go over the campaign as the trainer does."""
    with EventLog(site.state / state_files.EVENTS) as log:
        review_campaign(log, 1, time.time(), NoVerdicts())


def test_what_a_killed_process_has_left_is_taken_back(
    site: SpokenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = believed(site)
    monkeypatch.setattr(CaseStore, "note_done", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        site.ask("campaigns.decide", JOE, id=1, verdict="spam")
    assert labels(site) == [("spam", "1@a.example")]
    site.ask("campaigns.undecide", JOE, id=1)
    assert (believed(site), labels(site)) == (before, [])


def test_what_the_site_has_taught_is_not_turned_round(site: SpokenSite) -> None:
    taught = site.ask("teach", kind="ham", messages=[site.lunch])
    with pytest.raises(CallError, match="has taught the opposite"):
        site.ask("campaigns.decide", id=1, verdict="spam")
    assert site.ask("campaigns.decide", id=1, verdict="good", dry=True)["taught"] == []
    site.ask(taught["undo"]["call"], **taught["undo"]["asked"])
    assert site.ask("campaigns.decide", id=1, verdict="spam")["taught"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("campaigns.show", {"id": 77}),
        ("campaigns.show", {"id": 0}),
        ("campaigns.take", {"id": 77}),
        ("campaigns.decide", {"id": 77, "verdict": "spam"}),
        ("campaigns.decide", {"id": 1, "verdict": "boring"}),
        ("campaigns.decide", {"id": 1}),
        ("campaigns.undecide", {"id": 1}),
        ("cases.snooze", {"id": 77, "until": 0}),
        ("cases.snooze", {"id": 1, "until": 1.0}),
        ("cases.snooze", {"id": 1, "until": 1e300}),
        ("cases.note", {"id": 77, "text": "x"}),
        ("cases.note", {"id": 1, "text": " "}),
        ("cases.note", {"id": 1, "text": "x" * 2_001}),
        ("campaigns.list", {"most": 100_000}),
        ("campaigns.list", {"after": -1}),
    ],
)
def test_what_is_no_order_is_refused_plainly(
    site: SpokenSite, name: str, asked: dict[str, object]
) -> None:
    with pytest.raises((CallError, msgspec.ValidationError)):
        site.ask(name, **asked)


def test_a_case_is_put_off_and_woken(site: SpokenSite) -> None:
    stores, until = site.stores(), time.time() + 3600
    site.ask("cases.snooze", JOE, id=1, until=until, dry=True)
    assert site.stores() == stores
    site.ask("campaigns.take", JOE, id=1)
    done = site.ask("cases.snooze", JOE, id=1, until=until, reason="asked their desk")
    assert done["snooze"] == {"by": "joe", "until": until}
    assert [one["summary"]["id"] for one in site.ask("campaigns.list")["campaigns"]] == [2]
    settled = site.ask("campaigns.list", settled=True)["campaigns"]
    assert settled[0]["snooze"]["by"] == "joe"
    assert settled[0]["lock"] is None, "it is given back"
    again = site.ask("cases.snooze", KIM, id=1, until=until + 60)
    site.ask(again["undo"]["call"], KIM, **again["undo"]["asked"])
    assert site.ask("campaigns.show", id=1)["case"]["snooze"]["until"] == until
    site.ask("cases.snooze", KIM, id=1, until=0)
    assert len(site.ask("campaigns.list")["campaigns"]) == 2


def test_notes_stand_beside_a_case(site: SpokenSite) -> None:
    stores = site.stores()
    site.ask("cases.note", JOE, id=1, text="x", dry=True)
    assert site.stores() == stores
    assert site.ask("campaigns.show", id=1)["notes"] == []
    site.ask("cases.note", JOE, id=1, text=" a shop that\nmoved \u202e")
    site.ask("cases.note", KIM, id=2, text="other")
    (note,) = site.ask("campaigns.show", id=1)["notes"]
    assert (note["by"], note["text"]) == ("joe", "a shop that\nmoved \u202e")


def test_a_campaign_has_bars_of_what_was_said(site: SpokenSite) -> None:
    shown = site.ask("campaigns.show", id=1)
    assert shown["by_hour"] is True
    assert len(shown["bars"]) == 24
    assert shown["bars"][-1]["time"] <= time.time() < shown["bars"][-1]["time"] + 3600
    last = shown["bars"][-1]
    assert (last["copies"], last["complaints"], last["pardons"]) == (0, 2, 1)


@pytest.mark.parametrize("verdict", ["spam", "good", "newsletter"])
@pytest.mark.parametrize("teach", [True, False])
@pytest.mark.parametrize("withdraw", [True, False])
def test_each_effect_is_chosen_and_undone_by_itself(
    site: SpokenSite, verdict: str, teach: bool, withdraw: bool
) -> None:
    before = believed(site)
    chosen = {"verdict": verdict, "teach": teach, "withdraw": withdraw}
    done = site.ask("campaigns.decide", JOE, id=1, **chosen)
    assert bool(done["taught"]) is (teach and verdict != "newsletter")
    assert bool(done["events"]) is withdraw
    assert believed(site) == before or withdraw
    waiting = [one["summary"]["id"] for one in site.ask("campaigns.list")["campaigns"]]
    assert waiting == [2], "what is decided waits for something new"
    site.ask("campaigns.undecide", JOE, id=1)
    assert (believed(site), labels(site)) == (before, [])
    assert len(site.ask("campaigns.list")["campaigns"]) == 2


def test_what_is_said_after_a_decision_brings_a_case_back(site: SpokenSite) -> None:
    site.ask("campaigns.decide", JOE, id=1, verdict="newsletter")
    site.say(site.lunch, "zoe@z.example", COMPLAINT)
    assert len(site.ask("campaigns.list")["campaigns"]) == 2


def test_two_who_decide_at_once_are_told(tmp_path: Path) -> None:
    with CaseStore(tmp_path / state_files.CASES) as store:
        more = {"by": "joe", "reason": "", "withdrawn": [], "now": 1.0}
        store.begin(b"log", 1, CaseVerdict.SPAM, **more)  # type: ignore[arg-type]
        store.begin(b"other log", 1, CaseVerdict.SPAM, **more)  # type: ignore[arg-type]
        with pytest.raises(Exception, match="decided by somebody else meanwhile"):
            store.begin(b"log", 1, CaseVerdict.GOOD, **more)  # type: ignore[arg-type]
