"""What charts cost: CPU of the keeper a look and a message, octets a day, time of a read.

    python benchmarks/charts.py                    300 series, 14 days of looks, then reads
    python benchmarks/charts.py --rules 2000       as many rules as there is room for

Two workers count as those of a busy site do; each look is one minute later.  The journal has its
own messages, which are read as the keeper reads them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona import state_files  # noqa: E402
from oborona.daemon.keeper.chart_keeper import ChartKeeper  # noqa: E402
from oborona.desk.asks.charts import ChartQuestion, read_charts  # noqa: E402
from oborona.desk.asks.overview import OverviewQuestion, read_overview  # noqa: E402
from oborona.ident import first_id_at  # noqa: E402
from oborona.journal import schema as journal_file  # noqa: E402
from oborona.metrics import MetricsSnapshot  # noqa: E402
from oborona.stores.charts.differences import ProcessCount  # noqa: E402
from oborona.stores.charts.store import ChartSample, ChartStore  # noqa: E402
from oborona.telemetry.metric_table import described_metrics  # noqa: E402
from oborona.telemetry.status import WorkerStatus, write_status  # noqa: E402
from tests.desk.desk_site import CALLER, DeskSite  # noqa: E402

DAY_S: Final = 86_400
DAYS: Final = 14
MESSAGES: Final = 20_000
READS: Final = 50


def counts(rules: int, share: float) -> dict[str, int]:
    """Return what a worker has counted after a share of its time."""
    found = {f"rules/live/R{number}": int(share * 1e6 / (number + 1)) for number in range(rules)}
    found |= {f"verdicts/content/{action}": int(share * 1e6) for action in ("accept", "spam")}
    return found


def history(state: Path, rules: int, now: float) -> None:
    """Write two weeks of charts, a look for each ten minutes."""
    looks = DAYS * DAY_S // 600
    with ChartStore(state / state_files.CHARTS) as store:
        store.take(ChartSample(time=now - DAYS * DAY_S, place=1))
        for look in range(1, looks):
            at = now - DAYS * DAY_S + look * 600.0
            process = ProcessCount(pid=1, time=at, counts=counts(rules, look / looks))
            store.take(ChartSample(time=at, processes={"worker-0": process}))


def looks(state: Path, rules: int, now: float, number: int) -> tuple[float, int]:
    """Return the CPU of a look, ms, and how many octets of the log it writes."""
    clock = [now]
    keeper = ChartKeeper(state, lambda: clock[0])
    steps = next(one.steps for one in described_metrics()["worker"] if one.kind == "histogram")
    spent = 0.0
    for look in range(number):
        clock[0] += 60.0
        for worker in (0, 1):
            metrics = MetricsSnapshot(
                values={
                    "oborona_rule_hits": [
                        ((f"R{rule}", "live"), look * 500 // (rule + 1)) for rule in range(rules)
                    ],
                    "oborona_verdicts": [
                        (("content", action), look * 300) for action in ("accept", "spam")
                    ],
                },
                histograms={"oborona_scan_seconds": [((), [look * 10] * (len(steps) + 1), 1.0)]},
            )
            status = WorkerStatus(
                worker=worker, pid=worker, time=clock[0], metrics=metrics, policy="p"
            )
            write_status(state, status)
        begun = time.process_time()
        keeper.look()
        spent += time.process_time() - begun
    keeper.close()
    size = sum(file.stat().st_size for file in state.glob(f"{state_files.CHARTS}*"))
    return spent / number * 1000, size


def messages(state: Path, now: float) -> float:
    """Return the CPU of a message in the journal, µs."""
    with closing(journal_file.open_writer(state / state_files.JOURNAL)) as db:
        db.execute("BEGIN")
        for number in range(MESSAGES):
            at = now + number / MESSAGES * 60
            domain = int(random.paretovariate(1.0)) % 900
            db.execute(
                "INSERT OR IGNORE INTO verdict (id, time, verdict, score, line, decided_by,"
                " partial, policy_version, size, client_ip, helo, sender, login, recipients,"
                " subject, rules) VALUES (?, ?, 'accept', 0, 0, '', 0, '', 0, '', '', '', '', ?,"
                " '', '')",
                (first_id_at(at) + number, at, f'["joe@d{domain}.example"]'),
            )
        db.execute("COMMIT")
    clock = [now]
    keeper = ChartKeeper(state, lambda: clock[0])
    keeper.look()
    clock[0] += 100.0
    begun = time.process_time()
    keeper.look()
    spent = time.process_time() - begun
    keeper.close()
    return spent / MESSAGES * 1e6


def reads(state: Path, series: str) -> tuple[float, float]:
    """Return the median and the 95th percentile of a read of a day, ms."""
    site, took = DeskSite(state), []
    asked = ChartQuestion(series=[series])
    site.loaded  # noqa: B018 - read once
    for _ in range(READS):
        begun = time.perf_counter()
        read_charts(site, CALLER, asked)
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took), statistics.quantiles(took, n=20)[-1]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=280)
    rules = parser.parse_args().rules
    now = time.time()
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        journal_file.prepare(state / state_files.JOURNAL)
        history(state, rules, now)
        size = sum(file.stat().st_size for file in state.glob(f"{state_files.CHARTS}*"))
        print(
            f"two weeks of {rules + 2} series: {size / 1e6:.1f} MB, {size / DAYS / 1e6:.2f} a day"
        )
        for series in ("verdicts/content/accept", "verdicts", "rules/live"):
            middle, high = reads(state, series)
            print(f"a day of {series}: {middle:.2f} ms, p95 {high:.2f}")
        site = DeskSite(state)
        read_overview(site, CALLER, OverviewQuestion())
        begun = time.process_time()
        for _ in range(20):
            read_overview(site, CALLER, OverviewQuestion())
        print(f"the overview: {(time.process_time() - begun) * 50:.1f} ms of CPU")
        each, _ = looks(state, rules, now, 100)
        print(f"a look: {each:.1f} ms of CPU, {each / 60:.3f} ms a second")
        print(f"a message: {messages(state, now + 7000):.1f} µs of CPU")


if __name__ == "__main__":
    main()
