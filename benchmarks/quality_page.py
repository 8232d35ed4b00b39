"""Puts the figures of `quality.py` into docs/measured/quality.md, between its marks.

    python benchmarks/quality_page.py quality.json [...]

Runs of one corpus that hold different rows, or different filters of the same rows, are joined.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).resolve().parents[1] / "docs/measured/quality.md"
BAR: Final = 0.5


def main() -> None:
    """Rewrite the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    runs = [json.loads(file.read_text()) for file in parser.parse_args().files]
    page = PAGE.read_text()
    full = [run for run in runs if run["limit"] is None]
    page = _replaced(page, "rows", _rows(full))
    page = _replaced(page, "whole", _whole(runs))
    page = _replaced(page, "reliability", _reliability(full))
    PAGE.write_text(page)


def _replaced(page: str, mark: str, text: str) -> str:
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    if not after and end not in rest:
        raise ValueError(f"{PAGE} has no marks of {mark}")
    return f"{before}{begin}{text}{end}{after}"


def _joined(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each row once, with all that the runs say of it."""
    rows: dict[str, dict[str, Any]] = {}
    for run in runs:
        for result in run["rows"]:
            rows.setdefault(json.dumps(result["row"], sort_keys=True), {}).update(result)
    return list(rows.values())


def _rows(runs: list[dict[str, Any]]) -> str:
    told = (
        f"{runs[0]['messages']:,} messages, {runs[0]['spam']:,} of them "
        f"spam{', cleaned' if runs[0]['clean'] else ''}."
    )
    joined = _joined(runs)
    within = [
        result["oborona"]["loss"] <= BAR * result["bogofilter"]["loss"]
        for result in joined
        if len(result.keys() & {"oborona", "bogofilter"}) == 2
    ]
    lines = [
        f"{told} Of {len(within)} rows {sum(within)} keep the bar.",
        "",
        (
            "| order | feedback | delay | wrong words | Oborona | missed at 0.1 % / 0.5 % | "
            "bogofilter | missed at 0.1 % / 0.5 % | ratio |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in joined:
        row, ours, peer = result["row"], result.get("oborona"), result.get("bogofilter")
        if ours is None or peer is None:
            continue
        ratio = ours["loss"] / peer["loss"]
        shown = f"{ratio:.2f}" if ratio <= BAR else f"**{ratio:.2f}**"
        lines.append(
            f"| {_order(row)} | {row['feedback']:.0%} | {row['delay']} | "
            f"{row['noise']:.0%} | {_cells(ours)} | {_cells(peer)} | {shown} |"
        )
    return "\n".join(lines) + "\n"


def _order(row: dict[str, Any]) -> str:
    return row["order"] if row["seed"] == 1 else f"{row['order']}, seed {row['seed']}"


def _whole(runs: list[dict[str, Any]]) -> str:
    """Return the rows that the whole daemon ran, beside the content model alone over the same
    messages.
    """
    lines = [
        (
            "| order | feedback | delay | wrong words | messages | the whole daemon | missed "
            "at 0.1 % / 0.5 % | the content model alone | missed at 0.1 % / 0.5 % |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        for result in run["rows"]:
            if "whole" in result:
                row = result["row"]
                lines.append(
                    f"| {_order(row)} | {row['feedback']:.0%} | {row['delay']} | "
                    f"{row['noise']:.0%} | {run['limit'] or run['messages']:,} | "
                    f"{_cells(result['whole'])} | {_cells(result['oborona'])} |"
                )
    return (
        "\n".join(lines) + "\n"
        if len(lines) > 2
        else "No run of the whole daemon is among these.\n"
    )


def _cells(figures: dict[str, float]) -> str:
    return (
        f"{figures['loss']:.3f} | {figures['missed_at_0.1']:.1f} / {figures['missed_at_0.5']:.1f}"
    )


def _reliability(runs: list[dict[str, Any]]) -> str:
    lines = [
        "| order | feedback | said | messages | mean said | spam in truth |",
        "|---|---|---|---|---|---|",
    ]
    for result in _joined(runs):
        row = result["row"]
        if row["delay"] or row["noise"] or row["feedback"] == 0.05 or row["seed"] != 1:
            continue
        lines += [
            (
                f"| {_order(row)} | {row['feedback']:.0%} | "
                f"{each['low']:.1f}–{each['high']:.1f} | {each['messages']} | "  # noqa: RUF001
                f"{each['predicted']:.3f} | {each['happened']:.3f} |"
            )
            for each in result.get("reliability", ())
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
