"""One policy on all machines of a site: published on all or none, caught up with, and the same
again after whatever was killed.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona.daemon.site.membership import join_site
from oborona.desk.call import CallError
from oborona.desk.doctor.site_policy import site_policy
from oborona.desk.policy import site_publication
from oborona.desk.policy.machine_policy import catch_up
from oborona.errors import OboronaError, StoreError
from oborona.stores.policy_versions.site_versions import is_behind
from tests.desk.policy.drafted import OVERLAY, call, new_draft
from tests.peers.postgresql import Postgresql
from tests.replication.policy_machines import PolicyMachine, machines_of, sharing
from tests.whole.gate import eventually

MILDER = '[[rule]]\nname = "LINKS"\nscore = 30\n'
HARDER = '[[rule]]\nname = "LINKS"\nscore = 70\n'


NAMES = map("draft-{}".format, count())


def publish(machine: PolicyMachine, text: str = MILDER, **more: Any) -> Any:
    """Publish an overlay, tried."""
    name, site = next(NAMES), machine.site
    new_draft(site, text, name)
    call(site, "policy.preview", draft=name, within_s=30)
    return call(site, "policy.publish", draft=name, live=True, reason="x", sure=True, **more)


def numbers(machine: PolicyMachine) -> list[tuple[int, str, str]]:
    """Return a machine's history."""
    return [
        (one.number, one.sort.value, one.state.value)
        for one in call(machine.site, "policy.history").versions
    ]


def equal(machines: list[PolicyMachine]) -> bool:
    return machines[0].files() == machines[1].files()


