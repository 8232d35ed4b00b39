"""The policy file in which `oborona attach` keeps `[free_lists]`, and whose it may not touch."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.atomic_file import atomic_writer
from oborona.desk.lists.files import FOLDER_MODE, MODE, contents
from oborona.errors import ConfigError, OboronaError, StoreError
from oborona.policy.folders import FileOwner, PolicyFolders
from oborona.policy.free_lists import FREE_LISTS, FreeListsTable
from oborona.policy.load import Policy

KEPT_IN: Final = "85-free-lists.toml"
_HEAD: Final = (
    "# DNS lists that are free for this site (docs/senders/dns-lists.md); `oborona attach` writes "
    "this file anew.\n"
)


class ForeignTableError(OboronaError):
    """`[free_lists]` stands where an admin wrote it; the text says where."""


def kept_file(folders: PolicyFolders) -> Path:
    """Return where the table is kept.

    Raises:
        ConfigError: the site has no policy folder of its own.
    """
    if folders.own is None:
        raise ConfigError("paths.policy is the folder that ships; put what is yours into another")
    return folders.own / KEPT_IN


def check_whose(policy: Policy) -> None:
    """Make sure that the table is nobody's but this command's.

    Args:
        policy: in force.

    Raises:
        ConfigError: the site has no policy folder of its own.
        ForeignTableError: another file of the admin's has it, or that file holds more than it.
    """
    path = kept_file(policy.folders)
    for key in FreeListsTable.__struct_fields__:
        where = policy.origins.get(f"{FREE_LISTS}.{key}", "")
        file = Path(where.rpartition(":")[0])
        own = policy.folders.whose(file) not in (FileOwner.SHIPPED, FileOwner.FEED)
        if where and file != path and own:
            raise ForeignTableError(f"[{FREE_LISTS}] stands in {where}: change it there")
    others = _tables(path).keys() - {FREE_LISTS}
    if others:
        raise ForeignTableError(
            f"{path} holds more than [{FREE_LISTS}] ({', '.join(sorted(others))}): change it there"
        )


def write_table(path: Path, answers: dict[str, Any]) -> bool:
    """Write what was answered over what was answered before, and keep every other key.

    Args:
        path: of the file.
        answers: keys of `[free_lists]` with their values.

    Returns:
        Whether anything has changed.

    Raises:
        StoreError: it can't be written; what was there stays.
    """
    before = _tables(path).get(FREE_LISTS, {})
    values = {**before, **answers}
    if values == before:
        return False
    lines = [f"{key} = {msgspec.json.encode(value).decode()}\n" for key, value in values.items()]
    try:
        path.parent.mkdir()
        path.parent.chmod(FOLDER_MODE)
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(f"{path.parent}: {error.strerror}") from error
    with atomic_writer(path) as file:
        os.fchmod(file.fileno(), MODE)
        file.write(f"{_HEAD}\n[{FREE_LISTS}]\n{''.join(lines)}".encode())
    return True


def _tables(path: Path) -> dict[str, Any]:
    raw = contents(path)
    return tomllib.loads(raw.decode()) if raw else {}
