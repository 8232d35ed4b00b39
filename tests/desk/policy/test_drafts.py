"""Drafts: written, set by forms, linted, tested and tried; hostile names, links and files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oborona.desk.call import CALLS, CallError, NotAllowedError, NotFoundError
from oborona.desk.policy.site_policy import PolicyConflictError
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.rights import Right, Role
from tests.cli.journaled import LINKS, LOTTERY, LUNCH, WORDS, journal
from tests.desk.policy.drafted import OVERLAY, call, new_draft, new_site, own_files, person

HOSTILE_DRAFTS = ["", ".", "..", "../x", "a/b", "A", "x" * 41, "a\x00b", ".hidden", "-a", "a-", "ä"]
HOSTILE_FILES = [
    "../x.toml",
    "/etc/x.toml",
    ".x.toml",
    "a/b.toml",
    "x",
    "x.tsv",
    "x.toml\n",
    "\x00.toml",
    "x" * 97 + ".toml",
    "ä.toml",
]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return new_site(tmp_path, "write")


@pytest.mark.parametrize("name", HOSTILE_DRAFTS)
def test_no_name_of_a_draft_leads_elsewhere(site: Site, tmp_path: Path, name: str) -> None:
    with pytest.raises(CallError, match="no name of a draft"):
        new_draft(site, name=name)
    for ask in ("policy.draft_show", "policy.draft_drop", "policy.test"):
        if name or ask != "policy.test":  # none: what is in force
            with pytest.raises(CallError):
                call(site, ask, draft=name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.d", "state"]


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_no_name_of_a_file_leads_elsewhere(site: Site, name: str) -> None:
    new_draft(site)
    for more in ({"text": "x = 1\n"}, {"text": None}):
        with pytest.raises(CallError, match="no name of a policy file"):
            call(site, "policy.draft_write", draft="mine", file=name, **more)
    with pytest.raises(CallError):
        call(site, "policy.lint", draft="mine", file=name, text="")
    with pytest.raises(CallError):
        call(site, "policy.draft_show", draft="mine", file=name)


def test_a_draft_has_an_owner_and_an_end(site: Site) -> None:
    new_draft(site, "# mine\n")
    ben = person(Role.ANALYST, "ben")
    with pytest.raises(NotAllowedError, match="draft of anna"):
        call(site, "policy.draft_write", ben, draft="mine", file=OVERLAY, text="")
    with pytest.raises(NotAllowedError):
        call(site, "policy.draft_drop", ben, draft="mine")
    with pytest.raises(CallError, match="already"):
        new_draft(site)
    shown = call(site, "policy.draft_show", ben, draft="mine", file=OVERLAY)
    assert (shown.file.text, shown.brief.owner, shown.brief.changed) == (
        "# mine\n",
        "anna",
        (OVERLAY,),
    )
    call(site, "policy.draft_drop", draft="mine", dry=True)
    call(site, "policy.draft_drop", draft="mine")
    with pytest.raises(NotFoundError):
        call(site, "policy.draft_show", draft="mine")


def test_who_writes_over_what_somebody_else_wrote_is_told(site: Site) -> None:
    new_draft(site, "# one\n")
    seen = call(site, "policy.draft_show", draft="mine", file=OVERLAY).file.digest
    done = call(site, "policy.draft_write", draft="mine", file=OVERLAY, text="# two\n", before=seen)
    assert done.digest != seen
    with pytest.raises(PolicyConflictError):
        call(site, "policy.draft_write", draft="mine", file=OVERLAY, text="# 3\n", before=seen)


def test_lint_says_file_line_column_and_what_is_allowed_while_one_types(site: Site) -> None:
    new_draft(site)
    folder = site.policy_folders.own
    text = '[[rule]]\nname = "X"\nwhen = "linkz > 1"\nscore = 2000\n'
    found = call(site, "policy.lint", draft="mine", file=OVERLAY, text=text)
    assert not found.right
    assert [(one.file, one.line) for one in found.problems] == [(f"{folder}/{OVERLAY}", 4)]
    assert "-1000 to 1000" in found.problems[0].message
    found = call(site, "policy.lint", draft="mine", file=OVERLAY, text=text.replace("2000", "2"))
    assert (found.problems[0].line, found.problems[0].column) == (3, 9)
    assert "did you mean links?" in found.problems[0].message
    assert call(site, "policy.lint", draft="mine").right
    assert call(site, "policy.lint").right
    assert OVERLAY not in call(site, "policy.draft_show", draft="mine").files


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "[[rule]]",
        "a = " + "[" * 100_000,
        "x" * 1_000_000,
        '[[rule]]\nname = "X"\nwhen = "' + "(" * 1900 + '"\nscore = 1\n',
        "\ufeff",
        "[[rule]]\nname = 3\n",
        "rule = 3\n",
        "a = 9" + "9" * 10_000 + "\n",
    ],
)
def test_whatever_is_typed_is_answered(site: Site, text: str) -> None:
    new_draft(site)
    found = call(site, "policy.lint", draft="mine", file="90-x.toml", text=text)
    assert not found.right
    assert found.problems
    written = call(site, "policy.draft_write", draft="mine", file="90-x.toml", text=text)
    assert not written.right
    with pytest.raises(CallError):
        call(site, "policy.preview", draft="mine")


def test_what_is_too_large_or_no_unicode_is_refused(site: Site) -> None:
    new_draft(site)
    with pytest.raises(CallError, match="4 MiB"):
        call(site, "policy.draft_write", draft="mine", file=OVERLAY, text="#" * (4 << 20) + "\n")
    with pytest.raises(CallError, match="no Unicode"):
        call(site, "policy.draft_write", draft="mine", file=OVERLAY, text="# \ud800\n")


def test_links_pipes_and_damage_in_a_drafts_folder_are_not_followed(
    site: Site, tmp_path: Path
) -> None:
    new_draft(site)
    files = tmp_path / "state/drafts/mine/files"
    (files / "a.toml").symlink_to("/etc/hostname")
    with pytest.raises(StoreError):
        call(site, "policy.draft_show", draft="mine")
    (files / "a.toml").unlink()
    os.mkfifo(files / "a.toml")
    with pytest.raises(StoreError, match="plain file"):
        call(site, "policy.lint", draft="mine")
    (brief,) = call(site, "policy.draft_list").drafts
    assert "plain file" in brief.trouble
    (files / "a.toml").unlink()
    (tmp_path / "state/drafts/mine/draft.json").write_text("{")
    assert "damaged" in call(site, "policy.draft_list").drafts[0].trouble
    call(site, "policy.draft_drop", draft="mine")
    (tmp_path / "state/drafts/link").symlink_to(tmp_path / "policy.d")
    with pytest.raises(NotFoundError):
        call(site, "policy.draft_drop", draft="link")
    assert "10.toml" in own_files(site)


def test_forms_write_what_a_person_would_and_keep_comments(tmp_path: Path) -> None:
    lists = '[[local_list]]\nname = "OURS"\naction = "allow"\nof = ["sender"]\nentries = ["a.example"]\n'
    site = new_site(tmp_path, "write", LINKS.replace("60", "60 # well"), WORDS, lists)
    new_draft(site)
    done = call(
        site, "policy.draft_set", draft="mine", sort="rule", name="LINKS", field="score", value=45
    )
    assert (done.file, done.right) == ("10.toml", True)
    assert "score = 45 # well" in done.text
    done = call(
        site, "policy.draft_set", draft="mine", sort="verdict", field="reject_score", value=300
    )
    assert "reject_score = 300" in done.text
    done = call(
        site,
        "policy.draft_set",
        draft="mine",
        sort="rule",
        name="WORDS",
        field="mode",
        value="shadow",
    )
    assert 'name = "WORDS"\nmode' not in done.text or "shadow" in done.text
    assert done.file == OVERLAY
    done = call(site, "policy.draft_entry", draft="mine", name="OURS", entry="b.example")
    assert '["a.example", "b.example"]' in done.text
    call(site, "policy.draft_entry", draft="mine", name="OURS", entry="a.example", there=False)
    changes = {one.name: one.text for one in call(site, "policy.diff", draft="mine").changes}
    assert changes["LINKS"] == "score 60 → 45"
    assert changes["WORDS"] == "mode live → shadow"
    assert changes["OURS"] == "entries +b.example -a.example"
    for wrong in (
        {"sort": "rule", "name": "NONE", "field": "score", "value": 1},
        {"sort": "rule", "name": "LINKS", "field": "name", "value": "X"},
        {"sort": "rule", "name": "LINKS", "field": "nonsense", "value": 1},
        {"sort": "nonsense", "name": "LINKS", "field": "score", "value": 1},
        {"sort": "verdict", "name": "LINKS", "field": "spam_score", "value": 1},
    ):
        with pytest.raises(CallError):
            call(site, "policy.draft_set", draft="mine", **wrong)
    bad = call(
        site, "policy.draft_set", draft="mine", sort="rule", name="LINKS", field="score", value=9999
    )
    assert not bad.right


def test_a_later_file_that_has_the_last_word_is_named(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    (tmp_path / "policy.d/95-last.toml").write_text('[[rule]]\nname = "LINKS"\nscore = 61\n')
    new_draft(site)
    with pytest.raises(CallError, match=r"95-last\.toml comes after"):
        call(
            site,
            "policy.draft_set",
            draft="mine",
            sort="rule",
            name="LINKS",
            field="score",
            value=1,
        )


def test_a_test_is_made_of_a_message(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    lunch, lottery = journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY])
    new_draft(site)
    made = call(site, "policy.draft_test", draft="mine", rule="LINKS", message=lottery)
    assert (made.facts, made.hit, made.failed) == ({"links": 2}, True, ())
    assert "facts = { links = 2 }\nhit = true" in made.changed.text
    made = call(site, "policy.draft_test", draft="mine", rule="LINKS", message=lunch, hit=True)
    assert "expected that it fires" in made.failed[0].message
    assert call(site, "policy.test", draft="mine").tests == 2
    for rule, message in (("LINKS", "x"), ("LINKS", lunch[:-1] + "Z"), ("NONE", lunch)):
        with pytest.raises(CallError):
            call(site, "policy.draft_test", draft="mine", rule=rule, message=message)
    with pytest.raises(CallError, match=r"not kept|can't be judged"):  # the text is in no journal
        call(site, "policy.draft_test", draft="mine", rule="WORDS", message=lottery)


def test_rules_are_shown_with_their_hits_their_place_and_their_messages(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    _, lottery = journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY])
    table = call(site, "policy.rules")
    rows = {row.name: row for row in table.rules}
    assert (table.messages, table.complete) == (2, True)
    assert (rows["LINKS"].hits, rows["LINKS"].decided, rows["LINKS"].line) == (1, 1, 6)
    assert rows["LINKS"].file == str(tmp_path / "policy.d/10.toml")
    detail = call(site, "policy.rule", name="LINKS")
    assert [message.id for message in detail.messages] == [lottery]
    assert call(site, "policy.rule", person(Role.AUDITOR), name="LINKS").messages
    with pytest.raises(NotFoundError):
        call(site, "policy.rule", name="NONE")
    origins = call(site, "policy.settings", name="rule.LINKS").policy
    assert {row.name for row in origins} >= {"rule.LINKS.score", "rule.LINKS.when"}
    assert call(site, "policy.schema").schema["type"] == "object"


def test_a_preview_ends_in_time_with_what_it_has_found(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY] * 20)
    new_draft(site, '[[rule]]\nname = "LINKS"\nscore = 30\n')
    found = call(site, "policy.preview", draft="mine", within_s=30)
    assert (found.messages, found.complete, found.differing) == (40, True, 20)
    assert found.changes == {"spam → accept": 20}
    assert found.to_inbox == 20
    (rule,) = found.rules
    assert (rule.rule, rule.decides) == ("LINKS", -20)
    assert len(found.examples) == 3
    assert call(site, "policy.preview", draft="mine", messages=5, within_s=30).messages == 5
    (brief,) = call(site, "policy.draft_list").drafts
    assert brief.previewed


def test_who_sees_no_messages_is_shown_no_examples_and_calls_need_rights() -> None:
    needs = {name: call.needs for name, call in CALLS.items() if name.startswith("policy.")}
    assert needs["policy.publish"] == (Right.POLICY_SHADOW, Right.POLICY_PUBLISH)
    assert needs["policy.roll_back"] == (Right.POLICY_PUBLISH,)
    assert all(
        right == (Right.POLICY_DRAFT,)
        for name, right in needs.items()
        if name.startswith("policy.draft_")
    )
