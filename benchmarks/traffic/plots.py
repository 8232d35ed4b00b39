"""Pictures of months: day by day, by kind of sender, and how soon bursts are refused."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks.traffic.connections import Kind
from benchmarks.traffic.figures import Figures, Reaction

mpl.use("agg")


def draw(folder: Path, every: list[Figures], unseen: list[Reaction]) -> None:
    """Write repip-days.png, repip-kinds.png and repip-reaction.png."""
    folder.mkdir(parents=True, exist_ok=True)
    _days(folder / "repip-days.png", every)
    _kinds(folder / "repip-kinds.png", every)
    if unseen:
        _reaction(folder / "repip-reaction.png", unseen)


def _days(path: Path, every: list[Figures]) -> None:
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(9, 6))
    for each in every:
        above.plot([100 * spam.value for spam, _ in each.days], color="tab:blue", alpha=0.6)
        below.step(
            range(len(each.days)),
            [good.refused for _, good in each.days],
            color="tab:red",
            alpha=0.6,
        )
    above.axhline(70, color="grey", linestyle=":")
    above.set(ylabel="% of spam refused at connect", ylim=(0, 100))
    below.set(ylabel="good connections refused", xlabel="day")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _kinds(path: Path, every: list[Figures]) -> None:
    shown = [kind for kind in Kind if kind.spam]
    shares = np.array([[100 * each.kinds[kind].value for kind in shown] for each in every])
    middle = np.median(shares, axis=0)
    figure, axes = plt.subplots(figsize=(9, 5))
    spread = np.stack([middle - shares.min(axis=0), shares.max(axis=0) - middle])
    axes.barh([kind.words for kind in shown], middle, xerr=spread, color="tab:blue")
    axes.set(xlabel="% refused at connect: median month, least and most", xlim=(0, 100))
    axes.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _reaction(path: Path, unseen: list[Reaction]) -> None:
    seconds = np.sort([min(each.seconds, 3600.0) for each in unseen])
    figure, axes = plt.subplots(figsize=(9, 4))
    axes.step(seconds, np.arange(1, len(seconds) + 1) / len(seconds) * 100, where="post")
    axes.axvline(300, color="grey", linestyle=":")
    axes.set(
        xlabel="seconds from 20 complaints and trap hits to the refusal",
        ylabel="% of bursts",
        ylim=(0, 101),
        xlim=(-5, None),
    )
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
