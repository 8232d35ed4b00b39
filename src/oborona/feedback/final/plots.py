"""Plots of a training as SVG that stands inside a page: text stays text, nothing is loaded, the
same numbers give the same octets.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from oborona.policy.models.final.curves import Floats
from oborona.policy.models.reliability import ReliabilityBin

LEAST: Final = 1e-4  # share of good mail lost at which the curves begin
BLUE: Final = "#1f5fa8"
ORANGE: Final = "#b3541e"
_STYLE: Final[Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "oborona",
    "font.size": 10,
    "font.family": "sans-serif",
}
_METADATA: Final = re.compile(r"<metadata>.*?</metadata>\s*", re.DOTALL)
_IDENT: Final = re.compile(r'(\bid="|xlink:href="#|url\(#)')


def roc(curves: dict[str, tuple[Floats, Floats]]) -> str:
    """Return the ROC curves by their names, good mail lost on a logarithmic scale."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (name, (lost, caught)), colour, line in zip(
        curves.items(), (ORANGE, BLUE), ("--", "-"), strict=False
    ):
        axes.step(
            np.maximum(lost, LEAST) * 100,
            caught * 100,
            where="post",
            label=name,
            color=colour,
            linestyle=line,
        )
    axes.set(
        xscale="log", xlim=(LEAST * 100, 100), ylim=(0, 100),
        xlabel="false positives, %", ylabel="spam caught, %",
    )  # fmt: skip
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower right")
    return _svg(figure, "roc")


def reliability(bins: tuple[ReliabilityBin, ...]) -> str:
    """Return what was said beside what happened."""
    figure = Figure(figsize=(4.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot((0, 1), (0, 1), color="#888888", linestyle=":", label="right")
    axes.plot(
        [group.predicted for group in bins],
        [group.happened for group in bins],
        "o-",
        color=BLUE,
        label="final model",
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability said", ylabel="share that was spam")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower right")
    return _svg(figure, "reliability")


def bars(parts: list[tuple[str, float]], name: str, label: str) -> str:
    """Return bars, the first on top."""
    figure = Figure(figsize=(6.4, 0.6 + 0.24 * len(parts)), layout="constrained")
    axes = figure.add_subplot()
    axes.barh([name for name, _ in parts], [value for _, value in parts], color=BLUE)
    axes.invert_yaxis()
    axes.set(xlabel=label)
    axes.grid(visible=True, axis="x", alpha=0.3)
    return _svg(figure, name)


def _svg(figure: Figure, name: str) -> str:
    """Return a figure's SVG alone.

    Its ids begin with the name, for there are several on the page.
    """
    octets = BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(octets, format="svg", metadata={"Date": None, "Creator": None})
    text = octets.getvalue().decode()
    text = _METADATA.sub("", text[text.index("<svg") :])
    return _IDENT.sub(rf"\g<1>{name}-", text)
