"""Scripts in a policy folder: one law of names and files with TOML, every error with its file and
line, all or nothing.
"""

import gc
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scripts.scripts import Scripts
from oborona.policy.stages import awaited_answers, deciding
from oborona.policy.watch import LivePolicy
from oborona.types import RuleMode, Stage
from tests.policy.scripts.made import facts

BASE = "[verdict]\nreject_score = 200\n"
ODD = """\
-- a comment
oborona.rule {
    name = "LUA_ODD",
    score = 20,
    say = "odd",
    why = "A try.",
    when = function() return facts.text.words < 5 end,
}
"""


def policy(folder: Path, files: Mapping[str, str | bytes]) -> Policy:
    for name, text in {"10-base.toml": BASE, **files}.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_policy(folder, SCHEMA)


def scripts(found: Policy) -> Scripts:
    assert found.scripts is not None
    return found.scripts


def refused(folder: Path, files: Mapping[str, str | bytes]) -> PolicyError:
    with pytest.raises(PolicyError) as error:
        policy(folder, files)
    return error.value


def test_a_rule_of_a_script_is_a_rule(tmp_path: Path) -> None:
    found = policy(tmp_path, {"60-odd.lua": ODD})
    (rule,) = found.rules
    assert (rule.name, rule.score, rule.say, rule.why, rule.mode) == (
        "LUA_ODD",
        20,
        "odd",
        "A try.",
        RuleMode.LIVE,
    )
    assert rule.when == "function in lines 7 to 7"
    assert found.origins["rule.LUA_ODD.score"] == f"{tmp_path / '60-odd.lua'}:2"
    assert found.files == (str(tmp_path / "10-base.toml"), str(tmp_path / "60-odd.lua"))
    (hit,) = scripts(found).judge(facts(), Stage.CONTENT).hits
    assert (hit.name, hit.score, hit.say, hit.mode) == ("LUA_ODD", 20, "odd", RuleMode.LIVE)
    assert not found.compiled.run(facts(), Stage.CONTENT)[0]


def test_without_scripts_there_is_no_machine(tmp_path: Path) -> None:
    assert policy(tmp_path, {}).scripts is None


def test_a_comment_alone_is_a_good_script(tmp_path: Path) -> None:
    assert policy(tmp_path, {"60-none.lua": "-- nothing yet\n--[[ nor\nthere ]]\n"}).scripts is None
    assert policy(tmp_path, {"60-none.lua": "local nothing = 1\n"}).scripts is None


def test_later_files_change_a_rule_of_a_script(tmp_path: Path) -> None:
    later = '[[rule]]\nname = "LUA_ODD"\nscore = 7\nmode = "shadow"\nsay = "{not filled in}"\n'
    (hit,) = (
        scripts(policy(tmp_path, {"60-odd.lua": ODD, "90-local.toml": later}))
        .judge(facts(), Stage.CONTENT)
        .hits
    )
    assert (hit.score, hit.say, hit.mode) == (7, "{not filled in}", RuleMode.SHADOW)
    off = policy(tmp_path, {"90-local.toml": '[[rule]]\nname = "LUA_ODD"\nenabled = false\n'})
    assert scripts(off).judge(facts(), Stage.CONTENT).hits == ()
    assert not scripts(off).stages


def test_a_condition_in_a_later_file_takes_the_place_of_the_function(tmp_path: Path) -> None:
    later = '[[rule]]\nname = "LUA_ODD"\nwhen = "text.words == 4"\n'
    found = policy(tmp_path, {"60-odd.lua": ODD, "90-local.toml": later})
    assert found.scripts is None
    assert [hit.name for hit in found.compiled.run(facts(), Stage.CONTENT)[0]] == ["LUA_ODD"]


def test_a_function_in_a_later_file_takes_the_place_of_a_condition(tmp_path: Path) -> None:
    first = '[[rule]]\nname = "LUA_ODD"\nwhen = "true"\nscore = 3\nsay = "as before"\n'
    found = policy(
        tmp_path,
        {
            "50-first.toml": first,
            "60-odd.lua": 'oborona.rule { name = "LUA_ODD", when = function() return true end }\n',
        },
    )
    assert found.compiled.run(facts(), Stage.CONTENT) == ([], [])
    (hit,) = scripts(found).judge(facts(), Stage.CONTENT).hits
    assert (hit.score, hit.say) == (3, "as before")


