"""Each folder here holds settings or a policy that must be refused, and in `want` the exact
words.
"""

from pathlib import Path

import pytest

from oborona.config import load_settings
from oborona.errors import ConfigError, PolicyError
from oborona.policy.load import load_policy
from tests.policy.small_schema import SCHEMA

HERE = Path(__file__).parent
CASES = sorted(
    (path for path in HERE.iterdir() if path.is_dir() and path.name[:2].isdigit()),
    key=lambda path: int(path.name.split("-")[0]),
)


def load(case: Path) -> None:
    if "-settings-" in case.name:
        load_settings(Path("oborona.toml"))
    else:
        load_policy(Path("policy.d"), SCHEMA)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_file_is_refused_with_its_place_and_what_is_allowed(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(case)
    with pytest.raises(ConfigError) as refused:
        load(case)
    error = refused.value
    assert "".join(f"{one}\n" for one in (error, *error.more)) == (case / "want").read_text(
        encoding="utf-8"
    )
    assert isinstance(error, PolicyError) == ("-settings-" not in case.name)
    assert error.file


def test_numbers_are_not_used_twice() -> None:
    numbers = [case.name.split("-")[0] for case in CASES]
    assert numbers == [f"{number:02}" for number in range(1, len(numbers) + 1)]
