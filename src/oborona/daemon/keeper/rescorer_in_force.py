"""Who judges delivered mail again: made anew only when what it judges by is another.

To make one compares every rule with every other and looks through all objects of the process, half
a second of CPU; asked many times a second, it is the same one until something changed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

from oborona.policy.load import Policy
from oborona.policy.models.final.choice import FinalChoice
from oborona.policy.scan import ScanSite
from oborona.recheck.engine.rescorer import Rescorer
from oborona.recheck.engine.signature_changes import SignatureChanges

# objects more than before; a batch of messages leaves none behind
COLLECT_AFTER: Final = (50_000, 20, 10)


class RescorerInForce:
    """The rescorer for what is in force.

    Args:
        make: returns one for a site, a policy and signatures.
    """

    def __init__(self, make: Callable[[ScanSite, Policy, SignatureChanges], Rescorer]) -> None:
        self._make = make
        self._rescorer: Rescorer | None = None
        self._objects: tuple[ScanSite, Policy, SignatureChanges] | None = None
        self._models: tuple[str, str, FinalChoice] | None = None

    def now(
        self,
        site: ScanSite,
        policy: Policy,
        signed: SignatureChanges,
        models: tuple[str, str, FinalChoice],
    ) -> Rescorer:
        """Return who judges by all of these.

        Args:
            site: whose stores are asked.
            policy: in force.
            signed: the signatures that came or went lately.
            models: what the word of the final models depends on.
        """
        objects = (site, policy, signed)
        same = (
            self._objects is not None
            # not by their values: to compare two policies takes as long as to load one
            and all(part is was for part, was in zip(objects, self._objects, strict=True))
            and models == self._models
        )
        if self._rescorer is None or not same:
            former, self._objects, self._models = self._objects, objects, models
            if former is not None and former[1] is not policy:
                # else a policy that is no longer in force would stay for ever; what was loaded
                # before the fork stays shared as long as nobody looks at it
                gc.unfreeze()
            gc.collect()
            # a policy is a million objects, and the collector need not look at them for each few
            # messages
            gc.freeze()
            gc.set_threshold(*COLLECT_AFTER)
            self._rescorer = self._make(*objects)
        return self._rescorer
