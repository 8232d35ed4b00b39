"""The policies known to the journal: each is recorded once, so that the facts its rules asked for
can be told from those that later policies ask for.
"""

from __future__ import annotations

from oborona.journal.journal import JournalWriter
from oborona.policy.load import Policy
from oborona.recheck.rule_fingerprints import rule_fingerprints


class PolicyLog:
    """Tells a journal of each policy that judges messages, once.

    Args:
        journal: of this process.
    """

    def __init__(self, journal: JournalWriter) -> None:
        self._journal = journal
        self._version = ""  # of the policy that was told last

    def note(self, policy: Policy) -> None:
        """Take the policy that judged a message."""
        if policy.version != self._version:
            self._version = policy.version
            self._journal.append_policy(policy.version, rule_fingerprints(policy))
