"""Backup and restore are run by root, in folders where others may write: nothing is removed,
written or read beyond what was meant.
"""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import LoadedSettings, load_settings
from oborona.daemon.backup.creation import UNFINISHED, create_backup
from oborona.daemon.backup.manifest import MANIFEST, SUMS, BackupManifest, file_digest
from oborona.daemon.backup.restore import restore_backup
from oborona.daemon.state import check_restored, prepare_state
from oborona.errors import StoreError
from tests.peers.oborona import SETTINGS

OF_OTHERS = 4242  # a user without a name


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    state, policy = tmp_path / "state", tmp_path / "policy.d"
    policy.mkdir()
    prepare_state(state)
    return load_settings(SETTINGS, {"paths.state": str(state), "paths.policy": str(policy)})


def taken(loaded: LoadedSettings, target: Path) -> BackupManifest:
    return create_backup(loaded, target, nullcontext)


def test_a_link_in_the_place_of_an_unfinished_backup_is_not_followed(
    loaded: LoadedSettings, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letters").write_text("all of them")
    (tmp_path / f"backup{UNFINISHED}").symlink_to(precious)
    with pytest.raises(StoreError, match="unfinished"):
        taken(loaded, tmp_path / "backup")
    assert [path.name for path in precious.iterdir()] == ["letters"]


@pytest.mark.parametrize("wrong", ["open to others", "of another user"])
def test_a_folder_of_others_in_that_place_gets_nothing(
    loaded: LoadedSettings, tmp_path: Path, wrong: str
) -> None:
    fresh = tmp_path / f"backup{UNFINISHED}"
    fresh.mkdir(mode=0o700)
    if wrong == "open to others":
        fresh.chmod(0o755)
    elif os.geteuid() == 0:
        os.chown(fresh, OF_OTHERS, OF_OTHERS)
    else:
        pytest.skip("only root gives folders away")
    with pytest.raises(StoreError, match="unfinished"):
        taken(loaded, tmp_path / "backup")
    assert not any(fresh.iterdir())


def test_policy_files_that_are_links_are_in_it(loaded: LoadedSettings, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text("# rules\n")
    (tmp_path / "policy.d" / "90-local.toml").symlink_to(tmp_path / "elsewhere.toml")
    taken(loaded, tmp_path / "backup")
    kept = tmp_path / "backup" / "settings" / "policy.d" / "90-local.toml"
    assert kept.read_text() == "# rules\n"
    assert not kept.is_symlink()


def test_what_a_link_in_the_state_leads_to_is_not_in_it(
    loaded: LoadedSettings, tmp_path: Path
) -> None:
    (tmp_path / "shadow").write_text("root's alone")
    (tmp_path / "state" / "model").symlink_to(tmp_path / "shadow")
    taken(loaded, tmp_path / "backup")
    assert not (tmp_path / "backup" / "state" / "model").exists()


def test_the_mark_of_a_restore_is_not_written_through_a_link(
    loaded: LoadedSettings, tmp_path: Path
) -> None:
    taken(loaded, tmp_path / "backup")
    (tmp_path / "shadow").write_text("root's alone")
    there = tmp_path / "there"
    there.mkdir()
    (there / state_files.RESTORING).symlink_to(tmp_path / "shadow")
    with pytest.raises(StoreError):
        restore_backup(tmp_path / "backup", state=there, force=True)
    assert (tmp_path / "shadow").read_text() == "root's alone"


def test_the_daemons_user_reads_the_mark_whatever_roots_umask_is(
    loaded: LoadedSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken(loaded, tmp_path / "backup")
    modes = list[int]()

    def broken(*_: object, **__: object) -> None:
        modes.append((tmp_path / "there" / state_files.RESTORING).stat().st_mode & 0o777)
        raise OSError(5, "Input/output error", "disk")

    monkeypatch.setattr("oborona.daemon.backup.restore._copy_state", broken)
    before = os.umask(0o077)
    try:
        with pytest.raises(StoreError, match="Input/output"):
            restore_backup(tmp_path / "backup", state=tmp_path / "there", force=False)
    finally:
        os.umask(before)
    assert modes == [0o644]


def test_a_mark_that_cannot_be_read_is_a_mark(tmp_path: Path) -> None:
    (tmp_path / state_files.RESTORING).symlink_to(tmp_path / state_files.RESTORING)
    with pytest.raises(StoreError, match=state_files.RESTORING):
        check_restored(tmp_path)


@pytest.mark.parametrize("name", ["../state/secret", "/etc/shadow", "..", ""])
def test_places_of_a_manifest_are_plain_names(
    loaded: LoadedSettings, tmp_path: Path, name: str
) -> None:
    backup = tmp_path / "backup"
    taken(loaded, backup)
    said = json.loads((backup / MANIFEST).read_text())
    place = {"path": str(tmp_path / "out"), "mode": 0o644, "owner": "root", "group": "root"}
    (backup / MANIFEST).write_text(json.dumps(said | {"places": {name: place}}))
    sums = (
        line for line in (backup / SUMS).read_text().splitlines() if not line.endswith(MANIFEST)
    )
    (backup / SUMS).write_text(
        "".join(f"{line}\n" for line in [*sums, f"{file_digest(backup / MANIFEST)}  {MANIFEST}"])
    )
    with pytest.raises(StoreError, match="damaged"):
        restore_backup(backup, state=None, force=True)
    assert not (tmp_path / "out").exists()
