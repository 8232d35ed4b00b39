"""Whatever lies in an old configuration:

- nothing is raised but `ConfigError`, which names the file, and the line where it is about one;
- each line that says something is carried over, or left with a reason;
- the policy that it becomes can be used, and no expression of theirs is live in it.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.desk.move_in import plan as plan_module
from oborona.desk.move_in.perl_tokens import PerlWithoutEndError
from oborona.desk.move_in.perl_values import statements_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, SourcePlace
from oborona.desk.move_in.policy_text import policy_files
from oborona.desk.move_in.programs import read_plan
from oborona.desk.move_in.sources import MOST_LINE, MOST_OCTETS
from oborona.errors import ConfigError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.rules import VerdictLines
from oborona.types import RuleMode

EXAMPLES: Final = 40
ADDRESSES: Final = (
    "ann@a.example", "*@a.example", "*@*.a.example", "*.a.example", "a*b@c.example", "@a.example", "a.example", "192.0.2.0/24", "*", "x@", "münchen.example", "\u202e", "a" * 300,
)  # fmt: skip
PATTERNS: Final = (
    "/pills/i", "/(?=x)y/", r"/(a)\1/", "m{a/b}x", "/^a$/", "/\\xd0\\xb0/", "/unclosed", "//", "/[/", "/\\b\u0432\u0438\u0430\u0433\u0440\u0430\\b/iu", "/a{1000}{1000}/", "/'\"\\\\'/", "qr'^x@'i",
)  # fmt: skip
addresses = st.sampled_from(ADDRESSES) | st.text(max_size=20)
patterns = st.sampled_from(PATTERNS) | st.text(max_size=20).map(lambda text: f"/{text}/")


def folder_of(files: dict[str, bytes]) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    for name, raw in files.items():
        path = Path(folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    return folder


def plan_of(program: OldProgram, files: dict[str, bytes]) -> MovePlan | None:
    """Return the plan of files; None where they are refused as a whole, with their place."""
    with folder_of(files) as folder:
        try:
            return read_plan(program, Path(folder), now=1e9, domain="a.example")
        except ConfigError as error:
            refused = error
    assert refused.file in files
    assert refused.line
    return None


def saying(raw: bytes) -> set[int]:
    """Return the numbers of lines that hold more than a comment."""
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return {
        number
        for number, line in enumerate(lines, 1)
        if line.decode("utf-8", "replace").strip() and not line.lstrip().startswith(b"#")
    }


def told_lines(plan: MovePlan, name: str) -> set[int]:
    places = plan.carried | {line.place for line in plan.left}
    return {place.line for place in places if place.file == name}


def usable(plan: MovePlan) -> None:
    """Load the policy that a plan becomes; no rule or signature of it is live."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"10.toml": b"[verdict]\n", **policy_files(plan, VerdictLines())}
        for name, raw in files.items():
            Path(folder, name).write_bytes(raw)
        policy = load_policy(Path(folder), SCHEMA)
    assert all(rule.mode is RuleMode.SHADOW for rule in policy.rules)
    assert all(one.signature.mode is RuleMode.SHADOW for one in plan.signatures)
    assert policy.verdict.spam_score == VerdictLines().spam_score
    assert policy.verdict.reject_score == VerdictLines().reject_score


cf_lines = st.one_of(
    st.builds(
        lambda word, *rest: " ".join((word, *rest)),
        st.sampled_from(
            ["whitelist_from", "blocklist_from", "welcomelist_auth", "unwhitelist_from", "all_spam_to", "whitelist_from_dkim", "required_score", "WHITELIST_FROM\t"]
        ),
        addresses,
        addresses,
    ),
    st.builds(
        lambda word, name, header, pattern: f"{word} {name} {header}{pattern}",
        st.sampled_from(["header", "body", "uri", "uri_detail", "rawbody", "meta", "describe"]),
        st.sampled_from(["A", "B", "__C", "a-b", ""]),
        st.sampled_from(["", "Subject =~ ", "X-A !~ ", "From:addr =~ ", "domain =~ ", "exists:X "]),
        patterns,
    ),
    st.sampled_from(["score A 1e999", "score A nan", "score B", "ifplugin X", "endif", "use_bayes 1", "#c"]),
    st.text(max_size=60),
).map(str.encode) | st.binary(max_size=40)  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(st.lists(cf_lines, max_size=12))
def test_every_line_of_spamassassin_is_carried_or_told(lines: list[bytes]) -> None:
    raw = b"\n".join(lines)
    plan = plan_of(OldProgram.SPAMASSASSIN, {"local.cf": raw, "ann/user_prefs": raw})
    assert plan is not None
    for name in ("local.cf", "ann/user_prefs"):
        assert saying(raw) <= told_lines(plan, name)
    usable(plan)


