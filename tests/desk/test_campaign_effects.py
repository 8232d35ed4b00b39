"""What a decision of a campaign does beside labels: signatures, reputations, moves; and one undo
takes all of it back, also what a process that was killed has left.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.desk.call import CallError, NotAllowedError
from oborona.feedback.cases.effects import EffectLedger
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind
from oborona.people.caller import Caller
from oborona.people.rights import Right, Role
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind
from oborona.recheck.moves import MoveStore
from oborona.stores.pins.store import PinStore
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from tests.cli.journaled import LOTTERY
from tests.desk.spoken_site import ANN, BOB, SpokenSite, caller

SIGNED = '[[rule]]\nname = "SIGNED"\nwhen = "len(signatures.spam) > 0"\nscore = 100\n'
NETWORK, LINK = "198.51.100.0/24", "link:one.example"
JOE, KIM = caller(Role.ANALYST, name="joe"), caller(Role.ANALYST, name="kim")
DOMAIN = {"kind": "domain", "value": "one.example"}
WHOLE = {"signatures": [DOMAIN], "mode": "live", "pins": [NETWORK, LINK], "recheck": True}


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    """One complains of a message with links, for which a signature is proposed; it was let in."""
    spoken = SpokenSite(tmp_path, [SIGNED])
    spoken.say(spoken.lottery, ANN, EventKind.COMPLAINT, raw=LOTTERY)
    proposal = Signature(
        id="s1", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE,
        value="you won the lottery", owner="feedback", author="feedback", created=5.0,
    )  # fmt: skip
    with SignatureStore(spoken.state / state_files.SIGNATURES) as store:
        evidence = [{"support": 3, "of": 4}]
        store.add([proposal], now=5.0, state=SignatureState.PROPOSED, evidence=evidence)
    with EventLog(spoken.state / state_files.EVENTS) as log, log.transaction() as db:
        db.execute("UPDATE campaign SET proposals = 's1' WHERE id = 1")
    return spoken


def standing(site: SpokenSite) -> dict[str, Any]:
    """Return what is in force of signatures, reputations, moves and labels, with who said it."""
    labels: list[Any] = []
    if (site.state / state_files.FEEDBACK).exists():
        labels = [one for one in site.ask("model.words")["labels"] if one["state"] != "taken-back"]
    with SignatureStore(site.state / state_files.SIGNATURES) as signatures:
        alive = (SignatureState.ACTIVE, SignatureState.PROPOSED)
        records = [msgspec.structs.replace(one, changed=0) for one in signatures.all(*alive)]
    with PinStore(site.state / state_files.PINS) as store:
        pins = {pin.name: (pin, store.standing(pin.shingle, time.time())) for pin in store.all(0)}
    with MoveStore(site.state / state_files.MOVES) as moves:
        moved = [move.id for move in moves.since(0) if move.state in ("decided", "issued", "done")]
    return {"signatures": records, "pins": pins, "moves": moved, "labels": labels}


def decide(site: SpokenSite, who: Caller = JOE, /, **more: Any) -> Any:
    return site.ask("campaigns.decide", who, **{"id": 1, "verdict": "spam", "reason": "r", **more})


def states(answer: Any) -> list[tuple[str, str]]:
    return [(one["kind"], one["state"]) for one in answer["effects"]]


def test_what_all_messages_share_is_offered(site: SpokenSite) -> None:
    site.ask("reputation.set", KIM, entity=LINK, flag="poor", reason="seen before")
    offers = site.ask("campaigns.offers", JOE, id=1)
    assert (offers["messages"], offers["complete"]) == (1, True)
    first, *others = offers["signatures"]
    assert (first["proposal"], first["value"], first["evidence"]) == (
        "s1", "you won the lottery", [3, 4]
    )  # fmt: skip
    assert ("domain", "one.example") in [(one["kind"], one["value"]) for one in others]
    pins = {one["entity"]: one["pin"] and one["pin"]["flag"] for one in offers["pins"]}
    assert (pins[NETWORK], pins[LINK]) == (None, "poor")
    # what a message of it lacks is not offered
    site.say(site.lunch, BOB, EventKind.COMPLAINT)
    with EventLog(site.state / state_files.EVENTS) as log, log.transaction() as db:
        db.execute("UPDATE event SET campaign = 1")
    offers = site.ask("campaigns.offers", JOE, id=1)
    assert offers["messages"] == 2
    assert [one["proposal"] for one in offers["signatures"]] == ["s1"]
    assert [one["entity"] for one in offers["pins"]] == [NETWORK, "198.51.100.7"]


def test_all_of_it_is_previewed_done_and_taken_back_at_once(site: SpokenSite) -> None:
    site.ask("reputation.set", KIM, entity=LINK, flag="poor", reason="seen before", until=4e9)
    before, stores = standing(site), site.stores()
    wanted = {**WHOLE, "proposals": ["s1"], "pinned_until": time.time() + 86_400}
    preview = decide(site, dry=True, further=wanted)
    assert site.stores() == stores
    told = {(one["kind"], one["about"]): one for one in preview["effects"]}
    assert list(told) == [
        ("signature", "one.example"), ("proposal", "you won the lottery"),
        ("pin", NETWORK), ("pin", LINK), ("moves", ""),
    ]  # fmt: skip
    assert (told["pin", LINK]["before"], told["pin", LINK]["flag"]) == ("poor", "bad")
    assert (told["moves", ""]["messages"], told["moves", ""]["copies"]) == (1, 1)
    done = decide(site, further=wanted)
    assert {state for _, state in states(done)} == {"done"}
    now = standing(site)
    assert [(one.signature.value, one.state) for one in now["signatures"]] == [
        ("you won the lottery", "active"), ("one.example", "active"),
    ]  # fmt: skip
    assert [pin.flag for pin, _ in now["pins"].values()] == ["bad", "bad"]
    assert len(now["moves"]) == 1
    assert states(site.ask("campaigns.show", JOE, id=1)) == states(done)
    stores = site.stores()
    tried = site.ask("campaigns.undecide", KIM, id=1, dry=True)
    assert site.stores() == stores
    undone = site.ask("campaigns.undecide", KIM, id=1)
    assert {state for _, state in states(undone)} == {"undone"}
    assert tried["effects"] == undone["effects"]
    assert standing(site) == before
    with PinStore(site.state / state_files.PINS) as store:
        assert [(one.by, one.what) for one in store.changes(limit=2)] == [
            ("kim", "clear"), ("kim", "pin"),
        ]  # fmt: skip


class _Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("after", range(12))
def test_what_a_killed_process_has_left_is_taken_back(
    site: SpokenSite, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """It is killed before, and behind, each effect that is written: also while it takes back."""
    site.ask("reputation.set", KIM, entity=LINK, flag="poor", reason="seen before")
    before, left = standing(site), [after]

    def killed(function: Any) -> Any:
        def step(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise _Killed
            return function(*args, **more)

        return step

    with monkeypatch.context() as patched:
        patched.setattr(EffectLedger, "note", killed(EffectLedger.note))
        for kind, name in ((SignatureStore, "add"), (PinStore, "put"), (MoveStore, "decide")):
            patched.setattr(kind, name, killed(getattr(kind, name)))
        try:
            decide(site, further={**WHOLE, "proposals": ["s1"]})
            assert after > 8
            left[0] = after - 9
            site.ask("campaigns.undecide", JOE, id=1)
        except _Killed:
            pass
    if site.ask("campaigns.show", JOE, id=1)["case"]["decision"] is not None:
        site.ask("campaigns.undecide", KIM, id=1)
    assert standing(site) == before


def test_what_somebody_changed_since_stays_and_is_told(site: SpokenSite) -> None:
    decide(site, further={**WHOLE, "recheck": False, "proposals": ["s1"]})
    site.ask("reputation.set", KIM, entity=NETWORK, flag="poor", reason="they are sorry")
    site.ask("reputation.clear", KIM, entity=LINK, reason="no")
    site.ask("signatures.mode", KIM, name="s2", mode="shadow", reason="not sure")
    undone = site.ask("campaigns.undecide", JOE, id=1)
    told = {one["about"]: (one["state"], one["say"]) for one in undone["effects"]}
    assert told == {
        "one.example": ("left", "s2 was changed since, and stays as it is"),
        "you won the lottery": ("undone", ""),
        NETWORK: ("left", "kim has set it to poor since"),
        LINK: ("left", "it was cleared since"),
    }
    now = standing(site)
    assert [(pin.flag, pin.by) for pin, _ in now["pins"].values()] == [("poor", "kim")]
    assert [(one.signature.id, one.signature.mode) for one in now["signatures"]] == [
        ("s1", "live"), ("s2", "shadow"),
    ]  # fmt: skip


@pytest.mark.parametrize("first", [1, 2])
def test_two_decisions_on_one_entity_leave_what_was_before_both(
    site: SpokenSite, first: int
) -> None:
    site.say(site.lunch, BOB, EventKind.COMPLAINT)
    site.ask("reputation.set", KIM, entity=NETWORK, flag="poor", reason="seen before")
    before = standing(site)["pins"]
    decide(site, further={"pins": [NETWORK]})
    decide(site, id=2, verdict="good", further={"pins": [NETWORK]})
    site.ask("campaigns.undecide", JOE, id=first)
    assert standing(site)["pins"][NETWORK][0].flag == ("good" if first == 1 else "bad")
    site.ask("campaigns.undecide", JOE, id=3 - first)
    assert standing(site)["pins"] == before


def test_a_pin_that_is_over_gives_way_to_the_one_before(
    site: SpokenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.ask("reputation.set", KIM, entity=NETWORK, flag="poor", reason="seen before")
    before, later = standing(site)["pins"], time.time() + 3_600
    decide(site, further={"pins": [NETWORK], "pinned_until": time.time() + 60})
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: later)
        undone = site.ask("campaigns.undecide", JOE, id=1)
        assert states(undone) == [("pin", "undone")]
        assert standing(site)["pins"] == before


@pytest.mark.parametrize(
    ("further", "right"),
    [
        ({"signatures": [DOMAIN]}, Right.SIGNATURE),
        ({"proposals": ["s1"]}, Right.SIGNATURE),
        ({"pins": [NETWORK]}, Right.ENTITY),
        ({"recheck": True}, Right.MOVE),
    ],
)
def test_each_effect_needs_the_right_to_do_it_alone(
    site: SpokenSite, further: dict[str, Any], right: Right
) -> None:
    lacking = msgspec.structs.replace(JOE, roles=frozenset(), rights=JOE.rights - {right})
    stores = site.stores()
    for dry in (True, False):
        with pytest.raises(NotAllowedError, match=f"needs the right {right}"):
            decide(site, lacking, further=further, dry=dry)
    assert site.stores() == stores
    decide(site, further=further)
    if further != {"recheck": True}:  # nothing was moved: there is nothing to take back
        with pytest.raises(NotAllowedError, match=f"needs the right {right}"):
            site.ask("campaigns.undecide", lacking, id=1)
    site.ask("campaigns.undecide", JOE, id=1)


@pytest.mark.parametrize(
    ("verdict", "further", "why"),
    [
        ("good", {"signatures": [DOMAIN]}, "for spam alone"),
        ("newsletter", {"pins": [NETWORK]}, "no reputation is set"),
        ("spam", {"signatures": [{"kind": "domain", "value": "com"}]}, "suffix"),
        ("spam", {"signatures": [{"kind": "pattern", "value": "(" * 50}]}, "[a-z]"),
        ("spam", {"signatures": [DOMAIN] * 21}, "length"),
        ("spam", {"proposals": ["s9"]}, "no signature"),
        ("spam", {"proposals": ["\x1b[2J"]}, "no signature"),
        ("spam", {"pins": ["x" * 10**5]}, "no entity"),
        ("spam", {"pins": ["list:news.a.example"]}, "nothing is decided by"),
        ("spam", {"pins": [NETWORK], "pinned_until": 1.0}, "past"),
        ("spam", {"pins": [NETWORK], "pinned_until": 1e300}, "<="),
        ("spam", {"boring": 1}, "unknown field"),
    ],
)
def test_what_can_not_be_done_is_refused_before_anything_is(
    site: SpokenSite, verdict: str, further: dict[str, Any], why: str
) -> None:
    stores = site.stores()
    for dry in (True, False):
        with pytest.raises((CallError, msgspec.ValidationError), match=why) as told:
            decide(site, verdict=verdict, further=further, dry=dry)
        assert len(str(told.value)) < 600
    assert site.stores() == stores


def test_what_kept_good_mail_has_is_no_signature(site: SpokenSite) -> None:
    site.say(site.lottery, BOB, EventKind.PARDON, raw=LOTTERY)
    with EventLog(site.state / state_files.EVENTS) as log, log.transaction() as db:
        db.execute("UPDATE event SET counts = 1 WHERE what = 'pardon'")
    with pytest.raises(CallError, match="1 of 1 good messages that are kept"):
        decide(site, further={"signatures": [DOMAIN]})


def test_what_is_there_already_is_not_added_and_stays(site: SpokenSite) -> None:
    site.ask("signatures.add", KIM, value="one.example", kind="domain", reason="r")
    done = decide(site, further={"signatures": [DOMAIN]})
    assert done["effects"] == []
    site.ask("campaigns.undecide", JOE, id=1)
    assert [one.signature.value for one in standing(site)["signatures"]][-1] == "one.example"


def test_a_store_that_was_begun_anew_hinders_no_undo(site: SpokenSite) -> None:
    decide(site, further={**WHOLE, "proposals": ["s1"]})
    for name in (state_files.SIGNATURES, state_files.PINS, state_files.MOVES):
        for path in site.state.glob(f"{name}*"):
            path.unlink()
    undone = site.ask("campaigns.undecide", KIM, id=1)
    assert {state for _, state in states(undone)} <= {"undone", "left"}
    assert site.ask("campaigns.show", KIM, id=1)["case"]["decision"] is None
