"""Names on messengers, in links and in words; and the links and words that name nobody."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.message import handles, links
from oborona.message.normalise import normalise


def of_link(url: str) -> str:
    found = links.normal(url)
    assert found is not None
    return handles.of_link(*found)


def found(text: str) -> list[str]:
    return [handle for handle, _ in handles.in_text(normalise(text))]


@pytest.mark.parametrize(
    ("url", "handle"),
    [
        ("https://t.me/Easy_Money", "telegram:easy_money"),
        ("http://telegram.me/easy_money?start=ref1", "telegram:easy_money"),
        ("https://t.me/s/easy_money/77", "telegram:easy_money"),
        ("https://easy_money.t.me/", "telegram:easy_money"),
        ("https://t.me/+AbCdEf12345", "telegram:+AbCdEf12345"),
        ("https://t.me/joinchat/AbCdEf12345", "telegram:+AbCdEf12345"),
        ("https://t.me/+79051234567", "telegram:+79051234567"),
        ("https://t.me/%65asy_money", "telegram:easy_money"),
        ("https://wa.me/79051234567?text=hi", "whatsapp:+79051234567"),
        ("https://api.whatsapp.com/send?phone=79051234567&text=x", "whatsapp:+79051234567"),
        ("https://chat.whatsapp.com/AbCdEf", "whatsapp:AbCdEf"),
        ("https://m.vk.com/id12345", "vk:id12345"),
        ("https://vk.me/easy_money", "vk:easy_money"),
        ("https://discord.gg/AbCdEf", "discord:AbCdEf"),
        ("https://discord.com/invite/AbCdEf", "discord:AbCdEf"),
        ("https://www.instagram.com/easy.money/", "instagram:easy.money"),
        ("https://m.me/easy.money", "messenger:easy.money"),
        ("https://line.me/ti/p/~easy", "line:~easy"),
    ],
)
def test_links(url: str, handle: str) -> None:
    assert of_link(url) == handle


@pytest.mark.parametrize(
    "url",
    [
        "https://t.me/share/url?url=x",
        "https://t.me/",
        "https://t.me/c/123/4",
        "https://vk.com/away.php?to=x",
        "https://vk.com/wall-1_2",
        "https://vk.com/share.php?url=x",
        "https://www.instagram.com/p/AbC/",
        "https://discord.com/channels/1/2",
        "https://nott.me/easy_money",
        "https://a.example/t.me/easy_money",
        "https://t.me/\u043e\u043e\u043e\u043e\u043e",
    ],
)
def test_links_to_nobody(url: str) -> None:
    assert of_link(url) == ""


@pytest.mark.parametrize(
    ("url", "handle"),
    [
        ("tg://resolve?domain=Easy_Money", "telegram:easy_money"),
        ("whatsapp://send?phone=+79051234567", "whatsapp:+79051234567"),
        ("viber://chat?number=%2B79051234567", "viber:+79051234567"),
        ("skype:easy.money?chat", "skype:easy.money"),
        ("tg://settings", ""),
        ("javascript:alert(1)", ""),
        ("skype:", ""),
    ],
)
def test_links_that_a_messenger_opens(url: str, handle: str) -> None:
    assert handles.of_scheme(url) == handle


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("write to me in Telegram: @Easy_Money!", "telegram:easy_money"),
        ("telegram @easy_money", "telegram:easy_money"),
        ("tg - @easy_money", "telegram:easy_money"),
        ("my telegram account is @easy_money.", "telegram:easy_money"),
        ("Телеграм @easy_money", "telegram:easy_money"),
        ("\u0442\u0435\u043b\u0435\u0433\u0440\u0430\u043c: @easy_money", "telegram:easy_money"),
        # Cyrillic e, a, o
        ("t\u0435l\u0435gr\u0430m @e\u0430sy_m\u043eney", "telegram:easy_money"),
        ("t\u200bele\u00adgram @easy_money", "telegram:easy_money"),
        ("пишите в телегу: telegram @easy_money", "telegram:easy_money"),
        ("@easy_money (telegram)", "telegram:easy_money"),
        ("@easy_money in telegram", "telegram:easy_money"),
        ("telegram: easy_money7", "telegram:easy_money7"),
        ("Skype: live:easy.money_1", "skype:live:easy.money_1"),
        ("skype id: easy.money7", "skype:easy.money7"),
        ("ICQ# 123456789", "icq:123456789"),
        ("wechat: wxid_abc123", "wechat:wxid_abc123"),
    ],
)
def test_words(text: str, handle: str) -> None:
    assert handle in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "telegram: write to us",
        "telegram news@shop.example",
        "@easy_money",
        "the telegram came from ann@shop.example",
        "thanks @easy_money for the skypelike thing",
        "telegram is a messenger. Much later, in quite another sentence, we mention @easy_money",
        "instagram.com",
        "line: 12345",
        "skype: http://a.example/x_1",
    ],
)
def test_words_that_name_nobody(text: str) -> None:
    assert found(text) == []


def test_telephones_among_handles() -> None:
    assert handles.phone("whatsapp:+79051234567") == "+79051234567"
    assert handles.phone("telegram:easy_money") == ""
    assert handles.phone("icq:123456789") == ""


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "telegram",
                " ",
                "@",
                ":",
                "abc_1",
                "skype",
                "\u0442",
                "тг",
                "live:",
                ".",
                "in ",
                "+",
                "=",
                "icq#",
                "123456",
                "\u200b",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_any_words(text: str) -> None:
    """Invariant: few distinct handles, each a known service and a name without white space."""
    names = found(text)
    assert len(names) == len(set(names)) <= handles.MAX_HANDLES
    assert all(
        name.partition(":")[0] in set(handles._WORDS.values()) and " " not in name for name in names
    )


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("tg:/?=&%2Bskypedomainphonevibr+79@~\u043e"), max_size=60),
    st.sampled_from(
        ["tg:", "viber://chat?number=", "https://t.me/", "https://wa.me/", "https://vk.com/"]
    ),
)
def test_any_link(rest: str, start: str) -> None:
    """Invariant: no exception; a handle or nothing."""
    handles.of_scheme(start + rest)
    web = links.normal(start + rest)
    if web is not None:
        handles.of_link(*web)


@pytest.mark.parametrize(
    "piece",
    [
        "telegram @name{0} ",
        "@name{0} ",
        "telegram telegram ",
        "telegram: word ",
        "telegram                              ",
        "@@@@",
    ],
)
def test_a_hundred_thousand_in_bounded_time(piece: str) -> None:
    text = "".join(piece.format(number) for number in range(100_000))
    began = time.process_time()
    handles.in_text(text)
    assert time.process_time() - began < 0.25