perl_pieces = st.one_of(
    st.sampled_from(
        ["@whitelist_sender_maps = ", "$sa_tag2_level_deflt = ", "@score_sender_maps = ", "read_hash(\\%blacklist_sender, ", "(", ")", "[", "]", "{", "}", ";", ";\n", ",", "=>", "'a@b.example'", '"$x"', "qw(a.example .b.example)", "new_RE(", "qr'^x@'i", "-3.0", "7", "undef", "<<'E'\nx\nE\n", "=pod\n", "\n=cut\n", "# c\n", "__END__", "'.'", "read_hash('maps')", "\\", "@spam_tag2_level_maps = ", "'", '"', "/"]
    ),
    st.text(max_size=8),
)  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(st.lists(perl_pieces, max_size=40).map("".join), st.lists(addresses, max_size=5))
def test_every_statement_of_amavis_is_carried_or_told(text: str, keys: list[str]) -> None:
    hashed = "\n".join(keys).encode("utf-8", "replace")
    raw = text.encode("utf-8", "replace")
    plan = plan_of(OldProgram.AMAVIS, {"conf.d/50-user": raw, "maps": hashed})
    if plan is None:
        return
    first = {statement.line for statement in statements_of(raw.decode())}
    assert first <= told_lines(plan, "conf.d/50-user")
    usable(plan)


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), addresses, patterns)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
multimaps = st.fixed_dictionaries(
    {"type": st.sampled_from(["from", "ip", "rcpt", "header", "url", "content", "asn", "country", "user"])},
    optional={
        "map": st.sampled_from(["/etc/rspamd/local.d/a.map", "regexp;/etc/rspamd/local.d/a.map", "https://x.example/"]) | values,
        "score": st.sampled_from([5, -3, "2.5", "nan", 1e400]) | values,
        "action": st.sampled_from(["accept", "reject", "greylist"]) | values,
        "filter": st.sampled_from(["email", "email:domain", "email:domain:tld", "tld", "body"]) | values,
        "header": st.sampled_from(["From", "Subject", "X-A"]) | values,
        "regexp": st.booleans(), "symbol": values, "description": values,
    },
)  # fmt: skip
rules = st.fixed_dictionaries(
    {},
    optional={
        "from": values, "rcpt": values, "ip": values, "whitelist": st.booleans(),
        "apply": st.fixed_dictionaries({"actions": st.dictionaries(st.sampled_from(["add header", "reject"]), values)}) | values,
    },
)  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(
    st.dictionaries(st.text(max_size=8), multimaps | values, max_size=3),
    st.dictionaries(st.text(max_size=8), rules | values, max_size=3) | values,
    st.dictionaries(st.sampled_from(["reject", "add header", "greylist"]), values),
    st.lists((addresses | patterns).map(str.encode) | st.binary(max_size=20), max_size=6),
)
def test_every_rule_and_line_of_rspamd_is_carried_or_told(
    multimap: dict[str, Any], settings_: Any, actions: dict[str, Any], lines: list[bytes]
) -> None:
    raw = b"\n".join(lines)
    dump = {"multimap": multimap, "settings": settings_, "actions": actions, "whitelist": {"rules": {"W": {"domains": ["/etc/rspamd/local.d/a.map"]}}}}  # fmt: skip
    files = {"configdump.json": json.dumps(dump).encode(), "local.d/a.map": raw}
    plan = plan_of(OldProgram.RSPAMD, files)
    assert plan is not None
    assert saying(raw) <= told_lines(plan, "local.d/a.map")
    places = {place.file for place in plan.carried | {line.place for line in plan.left}}
    assert {f"configdump.json multimap.{name}" for name in multimap} <= places
    if isinstance(settings_, dict):
        assert {f"configdump.json settings.{name}" for name in settings_} <= places
    usable(plan)


