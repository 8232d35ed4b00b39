"""A folder of policy files: order, overrides, origins, and a broken one that never replaces a good
one.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.load import load_policy
from oborona.policy.watch import LivePolicy, folder_state
from oborona.types import RuleMode, Stage
from tests.policy.small_schema import SCHEMA, facts

BASE = """\
[verdict]
spam_score = 90
reject_score = 150

[[rule]]
name = "SHORT"
when = "text.words < 10"
score = 5
say = "{text.words} words"
why = "Bots write little."

[[rule]]
name = "ALWAYS"
when = "true"
score = 1
"""
LOCAL = """\
[verdict]
refuse = false

[[rule]]
name = "SHORT"
score = 7.5
mode = "shadow"

[[rule]]
name = "ALWAYS"
enabled = false

[[rule]]
name = "OURS"
when = "recipients > 0"
stage = "content"
score = -3
"""


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_later_files_change_only_the_fields_they_give(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, {"90-local.toml": LOCAL, "10-base.toml": BASE}), SCHEMA)
    assert (policy.verdict.spam_score, policy.verdict.reject_score, policy.verdict.refuse) == (
        90.0,
        150.0,
        False,
    )
    short, always, ours = policy.rules
    assert (short.name, short.score, short.mode, short.when) == (
        "SHORT",
        7.5,
        RuleMode.SHADOW,
        "text.words < 10",
    )
    assert (short.say, short.why) == ("{text.words} words", "Bots write little.")
    assert (always.name, always.enabled) == ("ALWAYS", False)
    assert (ours.name, ours.stage) == ("OURS", Stage.CONTENT)
    hits, errors = policy.compiled.run(facts(), Stage.CONTENT)
    assert [(hit.name, hit.score, hit.mode, hit.say) for hit in hits] == [
        ("SHORT", 7.5, RuleMode.SHADOW, "7 words"),
        ("OURS", -3.0, RuleMode.LIVE, ""),
    ]
    assert errors == []


def test_every_field_knows_its_line(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, {"10-base.toml": BASE, "90-local.toml": LOCAL}), SCHEMA)
    base, local = tmp_path / "10-base.toml", tmp_path / "90-local.toml"
    assert policy.origins["verdict.spam_score"] == f"{base}:2"
    assert policy.origins["verdict.refuse"] == f"{local}:2"
    assert policy.origins["rule.SHORT.when"] == f"{base}:7"
    assert policy.origins["rule.SHORT.score"] == f"{local}:6"
    assert "rule.SHORT.stage" not in policy.origins
    assert policy.files == (str(base), str(local))


def test_an_override_that_breaks_a_rule_is_placed_where_it_stands(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"10-base.toml": BASE, "90-local.toml": '[[rule]]\nname = "SHORT"\n\nsay = "{wrods}"\n'},
    )
    with pytest.raises(PolicyError) as refused:
        load_policy(tmp_path, SCHEMA)
    assert (refused.value.file, refused.value.line, refused.value.column) == (
        str(tmp_path / "90-local.toml"),
        4,
        9,
    )


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    score = '[[rule]]\nname = "X"\nwhen = "true"\nscore = {}\n'
    names = ["a.toml", "9.toml", "10.toml", "Z.toml"]
    policy = load_policy(
        write(tmp_path, {name: score.format(number) for number, name in enumerate(names)}), SCHEMA
    )
    assert [Path(name).name for name in policy.files] == ["10.toml", "9.toml", "Z.toml", "a.toml"]
    assert policy.rules[0].score == 0


def test_other_names_are_no_policy(tmp_path: Path) -> None:
    others = dict.fromkeys(
        [".#10-base.toml", ".hidden.toml", "10-base.toml~", "x.toml.bak", "README"], "broken = = \n"
    )
    assert len(load_policy(write(tmp_path, {"10-base.toml": BASE, **others}), SCHEMA).files) == 1


def test_a_comment_alone_is_a_good_file(tmp_path: Path) -> None:
    assert load_policy(write(tmp_path, {"10-none.toml": "# nothing yet\n"}), SCHEMA).rules == ()


@pytest.mark.parametrize("kind", ["folder", "pipe", "broken link"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, {"10-base.toml": BASE}) / "20.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "missing")
    with pytest.raises(PolicyError) as refused:
        load_policy(tmp_path, SCHEMA)
    assert refused.value.file == str(path)


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.toml": "# x\n" for number in range(201)})
    with pytest.raises(PolicyError, match="holds 201 files"):
        load_policy(tmp_path, SCHEMA)


def test_too_many_rules_are_refused_at_the_first_too_many(tmp_path: Path) -> None:
    rules = "".join(
        f'[[rule]]\nname = "R{number}"\nwhen = "true"\nscore = 1\n' for number in range(5001)
    )
    with pytest.raises(PolicyError, match="more than 5000 rules") as refused:
        load_policy(write(tmp_path, {"10.toml": rules}), SCHEMA)
    assert refused.value.line == 5000 * 4 + 1


@pytest.mark.parametrize("cut", range(0, len(BASE), 7))
def test_a_file_cut_anywhere_inside_a_line_is_refused(tmp_path: Path, cut: int) -> None:
    if cut and BASE[cut - 1] == "\n":
        cut -= 1
    with pytest.raises(PolicyError):
        load_policy(write(tmp_path, {"10-base.toml": BASE[:cut]}), SCHEMA)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=100)
    | st.lists(
        st.sampled_from(
            ["[[rule]]\n", "[verdict]\n", "[rule]\n", 'name = "X"\n', 'name = "Y"\n', "score = 1\n", "score = nan\n", "score = 0xffffffffffffffffff\n",
             'when = "true"\n', 'when = """\n', '"""\n', "when = 1\n", "spam_score = 5\n", "refuse = 1\n", 'mode = "shadow"\n', 'say = "{"\n',
             "rule = 1\n", "[[rule.rule]]\n", "verdict.refuse = true\n", '[rule."when"]\n', "enabled = false\n", 'stage = "x"\n', "[[verdict]]\n"]
        ),
        max_size=12,
    ).map(lambda lines: "".join(lines).encode())
)  # fmt: skip
def test_any_bytes_are_a_policy_or_refused_with_their_file(tmp_path: Path, raw: bytes) -> None:
    write(tmp_path, {"10.toml": raw})
    try:
        load_policy(tmp_path, SCHEMA)
    except PolicyError as error:
        refused = error
    else:
        return
    assert refused.file == str(tmp_path / "10.toml")


def test_a_live_policy_follows_its_files(tmp_path: Path) -> None:
    live = LivePolicy(write(tmp_path, {"10-base.toml": BASE}), SCHEMA)
    first = live.current
    assert live.reload() is False
    assert live.current is first

    write(tmp_path, {"90-local.toml": LOCAL})
    assert live.reload() is True
    assert len(live.current.rules) == 3
    assert live.error is None

    (tmp_path / "90-local.toml").unlink()
    assert live.reload() is True
    assert live.current.version == first.version


def test_a_broken_policy_never_replaces_a_good_one(tmp_path: Path) -> None:
    live = LivePolicy(write(tmp_path, {"10-base.toml": BASE}), SCHEMA)
    good = live.current
    write(tmp_path, {"90-local.toml": '[[rule]]\nname = "SHORT"\nscore = "many"\n'})
    assert live.reload() is False
    assert live.current is good
    assert live.error is not None
    assert (live.error.file, live.error.line) == (str(tmp_path / "90-local.toml"), 3)
    assert live.reload() is False  # not read again: nothing changed
    assert live.error is not None

    write(tmp_path, {"90-local.toml": '[[rule]]\nname = "SHORT"\nscore = 8\n'})
    assert live.reload() is True
    assert live.error is None
    assert live.current.rules[0].score == 8


def test_a_repaired_policy_that_is_the_old_one_clears_the_error(tmp_path: Path) -> None:
    live = LivePolicy(write(tmp_path, {"10-base.toml": BASE}), SCHEMA)
    write(tmp_path, {"10-base.toml": "broken"})
    assert live.reload() is False
    assert live.error is not None
    write(tmp_path, {"10-base.toml": BASE})
    assert live.reload() is False
    assert live.error is None


def test_a_folder_that_vanishes_keeps_the_policy(tmp_path: Path) -> None:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    live = LivePolicy(write(folder, {"10-base.toml": BASE}), SCHEMA)
    (folder / "10-base.toml").unlink()
    folder.rmdir()
    assert live.reload() is False
    assert live.error is not None
    assert live.current.rules


def test_a_forced_reload_reads_whatever_the_signature_says(tmp_path: Path) -> None:
    live = LivePolicy(write(tmp_path, {"10-base.toml": BASE}), SCHEMA)
    write(tmp_path, {"10-base.toml": BASE.replace("spam_score = 90", "spam_score = 80")})
    live._seen = folder_state(tmp_path)
    assert live.reload() is False
    assert live.reload(force=True) is True
    assert live.current.verdict.spam_score == 80


def test_no_good_policy_to_begin_with_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        LivePolicy(tmp_path, SCHEMA)


def test_the_signature_moves_with_every_change(tmp_path: Path) -> None:
    seen = {folder_state(tmp_path), folder_state(tmp_path / "missing")}
    assert len(seen) == 2, "a folder that is empty, and one that is none"
    path = write(tmp_path, {"10-base.toml": BASE}) / "10-base.toml"
    seen.add(folder_state(tmp_path))
    assert folder_state(tmp_path) in seen
    path.chmod(0o600)
    os.utime(path, ns=(1, 1))
    seen.add(folder_state(tmp_path))
    other = tmp_path / "new"
    other.write_text(BASE)
    os.utime(other, ns=(1, 1))
    other.replace(path)
    seen.add(folder_state(tmp_path))
    path.rename(tmp_path / "20-base.toml")
    seen.add(folder_state(tmp_path))
    (tmp_path / "30.toml").symlink_to(tmp_path / "missing")
    seen.add(folder_state(tmp_path))
    assert len(seen) == 7
