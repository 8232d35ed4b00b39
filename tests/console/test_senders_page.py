"""What the page for senders does not say, and what it passes on."""

from __future__ import annotations

import aiohttp
import pytest

from tests.console.conftest import RunningConsole
from tests.console.page_case import all_cases
from tests.console.page_request import fetch

pytestmark = [pytest.mark.asyncio(loop_scope="session")]
CASES = {case.name: case for case in all_cases()}


async def test_no_store_is_named_to_strangers(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    answer = await fetch(console, http, CASES["senders-away"])
    assert "journal.db" not in answer.text
    assert answer.status == 503


async def test_who_is_to_wait_is_told_for_how_long(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    answer = await fetch(console, http, CASES["senders-too-often"])
    assert answer.headers["Retry-After"] == "60"


async def test_an_appeal_is_passed_on_as_it_was_written(
    console: RunningConsole, http: aiohttp.ClientSession
) -> None:
    await fetch(console, http, CASES["senders-appealed"])
    (call,) = [one for one in console.desk.calls if one.name == "senders.appeal"]
    assert call.asked == {
        "reference": "0SAH375J007Q5", "address": '"><b>@bank.example', "text": "why?",
    }  # fmt: skip
    assert call.address == "127.0.0.1"
