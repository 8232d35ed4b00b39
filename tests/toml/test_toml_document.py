"""Files that cannot be read, and what was probably meant."""

import os
from pathlib import Path

import pytest

from oborona.errors import ConfigError, PolicyError
from oborona.toml import MAX_FILE_BYTES, did_you_mean, read
from oborona.toml.document import parse


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a plain file"):
        read(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.toml")
    with pytest.raises(ConfigError, match="is not a plain file"):
        read(tmp_path / "f.toml")


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    with path.open("wb") as handle:
        handle.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(PolicyError, match="is larger than 4 MiB"):
        read(path, PolicyError)


def test_an_impossible_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read(Path("a\0b"))


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.toml").symlink_to(tmp_path / "missing")
    with pytest.raises(ConfigError, match="No such file"):
        read(tmp_path / "f.toml")


def test_a_close_name_is_offered_in_its_own_spelling() -> None:
    assert did_you_mean("from", ["From", "Subject"]) == "; did you mean From?"
    assert did_you_mean("zzz", ["From", "Subject"]) == "; known: From, Subject"
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("zzz", [f"name{number}" for number in range(40)]).endswith("name11, ...")
    assert "did you mean" not in did_you_mean("x" * 1_000_000, ["From"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            b"# all\n[metrics]\na = 1\n[x]\n\n[metrics]\nb = 2\n",
            "f:6:9: [metrics] is there already from line 2 on: write its keys there",
        ),
        (b"[a.'b c']\n[ a . 'b c' ]\n", "f:2:13: [a.b c] is there already: write its keys"),
        (b"[a]\nx = 1\nx = 2\n", "f:3:6: broken TOML: this key stands in its table already"),
    ],
)
def test_what_stands_there_twice_is_told_with_its_first_place(text: bytes, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(says)
