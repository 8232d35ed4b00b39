"""The policy of two folders, and whether its files (`*.toml`, the `*.list` of lists, the `*.lua` of
scripts) have changed since.

`folder_state` asks the file system only, so it may be called twenty times a second. It is taken
before the files are read: what changes meanwhile is seen at the next look. Known limit: a file
changed in place, to the same length, within one clock tick of the file system, is not seen; `force`
reads whatever the state says.
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Final

from oborona.errors import PolicyError
from oborona.policy.expression import FactSchema, ToCode, code_of
from oborona.policy.folders import PolicyFolders
from oborona.policy.list_files import file_state
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache

SUFFIXES: Final = (
    ".toml",
    ".list",
    ".lua",
    ".tsv",
)  # of the files that a policy is made of, and of the list of those that ship
FolderState = tuple[tuple[str, int, int, int, int], ...]


def folder_state(where: Path | PolicyFolders) -> FolderState:
    """Return what changes whenever a file that a policy is made of is changed, added, renamed or
    taken away, or a folder comes or goes.

    Never raises; a folder that cannot be read has no files, a file that vanishes meanwhile zeros.

    Args:
        where: as of `load_policy`.
    """
    state: list[tuple[str, int, int, int, int]] = []
    for folder in PolicyFolders.of(where):
        if folder is None:
            continue
        try:
            files = sorted(
                (
                    path
                    for path in folder.iterdir()
                    if path.suffix in SUFFIXES and path.name[0] != "."
                ),
                key=attrgetter("name"),  # to compare whole paths takes half of a look
            )
        except (OSError, ValueError):
            state.append((str(folder), -1, 0, 0, 0))  # not the state of one that is empty
            continue
        state.append((str(folder), 0, 0, 0, 0))
        state += [(path.name, *file_state(path)) for path in files]
    return tuple(state)


class LivePolicy:
    """A policy that follows its files; a broken one never replaces a good one.

    Args:
        where: as of `load_policy`.
        schema: the facts that rules may name.
        to_code: as of `load_policy`.
        before: the same.

    Raises:
        PolicyError: there is no good policy to begin with.

    Attributes:
        current: the policy in use.
        error: what is wrong with the files as they are now; None when they are what is in use.
    """

    def __init__(
        self,
        where: Path | PolicyFolders,
        schema: FactSchema,
        to_code: ToCode = code_of,
        before: PolicyCache | None = None,
    ) -> None:
        self._folders = PolicyFolders.of(where)
        self._schema = schema
        self._to_code = to_code
        self._before = before or PolicyCache()
        self._seen = folder_state(self._folders)
        self.current: Policy = self._load(force=False)
        self.error: PolicyError | None = None

    @property
    def seen(self) -> FolderState:
        """How the folder looked when it was read last."""
        return self._seen

    async def now(self) -> Policy:
        """Return the policy that a message is judged by that begins now."""
        return self.current

    def reload(self, force: bool = False) -> bool:
        """Read the files again if they changed.

        Return whether a policy of another version is in use now.

        Args:
            force: read them even if they look the same.

        A broken policy is kept in `error`, and is read again when a file changes.
        """
        now = folder_state(self._folders)
        if now == self._seen and not force:
            return False
        self._seen = now
        try:
            fresh = self._load(force=force)
        except PolicyError as error:
            self.error = error
            return False
        self.error = None
        another = fresh.version != self.current.version
        self.current = fresh  # one that means the same may stand in other lines
        return another

    def _load(self, *, force: bool) -> Policy:
        return load_policy(
            self._folders, self._schema, self._before, force=force, to_code=self._to_code
        )
