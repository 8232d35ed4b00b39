"""The file of tokens: who is in it, when it changes, and what is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oborona.doors.tokens import LONGEST, MOST, SHORTEST, AccessTokens
from oborona.errors import ConfigError

GOOD = "0123456789abcdef"
OTHER = "fedcba9876543210"


def test_who_is_in_the_file_is_known(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# the console\n{GOOD}\n\n  {OTHER}  \n")
    tokens = AccessTokens(file)
    assert tokens.knows(GOOD)
    assert tokens.knows(OTHER)
    for one in (
        "",
        GOOD[:-1],
        GOOD.upper(),
        f"{GOOD} ",
        f"{GOOD}\n{OTHER}",
        "# the console",
        "x" * 10_000,
        "\udcff",
    ):
        assert not tokens.knows(one)


def test_a_change_is_seen_and_a_broken_one_leaves_what_was(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{GOOD}\n")
    tokens = AccessTokens(file)
    fresh = tmp_path / "fresh"
    fresh.write_text(f"{OTHER}\n")
    fresh.replace(file)
    tokens.refresh()
    assert tokens.knows(OTHER)
    assert not tokens.knows(GOOD)
    file.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        tokens.refresh()
    tokens.refresh()  # said once
    assert tokens.knows(OTHER)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no token"),
        ("# nobody\n\n", "holds no token"),
        ("short\n", f"{SHORTEST} to {LONGEST}"),
        ("x" * (LONGEST + 1), f"{SHORTEST} to {LONGEST}"),
        (f"{GOOD}\n{GOOD} {OTHER}\n", f"tokens:2: a token has {SHORTEST} to {LONGEST}"),
        ("".join(f"{n:020}\n" for n in range(MOST + 1)), f"more than {MOST}"),
    ],
)
def test_what_is_no_file_of_tokens(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        AccessTokens(file)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        AccessTokens(tmp_path / "tokens")
    with pytest.raises(ConfigError, match=os.strerror(21)):
        AccessTokens(tmp_path)