def test_of_two_scripts_the_later_has_the_function(tmp_path: Path) -> None:
    found = policy(
        tmp_path,
        {
            "60-odd.lua": ODD,
            "70-odd.lua": 'oborona.rule { name = "LUA_ODD", when = function() return 0.5, "half" end }\n',
        },
    )
    (hit,) = scripts(found).judge(facts(), Stage.CONTENT).hits
    assert (hit.score, hit.say) == (10, "odd: half")


def test_expressions_may_ask_for_what_scripts_did(tmp_path: Path) -> None:
    check = (
        'oborona.check { name = "few-words", run = function() return facts.text.words < 5 and '
        '"4 words" end }\n'
    )
    rules = """\
[[rule]]
name = "BOTH"
when = "fired(LUA_ODD) and found('few-words') and 'few-words' in findings"
score = 1
"""
    found = policy(tmp_path, {"60-odd.lua": ODD, "61-check.lua": check, "70-rules.toml": rules})
    said = scripts(found).judge(facts(), Stage.CONTENT)
    assert [(one.name, one.evidence) for one in said.findings] == [("few-words", "4 words")]
    assert [hit.name for hit in found.compiled.run(said.facts, Stage.CONTENT, said.hits)[0]] == [
        "BOTH"
    ]


def test_rules_of_scripts_see_the_findings_of_checks_in_any_file(tmp_path: Path) -> None:
    rule = (
        'oborona.rule { name = "X", score = 1, when = function() return found("few-words") end }\n'
    )
    check = 'oborona.check { name = "few-words", run = function() return true end }\n'
    found = scripts(policy(tmp_path, {"60-rule.lua": rule, "61-check.lua": check})).judge(
        facts(), Stage.CONTENT
    )
    assert [hit.name for hit in found.hits] == ["X"]
    assert [(one.name, one.evidence) for one in found.findings] == [("few-words", "")]


