"""Publishing drafts: guards, trial and live, history and roll-back, two at once, kills and full
disks.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.desk.call import CallError, NotAllowedError
from oborona.desk.policy import folder_replacement, publication
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.site_policy import PolicyBusyError, PolicyConflictError, policy_lock
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.rights import Role
from oborona.telemetry.status import PolicyRefusal
from tests.cli.journaled import LOTTERY, LUNCH, journal
from tests.desk.policy.drafted import OVERLAY, call, new_draft, new_site, own_files, person

MILDER = '[[rule]]\nname = "LINKS"\nscore = 30\n'


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = new_site(tmp_path)
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY])
    return made


def publish_live(site: Site, draft: str = "mine", *, sure: bool = False) -> Any:
    call(site, "policy.preview", draft=draft, within_s=30)
    return call(site, "policy.publish", draft=draft, live=True, reason="too hard", sure=sure)


def test_a_draft_is_published_with_its_reason_and_rolled_back(site: Site) -> None:
    new_draft(site, MILDER)
    before = own_files(site)
    call(site, "policy.preview", draft="mine", within_s=30)
    tried = call(site, "policy.publish", draft="mine", live=True, reason="x", dry=True)
    assert [change.text for change in tried.changes] == ["score 60 → 30"]
    assert own_files(site) == before
    done = publish_live(site)
    assert own_files(site) == {**before, OVERLAY: MILDER}
    history = call(site, "policy.history")
    newest = history.versions[0]
    assert (newest.number, newest.author, newest.comment) == (done.version, "anna", "too hard")
    assert (newest.sort, newest.state, newest.meaning) == ("live", "published", done.meaning)
    assert "at the next start" in done.note
    back = call(site, "policy.roll_back", version=done.undo, reason="was right before")
    assert own_files(site) == before
    assert [version.sort for version in call(site, "policy.history").versions] == [
        "back",
        "live",
        "first",
    ]
    again = call(site, "policy.roll_back", version=back.undo, reason="no")
    assert own_files(site) == {**before, OVERLAY: MILDER}
    assert again.version == back.version + 1


def test_no_guard_is_passed_by(site: Site) -> None:
    new_draft(site, MILDER)
    with pytest.raises(CallError, match="say why"):
        call(site, "policy.publish", draft="mine", live=True)
    with pytest.raises(CallError, match="was not tried"):
        call(site, "policy.publish", draft="mine", live=True, reason="x")
    call(site, "policy.preview", draft="mine", within_s=30)
    call(site, "policy.draft_write", draft="mine", file=OVERLAY, text=MILDER + "\n")
    with pytest.raises(CallError, match="was not tried"):
        call(site, "policy.publish", draft="mine", live=True, reason="x")
    call(site, "policy.draft_write", draft="mine", file=OVERLAY, text="[[rule]\n")
    with pytest.raises(CallError, match=f"{OVERLAY}:1"):
        call(site, "policy.publish", draft="mine", live=True, reason="x")
    test = "[[rule.test]]\nfacts = { links = 9 }\nhit = false\n"
    call(site, "policy.draft_write", draft="mine", file=OVERLAY, text=MILDER + test)
    with pytest.raises(CallError, match="expected that it does not fire"):
        call(site, "policy.publish", draft="mine", live=True, reason="x")
    assert OVERLAY not in own_files(site)


def test_good_mail_is_lost_by_those_alone_who_say_that_they_mean_it(site: Site) -> None:
    new_draft(site, '[[rule]]\nname = "ALL"\nwhen = "links >= 0"\nscore = 500\n')
    found = call(site, "policy.preview", draft="mine", within_s=30)
    assert (found.good, found.good_lost, found.to_spam) == (1, 1, 1)
    assert found.changes == {"accept → reject": 1, "spam → reject": 1}
    with pytest.raises(CallError, match="say `sure`"):
        call(site, "policy.publish", draft="mine", live=True, reason="x")
    assert call(site, "policy.publish", draft="mine", live=True, reason="x", sure=True).version


def test_a_trial_changes_no_verdict_and_may_be_made_live(site: Site) -> None:
    new = '[[rule]]\nname = "NEW"\nwhen = "links >= 0"\nscore = 200\nsay = "{links} \'links"\n'
    new_draft(site, MILDER + new + "[verdict]\nspam_score = 50\n")
    done = call(site, "policy.publish", person(Role.DUTY), draft="mine", reason="try", dry=True)
    assert set(done.tried) == {"LINKS_TRIAL", "NEW", "verdict.shadow_spam_score"}
    with pytest.raises(NotAllowedError, match="draft of anna"):
        call(site, "policy.publish", person(Role.DUTY, "ben"), draft="mine", reason="try")
    done = call(site, "policy.publish", draft="mine", reason="try")
    written = own_files(site)[OVERLAY]
    assert 'name = "LINKS_TRIAL"' in written
    fresh = new_site_again(site)
    rules = {rule.name: rule for rule in fresh.policy().rules}
    assert (rules["LINKS"].score, rules["LINKS"].mode) == (60, "live")
    assert (rules["LINKS_TRIAL"].score, rules["LINKS_TRIAL"].mode) == (30, "shadow")
    assert fresh.policy().verdict.spam_score == 100
    under = call(fresh, "policy.draft_new", draft="other")
    assert under.right
    assert call(fresh, "policy.preview", draft="other", within_s=30).differing == 0
    publish_live(fresh, sure=True)
    assert own_files(site)[OVERLAY] == MILDER + new + "[verdict]\nspam_score = 50\n"


def new_site_again(site: Site) -> Site:
    own = site.policy_folders.own
    assert own is not None
    return site.under(own)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[verdict]\nrefuse = false\n", "verdict refuse"),
        ('[[rule]]\nname = "WORDS"\nenabled = false\n', "WORDS removed"),
        ("[pictures]\nwait_from = 10\n", "pictures wait_from"),
        (
            '[[dns_list]]\nname = "NEW_LIST"\nzone = "x.example"\nof = ["client"]\nscore = 1\n',
            "NEW_LIST added",
        ),
    ],
)
def test_what_can_not_be_tried_is_said(site: Site, text: str, why: str) -> None:
    new_draft(site, text)
    with pytest.raises(CallError, match=f"can't be tried in shadow mode: .*{why}"):
        call(site, "policy.publish", draft="mine", reason="try")
    assert OVERLAY not in own_files(site)


def test_what_the_settings_keep_from_drafts_stays(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    new_draft(site)
    for name in ("10.toml", "new.list"):
        with pytest.raises(NotAllowedError, match=OVERLAY):
            call(site, "policy.draft_write", draft="mine", file=name, text="x = 1\n")
    reading = new_site(tmp_path, "read")
    with pytest.raises(NotAllowedError, match="written elsewhere"):
        call(reading, "policy.draft_write", draft="mine", file=OVERLAY, text=MILDER)


def test_edits_by_hand_are_noticed_and_a_draft_is_rebased(tmp_path: Path) -> None:
    site = new_site(tmp_path, "write")
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH])
    new_draft(site, MILDER)
    hand = tmp_path / "policy.d/10.toml"
    hand.write_text(hand.read_text().replace("score = 50", "score = 55"))
    assert call(site, "policy.history").versions[0].comment == "edited outside"
    with pytest.raises(PolicyConflictError, match="rebase"):
        publish_live(site)
    (brief,) = call(site, "policy.draft_list").drafts
    assert brief.stale
    found = call(site, "policy.draft_rebase", draft="mine")
    assert (found.done, found.taken, found.conflicts) == (True, ("10.toml",), ())
    publish_live(site)
    assert "score = 55" in own_files(site)["10.toml"]
    # both change one file
    new_draft(new_site_again(site), "# mine\n" + MILDER, "two")
    (tmp_path / "policy.d" / OVERLAY).write_text("# theirs\n" + MILDER)
    found = call(site, "policy.draft_rebase", draft="two")
    assert not found.done
    (conflict,) = found.conflicts
    assert (conflict.draft, conflict.current) == ("# mine\n" + MILDER, "# theirs\n" + MILDER)
    assert call(site, "policy.draft_rebase", draft="two", keep=("90-console.toml",)).done
    publish_live(site, "two")
    assert own_files(site)[OVERLAY].startswith("# mine")


def test_of_two_who_publish_at_once_one_is_told_to_rebase(site: Site) -> None:
    new_draft(site, MILDER, "one")
    new_draft(site, MILDER.replace("30", "20"), "two")
    for name in ("one", "two"):
        call(site, "policy.preview", draft=name, within_s=30)
    errors, done = list[Exception](), list[object]()

    def publish(name: str) -> None:
        try:
            done.append(call(site, "policy.publish", draft=name, live=True, reason="x"))
        except CallError as error:
            errors.append(error)

    threads = [threading.Thread(target=publish, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert isinstance(errors[0], PolicyConflictError | PolicyBusyError)
    with policy_lock(site), pytest.raises(PolicyBusyError):
        policy_lock(site, 0.01)


def test_a_refusal_of_the_daemon_puts_back_what_was_there(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_draft(site, MILDER)
    before = own_files(site)
    seen = list[dict[str, str]]()

    def refuse(_state: Path, _patience_s: float) -> ReloadOutcome:
        seen.append(own_files(site))
        refused = PolicyRefusal(problem="no", file="90-console.toml", line=3)
        return ReloadOutcome(version="x", refused=refused)

    monkeypatch.setattr(publication, "ask_reload", refuse)
    with pytest.raises(CallError, match=r"what was there is back: 90-console\.toml:3: no"):
        publish_live(site)
    assert own_files(site) == before
    assert [OVERLAY in files for files in seen] == [True, False]
    newest = call(site, "policy.history").versions[0]
    assert (newest.state, newest.trouble) == ("refused", "90-console.toml:3: no")


def test_a_full_disk_leaves_the_policy_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = new_site(tmp_path, "write")
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH])
    new_draft(site, MILDER)
    call(site, "policy.draft_write", draft="mine", file="11.toml", text="# more\n")
    before = own_files(site)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    call(site, "policy.preview", draft="mine", within_s=30)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left"):
            folder_replacement.replace_files(
                tmp_path / "policy.d",
                read_folder(tmp_path / "policy.d"),
                {"10.toml": b"", "11.toml": b""},
            )
    assert own_files(site) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.d", "state"]


KILLED = """
import os, signal, sys
from pathlib import Path
from oborona.desk.policy import folder_replacement
at, number = int(sys.argv[2]), 0
def watched(frame, kind, what):
    global number
    if frame.f_code.co_filename.endswith(("folder_replacement.py", "atomic_file.py", "shutil.py")):
        number += 1
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
    return watched
