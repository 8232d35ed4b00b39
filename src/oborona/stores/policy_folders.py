"""The policy folders that the settings name."""

from __future__ import annotations

from pathlib import Path

from oborona import state_files
from oborona.config.settings import NO_POLICY, PACKAGED_POLICY, PathSettings
from oborona.policy.folders import PACKAGED, PolicyFolders


def policy_folders(paths: PathSettings) -> PolicyFolders:
    """Return the policy folders.

    Args:
        paths: absolute, as `load_settings` gives them.

    A site's folder that is the one that ships, as where there are no settings, is that alone.
    What a feed has brought stands over what ships, and over nothing else.
    """
    own = Path(paths.policy)
    if paths.shipped_policy == NO_POLICY:
        return PolicyFolders(own=own)
    shipped = PACKAGED if paths.shipped_policy == PACKAGED_POLICY else Path(paths.shipped_policy)
    try:
        same = own.samefile(shipped)
    except (OSError, ValueError):  # one of them is not there; who reads them says so
        same = False
    feed = Path(paths.state) / state_files.FEED_POLICY
    return PolicyFolders(own=None if same else own, shipped=shipped, feed=feed)
