"""The sample file and the reference page are what the schema says, and the sample works as it is and as it shows."""

import re
from pathlib import Path

import pytest

from oborona.config import SECTIONS, Settings, load_settings
from oborona.config.document import FILES, sample, write
from oborona.toml import hints

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", FILES)
def test_the_committed_file_is_what_the_schema_says(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == FILES[name](), (
        "run: python -m oborona.config.document"
    )


def test_the_sample_is_all_defaults(tmp_path: Path) -> None:
    path = tmp_path / "oborona.toml"
    path.write_text(sample(), encoding="utf-8")
    assert load_settings(path).settings.milter == Settings().milter
    assert set(load_settings(path).origins.values()) == {"default"}


def test_the_sample_with_every_line_in_force_is_all_defaults_too(tmp_path: Path) -> None:
    path = tmp_path / "oborona.toml"
    path.write_text(re.sub(r"(?m)^# (\w+ = )", r"\1", sample()), encoding="utf-8")
    loaded = load_settings(path)
    assert loaded.settings.milter == Settings().milter
    assert loaded.settings.counters == Settings().counters
    assert not [name for name, origin in loaded.origins.items() if origin == "default"]
    assert len(loaded.origins) == sum(len(hints(schema)) for schema in SECTIONS.values())


def test_files_are_written_only_when_they_change(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "docs").mkdir()
    assert [path.name for path in write(tmp_path)] == ["oborona.toml", "settings.md"]
    assert write(tmp_path) == []
