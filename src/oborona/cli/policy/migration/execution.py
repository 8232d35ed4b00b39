"""A plan carried out: backup, new files, then the copies go.

Broken off at any point, the policy is whole and the next run goes on.
"""

from __future__ import annotations

import os
import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path

from oborona.atomic_file import write_atomically
from oborona.cli.policy.migration.plan import MigrationPlan, state
from oborona.errors import PolicyError, StoreError


def backup_of(folder: Path, now: float) -> Path:
    """Return where a backup of a policy folder goes: beside it, with the day in its name.

    Args:
        folder: of the policy.
        now: Unix time.
    """
    day = datetime.fromtimestamp(now, UTC)
    first = folder.with_name(f"{folder.name}.before-{day:%Y-%m-%d}")
    path, number = first, 1
    while path.is_symlink() or path.exists():
        number += 1
        path = first.with_name(f"{first.name}.{number}")
    return path


def carry_out(plan: MigrationPlan) -> None:
    """Do what was planned.

    Raises:
        PolicyError: the folder changed since; nothing was done.
        StoreError: a file can't be written or taken away; the policy means what it meant, and
            another run goes on.
    """
    if state(plan.folder) != plan.state:
        raise PolicyError(
            "has changed meanwhile; nothing was done, try again", file=str(plan.folder)
        )
    try:
        _back_up(plan.folder, plan.backup)
        for name, text in plan.new.items():
            path = plan.folder / name
            write_atomically(path, text.encode())
            _like(path, plan.folder)
        for path in plan.gone:
            path.unlink()
    except OSError as error:
        raise StoreError(f"{error.filename or plan.folder}: {error.strerror or error}") from error


def _back_up(folder: Path, backup: Path) -> None:
    """Copy a folder, its owners and modes with it; under its name only once it is whole."""
    fresh = backup.with_name(f".{backup.name}.{os.getpid()}")
    try:
        shutil.copytree(folder, fresh, symlinks=True)
        for directory, names, files in os.walk(folder):
            for path in (Path(directory), *(Path(directory) / name for name in (*names, *files))):
                _own(fresh / path.relative_to(folder), path.lstat())
        fresh.rename(backup)
    except shutil.Error as error:
        shutil.rmtree(fresh, ignore_errors=True)
        file, _, why = error.args[0][0]
        raise StoreError(f"{file}: {why}") from error
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _like(path: Path, folder: Path) -> None:
    """Let a new file be its folder's owner's, for everybody to read who may read the folder."""
    details = folder.stat()
    path.chmod(0o644 if details.st_mode & stat.S_IROTH else 0o640)
    _own(path, details)


def _own(path: Path, like: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.chown(path, like.st_uid, like.st_gid, follow_symlinks=False)
