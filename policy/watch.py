"""The policy of a folder, and whether its files (`*.toml`, the `*.list` of lists, the `*.lua` of scripts) have changed since.

`folder_state` asks the file system only, so it may be called twenty times a second. It is taken before the files are read: what
changes meanwhile is seen at the next look. Known limit: a file changed in place, to the same length, within one
clock tick of the file system, is not seen; `force` reads whatever the state says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.errors import PolicyError
from oborona.policy.before import Before
from oborona.policy.expression import Schema, ToCode, code_of
from oborona.policy.list_files import look
from oborona.policy.load import Policy, load_policy, policy_files

SUFFIXES: Final = (".toml", ".list", ".lua")  # of the files that a policy is made of
FolderState = tuple[tuple[str, int, int, int, int], ...]


def folder_state(directory: Path) -> FolderState:
    """Return what changes whenever a file that a policy is made of is changed, added, renamed or taken away.

    Never raises; a folder that cannot be read has the empty state, a file that vanishes meanwhile zeros.
    """
    try:
        files = policy_files(directory, *SUFFIXES)
    except PolicyError:
        return ()
    return tuple((path.name, *look(path)) for path in files)


class LivePolicy:
    """A policy that follows its files; a broken one never replaces a good one.

    Args:
        directory: the policy folder.
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
        directory: Path,
        schema: Schema,
        to_code: ToCode = code_of,
        before: Before | None = None,
    ) -> None:
        self._directory = directory
        self._schema = schema
        self._to_code = to_code
        self._before = before or Before()
        self._seen = folder_state(directory)
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
        """Read the files again if they changed; return whether another policy is in use now.

        Args:
            force: read them even if they look the same.

        A broken policy is kept in `error`, and is read again when a file changes.
        """
        now = folder_state(self._directory)
        if now == self._seen and not force:
            return False
        self._seen = now
        try:
            fresh = self._load(force=force)
        except PolicyError as error:
            self.error = error
            return False
        self.error = None
        if fresh.version == self.current.version:
            return False
        self.current = fresh
        return True

    def _load(self, *, force: bool) -> Policy:
        return load_policy(self._directory, self._schema, self._before, force=force, to_code=self._to_code)
