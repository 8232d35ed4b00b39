"""The policy in use, and whether its files (`*.toml`, and the `*.list` of lists) have changed since.

`folder_state` asks the file system only, so a worker may call it every second. It is taken before the files are read: what
changes meanwhile is seen at the next look. Known limit: a file changed in place, to the same length, within one
clock tick of the file system, is not seen; `force` reads whatever the state says.
"""

from __future__ import annotations

from pathlib import Path

from oborona.errors import PolicyError
from oborona.policy.expression import Schema
from oborona.policy.list_files import ListFiles, look
from oborona.policy.load import Policy, load_policy, policy_files
from oborona.policy.signature_files import SignatureFiles

FolderState = tuple[tuple[str, int, int, int, int], ...]


def folder_state(directory: Path) -> FolderState:
    """Return what changes whenever a policy or list file is changed, added, renamed or taken away.

    Never raises; a folder that cannot be read has the empty state, a file that vanishes meanwhile zeros.
    """
    try:
        files = [*policy_files(directory), *policy_files(directory, ".list")]
    except PolicyError:
        return ()
    return tuple((path.name, *look(path)) for path in files)


class LivePolicy:
    """A policy that follows its files; a broken one never replaces a good one.

    Args:
        directory: the policy folder.
        schema: the facts that rules may name.

    Raises:
        PolicyError: there is no good policy to begin with.

    Attributes:
        current: the policy in use.
        error: what is wrong with the files as they are now; None when they are what is in use.
    """

    def __init__(self, directory: Path, schema: Schema) -> None:
        self._directory = directory
        self._schema = schema
        self._lists = ListFiles()
        self._signatures = SignatureFiles()
        self._seen = folder_state(directory)
        self.current: Policy = load_policy(directory, schema, self._lists, self._signatures)
        self.error: PolicyError | None = None

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
            fresh = load_policy(self._directory, self._schema, self._lists, self._signatures, force=force)
        except PolicyError as error:
            self.error = error
            return False
        self.error = None
        if fresh.version == self.current.version:
            return False
        self.current = fresh
        return True