sql_values = st.one_of(
    addresses, st.sampled_from(["whitelist_from", "lowspamlevel", "8", "ann@a.example", "a.example"])
).map(lambda text: "'" + text.replace("\n", " ").replace("\\", "\\\\").replace("'", "\\'") + "'")  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(st.lists(st.lists(sql_values, max_size=6).map(",".join), max_size=6), st.binary(max_size=30))
def test_every_row_of_mailcow_is_carried_or_told(rows: list[str], rubbish: bytes) -> None:
    head = "INSERT INTO `filterconf` VALUES\n" if rows else ""
    raw = (head + ",\n".join(f"({row})" for row in rows)).encode("utf-8", "replace")
    plan = plan_of(OldProgram.MAILCOW, {"dump.sql": raw})
    assert plan is not None
    assert set(range(2, 2 + len(rows))) <= told_lines(plan, "dump.sql")
    usable(plan)
    plan_of(OldProgram.MAILCOW, {"dump.sql": raw[: len(raw) // 2] + rubbish})


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=200), st.sampled_from(OldProgram))
def test_rubbish_is_refused_at_most(raw: bytes, program: OldProgram) -> None:
    names = {
        OldProgram.RSPAMD: "configdump.json",
        OldProgram.SPAMASSASSIN: "local.cf",
        OldProgram.MAILCOW: "filterconf.json",
        OldProgram.AMAVIS: "amavisd.conf",
    }
    with folder_of({names[program]: raw}) as folder, suppress(ConfigError):
        usable(read_plan(program, Path(folder), now=1e9))


DEEP: Final = "[" * 100_000


@pytest.mark.parametrize(
    ("program", "name", "raw"),
    [
        (OldProgram.RSPAMD, "configdump.json", DEEP.encode()),
        (OldProgram.MAILCOW, "a.json", b'{"a":' * 100_000),
        (OldProgram.RSPAMD, "configdump.json", b'{"options": ' + b"9" * 5_000 + b"}"),
        (OldProgram.AMAVIS, "amavisd.conf", f"@whitelist_sender_maps = {DEEP}".encode()),
        (OldProgram.AMAVIS, "amavisd.conf", b"$x = '" + b"\\" * 99_999),
        (OldProgram.MAILCOW, "a.sql", b"INSERT INTO filterconf VALUES (" + b"'a'," * 100_000),
        (OldProgram.SPAMASSASSIN, "local.cf", b"body A /" + b"(" * 10_000 + b"/\n" + b"x" * 99_999),
        (OldProgram.SPAMASSASSIN, "local.cf", b"header A Subject =~ /" + b"a?" * 5_000 + b"/"),
    ],
)  # fmt: skip
def test_what_is_deep_or_long_ends_soon(program: OldProgram, name: str, raw: bytes) -> None:
    plan = plan_of(program, {name: raw})
    assert plan is None or plan.left


def test_what_is_too_much_is_refused_or_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "local.cf"
    with file.open("wb") as opened:
        opened.truncate(MOST_OCTETS + 1)
    with pytest.raises(ConfigError, match=r"local\.cf: is too large"):
        read_plan(OldProgram.SPAMASSASSIN, tmp_path, now=0)
    for name, most in {
        "LEFT": 9,
        "RULES": 2,
        "OF_PERSON": 2,
        "ENTRIES": 2,
        "SIGNATURES": 1,
    }.items():
        monkeypatch.setattr(plan_module, f"MOST_{name}", most)
    file.write_bytes(b"nonsense a\n" * 10)
    with pytest.raises(ConfigError, match=r"local\.cf:10: more than 9 lines"):
        read_plan(OldProgram.SPAMASSASSIN, tmp_path, now=0)
    file.write_text(
        "".join(
            f"body A{number} /pattern {number}/\nheader B{number} X-A =~ /pattern {number}/\n"
            f"whitelist_from a{number}@c.example\n"
            for number in range(3)
        )
    )
    (tmp_path / "a@b.example").mkdir()
    personal = "blacklist_from a@c.example b@c.example d@c.example\n"
    (tmp_path / "a@b.example" / "user_prefs").write_text(personal)
    left = [line.why for line in read_plan(OldProgram.SPAMASSASSIN, tmp_path, now=0).left]
    assert left == [
        "more than 2 entries: import it by list import",
        "more than 1 signatures",
        "more than 2 rules",
        "more than 1 signatures",
        "more than 2 entries of one person",
    ]
    (tmp_path / "a@b.example" / "user_prefs").write_text("")
    file.write_bytes(b"y" * (MOST_LINE + 1))
    (long,) = read_plan(OldProgram.SPAMASSASSIN, tmp_path, now=0).left
    assert long.place == SourcePlace("local.cf", 1)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("whitelist_from a@b.example\n")
    (tmp_path / "sa").mkdir()
    (tmp_path / "sa" / "local.cf").symlink_to(tmp_path / "secret")
    with pytest.raises(ConfigError, match="leads out of the folder"):
        read_plan(OldProgram.SPAMASSASSIN, tmp_path / "sa", now=0)


def test_another_charset_costs_its_own_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "amavisd.conf").write_bytes(
        b"# f\xfcr uns\n@spam_lovers_maps = ( { 'a@b.example' => 1 } );\n$x = 'f\xfcr';\n"
    )
    (tmp_path / "notes.txt").write_bytes(b"\xff")
    plan = read_plan(OldProgram.AMAVIS, tmp_path, now=0)
    assert [list(planned.entries) for planned in plan.lists] == [["a@b.example"]]
    assert [(str(line.place), line.why) for line in plan.left] == [
        ("amavisd.conf:3", "is not UTF-8"),
        ("notes.txt", "is no file that anything is taken from"),
    ]
    (tmp_path / "dump.sql").write_bytes(
        b"INSERT INTO `filterconf` VALUES ('a@b.example','whitelist_from','\xfc@c.example'),\n"
        b"('a@b.example','whitelist_from','d@c.example');"
    )
    plan = read_plan(OldProgram.MAILCOW, tmp_path, now=0)
    assert list(plan.persons["a@b.example"].entries) == [("address", "d@c.example")]
    assert [str(line.place) for line in plan.left if "UTF-8" in line.why] == ["dump.sql:1"]


def test_perl_without_an_end_names_where_it_begins() -> None:
    with pytest.raises(PerlWithoutEndError) as broken:
        list(statements_of("$a = 1;\n\n@b = ('x', 'y);\n$c = 2;\n"))
    assert broken.value.line == 3
