"""Which final model decides after a report: histories of a site, day by day."""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.policy.models.final.choice import NO_CHOICE, FinalChoice, ShippedStanding
from oborona.policy.models.final.comparison import ComparisonResult, PairedComparison
from oborona.policy.models.final.succession import (
    REST_S,
    FinalSuccession,
    TrainingReport,
    succession,
)

DAY = 86_400.0
BETTER = PairedComparison(spam=100, ham=500, gained=20)
SAME = PairedComparison(spam=100, ham=500)
WORSE = PairedComparison(spam=100, ham=500, lost=5)
FEW = PairedComparison()


class History:
    """A site whose model is trained each day."""

    def __init__(self) -> None:
        self.day = 0
        self.installed = ""
        self.choice = NO_CHOICE
        self.worse_at = 0.0
        self.held = False

    def train(self, comparison: PairedComparison, **found: Any) -> FinalSuccession:
        self.day += 1
        report = TrainingReport(
            at=1e9 + self.day * DAY,
            trained=f"v{self.day}",
            comparison=comparison,
            in_force=self.installed,
            **found,
        )
        result = succession(self.choice, report, held=self.held, worse_at=self.worse_at)
        self.choice = result.choice
        if result.installs:
            self.installed = report.trained
        if result.worse:
            self.worse_at = report.at
        return result


def test_the_results_are_what_they_are_called() -> None:
    named = {BETTER: "better", SAME: "same", WORSE: "worse", FEW: "few"}
    assert {one: one.result for one in named} == {
        one: ComparisonResult(name) for one, name in named.items()
    }


def test_a_better_model_takes_over_and_says_why() -> None:
    site = History()
    for comparison in (FEW, SAME, WORSE):
        assert not site.train(comparison).installs
        assert site.choice == NO_CHOICE
    assert site.train(BETTER).installs
    assert site.choice.own == site.installed == "v4"
    assert "catches" in site.choice.why


def test_between_better_and_worse_nothing_changes() -> None:
    site = History()
    site.train(BETTER)
    before = site.choice
    for comparison in (SAME, FEW, SAME, WORSE):
        result = site.train(comparison, since=SAME)
        assert not result.installs
        assert not result.worse
        assert site.choice == before, "the file of the choice stays as it is, and its time"


def test_one_in_force_that_became_worse_goes_into_shadow_and_another_waits() -> None:
    site = History()
    site.train(BETTER)
    result = site.train(SAME, since=WORSE)
    assert result.worse
    assert site.choice.own == ""
    assert site.choice.why.startswith("worse on newer mail")
    fell = site.day
    while (site.day - fell + 1) * DAY < REST_S:
        assert not site.train(BETTER).installs, "it does not go in and out of force"
    assert site.train(BETTER).installs


def test_a_drifting_site_is_not_taken_over_by_yesterdays_mail() -> None:
    site = History()
    assert not site.train(BETTER, newest=WORSE).installs


def test_a_better_one_takes_the_place_of_a_worse_one_at_once() -> None:
    site = History()
    site.train(BETTER)
    result = site.train(BETTER, since=WORSE)
    assert result.installs
    assert not result.worse
    assert site.choice.own == "v2"


def test_what_a_person_installed_stays_and_decides_when_it_is_found_better() -> None:
    site = History()
    site.installed, site.held = "theirs", True
    assert not site.train(BETTER, since=SAME).installs
    assert site.choice.own == ""
    site.train(BETTER, since=BETTER)
    assert site.choice.own == site.installed == "theirs"
    site.train(BETTER, since=WORSE)
    assert site.choice.own == ""
    assert site.installed == "theirs"


def standings(*found: tuple[PairedComparison, PairedComparison]) -> list[ShippedStanding]:
    choice, told = FinalChoice(), []
    for number, (confirming, refuting) in enumerate(found):
        report = TrainingReport(
            at=number + 1.0, shipped="s", confirming=confirming, refuting=refuting
        )
        choice = succession(choice, report, held=False, worse_at=0.0).choice
        told.append(choice.shipped)
    return told


def test_the_shipped_model_is_confirmed_refuted_and_confirmed_again() -> None:
    assert standings((FEW, FEW), (SAME, FEW), (BETTER, FEW), (SAME, FEW), (FEW, FEW)) == [
        "unproved", "unproved", "confirmed", "confirmed", "confirmed",
    ]  # fmt: skip
    assert standings((BETTER, SAME), (BETTER, WORSE), (SAME, SAME), (BETTER, SAME)) == [
        "confirmed", "refuted", "refuted", "confirmed",
    ]  # fmt: skip
    assert standings((BETTER, SAME), (WORSE, SAME)) == ["confirmed", "unproved"]


def test_what_was_said_of_another_shipped_model_is_not_said_of_this_one() -> None:
    before = FinalChoice(shipped=ShippedStanding.REFUTED, shipped_version="old")
    report = TrainingReport(at=1.0, shipped="new")
    choice = succession(before, report, held=False, worse_at=0.0).choice
    assert (choice.shipped, choice.shipped_version) == (ShippedStanding.UNPROVED, "new")
    assert msgspec.structs.replace(choice, at=0.0).own == ""
