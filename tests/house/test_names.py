"""Names: one class has one name, a module is called by a noun (CONTRIBUTING.md)."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src/oborona", "milter", "policy", "reputation", "counters", "benchmarks/counter_load")
NO_NOUN = re.compile(r"(?:ing|ed)$")
NOUNS = {  # that end as a participle does
    "accounting", "alarm", "encoding", "feed", "hashing", "learning", "listing", "meaning", "mining", "outgoing", "processing",
    "rating", "received",
    "respelling", "spelling", "standing", "stuffing",
}  # fmt: skip
OTHER_WORDS = {
    "again", "anew", "apart", "before", "found", "gone", "heard", "here", "how", "kept", "made", "now", "own",
    "said", "seen", "spoken", "still", "taken", "then", "there", "told", "what", "where", "whose",
}  # fmt: skip
SAYS_NOTHING = {"common", "helper", "helpers", "manager", "misc", "stuff", "util", "utils"}
SET_APART = "src/oborona/cli/set_apart.py"  # the command's name


def modules() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT / folder).parents
            if not any((ROOT / folder / part).is_symlink() for part in inside):
                yield path


def test_a_class_name_means_one_class() -> None:
    places = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 1_000
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_module_is_called_by_a_noun() -> None:
    names = {}
    for path in modules():
        where = path.relative_to(ROOT)
        if "checks" in where.parts or str(where) == SET_APART:  # a check is called as its finding
            continue
        name = path.parent.name if path.stem == "__init__" else path.stem
        last = name.rpartition("_")[2]
        if (NO_NOUN.search(last) and last not in NOUNS) or last in OTHER_WORDS | SAYS_NOTHING:
            names[str(where)] = name
    assert len(list(modules())) > 900
    assert names == {}


def test_what_is_allowed_is_there() -> None:
    lasts = {path.stem.rpartition("_")[2] for path in modules()}
    lasts |= {path.parent.name.rpartition("_")[2] for path in modules()}
    assert set() == NOUNS - lasts
