"""The report of a training: one page that needs nothing beside itself, is read aloud in order, and
prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

import numpy as np

from oborona.feedback.final import plots
from oborona.feedback.final.train import HeldOutResult, TrainingResult
from oborona.page import NONE, Markup, element, figure, page, table
from oborona.policy.models.final.curves import reliability, roc
from oborona.policy.models.final.examples import FinalExample
from oborona.policy.models.final.summary import ModelQuality

WORST: Final = 20  # errors of each kind that are listed
SHOWN: Final = 30  # features

_STYLE: Final = """
:root { color-scheme: light; } body { color: #1a1a1a; background: #fff; }
figcaption { color: #444; }
"""


def report(
    training: TrainingResult,
    examples: Sequence[FinalExample],
    signs: Sequence[tuple[str, str, str]] = (),
    found: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page.

    Args:
        training: that is told of.
        examples: it was trained on, in order.
        signs: how people told what mail is, and how many messages of spam and of good mail.
        found: what follows from the training, each with what it is.
    """
    model, judged, added = training
    summary = model.summary
    assert summary.score is not None
    assert summary.final is not None
    bins = reliability(judged.probabilities, judged.spam)
    curves = {
        "rules alone": roc(judged.scores, judged.spam),
        "final model": roc(judged.probabilities, judged.spam),
    }
    head = [
        ("trained at", _moment(model.trained_at)),
        ("by", summary.software),
        ("policy", model.policy),
        ("messages", f"{summary.spam + summary.ham}: {summary.spam} spam, {summary.ham} good"),
        (
            "that came",
            f"{_moment(summary.first)} to {_moment(summary.last)}"
            if summary.first
            else "at times not known",
        ),
        ("judged", f"{summary.judged}, each by a model of mail that came before it"),
        (
            "trees",
            (
                f"{len(model.trees.places)} of depth {model.trees.depth}, over "
                f"{len(model.features)} features"
            ),
        ),
    ]
    return page(
        f"Final model, {_moment(model.trained_at)}",
        _STYLE,
        element("h1", NONE, "Final model"),
        table("What was trained", None, head),
        table("What was found", None, found) if found else "",
        table("How people told what it is", ("by", "spam", "good"), signs) if signs else "",
        element("h2", NONE, "Catch and false positives"),
        _catches(summary.score, summary.final),
        _figure(
            plots.roc(curves),
            "ROC curves: how much spam is caught at each share of false positives",
            (
                "Share of spam caught over share of false positives, for the rules alone "
                "and the final model; the table above gives its values."
            ),
        ),
        element("h2", NONE, "Is a probability what it says?"),
        table(
            "Predicted and actual",
            ("probability", "messages", "predicted, mean", "were spam"),
            [
                (
                    f"{group.low:g} to {group.high:g}",
                    str(group.messages),
                    f"{group.predicted:.3f}",
                    f"{group.happened:.3f}",
                )
                for group in bins
            ],
        ),
        _figure(
            plots.reliability(bins),
            "On the diagonal, predictions are what happened",
            "Share of spam over the predicted probability; the table above gives its values.",
        ),
        element("h2", NONE, "Features"),
        _figure(
            plots.bars(list(summary.importance[:SHOWN]), "importance", "share of importance"),
            "Importance: how much a prediction changes when a feature does",
            "The features that weigh most, heaviest first; the table below has them all.",
        ),
        _figure(
            plots.bars(list(added[:SHOWN]), "added", "log-odds added, mean of sizes"),
            "What features added to the prediction for single messages (Shapley values)",
            "The same features by what they added.",
        ),
        _weights(summary.importance, added),
        element("h2", NONE, "Folds"),
        element("ul", NONE, *(element("li", NONE, fold) for fold in judged.folds)),
        element("h2", NONE, "Worst errors"),
        _worst("Good mail that was taken for spam", judged, examples, spam=False),
        _worst("Spam that was taken for good mail", judged, examples, spam=True),
    )


def _catches(score: ModelQuality, final: ModelQuality) -> Markup:
    rows = [("(1-ROCA)%, smaller is better", f"{score.loss:.3f}", f"{final.loss:.3f}")]
    for first, second in zip(score.catches, final.catches, strict=True):
        rows.append(
            (
                f"spam caught at {first.lost:.1%} false positives",
                f"{first.caught:.1%} ({first.low:.1%} to {first.high:.1%})",
                f"{second.caught:.1%} ({second.low:.1%} to {second.high:.1%})",
            )
        )
    return table(
        "In brackets: 95 % of samples drawn again", ("", "rules alone", "final model"), rows
    )


def _weights(importance: Sequence[tuple[str, float]], added: Sequence[tuple[str, float]]) -> str:
    by_name = dict(added)
    rows = [(name, f"{share:.2%}", f"{by_name.get(name, 0.0):.3f}") for name, share in importance]
    return table("All features", ("feature", "importance", "added, mean size"), rows)


def _worst(
    caption: str, judged: HeldOutResult, examples: Sequence[FinalExample], *, spam: bool
) -> Markup:
    wrong = np.flatnonzero((judged.spam == spam) & ((judged.probabilities >= 0.5) != spam))
    order = wrong[np.argsort(judged.probabilities[wrong] * (1 if spam else -1), kind="stable")][
        :WORST
    ]
    rows = [
        (
            f"{judged.probabilities[place]:.4f}",
            f"{judged.scores[place]:.1f}",
            examples[judged.places[place]].name,
        )
        for place in order
    ]
    return table(f"{caption}: {wrong.size}", ("probability", "score of the rules", "message"), rows)


def _figure(svg: str, caption: str, description: str) -> Markup:
    named = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return figure(Markup(named), caption)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="minutes")
