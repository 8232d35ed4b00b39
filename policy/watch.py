"""The policy in use, and whether its files have changed since.

`signature` asks the file system only, so a worker may call it every second. It is taken before the files are read: what
changes meanwhile is seen at the next look. Known limit: a file changed in place, to the same length, within one
clock tick of the file system, is not seen; `force` reads whatever the signature says.
"""

from __future__ import annotations

from pathlib import Path

from oborona.errors import PolicyError
from oborona.policy.expression import Schema
from oborona.policy.load import Policy, load_policy, policy_files

Signature = tuple[tuple[str, int, int, int, int], ...]


def signature(directory: Path) -> Signature:
    """Return what changes whenever a policy file is changed, added, renamed or taken away.

    Never raises; a folder that cannot be read has the empty signature, a file that vanishes meanwhile zeros.
    """
    try:
        files = policy_files(directory)
    except PolicyError:
        return ()
    found = []
    for path in files:
        try:
            stat = path.stat()
        except OSError:
            found.append((path.name, 0, 0, 0, 0))
        else:
            # The change time moves with a new mode or owner: a file that could not be read may be readable now.
            found.append((path.name, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino))
    return tuple(found)


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
        self._seen = signature(directory)
        self.current: Policy = load_policy(directory, schema)
        self.error: PolicyError | None = None

    def reload(self, force: bool = False) -> bool:
        """Read the files again if they changed; return whether another policy is in use now.

        Args:
            force: read them even if they look the same.

        A broken policy is kept in `error`, and is read again when a file changes.
        """
        now = signature(self._directory)
        if now == self._seen and not force:
            return False
        self._seen = now
        try:
            fresh = load_policy(self._directory, self._schema)
        except PolicyError as error:
            self.error = error
            return False
        self.error = None
        if fresh.version == self.current.version:
            return False
        self.current = fresh
        return True
