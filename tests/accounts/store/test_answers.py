"""What is asked under a key is done once, whatever happens in between."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.account import AccountRecord
from oborona.accounts.account_orders import AccountOrder, carry_out
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import (
    KEPT_S,
    GivenAnswer,
    RepeatKey,
    RepeatKeyReused,
    answer_once,
    forget_answers,
)
from oborona.accounts.store.rows import DeedKind

NOW = 1_795_000_000.0
KEY = RepeatKey("shop", "c17", "k", b"digest")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / state_files.ACCOUNTS
    with AccountStore(path) as store:
        store.put([AccountRecord(id="joe", logins=("joe",))], by="test", now=NOW)
    return path


def ban(store: AccountStore, body: bytes = b"done") -> GivenAnswer:
    order = AccountOrder(what=DeedKind.BAN, by="shop", why="x")
    assert carry_out(store, "joe", order, NOW) is not None
    return GivenAnswer(body, "joe")


def bans(path: Path) -> int:
    with AccountStore(path) as store:
        return sum(deed.what is DeedKind.BAN for deed in store.deeds("joe"))


def test_the_first_answer_is_given_again(path: Path) -> None:
    with AccountStore(path) as store:
        assert answer_once(store, KEY, NOW, lambda: ban(store)) == (b"done", "joe", False)
        again = answer_once(store, KEY, NOW + KEPT_S - 1, lambda: ban(store, b"other"))
        assert again == (b"done", "joe", True)
        assert bans(path) == 1
        answer_once(store, KEY, NOW + KEPT_S, lambda: ban(store))
        assert bans(path) == 2


def test_without_a_key_it_is_done_each_time(path: Path) -> None:
    with AccountStore(path) as store:
        for _ in range(2):
            assert not answer_once(store, None, NOW, lambda: ban(store)).again
        assert store.rows("SELECT * FROM answer") == []
    assert bans(path) == 2


@pytest.mark.parametrize(
    "other", [KEY._replace(asker="x"), KEY._replace(customer=""), KEY._replace(key="K")]
)
def test_a_key_is_one_asker_s_for_one_customer(path: Path, other: RepeatKey) -> None:
    with AccountStore(path) as store:
        answer_once(store, KEY, NOW, lambda: ban(store))
        answer_once(store, other, NOW, lambda: ban(store))
    assert bans(path) == 2


def test_another_request_under_the_key_does_nothing(path: Path) -> None:
    with AccountStore(path) as store:
        answer_once(store, KEY, NOW, lambda: ban(store))
        with pytest.raises(RepeatKeyReused):
            answer_once(store, KEY._replace(request=b"other"), NOW, lambda: ban(store))
    assert bans(path) == 1


def test_what_fails_is_undone_and_may_come_again(path: Path) -> None:
    def fail() -> GivenAnswer:
        ban(store)
        raise RuntimeError

    with AccountStore(path) as store:
        with pytest.raises(RuntimeError):
            answer_once(store, KEY, NOW, fail)
        assert bans(path) == 0
        assert answer_once(store, KEY, NOW, lambda: None) is None
        assert not answer_once(store, KEY, NOW, lambda: ban(store)).again
    assert bans(path) == 1


@pytest.mark.parametrize("done", [False, True], ids=["before its end", "behind it"])
def test_a_kill_does_it_not_or_once(path: Path, done: bool) -> None:
    child = os.fork()
    if child == 0:
        try:
            _killed(path, done=done)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert bans(path) == int(done)
    with AccountStore(path) as store:
        assert answer_once(store, KEY, NOW, lambda: ban(store)).again == done
    assert bans(path) == 1


def _killed(path: Path, *, done: bool) -> None:
    def given() -> GivenAnswer:
        answer = ban(store)
        if not done:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    with AccountStore(path) as store:
        answer_once(store, KEY, NOW, given)
    os.kill(os.getpid(), signal.SIGKILL)


def test_old_answers_are_forgotten(path: Path) -> None:
    with AccountStore(path) as store:
        for number in range(4):
            key = KEY._replace(key=f"k{number}")
            answer_once(store, key, NOW + number * KEPT_S / 4, lambda: ban(store))
        forget_answers(store, NOW + KEPT_S * 1.25)
        assert store.rows("SELECT key FROM answer ORDER BY key") == [("k2",), ("k3",)]
