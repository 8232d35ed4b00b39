"""What is another policy, and what is the same one in other words."""

from pathlib import Path

import pytest

from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.load import load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.version import LENGTH, plain
from oborona.policy.watch import LivePolicy

BASE = """
[verdict]
spam_score = 90

[[group]]
name = "STYLE"
cap = 50

[[condition]]
name = "MANY"
when = "links > 5"

[[rule]]
name = "MANY_LINKS"
when = "MANY and text.words < 100"
score = 40
say = "{links} links"
group = "STYLE"

[[rule]]
name = "FEW_WORDS"
when = 'text.words < 5 and subject != "a  b"'
score = "2 * links"

[[local_list]]
name = "KEPT_OUT"
action = "deny"
of = ["client"]
entries = ["192.0.2.7"]
file = "out.list"

[[signature_list]]
name = "PILLS"
flag = "spam"
file = "pills.list"

[traps]
addresses = ["trap@example.com"]
files = ["traps.list"]
"""
SCRIPT = """oborona.rule {
  name = "OF_LUA", score = 5,
  when = function() return facts.client.ip == "192.0.2.3" end,
}
"""
FILES = {
    "10-base.toml": BASE,
    "20-script.lua": SCRIPT,
    "out.list": "198.51.100.7\n198.51.100.9\n",
    "pills.list": "cheap pills\ndear pills\n",
    "traps.list": "x@example.org\n",
}


def version(folder: Path, **files: str) -> str:
    """Write files (their names with _ for -, and without a suffix a policy file), and return the
    version.
    """
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_policy(folder, SCHEMA).version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


