"""What is counted on several machines, as one count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

MOST: Final = "most"  # kind of a series of which the largest counts
WAVES: Final = 20


class SumMerge:
    """How answers of a call that counts become one.

    Args:
        fold: makes it, of all answers by machine, the home desk's first.
    """

    def __init__(self, fold: Any) -> None:
        self._fold = fold

    def questions(
        self, asked: dict[str, Any], machines: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """Return what each machine is to be asked: the same."""
        return dict.fromkeys(machines, asked)

    def merge(self, asked: dict[str, Any], answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Return one answer."""
        assert asked is not None
        return dict(self._fold(answers)) if len(answers) > 1 else dict(*answers.values())


def sum_charts(answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return charts of all machines: sums are added, time by time, of the largest the larger."""
    step = _first(answers)["step"]
    alike = {machine: one for machine, one in answers.items() if one["step"] == step}
    begin = min(one["first"] for one in alike.values())
    times = max((one["first"] - begin) // step + one["times"] for one in alike.values())
    series: dict[str, dict[str, Any]] = {}
    for one in alike.values():
        late = (one["first"] - begin) // step
        for line in one["series"]:
            values = [None] * late + line["values"]
            values += [None] * (times - len(values))
            known = series.get(line["name"])
            if known is None:
                series[line["name"]] = {**line, "values": values}
                continue
            both = max if line["kind"] == MOST else sum
            known["total"] = both((known["total"], line["total"]))
            known["values"] = [
                _together(both, pair) for pair in zip(known["values"], values, strict=True)
            ]
    return {
        "first": begin,
        "step": step,
        "times": times,
        "series": [series[name] for name in sorted(series)],
        "unknown": sorted(set.intersection(*(set(one["unknown"]) for one in alike.values()))),
        "begins": _least(one["begins"] for one in alike.values()),
    }


def join_series(answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the series that any machine has."""
    series = {one["name"]: one for answer in answers.values() for one in answer["series"]}
    return {
        "series": [series[name] for name in sorted(series)],
        "summed": sorted({name for answer in answers.values() for name in answer["summed"]}),
        "begins": _least(answer["begins"] for answer in answers.values()),
    }


def sum_overview(answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the first page of all machines: figures are added, processes stay each machine's own.

    The home desk's processes are those of the page; where it is silent, those of the first one that
    is not. The others are in `others`.
    """
    first = _first(answers)
    waves: dict[str, dict[str, Any]] = {}
    for answer in answers.values():
        for wave in answer["waves"]:
            known = waves.get(wave["name"])
            if known is None:
                waves[wave["name"]] = dict(wave)
                continue
            for count in ("hour", "ips", "complaints", "traps"):
                known[count] = known.get(count, 0) + wave.get(count, 0)
    rules: dict[str, dict[str, Any]] = {}
    for answer in answers.values():
        for rule in answer["rules"]:
            known = rules.setdefault(rule["rule"], {"rule": rule["rule"], "now": 0, "before": 0})
            known["now"] = round(known["now"] + rule["now"], 1)
            known["before"] = round(known["before"] + rule["before"], 1)
    needs = [(machine, answer["needs"]) for machine, answer in answers.items()]
    return {
        **first,
        "bars": _bars(answers.values()),
        "waves": sorted(waves.values(), key=lambda one: -one["hour"])[:WAVES],
        "rules": sorted(rules.values(), key=lambda one: -abs(one["now"] - one["before"]))[:WAVES],
        "events": {
            name: _columns(answer["events"][name] for answer in answers.values())
            for name in ("complaints", "pardons")
        },
        "moves": _names(answer["moves"] for answer in answers.values()),
        "needs": {
            "contested": [
                {**one, "desk": machine} for machine, need in needs for one in need["contested"]
            ],
            "proposals": first["needs"]["proposals"],
            "unended": sum(need["unended"] for _, need in needs),
            "paused": any(need["paused"] for _, need in needs),
        },
        "missing": [
            f"{machine}: {text}" if machine else text
            for machine, answer in answers.items()
            for text in answer["missing"]
        ],
        "others": [
            {"desk": machine, "status": answer["status"]}
            for machine, answer in answers.items()
            if answer is not first
        ],
    }


def _bars(answers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return bars of all machines; those of a clock that differs by minutes are added as they are,
    the last one to the last one.
    """
    bars: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        for one in answer["bars"]:
            bars.setdefault(one["kind"], []).append(one)
    return [
        {
            "kind": kind,
            "values": _columns(one["values"] for one in ones),
            "before": _columns(one["before"] for one in ones),
        }
        for kind, ones in bars.items()
    ]


def _columns(lists: Iterable[list[int]]) -> list[int]:
    """Return the sums of lists, the last to the last."""
    found = list(lists)
    longest = max(map(len, found), default=0)
    aligned = [[0] * (longest - len(one)) + one for one in found]
    return [sum(column) for column in zip(*aligned, strict=True)]


def _names(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            found[name] = found.get(name, 0) + count
    return found


def _together(both: Any, pair: tuple[int | None, int | None]) -> int | None:
    known = [value for value in pair if value is not None]
    return both(known) if known else None


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _first(answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return next(iter(answers.values()))
