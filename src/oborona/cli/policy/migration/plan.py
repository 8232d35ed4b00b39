"""How a site's policy folder is moved over, and the proof that nothing of the site's is lost by
it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from oborona.cli.policy.migration.changes import (
    PolicyFileChanges,
    copy_changes,
    policy_text,
    table_of,
)
from oborona.cli.policy.migration.differences import PolicyDifference, differences, is_as_shipped
from oborona.desk.policy_layout import (
    SUFFIXES,
    CopyState,
    PolicyCopy,
    copies,
    octets,
    versions,
)
from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.shipped_files import digest, fingerprint, statements_of
from oborona.toml import parse

HEAD: Final = """What was changed by hand in a copy of {name}, found by `oborona policy migrate`.
Everything else of that file is read from the one that ships; what was here before is in {backup}/{name}"""


class KeptCopy(NamedTuple):
    """A copy that goes on replacing the file that ships."""

    name: str
    why: str


class MigrationPlan(NamedTuple):
    """What is to be done."""

    folder: Path
    backup: Path  # is not there yet
    gone: tuple[Path, ...]  # are taken away, once they are in the backup
    new: Mapping[str, str]  # files to be written, by name
    changes: Mapping[str, PolicyFileChanges]  # what was changed by hand, by name of the copy
    stays: tuple[KeptCopy, ...]
    news: tuple[PolicyDifference, ...]  # what newer files that ship bring
    version: str  # of the policy afterwards
    state: Mapping[str, str]  # digests of the files that this was found from


def plan_migration(folders: PolicyFolders, backup: Path) -> MigrationPlan | None:
    """Return how a site's folder is moved over; None where it holds no copy that could go.

    Args:
        folders: of the policy.
        backup: for the folder as it is.

    Raises:
        PolicyError: the policy is broken as it is; or what is the site's would be lost: nothing is
            guessed.
    """
    if folders.shipped is None:
        raise PolicyError("no policy that ships is read: paths.shipped_policy says so")
    own = folders.own
    found_copies = list(copies(folders))
    if own is None or not found_copies:
        return None
    before = load_policy(folders, SCHEMA)
    shipped = merged_tables(folders._replace(own=None))
    others = _tables_of_others(own, found_copies)
    removed, new, stays = list[Path](), dict[str, str](), list[KeptCopy]()
    changes: dict[str, PolicyFileChanges] = {}
    for copy in found_copies:
        name = copy.path.name
        if copy.copy is CopyState.UNCHANGED:
            removed.append(copy.path)
            continue
        if copy.path.suffix != ".toml":
            stays.append(KeptCopy(name, _lines(copy, folders.shipped / name)))
            continue
        file_changes = copy_changes(name, copy.raw, copy.versions, shipped, others)
        if file_changes.unsayable:
            stays.append(KeptCopy(name, "; ".join(file_changes.unsayable)))
            continue
        removed.append(copy.path)
        changes[name] = file_changes
        if file_changes.tables:
            new[_own_name(name)] = policy_text(
                file_changes.tables, HEAD.format(name=name, backup=backup)
            )
    if not removed:
        return None
    for name, text in new.items():
        if (own / name).exists() and _data(octets(own / name), own / name) != _data(
            text.encode(), own / name
        ):
            raise PolicyError(
                "is in the way of what was found to be changed by hand: move it away",
                file=str(own / name),
            )
    after = _after(folders, removed, new)
    alone = load_policy(folders._replace(own=None), SCHEMA)
    news = tuple(differences(before, after.policy))
    _nothing_is_lost(folders, after, news, alone)
    return MigrationPlan(
        folder=own,
        backup=backup,
        gone=tuple(removed),
        new=new,
        changes=changes,
        stays=tuple(stays),
        news=news,
        version=after.policy.version,
        state=state(own),
    )


def state(folder: Path) -> dict[str, str]:
    """Return the digests of the policy files of a folder, by name."""
    return {path.name: digest(octets(path)) for path in PolicyFolders(own=folder).files(*SUFFIXES)}


def merged_tables(folders: PolicyFolders) -> dict[str, Any]:
    """Return what all TOML files of folders say together, later ones over earlier ones."""
    tables: dict[str, Any] = {}
    for path in folders.files(".toml"):
        tables |= statements_of(_data(octets(path), path))
    return tables


def _data(raw: bytes, path: Path) -> Mapping[str, Any]:
    return parse(raw, str(path), PolicyError).data


class _MigratedPolicy(NamedTuple):
    policy: Policy
    said: Mapping[str, Any]


def _after(folders: PolicyFolders, removed: list[Path], new: Mapping[str, str]) -> _MigratedPolicy:
    """Return the policy as it will be."""
    assert folders.own is not None
    with tempfile.TemporaryDirectory(prefix="oborona-policy-") as name:
        copy = Path(name) / "policy.d"
        copy.mkdir()
        for path in PolicyFolders(own=folders.own).files(*SUFFIXES):
            if path not in removed:
                shutil.copy(path, copy / path.name)
        for file, text in new.items():
            (copy / file).write_text(text, encoding="utf-8")
        combined = folders._replace(own=copy)
        return _MigratedPolicy(
            load_policy(combined, SCHEMA, named=folders), merged_tables(combined)
        )


def _nothing_is_lost(
    folders: PolicyFolders,
    after: _MigratedPolicy,
    news: tuple[PolicyDifference, ...],
    alone: Policy,
) -> None:
    """Hold the policy that will be to the one that is.

    Raises:
        PolicyError: something would change that no newer file that ships brings, or a word of the
            site's would be gone.
    """
    strange = [table for table in news if not is_as_shipped(table, alone)]
    if strange:
        raise PolicyError(
            (
                f"can't be moved without changing what is the site's, {strange[0].told()}; "
                f"nothing was done"
            ),
            file=str(folders.own),
        )
    ever = {statement for version in versions(folders) for statement in version.said or ()}
    for key, value in merged_tables(folders).items():
        if fingerprint(key, value) not in ever and after.said.get(key) != value:
            raise PolicyError(
                f"can't be moved without losing {key} of the site's; nothing was done",
                file=str(folders.own),
            )


def _tables_of_others(own: Path, found_copies: list[PolicyCopy]) -> frozenset[str]:
    """Return the tables that files of the site give which are no copies."""
    copied = {copy.path for copy in found_copies}
    mine = [path for path in PolicyFolders(own=own).files(".toml") if path not in copied]
    return frozenset(
        table_of(key) for path in mine for key in statements_of(_data(octets(path), path))
    )


def _own_name(name: str) -> str:
    """Return the name of the file of what was changed in a copy: it sorts right after the copy, and
    changes nothing while that is there.
    """
    return f"{name.removesuffix('.toml')}_own.toml"


def _lines(copy: PolicyCopy, ships: Path) -> str:
    """Return what was changed in a list or a script, in words."""
    if not ships.exists():
        return "changed by hand, and ships no more"
    theirs, now = (frozenset(_statements(raw)) for raw in (copy.raw, octets(ships)))
    return (
        f"changed by hand: {len(theirs - now)} lines that don't ship, {len(now - theirs)} of "
        f"those that ship are missing"
    )


def _statements(raw: bytes) -> Iterator[bytes]:
    for line in raw.splitlines():
        text = line.strip()
        if text and not text.startswith((b"#", b"--")):
            yield text
