"""What keys and bodies say of accounts: whatever comes, it is understood or refused."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.account_orders import ENDING, ORDERS
from oborona.accounts.import_lines import LAST_TIME
from oborona.accounts.store.accounts import MAX_REASON, check_reason
from oborona.accounts.store.rows import DeedKind
from oborona.config import load_settings
from oborona.doors.http.account_keys import AccountKey, AccountKeys, account_keys
from oborona.doors.http.account_orders import order_of
from oborona.errors import ConfigError, PeerError

NOW = 1_795_000_000.0
KEY = "a-key-of-16-letters"

plain_words = st.sampled_from(
    ["read", "act=", "act=shop", ",", " ", "\t", "c17", "write", "é", "\u202e"]
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.sampled_from(["2h", "7d", "999999w", "2099-01-01", "2099-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"]),
)  # fmt: skip


def keys_of(folder: Path, line: str) -> AccountKeys:
    file = folder / "keys"
    file.write_bytes(f"{line}\n".encode("utf-8", "surrogatepass"))
    named = {"doors.http.accounts_keys_file": str(file)}
    keys = account_keys(load_settings(None, named).settings.doors.http)
    assert keys is not None
    return keys


@pytest.mark.parametrize(
    ("rest", "means"),
    [
        ("read", AccountKey(True, "", "")),
        ("act=shop", AccountKey(False, "shop", "")),
        ("read,act=shop", AccountKey(True, "shop", "")),
        ("act=Zoë=1,read  c 17 ", AccountKey(True, "Zoë=1", "c 17")),
        ("\tread\tc17", AccountKey(True, "", "c17")),
        ("", None),
        ("act", None),
        ("act=", None),
        ("read,", None),
        ("read,read", None),
        ("act=a,act=b", None),
        ("read,write", None),
        ("READ", None),
        ("act=" + "x" * 65, None),
        ("act=a\u202eb", None),
    ],
)
def test_a_line_says_what_its_key_may_do(
    tmp_path: Path, rest: str, means: AccountKey | None
) -> None:
    if means is None:
        with pytest.raises(ConfigError):
            keys_of(tmp_path, f"{KEY} {rest}")
        return
    keys = keys_of(tmp_path, f"{KEY} {rest}")
    assert keys.key(KEY) == means
    assert keys.key(KEY[:-1]) is None
    assert keys.key(f"{KEY} {rest}") is None
    assert keys_of(tmp_path, f"  {KEY}\t{rest}").key(KEY) == means


@given(st.one_of(st.text(max_size=100), st.lists(plain_words, max_size=8).map("".join)))
def test_no_line_gives_a_right_that_it_does_not_name(rest: str) -> None:
    with tempfile.TemporaryDirectory() as folder, suppress(ConfigError):
        key = keys_of(Path(folder), f"{KEY} {rest}").key(KEY)
        assert key is not None
        assert key.reads or key.name
        assert not key.reads or "read" in rest
        assert not key.name or f"act={key.name}" in rest
        assert key.name.isprintable()
        assert key.customer == key.customer.strip()


@given(
    st.one_of(
        st.binary(max_size=300),
        st.dictionaries(st.sampled_from(["reason", "for", "until", "by"]), values).map(
            lambda told: json.dumps(told).encode()
        ),
    ),
    st.sampled_from(ORDERS),
)
def test_a_body_is_an_order_that_can_be_kept_or_none(body: bytes, what: DeedKind) -> None:
    with suppress(PeerError):
        order = order_of(body, what, "shop", NOW)
        assert (order.what, order.by) == (what, "shop")
        assert 0 < len(order.why) <= MAX_REASON
        check_reason(order.why, order.until)
        assert order.until == 0 or (what in ENDING and NOW < order.until < LAST_TIME)
        assert order.until or what is not DeedKind.LIMIT
