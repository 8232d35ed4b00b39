"""Signatures as a page shows them: some at a time, by what became of them; tried before they are
added; found in mail that people pardon.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.desk.refusals import NothingDoneError, UnknownNameError, UnusableValueError
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind
from oborona.policy.signatures import Signature, SignatureFlag, SignatureKind
from oborona.stores.signatures.hit_counts import DAY_S, DAYS
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.types import RuleMode
from tests.cli.journaled import LOTTERY, LUNCH
from tests.desk.spoken_site import ANN, BOB, SpokenSite

FILED = """
[[signature]]
name = "PILLS"
flag = "spam"
value = "cheap 100%_pills"
owner = "files"

[[signature]]
name = "MONEY"
flag = "mark"
value = "money words"
"""


def signature(value: str, **more: Any) -> Signature:
    return Signature(
        id="s1", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE, value=value, **more
    )


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    """Six signatures of the store and two of a file, found at different times."""
    spoken, now = SpokenSite(tmp_path, [FILED]), time.time()
    old = now - 40 * DAY_S
    with SignatureStore(spoken.state / state_files.SIGNATURES) as store:
        store.add(
            [
                signature("golden parrot", created=old, owner="anna"),
                signature("blue parrot", created=now, mode=RuleMode.SHADOW),
                signature("green 100%_parrot", created=old, expires=now + 60),
                signature("red parrot", created=old, expires=old + 60),
                signature("white parrot", created=old),
                signature("black parrot", created=old),
            ],
            now=now,
        )
        store.decide("s6", SignatureState.REMOVED, by="kim", now=now)
        store.add_hits({"s1": (3, now), "s3": (9, now), "PILLS": (5, now)})
        store.add_hits({"s1": (2, now - 3 * DAY_S), "s5": (7, now - 35 * DAY_S)})
    return spoken


def found(site: SpokenSite, **asked: Any) -> tuple[list[str], int]:
    answer = site.ask("signatures.find", **asked)
    return [one["signature"]["id"] for one in answer["signatures"]], answer["number"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["s5", "s3", "s2", "s1", "PILLS"]),
        ({"view": "found"}, ["s3", "s1", "PILLS"]),
        ({"view": "shadow"}, ["s2"]),
        ({"view": "stale"}, ["s5"]),
        ({"view": "ending"}, ["s3"]),
        ({"view": "over"}, ["s4"]),
        ({"text": "PARROT"}, ["s5", "s3", "s2", "s1"]),
        ({"text": "100%_p"}, ["s3", "PILLS"]),
        ({"text": "%"}, ["s3", "PILLS"]),
        ({"text": " s1 "}, ["s1"]),
        ({"text": "pills"}, ["PILLS"]),
        ({"owner": "anna"}, ["s1"]),
        ({"owner": "files"}, ["PILLS"]),
        ({"flag": "mark", "text": "money words"}, ["MONEY"]),
        ({"flag": "ham"}, []),
        ({"text": "\x00\udcff'; DROP".encode("utf-8", "replace").decode()}, []),
    ],
)
def test_each_view_has_what_it_says(
    site: SpokenSite, asked: dict[str, Any], names: list[str]
) -> None:
    assert found(site, **asked) == (names, len(names))
    pages = [found(site, **asked, skip=skip, most=1) for skip in range(len(names) + 1)]
    assert [name for page, _ in pages for name in page] == names
    assert {number for _, number in pages} == {len(names)}


def test_hits_are_told_by_the_day_and_in_all(site: SpokenSite) -> None:
    rows = {
        one["signature"]["id"]: (one["today"], one["fortnight"], one["total"], one["stale"])
        for one in site.ask("signatures.find")["signatures"]
    }
    assert rows["s1"] == (3, 5, 5, False)
    assert rows["s5"] == (0, 0, 7, True)
    assert rows["PILLS"] == (5, 5, 5, False)
    with SignatureStore(site.state / state_files.SIGNATURES) as store:
        store.add_hits({"s1": (1, time.time() + DAYS * DAY_S)})
        assert {day for (day,) in store.rows("SELECT day FROM day_hits")} == {
            int(time.time() // DAY_S) + DAYS
        }, "days that are over are forgotten"


def test_what_is_exported_is_what_is_imported(site: SpokenSite) -> None:
    exported = site.ask("signatures.content")
    assert exported["number"] == 5
    again = site.ask(
        "signatures.import", content=exported["content"].encode(), reason="r", dry=True
    )
    assert (again["added"], again["passed_over"]) == (5, [])


@pytest.mark.parametrize(
    ("value", "kind", "numbers"),
    [
        ("one.example", "domain", (1, 1, 2, 1, False)),
        ("https://two.example/", "url", (1, 1, 2, 1, False)),
        ("other.example", "domain", (1, 0, 2, 0, False)),
        ("lunch", "pattern", (1, 0, 2, 1, True)),
        ("won the lottery", "phrase", (1, 1, 2, 0, True)),
    ],
)
def test_one_is_looked_for_in_mail_that_is_known(
    site: SpokenSite, value: str, kind: str, numbers: tuple[object, ...]
) -> None:
    site.say(site.lottery, BOB, EventKind.PARDON, raw=LOTTERY)
    site.say(site.lunch, ANN, EventKind.COMPLAINT, raw=LUNCH)
    with EventLog(site.state / state_files.EVENTS) as log, log.transaction() as db:
        db.execute("UPDATE event SET counts = 1")
    order = {"value": value, "kind": kind, "look": True, "reason": "r", "most": 0.1}
    stores = site.stores()
    tried = site.ask("signatures.add", **order, dry=True)["trial"]
    assert site.stores() == stores
    names = ("kept", "kept_having", "newest", "having", "words_only")
    assert tuple(tried[name] for name in names) == numbers
    assert tried["accepted"] == tried["having"] == len(tried["examples"])
    assert tried["complete"]
    if numbers[1]:
        with pytest.raises(NothingDoneError, match="1 of 1 good messages that are kept"):
            site.ask("signatures.add", **order)
        assert site.stores() == stores
        assert site.ask("signatures.add", **order | {"flag": "ham"})["new"]
    else:
        assert site.ask("signatures.add", **order)["new"]


def test_a_trial_goes_on_without_journal_and_log(site: SpokenSite) -> None:
    (site.state / state_files.JOURNAL).write_bytes(b"no journal" * 1000)
    tried = site.ask("signatures.add", value="golden hen", look=True, reason="r", dry=True)
    assert (tried["trial"]["newest"], tried["trial"]["complete"]) == (0, False)
    assert "the newest messages were not looked at" in site.notices[-1]


def test_pardoned_mail_names_its_signatures(site: SpokenSite) -> None:
    nothing = site.ask("signatures.pardoned")
    assert nothing == {"signatures": [], "pardons": 0, "complete": True}
    site.say(site.lunch, ANN, EventKind.PARDON)
    with EventLog(site.state / state_files.EVENTS) as log, log.transaction() as db:
        db.execute("UPDATE event SET counts = 1")
    assert site.ask("signatures.pardoned")["pardons"] == 1
    assert site.ask("signatures.pardoned")["signatures"] == []


@pytest.mark.parametrize("rule", ["", 'mode = "shadow"', "score = 3"])
def test_a_signature_of_pardoned_mail_is_named(tmp_path: Path, rule: str) -> None:
    filed = f'[[signature]]\nname = "PARROTS"\nflag = "spam"\nvalue = "your own spoon"\n{rule}\n'
    site = SpokenSite(tmp_path, [filed])
    site.say(site.lunch, ANN, EventKind.PARDON)
    with EventLog(site.state / state_files.EVENTS) as log, log.transaction() as db:
        db.execute("UPDATE event SET counts = 1")
    told = site.ask("signatures.pardoned")
    assert told["signatures"] == [{"id": "PARROTS", "messages": 1, "examples": [site.lunch]}]


def test_one_is_put_on_trial_and_back(site: SpokenSite) -> None:
    stores = site.stores()
    site.ask("signatures.mode", name="s1", mode="shadow", reason="r", dry=True)
    assert site.stores() == stores
    done = site.ask("signatures.mode", name="s1", mode="shadow", reason="r")
    assert (done["before"], site.ask("signatures.show", name="s1")["signature"]["mode"]) == (
        "live", "shadow"
    )  # fmt: skip
    with pytest.raises(NothingDoneError, match="s1 is shadow already"):
        site.ask("signatures.mode", name="s1", mode="shadow", reason="r")
    site.ask(done["undo"]["call"], **done["undo"]["asked"], reason="r")
    assert site.ask("signatures.show", name="s1")["signature"]["mode"] == "live"
    with pytest.raises(UnknownNameError):
        site.ask("signatures.mode", name="s99", mode="live", reason="r")


def test_what_was_declined_waits_again_and_is_accepted_on_trial(site: SpokenSite) -> None:
    with SignatureStore(site.state / state_files.SIGNATURES) as store:
        store.add([signature("pink parrot")], now=1.0, state=SignatureState.PROPOSED)
    declined = site.ask("signatures.decline", names=["s7"], reason="r")
    with pytest.raises(UnusableValueError, match="it is active"):
        site.ask("signatures.reopen", names=["s1"], reason="r")
    site.ask(declined["undo"]["call"], **declined["undo"]["asked"], reason="r")
    assert [one["id"] for one in site.ask("signatures.proposals")["proposals"]] == ["s7"]
    site.ask("signatures.accept", names=["s7"], mode="shadow", reason="r")
    shown = site.ask("signatures.show", name="s7")
    assert (shown["state"], shown["signature"]["mode"]) == ("active", "shadow")
