"""One round of the training: from the site's own mail to a report, and to a model if one can be
trained.

    the site's mail, in order → what rules and the model that comes with Oborona make of it
    → forward-chained training → the line → the same mail by the trained model → report

The line: a model is held back as little as it takes to lose no more of the good mail than is lost
without it, and a margin more: what its trees add for spam is lowered, down to nothing, and what the
others say is left as it is.  Found on earlier parts of the mail for the part that is judged, on all
judged mail for the model itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona import state_files
from oborona.daemon.final_trainer.labels import LabelSign
from oborona.daemon.final_trainer.site_mail import (
    ShippedPart,
    SiteMail,
    SiteMessage,
    site_mail,
)
from oborona.errors import OboronaError
from oborona.feedback.final.train import NotTrainable, TrainingResult, train
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy
from oborona.policy.models.final.comparison import PairedVerdict, compare
from oborona.policy.models.final.file import decode, encode, version
from oborona.policy.models.final.law import log_odds, part, score_of
from oborona.policy.models.final.model import MOST_ODDS, Forest, held_back, most_added
from oborona.policy.models.final.succession import TrainingReport
from oborona.stores.final_model import read_first, shipped_paths, standing_of
from oborona.stores.final_training_record import readable_choice

MOST_HELD: Final = 12.0  # log-odds by which a model may be held back; then it files nothing
STEP: Final = 0.25
MARGIN: Final = 0.5  # log-odds, eleven points: good mail of tomorrow lies beside that of today


class TrainingRound(NamedTuple):
    """What a round found."""

    report: TrainingReport
    model: bytes  # file of the model that was trained; empty = none was
    training: TrainingResult | None  # for the page
    mail: SiteMail
    signs: dict[str, tuple[int, int]]  # by how people told: messages of spam, and good ones


class _Line(NamedTuple):
    """What a message's score without the site's own model is, and whether it is filed."""

    rules: bool
    now: bool  # with the model that comes with Oborona, as it may add now
    confirmed: bool  # with all that it may add once it is confirmed


def run_round(state: Path, policy: Policy, *, most: int, now: float) -> TrainingRound:
    """Return what a round finds; nothing of the site is changed.

    Args:
        state: the state folder.
        policy: in force.
        most: messages.
        now: Unix seconds.

    Raises:
        StoreError: a store can't be read.
    """
    own_version, own = _forest((state / state_files.FINAL_MODEL,))
    shipped_version, shipped = _forest(shipped_paths(state))
    standing = standing_of(shipped_version, readable_choice(state))
    most_now = most_added(policy.final, standing)
    shipped_part = ShippedPart(shipped, most_now, policy.final, policy.verdict, policy.groups)
    mail = site_mail(state, policy, own, shipped_part, most=most, now=now)
    judge = _Judge(policy, shipped_part)
    lines = [judge.without(message) for message in mail.messages]
    report = TrainingReport(
        at=now,
        spam=sum(message.example.spam for message in mail.messages),
        ham=sum(not message.example.spam for message in mail.messages),
        shipped=shipped_version,
        confirming=compare(
            PairedVerdict(one.campaign, one.example.spam, line.confirmed, line.rules)
            for one, line in zip(mail.messages, lines, strict=True)
        ),
        refuting=compare(
            PairedVerdict(one.campaign, one.example.spam, line.now, line.rules)
            for one, line in zip(mail.messages, lines, strict=True)
            if one.sign is LabelSign.WORD
        ),
    )
    if own is not None:
        report = msgspec.structs.replace(
            report,
            in_force=own_version,
            since=compare(
                PairedVerdict(
                    one.campaign, one.example.spam, judge.by_own(one, one.own_odds), line.now
                )
                for one, line in zip(mail.messages, lines, strict=True)
                if one.example.time > own.trained.trained_at
            ),
        )
    signs = _signs(mail.messages)
    try:
        training = train(
            [message.example for message in mail.messages],
            mail.names,
            policy=policy.version,
            now=now,
            directions=mail.directions,
            over=np.array([judge.stands(message) for message in mail.messages], np.float64),
        )
    except NotTrainable as error:
        report = msgspec.structs.replace(report, why_not=str(error))
        return TrainingRound(report, b"", None, mail, signs)
    return _judged(training, mail, lines, judge, report, signs)


def _judged(
    training: TrainingResult,
    mail: SiteMail,
    lines: Sequence[_Line],
    judge: _Judge,
    report: TrainingReport,
    signs: dict[str, tuple[int, int]],
) -> TrainingRound:
    judged = training.judged
    odds = np.clip(
        np.log(judged.probabilities) - np.log1p(-judged.probabilities), -MOST_ODDS, MOST_ODDS
    )
    messages = [mail.messages[int(place)] for place in judged.places]
    before = [lines[place].now for place in judged.places]
    parts = sorted(set(judged.parts.tolist()))
    verdicts: dict[int, list[PairedVerdict]] = {}
    for number in parts[1:]:
        held = judge.held_back(messages, before, odds, judged.parts < number)
        verdicts[number] = [
            PairedVerdict(
                messages[row].campaign,
                messages[row].example.spam,
                judge.by_trees(messages[row], odds[row], held),
                before[row],
            )
            for row in _numbers(judged.parts == number)
        ]
    held = judge.held_back(messages, before, odds, np.ones(len(messages), np.bool_))
    calibration = training.model.calibration
    model = msgspec.structs.replace(
        training.model,
        calibration=msgspec.structs.replace(calibration, offset=calibration.offset - judge.offset),
        over=judge.per_point,
        held=held,
    )
    octets = encode(model)
    report = msgspec.structs.replace(
        report,
        trained=version(octets),
        held_back=held,
        comparison=compare(verdict for part_of in verdicts.values() for verdict in part_of),
        newest=compare(verdicts[parts[-1]]) if parts[1:] else compare(()),
    )
    return TrainingRound(report, octets, training._replace(model=model), mail, signs)


class _Judge:
    """Tells what is filed, with models and without.

    Args:
        policy: in force.
        shipped: what the model that adds to the rules may do now.

    Attributes:
        offset: log-odds below 0 that a score of 0 stands for.
        per_point: log-odds of a point.
    """

    def __init__(self, policy: Policy, shipped: ShippedPart) -> None:
        self._table = policy.final
        self._lines = policy.verdict
        self._shipped = shipped
        self.offset = log_odds(policy.final.spam)
        self.per_point = 2 * self.offset / policy.verdict.spam_score

    def without(self, message: SiteMessage) -> _Line:
        """Return what stands without the site's own model."""
        confirmed = self._shipped.points(
            message.shipped_odds, message.hits, self._table.shipped_points_confirmed
        )
        return _Line(
            *(
                round(message.rules + more, 2) >= self._lines.spam_score
                for more in (0.0, message.added, confirmed)
            )
        )

    def stands(self, message: SiteMessage) -> float:
        """Return the log-odds at which the site's own model would leave the score as it is."""
        return self.per_point * (message.example.score + message.added) - self.offset

    def by_own(self, message: SiteMessage, odds: float) -> bool:
        """Tell whether the site's own model files a message, were it in force."""
        score = part(
            score_of(float(odds), self._table, self._lines),
            message.hits,
            self._lines,
            self._table.overrules,
        )
        return round(message.rules + score, 2) >= self._lines.spam_score

    def by_trees(self, message: SiteMessage, odds: float, held: float) -> bool:
        """Tell whether a model that gives a message some log-odds files it, held back by others."""
        stands = self.stands(message)
        return self.by_own(message, stands + held_back(float(odds) - stands, held))

    def held_back(
        self,
        messages: Sequence[SiteMessage],
        before: Sequence[bool],
        odds: NDArray[np.float64],
        rows: NDArray[np.bool_],
    ) -> float:
        """Return the least log-odds to hold a model back by, so that it loses no more good mail
        than is lost without it, and a margin more.

        Args:
            messages: that were judged.
            before: whether each is filed without it.
            odds: what the model says of each.
            rows: which of them are looked at.
        """
        ham = [row for row in _numbers(rows) if not messages[row].example.spam]
        lost = len({messages[row].campaign for row in ham if before[row]})
        for held in np.arange(0.0, MOST_HELD - MARGIN, STEP).tolist():
            filed = (row for row in ham if self.by_trees(messages[row], odds[row], held))
            if len({messages[row].campaign for row in filed}) <= lost:
                return float(held) + MARGIN
        return MOST_HELD


def _numbers(rows: NDArray[np.bool_]) -> list[int]:
    return [int(row) for row in np.flatnonzero(rows)]


def _signs(messages: Sequence[SiteMessage]) -> dict[str, tuple[int, int]]:
    return {
        sign.value: (
            sum(one.sign is sign and one.example.spam for one in messages),
            sum(one.sign is sign and not one.example.spam for one in messages),
        )
        for sign in LabelSign
    }


def _forest(paths: Sequence[Path]) -> tuple[str, Forest | None]:
    """Return the model of the first file that is there, and its version; one that can't be used
    here is none.
    """
    found = read_first(paths)
    if found is None:
        return "", None
    try:
        return version(found[1]), Forest(decode(found[1]), SCHEMA)
    except OboronaError:
        return "", None
