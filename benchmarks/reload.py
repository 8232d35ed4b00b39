"""Policy changes under load: is any message lost, judged by half of two policies, or by the old one
too long; how long does a change take; does memory grow.

    python benchmarks/reload.py                             100 reloads a minute for five minutes
    python benchmarks/reload.py --minutes 0.5 --rules 2000  half a minute, with 2,000 more rules in
                                                            the policy
    python benchmarks/reload.py --steps --rules 500         what the steps of one reload cost,
                                                            without load

Runs `oborona serve` on the policy that ships and loads its milter door with milterload.py, messages
at random times.  Each reload saves one file that moves the scores of two rules which every message
hits: A by some number, B by its opposite, so that a mixture shows as a sum that is not 0. In the
end the journal is read: each message's A and B must be those of the version that its entry names,
and a message that was judged more than a second after a file was saved must name that version, or a
later one.  The time of a change runs from the end of saving until it is in force in all workers at
once: one write to the page that they share, which is read here a thousand times a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.progress import track

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona import state_files  # noqa: E402
from oborona.daemon.publisher.code import KEY_BYTES, CodePublisher, PublishedCode  # noqa: E402
from oborona.daemon.publisher.page import PolicyPage, version_of  # noqa: E402
from oborona.journal.queries import JournalReader  # noqa: E402
from oborona.policy.expression import code_of  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402
from oborona.policy.load_cache import PolicyCache  # noqa: E402
from oborona.policy.watch import folder_state  # noqa: E402
from tests.peers.oborona import Oborona  # noqa: E402

CHANGED: Final = "91-reload.toml"
EFFECT_S: Final = 1.0  # that a change may take at most
PATIENCE_S: Final = 30.0  # bounds a hang
CONNECTIONS: Final = 64
SETTLE_S: Final = 2.0  # before the first reload and after the last: load alone
MIB: Final = 1 << 20


class Change(msgspec.Struct, frozen=True):
    """One reload."""

    version: str
    score: int  # of A, and the opposite of B's
    saved: float  # Unix seconds, when the file was whole
    took_s: float


class Report(msgspec.Struct, kw_only=True):
    """What came of a run; times in seconds, memory in MiB."""

    reloads: int
    rules: int
    sent: int
    lost: int
    journaled: int
    mixtures: int
    stale: int
    effect_p50: float
    effect_p99: float
    effect_max: float
    over_a_second: int
    mail_ms: dict[str, float]  # of whole sessions
    workers_mib: list[float]  # PSS of the workers, minute by minute
    publisher_mib: list[float]


def main() -> None:
    """Run it, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--reloads", type=float, default=100.0, help="a minute")
    parser.add_argument("--rate", type=float, default=40.0, help="messages a second")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rules", type=int, default=0, help="further rules of the policy")
    parser.add_argument("--policy", type=Path, default=ROOT / "etc/policy.d")
    parser.add_argument(
        "--mail", type=Path, default=ROOT / "tests/golden/mails", help="a folder of *.eml"
    )
    parser.add_argument("--steps", action="store_true", help="the steps of one reload alone")
    asked = parser.parse_args()
    if asked.steps:
        print(json.dumps(steps(asked.policy, asked.rules)))
        return
    report = run(
        policy=asked.policy,
        mail=asked.mail,
        seconds=asked.minutes * 60,
        reloads=max(1, round(asked.minutes * asked.reloads)),
        rate=asked.rate,
        workers=asked.workers,
        rules=asked.rules,
    )
    print(msgspec.json.encode(report).decode())
    sys.exit(bool(report.lost or report.mixtures or report.stale))