WRONG = {
    "syntax": ("x = = 1\n", 1, "unexpected symbol near '='"),
    "no end": ("oborona.rule {\n", 2, "unexpected symbol near <eof>"),
    "assignment": ("seen = 1\n", 1, "is read-only: nothing is kept from one message to the next"),
    "unknown name": ("\nprint('x')\n", 2, "unknown name print"),
    "fact": ("local x = 1\nlocal w = facts.text.wrods\n", 2, "unknown fact text.wrods; did you mean text.words?"),
    "fact in quotes": ("local w = facts['text.wrods']\n", 1, "unknown fact text.wrods; did you mean text.words?"),
    "count": ("local f = function() return count('Form', 'day', 'seen') end\n", 1, "unknown shingle type Form; did you mean From?"),
    "window": ("local f = function() return count('From', 'dya', 'seen') end\n", 1, "unknown window dya; known: recent, hour, day, fortnight"),
    "arguments": ("local f = function() return count('From') end\n", 1, "count() takes a shingle type"),
    "finding": ("local f = function() return found('hidden-txt') end\n", 1, 'unknown finding "hidden-txt"; did you mean hidden-text?'),
    "long text": ("local t = [==[ x\n]]\n", 1, "[==[ has no ]==]"),
    "text": ("local t = 'x\n'\n", 1, "a text does not end in its line"),
    "no end of line": ("local t = 1", 1, "its last line does not end: half-written?"),
    "empty": (" \n", 1, "is empty: half-written?"),
    "not UTF-8": (b"local t = '\xff'\n", 1, "is not UTF-8: byte 0xff"),
    "byte order mark": ("\ufefflocal t = 1\n", 1, "begins with a byte order mark"),
    "no table": ("oborona.rule()\n", 1, "oborona.rule takes one table: oborona.rule { name = ... }"),
    "no function": ('oborona.rule { name = "X", score = 1 }\n', 1, "oborona.rule: when must be a function, not nil"),
    "text for a function": ('oborona.rule { name = "X", score = 1, when = "true" }\n', 1, "oborona.rule: when must be a function, not string"),
    "function of ours": ('oborona.rule { name = "X", score = 1, when = found }\n', 1, "oborona.rule: when must be a function of the script"),
    "standard function": ('oborona.rule { name = "X", score = 1, when = tonumber }\n', 1, "oborona.rule: when must be a function of the script"),
    "no name": ("\noborona.rule { score = 1, when = function() end }\n", 2, "a rule without name"),
    "name": ('oborona.rule { name = "odd", score = 1, when = function() end }\n', 1, 'name = "odd": not allowed; capital letters'),
    "no score": ('oborona.rule { name = "X", when = function() end }\n', 1, "rule X: score is missing, and no earlier file defines the rule"),
    "score": ('oborona.rule { name = "X", score = 5000, when = function() end }\n', 1, "rule X: score = 5000: not allowed; a number, -1000 to 1000"),
    "no number": ('oborona.rule { name = "X", score = 0/0, when = function() end }\n', 1, "rule X: score = "),
    "formula": ('oborona.rule { name = "X", score = "links", when = function() end }\n', 1, "oborona.rule: score is a number; the function may return a share"),
    "mode": ('oborona.rule { name = "X", score = 1, mode = "dry", when = function() end }\n', 1, 'mode = "dry": not allowed; one of "live", "shadow"'),
    "unknown key": ('oborona.rule { name = "X", scroe = 1, when = function() end }\n', 1, 'rule X: unknown key "scroe"; did you mean score?'),
    "table for a text": ('oborona.rule { name = "X", score = 1, say = {}, when = function() end }\n', 1, "oborona.rule: say is a table"),
    "key": ('oborona.rule { "X", when = function() end }\n', 1, "oborona.rule: a key is a number"),
    "test": ('oborona.rule { name = "X", score = 1, test = "x", when = function() end }\n', 1, "oborona.rule: test is not a text here"),
    "twice": (ODD + ODD.replace("-- a comment\n", ""), 9, "rule LUA_ODD is already defined in line 2 of this file"),
    "check's name": ('oborona.check { name = "FEW", run = function() end }\n', 1, 'oborona.check: name = "FEW": not allowed; small letters'),
    "check without name": ("oborona.check { run = function() end }\n", 1, "a check without name"),
    "check's key": ('oborona.check { name = "few", score = 1, run = function() end }\n', 1, 'oborona.check: unknown key "score"'),
    "known finding": ('oborona.check { name = "hidden-text", run = function() end }\n', 1, 'there is a finding "hidden-text" already'),
    "check twice": (('oborona.check { name = "a-b", run = function() end }\noborona.check { name '
        '= "a-b", '
        'run = function() end }\n'), 2, 'there is a finding "a-b" already'),
    "stage": (('oborona.rule { name = "X", score = 1, stage = "connect",\nwhen = function() return '
        'facts.subject == "x" end }\n'), 2,
              'X: subject is known from stage "content" on, not at "connect"'),
    "fails when tried": (('oborona.rule { name = "X", score = 1, when = function()\n local t = '
        '{}\n return '
        't.x.y\nend }\n'), 3,
                         "X: fails on an empty message: attempt to index a nil value (field 'x')"),
    "gives a text": ('oborona.rule { name = "X", score = 1, when = function() return "x" end }\n', 1, "X: fails on an empty message: gives a text first"),
    "gives a table": ('oborona.rule { name = "X", score = 1, when = function() return {} end }\n', 1, "X: fails on an empty message: gives a table"),
    "gives no number": ('oborona.rule { name = "X", score = 1, when = function() return 0/0 end }\n', 1, "X: fails on an empty message: gives a number that is none"),
    "check gives a number": ('oborona.check { name = "a-b", run = function() return 3 end }\n', 1, "a-b: fails on an empty message: gives a number"),
    "error": ("\nerror('no')\n", 2, "no"),
    "error without text": ("error({})\n", 0, "ends with an error that is no text"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_has_its_file_and_line(
    tmp_path: Path, text: str | bytes, line: int, words: str
) -> None:
    error = refused(tmp_path, {"60-wrong.lua": text})
    assert words in error.problem
    assert (error.file, error.line) == (str(tmp_path / "60-wrong.lua"), line)


def test_a_later_file_may_not_give_a_script_what_it_cannot_use(tmp_path: Path) -> None:
    for more, words in (
        ('score = "links * 2"', "rule LUA_ODD: score is a number for a rule of a script"),
        (
            '[[rule.test]]\nfacts = { "text.words" = 1 }\nhit = true',
            "rule LUA_ODD: test does not reach a script",
        ),
    ):
        error = refused(
            tmp_path, {"60-odd.lua": ODD, "90-local.toml": f'[[rule]]\nname = "LUA_ODD"\n{more}\n'}
        )
        assert error.problem == words
        assert (error.file, error.line) == (str(tmp_path / "90-local.toml"), 3)


@pytest.mark.parametrize("kind", ["folder", "pipe", "broken link", "large"])
def test_what_is_no_script_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "60.lua"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        path.write_bytes(b"-- x\n" * 30_000)
    else:
        path.symlink_to(tmp_path / "missing")
    assert refused(tmp_path, {}).file == str(path)


def test_the_version_follows_scripts(tmp_path: Path) -> None:
    versions = {
        policy(tmp_path, {"60-odd.lua": text}).version
        for text in (ODD, ODD.replace("20", "30"), ODD)
    }
    assert len(versions) == 2
    assert policy(tmp_path, {}).version in versions


def test_a_live_policy_follows_scripts_and_keeps_a_good_one(tmp_path: Path) -> None:
    policy(tmp_path, {"60-odd.lua": ODD})
    live = LivePolicy(tmp_path, SCHEMA)
    good = live.current
    (tmp_path / "60-odd.lua").write_text(ODD + "oops()\n")
    assert live.reload() is False
    assert live.current is good
    assert live.error is not None
    assert (live.error.file, live.error.line) == (str(tmp_path / "60-odd.lua"), 9)
    (tmp_path / "60-odd.lua").write_text(ODD.replace("20", "30"))
    assert live.reload() is True
    assert [hit.score for hit in scripts(live.current).judge(facts(), Stage.CONTENT).hits] == [30]


def test_stages_and_what_is_asked_before(tmp_path: Path) -> None:
    text = """\
local function spf() return facts.spf.result == "fail" end
oborona.rule { name = "A", score = 250, stage = "sender", when = function() return spf() end }
oborona.rule { name = "B", score = 1, stage = "connect", when = function() return facts.iprev.result == "fail" end }
oborona.rule { name = "C", score = 1, when = function() return facts.dmarc.result == "fail" end }
"""
    found = policy(tmp_path, {"60.lua": text})
    assert scripts(found).stages == {"A": Stage.SENDER, "B": Stage.CONNECT, "C": Stage.CONTENT}
    assert deciding(found) >= {Stage.SENDER}
    assert awaited_answers(found, Stage.CONNECT) == (False, True)
    assert awaited_answers(found, Stage.SENDER) == (True, True)
    assert "dmarc.result" in scripts(found).named[Stage.CONTENT]
    assert "dmarc.result" not in scripts(found).named[Stage.SENDER]
    at_connect = scripts(found).judge(facts(iprev_result="fail", spf_result="fail"), Stage.CONNECT)
    assert [hit.name for hit in at_connect.hits] == ["B"]
    assert [
        hit.name
        for hit in scripts(found)
        .judge(facts(iprev_result="fail", spf_result="fail"), Stage.SENDER)
        .hits
    ] == ["A", "B"]


def test_machines_of_old_policies_are_given_back(tmp_path: Path) -> None:
    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    text = "local t = {} for i = 1, 20000 do t[i] = 'x' .. i end\n" + ODD.replace("< 5", "< #t")
    for number in range(200):
        if number == 20:
            before = resident()
        scripts(policy(tmp_path, {"60-odd.lua": text})).judge(facts(), Stage.CONTENT)
    assert resident() - before < 8 << 20  # 180 machines of two megabytes


def test_a_rule_that_is_registered_by_a_tail_call_has_a_line(tmp_path: Path) -> None:
    text = (
        "\nlocal function made(name)\n  return oborona.rule { name = name, score = 1, when = "
        'function() return true end }\nend\nreturn made("X")\n'
    )
    found = policy(tmp_path, {"60.lua": text})
    assert found.origins["rule.X.score"] == f"{tmp_path / '60.lua'}:3"
