"""Who judges delivered mail again is made once for what is in force, not once a step."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.counters.memory import MemoryCounters
from oborona.daemon.keeper.rescorer_in_force import RescorerInForce
from oborona.message.hashing import Hasher
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.models.final.choice import FinalChoice, encode_choice
from oborona.policy.scan import ScanSite
from oborona.recheck.engine.model import MailboxFolders, ReaderAction
from oborona.recheck.engine.rescorer import Rescorer
from oborona.recheck.engine.signature_changes import SignatureChanges
from oborona.recheck.moves import MoveStore
from oborona.stores.final_model import FollowedFinalModel

HASHER = Hasher(b"k" * 32)
RULE = '[[rule]]\nname = "RULE"\nwhen = "links > 1"\nscore = 50\n'


class Nobody:
    """People who did nothing."""

    def touched(self, _ident: int) -> tuple[ReaderAction, ...]:
        """Return nothing."""
        return ()


class InForce:
    """What is in force at a site, and who judges by it."""

    def __init__(self, state: Path, policy: Path) -> None:
        self.state = state
        (policy / "1.toml").write_text(RULE)
        self.policy = load_policy(policy, SCHEMA)
        self.signed = SignatureChanges({}, HASHER)
        self.models = FollowedFinalModel.of_site(state, SCHEMA)
        self.models.look()
        self.site = ScanSite(name="mx.example", hasher=HASHER, counters=MemoryCounters())
        self.moves = MoveStore(state / state_files.MOVES)
        self.rescorer = RescorerInForce(self._make)

    def _make(self, site: ScanSite, policy: Policy, signed: SignatureChanges) -> Rescorer:
        return Rescorer(
            site,
            policy,
            asked={},
            people=Nobody(),
            made=self.moves,
            folders=MailboxFolders(),
            signed=signed,
        )

    def now(self) -> Rescorer:
        """Return who judges now."""
        return self.rescorer.now(self.site, self.policy, self.signed, self.models.in_use)


@pytest.fixture
def in_force(tmp_path: Path) -> Iterator[InForce]:
    (tmp_path / "state").mkdir()
    (tmp_path / "policy").mkdir()
    made = InForce(tmp_path / "state", tmp_path / "policy")
    yield made
    made.moves.close()
    gc.unfreeze()


def test_it_stays_while_nothing_changes(in_force: InForce) -> None:
    first = in_force.now()
    in_force.models.look()
    assert in_force.now() is first
    assert in_force.now() is first


def test_another_policy_signatures_or_word_on_the_models_make_another(
    in_force: InForce, tmp_path: Path
) -> None:
    before = in_force.now()
    in_force.policy = load_policy(tmp_path / "policy", SCHEMA)  # read anew, and equal
    assert in_force.now() is not before
    before = in_force.now()
    in_force.signed = SignatureChanges({}, HASHER)
    assert in_force.now() is not before
    before = in_force.now()
    choice = FinalChoice(own="abc", at=1.7e9, why="it catches more")
    (in_force.state / state_files.FINAL_CHOICE).write_bytes(encode_choice(choice))
    in_force.models.look()
    assert in_force.now() is not before
