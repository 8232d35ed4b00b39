"""Code that is handed from process to process is run only with our seal, and only for its
source.
"""

from __future__ import annotations

import marshal
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.daemon.publisher import code
from oborona.daemon.publisher.code import FILE, CodePublisher, PublishedCode
from oborona.errors import StoreError
from tests.daemon.publisher.places import KEY, House, rules

SOURCE = "answer = 42"
EVIL = compile("answer = 666", "<evil>", "exec")


def ran(key: bytes, folder: Path, source: str = SOURCE) -> object:
    names: dict[str, object] = {}
    exec(PublishedCode(key, folder)(source), names)
    return names["answer"]


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    coder = CodePublisher(KEY)
    coder(SOURCE)
    coder.hand_on(tmp_path)
    return tmp_path


def test_what_was_sealed_is_taken_and_not_made_again(
    handed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(_source: str) -> None:
        raise AssertionError

    monkeypatch.setattr(code, "code_of", made)
    assert ran(KEY, handed) == 42


def test_code_of_another_source_or_key_or_none_is_made_anew(handed: Path) -> None:
    assert ran(KEY, handed, "answer = 43") == 43
    assert ran(b"x" * 32, handed) == 42
    (handed / FILE).unlink()
    assert ran(KEY, handed) == 42


@given(octets=st.binary(max_size=100) | st.just(bytes(32) + marshal.dumps(EVIL)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_octets_that_others_put_there_are_run(handed: Path, octets: bytes) -> None:
    (handed / FILE).write_bytes(octets)
    assert ran(KEY, handed) == 42


def test_the_seal_of_other_code_does_not_do(handed: Path) -> None:
    octets = (handed / FILE).read_bytes()
    (handed / FILE).write_bytes(octets[:32] + marshal.dumps(EVIL))
    assert ran(KEY, handed) == 42


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    coder = CodePublisher(KEY)
    coder.hand_on(tmp_path / "missing")  # nothing was made yet
    coder(SOURCE)
    with pytest.raises(StoreError, match="missing"):
        coder.hand_on(tmp_path / "missing")


async def test_workers_take_the_code_of_the_publisher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path)
    async with house.workers(1) as (worker,):
        house.write(rules(2))
        times: list[str] = []

        def counting(source: str) -> CodeType:
            times.append(source)
            return compile(source, "<rules>", "exec")

        monkeypatch.setattr(code, "code_of", counting)
        assert (await house.reload()).changed
        assert (await worker.now()).rules[0].score == 2
        assert len(times) == 1, "the publisher's"
