"""One training for all who need a model that was really trained."""

from __future__ import annotations

import pytest

from oborona.feedback.final.train import TrainingResult, train
from tests.policy.models.final.made import examples


@pytest.fixture(scope="session")
def training() -> TrainingResult:
    made, names = examples(700)
    return train(made, names, policy="abc", now=1.7e9)