SAME = {
    "a comment": {"10-base.toml": "# of ours\n" + BASE},
    "white space": {"10-base.toml": BASE.replace(" = ", "   =  ").replace("\n\n", "\n\n\n")},
    "white space in a condition": {"10-base.toml": BASE.replace("MANY and text", "MANY  and\\n text").replace('when = "MANY', 'when = "MANY')},
    "a comment in a condition": {"10-base.toml": BASE.replace('"MANY and text.words < 100"', "'''MANY # many\nand text.words<100'''")},
    "a note": {"10-base.toml": BASE.replace('say = "{links} links"', 'say = "{links} links"\nwhy = "seen in May"')},
    "a test": {"10-base.toml": BASE.replace('group = "STYLE"\n', 'group = "STYLE"\ntest = [{hit = false}]\n')},
    "an equal override": {"90-local.toml": '[[rule]]\nname = "MANY_LINKS"\nscore = 40.0\n[verdict]\nspam_score = 90\n'},
    "a default, said": {"90-local.toml": "[verdict]\nreject_score = 200\n[greylist]\nenabled = false\n"},
    "a rule that is switched off": {"90-local.toml": '[[rule]]\nname = "OFF"\nwhen = "links > 9"\nscore = 1\nenabled = false\n'},
    "a list that is switched off": {"90-local.toml": ('[[local_list]]\nname = "OFF"\naction = '
        '"deny"\nof = ["client"]\nentries = '
        '["192.0.2.9"]\nenabled = false\n')},
    "an empty file": {"90-local.toml": "# nothing yet\n"},
    "a comment in a list": {"out.list": "# kept out\n198.51.100.7   # since May\n\n198.51.100.9\n"},
    "the order of a list of phrases": {"pills.list": "dear pills\ncheap pills\n"},
    "white space in a list": {"out.list": "\n  198.51.100.7\t\r\n\n198.51.100.9 \n\n"},
    "a comment in a list of phrases": {"pills.list": "# pills\ncheap pills\ndear pills\n"},
    "a comment in a list of traps": {"traps.list": "# traps\nX@Example.org  # old\n"},
    "a comment in a script": {"20-script.lua": "-- of ours\n--[[ long\n one ]]\n" + SCRIPT.replace("  ", "\t")},
    "a script of comments": {"30-more.lua": "-- nothing yet\n"},
    "a list that nobody names": {"other.list": "192.0.2.1\n"},
}  # fmt: skip
OTHER = {
    "a line": {"90-local.toml": "[verdict]\nspam_score = 80\n"},
    "a score": {"90-local.toml": '[[rule]]\nname = "MANY_LINKS"\nscore = 41\n'},
    "a formula": {"10-base.toml": BASE.replace("2 * links", "3 * links")},
    "a mode": {"90-local.toml": '[[rule]]\nname = "MANY_LINKS"\nmode = "shadow"\n'},
    "words": {"10-base.toml": BASE.replace("{links} links", "{links} of them")},
    "a group": {"10-base.toml": BASE.replace('group = "STYLE"\n', "")},
    "a cap": {"10-base.toml": BASE.replace("cap = 50", "cap = 60")},
    "a condition": {"10-base.toml": BASE.replace("links > 5", "links > 6")},
    "white space in a text": {"10-base.toml": BASE.replace("a  b", "a b")},
    "a rule that is gone": {"90-local.toml": '[[rule]]\nname = "MANY_LINKS"\nenabled = false\n'},
    "a new rule": {"90-local.toml": '[[rule]]\nname = "NEW"\nwhen = "links > 9"\nscore = 1\n'},
    "an entry of a list": {"out.list": "198.51.100.7\n"},
    "an entry in a table": {"10-base.toml": BASE.replace("192.0.2.7", "192.0.2.8")},
    "what a list means": {"90-local.toml": '[[local_list]]\nname = "KEPT_OUT"\naction = "allow"\n'},
    "a phrase": {"pills.list": "cheap pills\nmore pills\n"},
    "what phrases mean": {"90-local.toml": '[[signature_list]]\nname = "PILLS"\nscore = 7\n'},
    "a trap": {"traps.list": "y@example.org\n"},
    "a trap in a table": {"10-base.toml": BASE.replace("trap@", "trip@")},
    "what becomes of mail to traps": {"90-local.toml": '[traps]\nthen = "file"\n'},
    "the code of a script": {"20-script.lua": SCRIPT.replace("2.3", "2.4")},
    "a text in a script": {"20-script.lua": SCRIPT.replace("OF_LUA", "BY_LUA")},
    "the score of a script's rule": {"90-local.toml": '[[rule]]\nname = "OF_LUA"\nscore = 6\n'},
    "a DNS list": {"90-local.toml": '[[dns_list]]\nname = "BL"\nzone = "bl.example"\nof = ["client"]\nscore = 5\n'},
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_what_means_the_same_is_the_same_version(folder: Path, case: str) -> None:
    before = version(folder)
    assert version(folder, **SAME[case]) == before
    assert len(before) == LENGTH


@pytest.mark.parametrize("case", OTHER)
def test_what_means_another_thing_is_another_version(folder: Path, case: str) -> None:
    before = version(folder)
    assert version(folder, **OTHER[case]) != before


def test_names_and_division_of_files_are_no_matter(folder: Path) -> None:
    before = version(folder)
    (folder / "10-base.toml").rename(folder / "77-other.toml")
    (folder / "20-script.lua").rename(folder / "05-script.lua")
    assert version(folder) == before
    (folder / "77-other.toml").unlink()
    tables = BASE.replace("\n[", "\0[").split("\0")
    for number, text in enumerate(reversed(tables[1:])):
        (folder / f"{10 + number}.toml").write_text(text + "\n")
    assert version(folder) == before


def test_what_was_known_before_changes_no_version(folder: Path) -> None:
    before = PolicyCache()
    first = load_policy(folder, SCHEMA, before)
    (folder / "out.list").write_text("# later\n198.51.100.7\n198.51.100.9\n")
    assert (
        load_policy(folder, SCHEMA, before).version
        == first.version
        == load_policy(folder, SCHEMA).version
    )


def test_a_policy_that_means_the_same_stands_in_its_new_lines(folder: Path) -> None:
    live = LivePolicy(folder, SCHEMA)
    (folder / "10-base.toml").write_text("# one line more\n" + BASE)
    assert live.reload() is False
    assert live.current.origins["verdict.spam_score"] == f"{folder}/10-base.toml:4"


def test_the_pieces_of_an_expression() -> None:
    assert plain("a  and\n(b.c<=1) # no\n") == "a and ( b . c < = 1 )"
    assert plain("""r'a  \\' # b' == "  it's " """) == """r 'a  \\' # b' = = "  it's \""""
    assert plain('"""a "b"  c""" + \'\'\'d\'\'\'') == '"""a "b"  c""" + \'\'\'d\'\'\''


def test_the_policy_that_ships_means_the_same_in_one_folder_and_in_two(tmp_path: Path) -> None:
    alone = load_policy(PACKAGED, SCHEMA)
    assert (
        load_policy(PolicyFolders(own=tmp_path, shipped=PACKAGED), SCHEMA).version == alone.version
    )