folder = Path(sys.argv[1])
before = folder_replacement.read_folder(folder)
after = {name: raw + b"# new\\n" for name, raw in before.items()}
sys.settrace(watched)
folder_replacement.replace_files(folder, before, after)
sys.settrace(None)
print(number)
"""


def test_killed_at_any_point_the_policy_is_the_old_or_the_new_one_whole(tmp_path: Path) -> None:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    for name in ("10.toml", "20.toml"):
        (folder / name).write_text(f"# {name}\n")
    (folder / "README").write_text("words")
    old = read_folder(folder)
    program = [sys.executable, "-c", KILLED]
    steps = int(
        subprocess.run([*program, folder, "0"], capture_output=True, check=True, text=True).stdout
    )
    new = read_folder(folder)
    assert steps > 50
    assert all(raw.endswith(b"# new\n") for raw in new.values())
    seen = set[bool]()
    for at in range(1, steps, max(1, steps // 25)):
        folder_replacement.replace_files(folder, read_folder(folder), old)
        ended = subprocess.run([*program, folder, str(at)], capture_output=True, check=False)
        assert ended.returncode == -signal.SIGKILL
        found = read_folder(folder)
        assert found in (old, new), at
        seen.add(found == new)
        assert (folder / "README").read_text() == "words"
    assert seen == {True, False}
    folder_replacement.replace_files(folder, read_folder(folder), {**new, "30.toml": b"# 3\n"})
    assert [path.name for path in tmp_path.iterdir()] == ["policy.d"]


def test_what_a_killed_publication_left_is_found_and_settled(site: Site, tmp_path: Path) -> None:
    from oborona.desk.policy.site_policy import versions_of
    from oborona.stores.policy_versions.store import PolicyVersion, VersionSort, VersionState

    new_draft(site)
    files = read_folder(tmp_path / "policy.d")
    begun = PolicyVersion(at=time.time(), sort=VersionSort.LIVE, state=VersionState.BEGUN)
    with versions_of(site) as store:
        store.begin(begun, {**files, "x.toml": b"# x\n"})  # before its files were written
        number = store.begin(begun, {**files, OVERLAY: MILDER.encode()}).number
    (tmp_path / "policy.d" / OVERLAY).write_text(MILDER)  # and one after that
    found = call(site, "policy.history")
    assert found.current == number
    assert [version.state for version in found.versions] == ["published", "refused", "published"]


def test_links_are_not_written_over(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH])
    (tmp_path / "elsewhere.toml").write_text("# here\n")
    (tmp_path / "policy.d" / OVERLAY).symlink_to(tmp_path / "elsewhere.toml")
    new_draft(site, MILDER)
    with pytest.raises(CallError, match="is a link"):
        publish_live(site)
    assert (tmp_path / "elsewhere.toml").read_text() == "# here\n"


def test_a_list_and_a_condition_are_tried_and_harm_nobody(site: Site) -> None:
    new_draft(
        site,
        '[[local_list]]\nname = "THEIRS"\naction = "deny"\nof = ["sender"]\nentries = ["a.example"]\n'
        '[[condition]]\nname = "MANY"\nwhen = "links > 1"\n'
        '[[rule]]\nname = "BOTH"\nwhen = "MANY and fired(LINKS)"\nscore = 400\n',
    )
    done = call(site, "policy.publish", draft="mine", reason="try")
    assert set(done.tried) == {"THEIRS", "BOTH"}
    call(site, "policy.draft_new", draft="look")
    found = call(site, "policy.preview", draft="look", within_s=30)
    assert (found.messages, found.differing) == (2, 0)
    assert {rule.rule for rule in found.rules} >= {"BOTH"}


def test_a_draft_of_an_earlier_version_has_what_the_desk_may_write(site: Site) -> None:
    new_draft(site, MILDER)
    first = publish_live(site).undo
    hand = site.policy_folders.own
    assert hand is not None
    (hand / "95-hand.toml").write_text("# by hand\n")
    call(site, "policy.draft_new", draft="old", version=first)
    assert set(call(site, "policy.draft_show", draft="old").files) == {"10.toml", "95-hand.toml"}
    publish_live(site, "old")
    assert set(own_files(site)) == {"10.toml", "95-hand.toml"}
    back = call(site, "policy.roll_back", version=2, reason="x", dry=True)
    assert back.files == (OVERLAY,)
    assert back.note == "stay as they are, since they are written elsewhere: 95-hand.toml"


def test_drafts_are_shown_to_those_alone_who_draft(site: Site) -> None:
    new_draft(site, MILDER)
    with pytest.raises(NotAllowedError):
        call(site, "policy.diff", person(Role.SUPPORT), draft="mine")
    assert call(site, "policy.diff", person(Role.ANALYST), draft="mine").changes


def test_versions_that_changed_a_rule_are_named(site: Site, tmp_path: Path) -> None:
    def changed(name: str) -> list[int]:
        found = call(site, "policy.rule_history", name=name)
        assert found.complete
        return [version.number for version in found.versions]

    call(site, "policy.history")
    new_draft(site, MILDER)
    publish_live(site)
    edited = tmp_path / "policy.d" / OVERLAY
    edited.write_text(f"{MILDER}\n# a word\n")  # says the same of the rule
    call(site, "policy.history")
    edited.write_text(f'{MILDER}\n[[rule]]\nname = "WORDS"\nscore = 1\n')
    call(site, "policy.history")
    assert (changed("LINKS"), changed("WORDS"), changed("NONE")) == ([2, 1], [4, 1], [])
    edited.write_bytes(b'rule = "LINKS"\n\xff')  # by hand, and no TOML
    call(site, "policy.history")
    assert changed("LINKS") == [5, 2, 1]


def test_what_would_be_done_is_told_without_a_reason(site: Site) -> None:
    new_draft(site, MILDER)
    call(site, "policy.preview", draft="mine", within_s=30)
    planned = call(site, "policy.publish", draft="mine", live=True, dry=True)
    assert planned.files == (OVERLAY,)
    done = publish_live(site)
    assert call(site, "policy.roll_back", version=done.undo, dry=True).files == (OVERLAY,)


def test_a_machine_alone_shares_with_nobody(site: Site) -> None:
    with pytest.raises(CallError, match="this machine is alone"):
        call(site, "policy.share", reason="x")
    new_draft(site, MILDER)
    call(site, "policy.preview", draft="mine", within_s=30)
    with pytest.raises(CallError, match="this machine is alone"):
        call(site, "policy.publish", draft="mine", live=True, reason="x", without=("mx2",))
    assert OVERLAY not in own_files(site)
    status = call(site, "policy.status")
    assert (status.machine, status.machines, status.version) == ("", (), 1)
