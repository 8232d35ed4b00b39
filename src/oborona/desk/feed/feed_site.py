"""The feed of a site: its folder, the versions of that, and what would come into force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from oborona import state_files
from oborona.desk.call import CallError
from oborona.desk.feed.manifest import TRIAL
from oborona.desk.policy.difference import meaning_changes
from oborona.desk.policy.file_set import MOST_WRITTEN, read_plain
from oborona.desk.policy.folder_replacement import changed_names
from oborona.desk.policy.guards import checked_policy, linted
from oborona.desk.policy.publication import PolicyPublication
from oborona.desk.policy.site_policy import policy_in_force
from oborona.desk.policy.trial import changed_verdicts, trial_overlay
from oborona.desk.site import Site
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet
from oborona.stores.policy_versions.store import VersionStore

_HEAD = b"# What the feed's next version changes, on trial; it goes when that judges.\n"


class FeedPlan(NamedTuple):
    """What the folder of the feed is to hold.

    Args:
        files: all of them.
        answer: what would be done.
        policy: that it makes.
        untried: why something can't be tried, of a trial.
    """

    files: FileSet
    answer: PolicyPublication
    policy: Policy
    untried: tuple[str, ...] = ()


def feed_folder(site: Site) -> Path:
    """Return the folder of the feed.

    Raises:
        CallError: no policy that ships is read, which it would stand over.
    """
    folder = site.policy_folders.feed
    if folder is None:
        raise CallError('paths.shipped_policy = "none": a feed stands over what ships')
    return folder


@contextmanager
def feed_versions(site: Site) -> Iterator[VersionStore]:
    """Give the store of versions of that folder."""
    with VersionStore(site.state / state_files.FEED_VERSIONS) as store:
        yield store


def live_plan(site: Site, before: FileSet, wanted: FileSet) -> FeedPlan:
    """Return what files of a feed would do, through the loader and all tests.

    Args:
        site: whose feed.
        before: what its folder holds.
        wanted: what it is to hold.

    Raises:
        CallError: they can't be used, or a test fails.
    """
    policy = checked_policy(site, wanted, feed=True)
    return FeedPlan(wanted, _answer(before, wanted, policy_in_force(site), policy), policy)


def trial_plan(site: Site, before: FileSet, wanted: FileSet) -> FeedPlan:
    """Return what files of a feed would do on trial, as far as they can be tried.

    Args:
        site: whose feed.
        before: what its folder holds.
        wanted: what it is to hold later.

    Raises:
        CallError: they can't be used, or a test fails.
    """
    later = checked_policy(site, wanted, feed=True)
    live = {name: raw for name, raw in before.items() if name != TRIAL}
    current = policy_in_force(site) if live == before else linted(site, live, feed=True).policy
    answer = _answer(before, wanted, current, later)
    if current is None:
        why = "the policy that is there can't be used: nothing can be tried beside it"
        return FeedPlan(before, answer, later, (why,))
    try:
        trial = _trial_files(site, live, wanted, current, later)
        policy = checked_policy(site, trial.files, feed=True)
        _check_verdicts(current, policy)
    except CallError as error:
        return FeedPlan(live, answer, current, (str(error),))
    answer = msgspec.structs.replace(answer, meaning=policy.version, tried=trial.tried)
    return FeedPlan(trial.files, answer, policy, trial.untried)


class _TrialFiles(NamedTuple):
    files: FileSet
    tried: tuple[str, ...]
    untried: tuple[str, ...]


def _trial_files(
    site: Site, live: FileSet, wanted: FileSet, current: Policy, later: Policy
) -> _TrialFiles:
    overlay = trial_overlay(_HEAD, current, later, TRIAL, partly=True)
    # lists that are new there are read by nothing else yet
    lists = {
        name: raw
        for name, raw in wanted.items()
        if name.endswith(".list") and not site.policy_folders.find(name).exists()
    }
    return _TrialFiles({**live, **lists, TRIAL: overlay.raw}, overlay.tried, overlay.untried)


def _check_verdicts(current: Policy, policy: Policy) -> None:
    changed = changed_verdicts(current, policy)
    if changed:
        raise CallError(f"on trial it would change verdicts: {', '.join(changed[:5])}")


def unlike_shipped(site: Site, files: FileSet) -> dict[str, bytes]:
    """Return those files of a feed that are not what ships anyhow, which an upgrade replaces."""
    return {
        name: raw
        for name, raw in files.items()
        if over_shipped(site, {}, {name: raw}) != {name: raw}
    }


def over_shipped(site: Site, files: FileSet, others: FileSet) -> FileSet:
    """Return files of a feed, and for those that others have beside them what ships instead.

    Args:
        site: whose feed.
        files: of the feed.
        others: that they are compared with.
    """
    shipped = site.policy_folders.shipped
    below = {
        name: read_plain(shipped / name, MOST_WRITTEN, links=True)
        for name in others
        if name not in files and shipped is not None and (shipped / name).exists()
    }
    return {**below, **files}


def _answer(
    before: FileSet, after: FileSet, current: Policy | None, policy: Policy
) -> PolicyPublication:
    return PolicyPublication(
        meaning=policy.version,
        files=tuple(changed_names(before, after)),
        changes=tuple(meaning_changes(current.means, policy.means)) if current else (),
    )
