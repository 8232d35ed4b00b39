"""Pages of the policy: what is in force, drafts, proposals, publication, versions."""

from __future__ import annotations

import oborona.console.pages.policy.draft_list
import oborona.console.pages.policy.draft_trial
import oborona.console.pages.policy.editor
import oborona.console.pages.policy.history
import oborona.console.pages.policy.proposals
import oborona.console.pages.policy.publication
import oborona.console.pages.policy.rebase
import oborona.console.pages.policy.rules
import oborona.console.pages.policy.value_forms
import oborona.console.pages.policy.values  # noqa: F401 - each declares its own
