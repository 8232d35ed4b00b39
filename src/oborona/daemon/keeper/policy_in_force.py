"""The policy that the second look judges by: the one in force for the workers, or that of the
policy folders where no workers ever ran.

What is in force stands on the publisher's page; it is read from its copy, as workers read it, and
nobody waits for us.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from oborona import state_files
from oborona.daemon.publisher.page import NOTHING, PolicyPage, version_of
from oborona.daemon.publisher.snapshots import snapshot_folder
from oborona.errors import PolicyError, StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.watch import LivePolicy
from oborona.telemetry.log import event

log = logging.getLogger("oborona.recheck")


class PolicyInForce:
    """The policy in force; one thread at a time looks, any may ask for the latest.

    Args:
        state: state folder.
        source: policy folders.
        before: what is known of policies already.

    Attributes:
        current: the policy; None = none was taken yet.
        folders: that hold its files.
    """

    def __init__(
        self, state: Path, source: Path | PolicyFolders, before: PolicyCache | None = None
    ) -> None:
        self._folder = state / state_files.POLICY_IN_FORCE
        self._source = PolicyFolders.of(source)
        self._before = before or PolicyCache()
        self._live: LivePolicy | None = None
        self._word = NOTHING
        self.current: Policy | None = None
        self.folders = self._source
        self._looking = threading.Lock()

    def latest(self) -> Policy:
        """Return what is in force now, or what was before where that can't be loaded.

        Raises:
            StoreError: it can't be loaded, and none was before.
        """
        with self._looking:
            try:
                self.look()
            except StoreError:
                if self.current is None:
                    raise
            assert self.current is not None, "a look that does not fail takes one"
            return self.current

    def look(self) -> bool:
        """Take what is in force now; return whether that is another policy than before.

        Raises:
            StoreError: it can't be loaded; what was in force before stays.
        """
        word = self._published()
        if word == NOTHING:
            return self._own()
        if word == self._word:
            return False
        copy = self._source.copied(snapshot_folder(self._folder, word))
        try:
            policy = self._before.loaded(word) or load_policy(
                copy, SCHEMA, self._before, named=self._source
            )
        except PolicyError as error:
            raise StoreError(f"the policy in force can't be loaded: {error}") from error
        if policy.version != version_of(word):
            raise StoreError(f"{self._folder}: the copy of {version_of(word)} holds another policy")
        self._word, self.folders = word, copy
        return self._take(policy)

    def _published(self) -> int:
        """Return what stands on the page; `NOTHING` where there is none."""
        try:
            page = PolicyPage(
                self._folder / state_files.POLICY_PAGE
            )  # a publisher that starts puts a new one there
        except StoreError:
            return NOTHING
        try:
            return page.active
        finally:
            page.close()

    def _own(self) -> bool:
        """Take the policy folders as they are."""
        if self._live is None:
            try:
                self._live = LivePolicy(self._source, SCHEMA, before=self._before)
            except PolicyError as error:
                raise StoreError(f"the policy can't be loaded: {error}") from error
        else:
            self._live.reload()
        return self._take(self._live.current)

    def _take(self, policy: Policy) -> bool:
        begins = self.current is None
        changed = self.current is None or self.current.version != policy.version
        self.current = policy
        if changed:  # at the start that is no news
            event(
                log,
                logging.DEBUG if begins else logging.INFO,
                "delivered mail is judged by a policy",
                version=policy.version,
            )
        return changed
