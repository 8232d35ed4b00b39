"""Which final model decides from now on, by the reports of an automatic training: pure.

    the one that was just trained   takes the place of the one before, and decides, where it was
                                    found better than what stands without it, and not worse on the
                                    newest of that mail
    the one in force                goes on until it is found worse on mail that came after it was
                                    trained; then it is in shadow, and for `REST_S` no other is put
                                    in its place
    what a person installed         is never replaced; it decides from when it is found better
    the one that comes with         is confirmed where it catches more than the rules alone and
    Oborona                         loses no more, with the points that it gets then; refuted where
                                    people's word says that it loses what the rules do not

Between better and worse nothing changes: what is found the same today and better tomorrow does not
go in and out of force.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.policy.models.final.choice import FinalChoice, ShippedStanding
from oborona.policy.models.final.comparison import ComparisonResult, PairedComparison

REST_S: Final = 7 * 86_400.0  # after a model was found worse: a week of mail that it did not see


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a training by itself found; empty versions: there is no such model."""

    at: float  # Unix seconds
    spam: int = 0  # messages that it learned from
    ham: int = 0
    trained: str = ""  # version of the model that was trained
    why_not: str = ""  # why none was
    held_back: float = 0.0  # log-odds that it was lowered by, so that it loses no more good mail
    # against what stands without it, on mail that came after
    comparison: PairedComparison = PairedComparison()
    newest: PairedComparison = PairedComparison()  # the same of the last part of that mail alone
    in_force: str = ""  # version of the site's own model that is in force
    since: PairedComparison = PairedComparison()  # of that, on mail that came after it was trained
    shipped: str = ""  # version of the model that adds to the rules
    confirming: PairedComparison = PairedComparison()  # rules with all that it may add, and without
    refuting: PairedComparison = PairedComparison()  # with what it adds now; people's own word


class FinalSuccession(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a report."""

    choice: FinalChoice
    installs: bool = False  # the model that was trained takes the place of the one before
    worse: bool = False  # the one in force was found worse


def succession(
    before: FinalChoice, report: TrainingReport, *, held: bool, worse_at: float
) -> FinalSuccession:
    """Return which models decide after a report.

    Args:
        before: which did until now.
        report: of the training.
        held: a person chose what is installed: nothing takes its place.
        worse_at: Unix seconds, when a model in force was last found worse; 0 = never.

    Guarantees: a choice that says the same of the same models is the one before, as it is.
    """
    standing = shipped_standing(before, report)
    installs = (
        not held
        and report.trained != ""
        and report.comparison.result is ComparisonResult.BETTER
        and report.newest.result is not ComparisonResult.WORSE
        and report.at - worse_at >= REST_S
    )
    decided = before.own == report.in_force != ""
    since = report.since.result
    worse = decided and since is ComparisonResult.WORSE
    if installs:
        own, why = report.trained, told(report.comparison)
    elif worse:
        own, why = "", f"worse on newer mail: {told(report.since)}"
    elif decided or (report.in_force and since is ComparisonResult.BETTER):
        own, why = report.in_force, told(report.since)
    else:
        own, why = "", ""
    choice = FinalChoice(
        own=own,
        shipped=standing,
        shipped_version=report.shipped,
        at=report.at,
        why=why or _of_shipped(standing, report),
    )
    said = (choice.own, choice.shipped, choice.shipped_version)
    if said == (before.own, before.shipped, before.shipped_version):
        choice = before
    return FinalSuccession(choice=choice, installs=installs, worse=worse and not installs)


def shipped_standing(before: FinalChoice, report: TrainingReport) -> ShippedStanding:
    """Return what the site's own mail says of the model that comes with Oborona."""
    if not report.shipped:
        return ShippedStanding.UNPROVED
    if report.refuting.result is ComparisonResult.WORSE:
        return ShippedStanding.REFUTED
    known = before.shipped_version == report.shipped
    if report.confirming.result is ComparisonResult.BETTER:
        return ShippedStanding.CONFIRMED
    if known and before.shipped is ShippedStanding.CONFIRMED:
        lost_more = report.confirming.result is ComparisonResult.WORSE
        return ShippedStanding.UNPROVED if lost_more else ShippedStanding.CONFIRMED
    return before.shipped if known else ShippedStanding.UNPROVED


def told(comparison: PairedComparison) -> str:
    """Return a comparison in one line, for people."""
    return (
        f"catches {comparison.first_caught:.1%} of the spam for {comparison.second_caught:.1%} "
        f"without it, loses {comparison.first_lost:.2%} of the good mail for "
        f"{comparison.second_lost:.2%} ({comparison.spam} and {comparison.ham} campaigns)"
    )


def _of_shipped(standing: ShippedStanding, report: TrainingReport) -> str:
    if standing is ShippedStanding.REFUTED:
        return f"the model that comes with Oborona {told(report.refuting)}"
    return f"the model that comes with Oborona {told(report.confirming)}"
