"""The report of a training: one page that needs nothing beside itself, is read aloud in order, and
prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

import numpy as np

from oborona.feedback.final import plots
from oborona.feedback.final.train import HeldOutResult, TrainingResult
from oborona.policy.models.final.curves import reliability, roc
from oborona.policy.models.final.examples import FinalExample
from oborona.policy.models.final.summary import ModelQuality

WORST: Final = 20  # errors of each kind that are listed
SHOWN: Final = 30  # features

_STYLE: Final = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; } caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } td.path { overflow-wrap: anywhere; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; } figcaption { color: #444; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
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
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<title>Final model, {escape(_moment(model.trained_at))}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
            "<h1>Final model</h1>",
            _table("What was trained", None, head),
            _table("What was found", None, found) if found else "",
            _table("How people told what it is", ("by", "spam", "good"), signs) if signs else "",
            "<h2>Catch and false positives</h2>",
            _catches(summary.score, summary.final),
            _figure(
                plots.roc(curves),
                "ROC curves: how much spam is caught at each share of false positives",
                (
                    "Share of spam caught over share of false positives, for the rules alone "
                    "and the final model; the table above gives its values."
                ),
            ),
            "<h2>Is a probability what it says?</h2>",
            _table(
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
            "<h2>Features</h2>",
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
            "<h2>Folds</h2>",
            "<ul>" + "".join(f"<li>{escape(fold)}</li>" for fold in judged.folds) + "</ul>",
            "<h2>Worst errors</h2>",
            _worst("Good mail that was taken for spam", judged, examples, spam=False),
            _worst("Spam that was taken for good mail", judged, examples, spam=True),
            "</main>\n</body>\n</html>\n",
        )
    )


def _catches(score: ModelQuality, final: ModelQuality) -> str:
    rows = [("(1-ROCA)%, smaller is better", f"{score.loss:.3f}", f"{final.loss:.3f}")]
    for first, second in zip(score.catches, final.catches, strict=True):
        rows.append(
            (
                f"spam caught at {first.lost:.1%} false positives",
                f"{first.caught:.1%} ({first.low:.1%} to {first.high:.1%})",
                f"{second.caught:.1%} ({second.low:.1%} to {second.high:.1%})",
            )
        )
    return _table(
        "In brackets: 95 % of samples drawn again", ("", "rules alone", "final model"), rows
    )


def _weights(importance: Sequence[tuple[str, float]], added: Sequence[tuple[str, float]]) -> str:
    by_name = dict(added)
    rows = [(name, f"{share:.2%}", f"{by_name.get(name, 0.0):.3f}") for name, share in importance]
    return _table("All features", ("feature", "importance", "added, mean size"), rows)


def _worst(
    caption: str, judged: HeldOutResult, examples: Sequence[FinalExample], *, spam: bool
) -> str:
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
    return _table(
        f"{caption}: {wrong.size}", ("probability", "score of the rules", "message"), rows
    )


def _figure(svg: str, caption: str, description: str) -> str:
    named = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return f"<figure>\n{named}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _table(caption: str, head: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> str:
    top = (
        ""
        if head is None
        else "<thead><tr>"
        + "".join(f'<th scope="col">{_text(title)}</th>' for title in head)
        + "</tr></thead>"
    )
    body = "".join(
        f'<tr><th scope="row">{_text(row[0])}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>\n"
        for row in rows
    )
    return f"<table>\n<caption>{_text(caption)}</caption>\n{top}<tbody>{body}</tbody>\n</table>"


def _text(text: str) -> str:
    """Return what a peer may have written, as text of a page: no markup, no control characters,
    nothing that is no Unicode.
    """
    plain = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return escape(plain)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="minutes")
