"""What rules in Lua cost a message, beside the same rules as expressions: a table of
docs/measured/parts.md.

    python benchmarks/scripts.py [--json]

The facts of 1,000 messages of the corpus, drawn by a seed, each judged by 0, 1, 10, 100 and 500
rules of ten sorts, in both languages in turns, in one process; its processor time.  Both must hit
the same.  Memory is what the process has more with the rules than without.

    python benchmarks/scripts.py --machines

The machines that lupa brings: a loop of whole numbers, plain and under the hook that limits need;
whether the hook is called in compiled code; what a call from one language to the other costs;
memory.  These are the figures of docs/adr/0016.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.gathered import facts  # noqa: E402
from oborona.policy.expression import compile_rules  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.facts import Facts  # noqa: E402
from oborona.policy.merge import merge  # noqa: E402
from oborona.policy.rules import Rule  # noqa: E402
from oborona.policy.scripts.loader import LoadedScripts  # noqa: E402
from oborona.types import Stage  # noqa: E402

ROUNDS: Final = 5  # the best counts: what is longer was the machine's other work
NUMBERS: Final = (0, 1, 10, 100, 500)
SORTS: Final = (
    ("text.words < {n} and links > 3", "facts.text.words < {n} and facts.links > 3"),
    ("text.hidden_share > 0.{n} and html", "facts.text.hidden_share > 0.{n} and facts.html"),
    ("contains(subject, 'offer {n}')", "contains(facts.subject, 'offer {n}')"),
    ("'x{n}.example' in links.domains", "facts.links.domains['x{n}.example']"),
    ("count[From].day.seen > {n}", "count('From', 'day', 'seen') > {n}"),
    (
        "count[FromDomain].fortnight.spam_share > 0.9 and not bulk",
        "count('FromDomain', 'fortnight', 'spam_share') > 0.9 and not facts.bulk",
    ),
    ("endswith(from.domain, '.x{n}')", "endswith(facts.from.domain, '.x{n}')"),
    ("found('hidden-text') and pictures > {n}", "found('hidden-text') and facts.pictures > {n}"),
    ("matches(subject, 'win.*{n}')", "matches(facts.subject, 'win.*{n}')"),
    ("model.content > 0.{n} and spf.result == 'fail'", "facts.model.content > 0.{n} and facts.spf.result == 'fail'"),
)  # fmt: skip
"""Rules of each sort, as expressions and in Lua; n is a number of their own."""


def in_lua(number: int) -> Callable[[Facts], list[str]]:
    """Return what judges facts by so many rules in Lua."""
    if not number:
        return lambda _: []
    text = "\n".join(
        (
            f'oborona.rule {{ name = "R{n}", score = 1, when = function() return '
            f"{SORTS[n % len(SORTS)][1].format(n=n)} end }}"
        )
        for n in range(number)
    )
    loaded = LoadedScripts({"60.lua": f"{text}\n".encode()}, SCHEMA)
    scripts = loaded.bound(merge([loaded.document("60.lua")]).rules)
    assert scripts is not None
    return lambda one: [hit.name for hit in scripts.judge(one, Stage.CONTENT).hits]


def in_expressions(number: int) -> Callable[[Facts], list[str]]:
    """Return what judges facts by so many expressions."""
    rules = [
        Rule(name=f"R{n}", when=SORTS[n % len(SORTS)][0].format(n=n), score=1.0)
        for n in range(number)
    ]
    compiled = compile_rules(rules, SCHEMA)
    return lambda one: [hit.name for hit in compiled.run(one, Stage.CONTENT)[0]]


def measured(sample: Sequence[Facts]) -> list[dict[str, Any]]:
    """Return a row for each number of rules."""
    found = []
    for number in NUMBERS:
        before = resident_kb()
        lua = in_lua(number)
        memory = resident_kb() - before
        expressions = in_expressions(number)
        assert [sorted(lua(one)) for one in sample] == [sorted(expressions(one)) for one in sample]
        taken: dict[str, list[float]] = {"lua": [], "expressions": []}
        for _ in range(ROUNDS):
            for name, judge in (("lua", lua), ("expressions", expressions)):
                begun = time.process_time_ns()
                for one in sample:
                    judge(one)
                taken[name].append((time.process_time_ns() - begun) / len(sample) / 1000)
        found.append(
            {
                "rules": number,
                "lua_us": round(min(taken["lua"]), 1),
                "expressions_us": round(min(taken["expressions"]), 1),
                "lua_memory_kb": memory,
            }
        )
    return found


def resident_kb() -> int:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


LOOP: Final = (
    b"local x = 0 for i = 1, 3000000 do x = x + i % 7 if x > 1000 then x = 0 end end return x"
)
HOOK: Final = (
    b"local n, clock = 0, os.clock debug.sethook(function() n = n + 1 if clock() > 1e9 then "
    b"error('x') end end, '', 200) return function() return n end"
)


def machines() -> list[dict[str, Any]]:
    """Return a row for each machine."""
    found = []
    for name in ("lua54", "luajit21"):
        before = resident_kb()
        library = importlib.import_module(f"lupa.{name}")
        there = resident_kb()
        made = library.LuaRuntime(encoding=None, register_eval=False)
        row: dict[str, Any] = {
            "machine": name,
            "library_kb": there - before,
            "memory_kb": resident_kb() - there,
        }
        loop = made.execute(b"return function() " + LOOP + b" end")
        row["loop_ms"] = round(_best(loop), 1)
        if name == "luajit21":
            called = made.execute(HOOK)
            loop()
            row["hook_called_when_compiled"] = called() > 1000
            made.execute(b"debug.sethook() jit.off() jit.flush()")
            row["not_compiled_ms"] = round(_best(loop), 1)
        called = made.execute(HOOK)
        row["hooked_ms"] = round(_best(loop), 1)
        row["hook_called"] = called() > 1000
        made.execute(b"debug.sethook()")
        made.globals()[b"there"] = lambda value: value
        across = made.execute(
            b"local there = there return function() for i = 1, 100000 do there(i) end end"
        )
        row["call_us"] = round(_best(across) / 100, 3)
        found.append(row)
    return found


def _best(call: Callable[[], object]) -> float:
    """Return milliseconds of processor time, the median of several rounds."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time_ns()
        call()
        taken.append((time.process_time_ns() - begun) / 1e6)
    return median(taken)


def main() -> None:
    """Run what the command line asks for, print the table or, with --json, one object a row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--machines", action="store_true", help="what lupa brings, instead of rules"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = machines() if asked.machines else measured(facts())
    if asked.json:
        for row in rows:
            print(json.dumps(row))
        return
    table = Table(title="processor time and memory")
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in names))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