def test_published_on_one_it_is_in_force_on_all_and_rolled_back_from_another(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = machines = machines_of(tmp_path, postgresql.address)
    before = first.files()
    with sharing(machines):
        done = publish(first)
        assert first.files() == second.files() == {**before, OVERLAY: MILDER}
        assert "mx2" not in done.note, "it was waited for"
        status = call(second.site, "policy.status")
        assert [(one.name, one.version, one.here) for one in status.machines] == [
            ("mx1", done.version, False),
            ("mx2", done.version, True),
        ]
        assert numbers(first) == numbers(second)
        told = f"version {done.version} on all machines"
        assert [one.words for one in site_policy(second.site)] == [told]
        assert not is_behind(second.state)
        call(second.site, "policy.roll_back", version=done.undo, reason="no")
        assert first.files() == second.files() == before


def test_what_one_machine_can_t_judge_by_is_in_force_on_none(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    ships = '[[rule]]\nname = "SHIPS"\nwhen = "links > 3"\nscore = 5\n'
    first, second = machines = machines_of(tmp_path, postgresql.address, (ships, ""))
    before = first.files()
    with sharing(machines):
        with pytest.raises(CallError, match="mx2 can't judge by it, nothing was changed") as told:
            publish(first, '[[rule]]\nname = "SHIPS"\nscore = 7\n')
        assert "SHIPS" in str(told.value)
        assert first.files() == second.files() == before
        eventually(lambda: numbers(second)[0][2] == "refused")
        publish(first)  # the next one is not in its way
        assert equal(machines)


def test_who_hangs_is_named_and_published_without(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_publication, "PREPARE_S", 0.5)
    monkeypatch.setattr(site_publication, "FORCE_S", 0.2)
    first, second = machines_of(tmp_path, postgresql.address)
    with first.running(), second.keeping():
        with pytest.raises(CallError, match=r"mx2 did not say within .*--without mx2"):
            call(first.site, "policy.share", reason="x")
        with pytest.raises(CallError, match="no machine mx9"):
            call(first.site, "policy.share", reason="x", without=("mx9",))
        call(first.site, "policy.share", reason="x", without=("mx2",))
        done = publish(first, without=("mx2",))
        assert "mx2 does not judge by it yet" in done.note
        assert OVERLAY not in second.files()
    with second.running():
        eventually(lambda: second.files() == first.files())


def test_who_was_away_catches_up_before_it_judges(
    tmp_path: Path, postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_publication, "THERE_S", 1.0)
    first, second = machines_of(tmp_path, postgresql.address)
    (second.policy / "50-own.toml").write_text(
        '[[rule]]\nname = "OWN"\nwhen = "links > 1"\nscore = 1\n'
    )
    with first.running():
        eventually(lambda: bool(postgresql.rows(
            "SELECT 1 FROM oborona.machine WHERE name = 'mx2' AND seen < now() - interval '1 s'"
        )))  # fmt: skip
        call(first.site, "policy.share", reason="x")
        done = publish(first)
        assert "mx2 is away, and catches up" in done.note
        catch_up(second.site)
        assert second.files() == first.files()
        (aside,) = second.state.glob("policy.before-site-*")
        assert (aside / "50-own.toml").exists(), "what it had before it joined"
        publish(first, HARDER)
    postgresql.kill()
    try:
        held = second.files()
        catch_up(second.site)
        assert second.files() == held
        assert "what was last known is in force" in second.notices[-1]
        status = call(second.site, "policy.status")
        assert "can't be reached" in status.away
        assert [(one.name, one.version) for one in status.machines] == [("mx2", done.version)]
        with pytest.raises(StoreError, match="can't be reached"):
            call(second.site, "policy.roll_back", version=1, reason="x", sure=True)
    finally:
        postgresql.start()
    catch_up(second.site)
    assert second.files() == first.files()


def test_what_is_edited_on_one_machine_is_shared_or_given_up(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    first, second = machines = machines_of(tmp_path, postgresql.address)
    with sharing(machines):
        eventually(lambda: equal(machines))
        (second.policy / "50-own.toml").write_text(MILDER)
        with pytest.raises(CallError, match=r"mx2 can't judge by it.*edited on this machine"):
            publish(first)
        with pytest.raises(CallError, match="does not hold version"):
            new_draft(second.site)
        eventually(lambda: "edited" in call(first.site, "policy.status").machines[1].trouble)
        (report,) = site_policy(first.site)
        assert re.match(
            r"mx2 does not judge by version 1, for \d+ s: the policy folder", report.words
        )
        assert (is_behind(first.state), is_behind(second.state)) == (False, True)
        call(second.site, "policy.share", reason="better")
        assert first.files() == second.files()
        (first.policy / "50-own.toml").unlink()  # an earlier version, by hand, is an edit, too
        call(first.site, "policy.share", reason="no", take=True)
        assert first.files()["50-own.toml"] == MILDER
        assert equal(machines)
        with pytest.raises(CallError, match="holds what the site has"):
            call(first.site, "policy.share", reason="again")


PUBLISHER = """
import os, signal, sys
from pathlib import Path
from oborona.desk.configured_site import SiteSource
from oborona.desk.policy import publication, site_publication
from oborona.desk.site import Site
from tests.desk.policy.drafted import call
import msgspec
file, overrides, step = sys.argv[1], msgspec.json.decode(sys.argv[2]), sys.argv[3]
def dying(module, name, *, after):
    real = getattr(module, name)
    def die(*words):
        if after:
            real(*words)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(module, name, die)
{
    "begun": lambda: dying(site_publication, "begin_for_all", after=True),
    "prepared": lambda: dying(site_publication, "publish_for_all", after=False),
    "published": lambda: dying(site_publication, "publish_for_all", after=True),
    "written": lambda: dying(publication, "note_applied", after=False),
}[step]()
call(Site(SiteSource(Path(file), overrides), print), "policy.publish",
     draft="mine", live=True, reason="x", sure=True)
"""


@pytest.mark.parametrize("step", ["begun", "prepared", "published", "written"])
def test_killed_anywhere_both_have_the_same(
    tmp_path: Path, postgresql: Postgresql, step: str
) -> None:
    first, second = machines = machines_of(tmp_path, postgresql.address)
    before = first.files()
    with sharing(machines):
        new_draft(first.site, MILDER)
        call(first.site, "policy.preview", draft="mine", within_s=30)
        source = first.site.source
        done = subprocess.run(
            [sys.executable, "-c", PUBLISHER, str(source.file),
             msgspec.json.encode(dict(source.overrides)).decode(), step],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, done.stderr
        happened = step in ("published", "written")
        wanted = {**before, OVERLAY: MILDER} if happened else before
        eventually(lambda: first.files() == second.files() == wanted)
        publish(second, HARDER)
        assert first.files() == second.files() == {**before, OVERLAY: HARDER}
        assert numbers(first) == numbers(second)


def test_of_two_who_publish_at_once_one_does(tmp_path: Path, postgresql: Postgresql) -> None:
    machines = machines_of(tmp_path, postgresql.address)
    with sharing(machines):
        eventually(lambda: equal(machines))
        troubles = list[str]()

        def run(machine: PolicyMachine, text: str) -> None:
            try:
                publish(machine, text)
            except OboronaError as error:
                troubles.append(str(error))

        threads = [
            threading.Thread(target=run, args=pair)
            for pair in zip(machines, (MILDER, HARDER), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(troubles) <= 1, troubles
        eventually(lambda: equal(machines))
        assert machines[0].files()[OVERLAY] in (MILDER, HARDER)


def test_a_site_of_before_has_a_policy_in_common_once_its_machines_have_joined_again(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    machine, other = machines_of(tmp_path, postgresql.address)
    postgresql.rows("DROP TABLE oborona.lock")
    postgresql.rows("DROP TABLE oborona.policy_place")
    postgresql.rows("DELETE FROM oborona.store WHERE name = 'policy-versions.db'")
    postgresql.rows("UPDATE oborona.format SET version = 1")
    for place, one in enumerate((machine, other), 1):
        join_site(one.state, postgresql.address, f"mx{place}", "2")
    with sharing([machine, other]):
        assert equal([machine, other])
        assert numbers(other) == [(1, "outside", "published")]
