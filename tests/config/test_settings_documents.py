"""The sample file works as it is and as it shows."""

import re
from pathlib import Path

from oborona.config import SECTIONS, Settings, load_settings
from oborona.config.document import sample
from oborona.toml import hints


def test_the_sample_is_all_defaults(tmp_path: Path) -> None:
    path = tmp_path / "oborona.toml"
    path.write_text(sample(), encoding="utf-8")
    assert load_settings(path).settings.doors.milter == Settings().doors.milter
    assert set(load_settings(path).origins.values()) == {"default"}


def test_the_sample_with_every_line_in_force_is_all_defaults_too(tmp_path: Path) -> None:
    path = tmp_path / "oborona.toml"
    path.write_text(re.sub(r"(?m)^# (\w+ = )", r"\1", sample()), encoding="utf-8")
    loaded = load_settings(path)
    assert loaded.settings.doors.milter == Settings().doors.milter
    assert loaded.settings.counters == Settings().counters
    assert not [name for name, origin in loaded.origins.items() if origin == "default"]
    assert len(loaded.origins) == sum(len(hints(schema)) for schema in SECTIONS.values())
