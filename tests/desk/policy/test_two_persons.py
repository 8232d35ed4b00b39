"""Two persons publish live: one proposes a text, another approves that very text, or does not."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore
from oborona.desk import calls
from oborona.desk.call import CallError, NotAllowedError
from oborona.desk.call_runner import CallRunner
from oborona.desk.policy.site_policy import PolicyConflictError
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay, caller_at_terminal
from oborona.people.rights import Role
from oborona.stores.policy_versions import schema
from oborona.stores.policy_versions.store import VersionSort, VersionStore
from tests.cli.journaled import LOTTERY, LUNCH, journal
from tests.desk.policy.drafted import OVERLAY, call, new_draft, new_site, own_files, person

MILDER = '[[rule]]\nname = "LINKS"\nscore = 30\n'
ANNA, BORIS = person(name="anna"), person(name="boris")
DRAFTER = person(Role.ANALYST, "dora")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = new_site(tmp_path, two_persons="true")
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY])
    new_draft(made, MILDER)
    call(made, "policy.preview", draft="mine", within_s=30)
    return made


def propose(site: Site, caller: Caller = ANNA, **asked: Any) -> Any:
    return call(site, "policy.propose", caller, draft="mine", reason="too hard", **asked)


def brief(site: Site) -> Any:
    return call(site, "policy.draft_show", draft="mine").brief


def approve(site: Site, caller: Caller = BORIS, **asked: Any) -> Any:
    found = brief(site).proposal
    known = {} if found is None else {"proposer": found.by, "digest": found.digest}
    told = {"proposer": "anna", "digest": "x", "reason": "so I think", **known, **asked}
    return call(site, "policy.approve", caller, draft="mine", **told)


def test_one_proposes_and_another_approves(site: Site) -> None:
    before = own_files(site)
    with pytest.raises(NotAllowedError, match="two_persons"):
        call(site, "policy.publish", ANNA, draft="mine", live=True, reason="x")
    assert call(site, "policy.draft_show", draft="mine").two_persons
    with pytest.raises(CallError, match="say why"):
        call(site, "policy.propose", ANNA, draft="mine")
    planned = propose(site, dry=True)
    assert [change.text for change in planned.changes] == ["score 60 → 30"]
    assert brief(site).proposal is None
    propose(site)
    waits = brief(site).proposal
    assert (waits.by, waits.reason) == ("anna", "too hard")
    assert own_files(site) == before
    with pytest.raises(NotAllowedError, match="another person approves"):
        approve(site, ANNA)
    key = msgspec.structs.replace(ANNA, name="anna/nightly", way=CallWay.KEY)
    with pytest.raises(NotAllowedError, match="another person approves"):
        approve(site, key)
    assert approve(site, dry=True).version == 0
    done = approve(site)
    assert own_files(site) == {**before, OVERLAY: MILDER}
    newest = call(site, "policy.history").versions[0]
    told = (newest.number, newest.author, newest.approved, newest.comment)
    assert told == (done.version, "anna", "boris", "too hard; approved: so I think")
    assert brief(site).proposal is None
    # in a hurry one is enough
    call(site, "policy.roll_back", ANNA, version=done.undo, reason="it harms")
    assert own_files(site) == before


def test_what_is_changed_after_it_was_proposed_is_not(site: Site) -> None:
    entry = {"draft": "mine", "sort": "rule", "name": "LINKS", "field": "score", "value": 20}
    changes: list[tuple[str, Mapping[str, Any]]] = [
        ("policy.draft_write", {"draft": "mine", "file": OVERLAY, "text": f"{MILDER}\n"}),
        ("policy.draft_set", entry),
        ("policy.draft_rebase", {"draft": "mine"}),
    ]
    for name, asked in changes:
        call(site, "policy.draft_write", draft="mine", file=OVERLAY, text=MILDER)
        propose(site)
        call(site, name, dry=True, **asked)
        seen = brief(site).proposal
        assert seen is not None
        call(site, name, **asked)
        with pytest.raises(PolicyConflictError, match="nobody proposes this text"):
            approve(site, proposer=seen.by, digest=seen.digest)
        # also where the same text comes back
        call(site, "policy.draft_write", draft="mine", file=OVERLAY, text=MILDER)
        assert brief(site).proposal is None
        call(site, "policy.preview", draft="mine", within_s=30)
    # edited on the disk, behind the desk's back
    propose(site)
    (site.state / state_files.POLICY_DRAFTS / "mine/files" / OVERLAY).write_text("# other\n")
    assert brief(site).proposal is None
    with pytest.raises(PolicyConflictError):
        approve(site)
    assert OVERLAY not in own_files(site)


def test_another_proposal_than_was_seen_is_not_approved(site: Site) -> None:
    propose(site)
    others: list[dict[str, Any]] = [{"digest": "0" * 64}, {"proposer": "boris"}, {"proposer": ""}]
    for other in others:
        with pytest.raises(PolicyConflictError, match="another text was proposed"):
            approve(site, **other)
    # the policy has changed meanwhile
    folder = site.policy_folders.own
    assert folder is not None
    (folder / "50-more.toml").write_text("# by hand\n")
    with pytest.raises(PolicyConflictError, match="rebase it"):
        approve(site)


def test_guards_stand_before_a_proposal(site: Site) -> None:
    call(site, "policy.draft_write", draft="mine", file=OVERLAY, text=MILDER + "\n")
    with pytest.raises(CallError, match="was not tried"):
        propose(site)
    call(site, "policy.draft_write", draft="mine", file=OVERLAY, text="[[rule]\n")
    with pytest.raises(CallError, match=f"{OVERLAY}:1"):
        propose(site)
    assert brief(site).proposal is None


def test_it_is_declined_with_words_or_taken_back(site: Site) -> None:
    with pytest.raises(NotAllowedError, match="draft of anna"):
        propose(site, DRAFTER)
    with pytest.raises(CallError, match="proposes nothing"):
        call(site, "policy.decline", BORIS, draft="mine", proposer="anna", reason="x")
    propose(site)
    declined = {"draft": "mine", "proposer": "anna"}
    with pytest.raises(CallError, match="say why"):
        call(site, "policy.decline", BORIS, **declined)
    with pytest.raises(NotAllowedError, match="who may publish live"):
        call(site, "policy.decline", DRAFTER, **declined, reason="x")
    call(site, "policy.decline", BORIS, **declined, reason="x", dry=True)
    assert brief(site).proposal is not None
    call(site, "policy.decline", BORIS, **declined, reason="lose the second rule")
    found = brief(site)
    told = (found.decline.proposer, found.decline.by, found.decline.words)
    assert (found.proposal, told) == (None, ("anna", "boris", "lose the second rule"))
    with pytest.raises(PolicyConflictError):
        approve(site)
    propose(site)
    assert brief(site).decline is None
    call(site, "policy.decline", ANNA, **declined, reason="not yet")
    assert brief(site).decline.by == "anna"


def test_at_the_terminal_one_may_say_that_they_are_alone(site: Site) -> None:
    root = caller_at_terminal("root", "uid=root", "mx1")
    asked = {"draft": "mine", "live": True, "reason": "nobody else is here"}
    with pytest.raises(NotAllowedError, match="two_persons"):
        call(site, "policy.publish", root, **asked)
    with pytest.raises(NotAllowedError, match="at the terminal"):
        call(site, "policy.publish", ANNA, **asked, alone=True)
    call(site, "policy.publish", root, **asked, alone=True)
    assert own_files(site)[OVERLAY] == MILDER


def test_where_one_is_enough_two_may_still_be_asked(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    journal(tmp_path / "state", tmp_path / "policy.d", [LUNCH, LOTTERY])
    call(site, "policy.draft_new", DRAFTER, draft="mine")
    call(site, "policy.draft_write", DRAFTER, draft="mine", file=OVERLAY, text=MILDER)
    call(site, "policy.preview", DRAFTER, draft="mine", within_s=30)
    propose(site, DRAFTER)
    approve(site)
    assert own_files(site)[OVERLAY] == MILDER


def test_rows_of_the_audit_log_name_both(site: Site) -> None:
    runner = CallRunner(site)

    def run(name: str, caller: Caller, **asked: Any) -> None:
        fresh = msgspec.structs.replace(caller, fresh=True)
        runner.run(calls.CALLS[name], fresh, msgspec.json.encode({"draft": "mine", **asked}))

    run("policy.propose", ANNA, reason="too hard")
    waits = brief(site).proposal
    run("policy.approve", BORIS, proposer="anna", digest=waits.digest, reason="fine")
    with AuditStore(site.state / state_files.AUDIT, audit_key(site.state), make=False) as store:
        rows = store.rows("SELECT act, person, about, reason FROM audit")
    assert ("policy.approve", "boris", "mine, anna", "fine") in rows
    assert ("policy.propose", "anna", "mine", "too hard") in rows


def test_damaged_notes_are_told(site: Site) -> None:
    propose(site)
    note = site.state / state_files.POLICY_DRAFTS / "mine/draft.json"
    for raw in (b'{"proposal": 7}', b"\0", b"[" * 100_000):
        note.write_bytes(raw)
        assert "is damaged" in call(site, "policy.draft_list").drafts[0].trouble


def test_versions_of_before_were_approved_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy-versions.db"
    earlier = schema.SHARED._replace(
        format=schema.SHARED.format._replace(migrations=schema.MIGRATIONS[:1])
    )
    monkeypatch.setattr(VersionStore, "shared", earlier)
    with VersionStore(path):
        pass
    with sqlite3.connect(path) as db:
        db.execute(
            "INSERT INTO version VALUES"
            " (1, 1.0, 'anna', 'page', 'x', 'live', 'published', '', 'm', 0, 'd', '{}')"
        )
    db.close()
    monkeypatch.setattr(VersionStore, "shared", schema.SHARED)
    with VersionStore(path) as store:
        version = store.get(1)
        assert version is not None
        assert (version.author, version.sort, version.approved) == ("anna", VersionSort.LIVE, "")