def run(
    *,
    policy: Path,
    mail: Path,
    seconds: float,
    reloads: int,
    rate: float,
    workers: int,
    rules: int = 0,
) -> Report:
    """Load a daemon of its own with mail, and change its policy meanwhile.

    Args:
        policy: folder of the policy that is changed, a copy of it.
        mail: folder of messages.
        seconds: of changes.
        reloads: in that time.
        rate: messages a second.
        workers: of the daemon.
        rules: more than the policy has.
    """
    with tempfile.TemporaryDirectory(prefix="oborona-reload-") as name:
        folder = Path(name) / "policy.d"
        shutil.copytree(policy, folder)
        (folder / "90-many.toml").write_text("# further rules\n" + "".join(further(rules)))
        save(folder, 0)
        settings = {"paths.policy": folder, "worker.processes": workers, "log.level": "warning"}
        with Oborona(settings) as daemon:
            page = PolicyPage(daemon.state / state_files.POLICY_IN_FORCE / state_files.POLICY_PAGE)
            count = round(rate * (seconds + 2 * SETTLE_S))
            load = drive(daemon.milter, mail, rate=rate, count=count)
            time.sleep(SETTLE_S)
            memory: tuple[list[float], list[float]] = ([], [])
            changes = list(change(page, folder, seconds, reloads, daemon, memory))
            said, _ = load.communicate(timeout=seconds + 120)
            sent: dict[str, Any] = json.loads(said)
            time.sleep(1.0)  # the journal writes what it has every 0.2 s
            journaled, mixtures, stale = asyncio.run(
                judged(daemon.state / state_files.JOURNAL, changes)
            )
            note(daemon, memory)
            page.close()
            print(daemon.log()[-2000:], file=sys.stderr)
    took = sorted(one.took_s for one in changes[1:])
    lost = sum(
        number for verdict, number in sent["verdicts"].items() if verdict.startswith("error")
    )
    return Report(
        reloads=len(took),
        rules=rules,
        sent=sent["messages"],
        lost=lost + count - sent["messages"],
        journaled=journaled,
        mixtures=mixtures,
        stale=stale,
        effect_p50=round(took[len(took) // 2], 3),
        effect_p99=round(took[int(len(took) * 0.99)], 3),
        effect_max=round(took[-1], 3),
        over_a_second=sum(one > EFFECT_S for one in took),
        mail_ms=sent["latency_ms"],
        workers_mib=memory[0],
        publisher_mib=memory[1],
    )


def steps(policy: Path, rules: int) -> dict[str, float]:
    """Return the CPU time of each step of a reload, ms, the least of several."""
    with tempfile.TemporaryDirectory(prefix="oborona-reload-") as name:
        folder, copy = Path(name) / "policy.d", Path(name) / "copy"
        shutil.copytree(policy, folder)
        (folder / "90-many.toml").write_text("# further rules\n" + "".join(further(rules)))
        shutil.copytree(folder, copy)
        coder, handed = CodePublisher(bytes(KEY_BYTES)), PublishedCode(bytes(KEY_BYTES), copy)
        source = load_policy(folder, SCHEMA, to_code=coder).compiled.source
        coder.hand_on(copy)
        return {
            "look": _least(lambda: folder_state(folder), 200),
            "load": _least(lambda: load_policy(folder, SCHEMA), 3),
            "load, code handed on": _least(lambda: load_policy(copy, SCHEMA, to_code=handed), 3),
            "make code": _least(lambda: code_of(source), 3),
            "read code": _least(lambda: handed(source), 3),
            **{
                f"{who}, {size} file changed": took
                for size, name in (("small", CHANGED), ("large", "90-many.toml"))
                for who, took in _again(folder, name).items()
            },
        }


def _again(folder: Path, name: str) -> dict[str, float]:
    """Return the CPU time of loading a policy of which one rule of one file changed, in the
    publisher and in a worker, ms, the least of several.
    """
    key = bytes(KEY_BYTES)
    publisher, worker, coder, handed = (
        PolicyCache(),
        PolicyCache(),
        CodePublisher(key),
        PublishedCode(key, folder),
    )
    text = (folder / name).read_text() if (folder / name).exists() else ""
    took: dict[str, list[float]] = {"publisher": [], "worker": []}
    for number in range(6):
        (folder / name).write_text(
            f'{text}[[rule]]\nname = "RELOAD"\nwhen = "links > {number}"\nscore = 1\n'
        )
        for who, before, to_code in (("publisher", publisher, coder), ("worker", worker, handed)):
            started = time.process_time()
            load_policy(folder, SCHEMA, before, to_code=to_code)
            took[who].append(time.process_time() - started)
            coder.hand_on(folder)
    (folder / name).write_text(text or "# nothing\n")
    return {who: round(min(each[1:]) * 1000, 3) for who, each in took.items()}


def _least(what: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        started = time.process_time()
        what()
        took.append(time.process_time() - started)
    return round(min(took) * 1000, 3)


def change(
    page: PolicyPage,
    folder: Path,
    seconds: float,
    reloads: int,
    daemon: Oborona,
    memory: tuple[list[float], list[float]],
) -> Iterator[Change]:
    """Save the file again and again.

    Yield what was in force at first, and each change once it is.
    """
    started = time.monotonic()
    yield Change(version_of(page.active), 0, time.time(), 0.0)
    steps = range(1, reloads + 1)
    shown = track(steps, description="reloads", console=Console(stderr=True), transient=True)
    for number in shown:
        time.sleep(max(0.0, started + (number - 1) * seconds / reloads - time.monotonic()))
        if (number - 1) % max(1, round(reloads * 60 / seconds)) == 0:
            note(daemon, memory)
        before = page.active
        save(folder, number)
        saved, begun = time.time(), time.monotonic()
        while page.active == before:
            if time.monotonic() - begun > PATIENCE_S:
                raise SystemExit(f"reload {number} never came into force:\n{daemon.log()[-4000:]}")
            time.sleep(0.001)
        yield Change(version_of(page.active), number, saved, time.monotonic() - begun)


def save(folder: Path, number: int) -> None:
    """Save the file as editors do: every other time in place, else beside it and renamed."""
    text = "".join(
        (
            f'[[rule]]\nname = "RELOAD_{name}"\nwhen = "links >= 0"\nscore = {score}\nsay = '
            f'"reload {number}"\n'
        )
        for name, score in (("A", number), ("B", -number))
    )
    if number % 2:
        (folder / CHANGED).write_text(text)
    else:
        fresh = folder / ".fresh"
        fresh.write_text(text)
        fresh.replace(folder / CHANGED)


def further(number: int) -> Iterator[str]:
    """Yield rules that make a policy larger, and fire on nothing."""
    for each in range(number):
        when = (
            f"count[From].day.seen >= {each + 1_000_000} and contains(subject, 'never seen {each}')"
        )
        yield (
            f'[[rule]]\nname = "FURTHER_{each}"\nwhen = "{when}"\nscore = 0.5\nsay = '
            f'"{{links}} links"\n'
        )


def drive(address: str, mail: Path, *, rate: float, count: int) -> subprocess.Popen[str]:
    """Start the load."""
    paths = sorted(str(path) for path in mail.glob("*.eml"))
    command = [
        sys.executable, str(ROOT / "benchmarks/milterload.py"), address.removeprefix("unix:"), *paths, "--json",
        "--concurrency", str(CONNECTIONS), "--count", str(count), "--rate", str(rate), "--timeout", "1800",
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def judged(journal: Path, changes: list[Change]) -> tuple[int, int, int]:
    """Return how many messages the journal has, how many were judged by a mixture, and how many by
    a policy that was over too long.
    """
    order = {one.version: place for place, one in enumerate(changes)}
    number = mixtures = stale = 0
    async with await JournalReader.open(journal) as reader:
        async for entry in reader.since(0.0):
            number += 1
            if isinstance(entry, int):
                raise SystemExit(f"entry {entry} of the journal can't be read")
            place = order[entry.policy_version]
            scores = {
                rule.name: rule.score for rule in entry.rules if rule.name.startswith("RELOAD_")
            }
            score = changes[place].score
            mixtures += scores != {"RELOAD_A": score, "RELOAD_B": -score}
            later = changes[place + 1 : place + 2]
            stale += any(entry.time - one.saved > EFFECT_S for one in later)
    return number, mixtures, stale


def note(daemon: Oborona, memory: tuple[list[float], list[float]]) -> None:
    """Note the memory of the workers and of the publisher, MiB."""
    if daemon.process is None:
        raise SystemExit("the daemon does not run")
    status = daemon.state / "status"
    numbers = [
        sum(
            _pss(msgspec.json.decode(path.read_bytes())["pid"])
            for path in status.glob(f"{kind}.json")
        )
        for kind in ("worker-*", "policy")
    ]
    for series, number in zip(memory, numbers, strict=True):
        series.append(round(number / MIB, 1))


def _pss(pid: int) -> int:
    found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    main()
