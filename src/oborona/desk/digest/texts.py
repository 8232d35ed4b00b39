"""Words of digests, by language."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.desk.messages.reader_words import (
    AGAIN,
    AT_THE_DOOR,
    NOT_ACCEPTED,
    OF_GROUPS,
    OTHERWISE,
)


class DigestTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Words of one language."""

    code: str
    title: str
    filed: str
    refused: str
    not_spam: str
    allow: str
    page: str
    more: str
    stop: str
    perhaps: str
    nobody: str
    because: dict[str, str]


ENGLISH: Final = DigestTexts(
    code="en",
    title="Mail that was kept from you: {filed} in Junk, {refused} not taken in",
    filed="In Junk",
    refused="Not taken in",
    not_spam="Not spam, move it",
    allow="Always let in",
    page="All of it, and your lists",
    more="There is more; your page has all of it.",
    stop="No more of these mails",
    perhaps="A mail like this may have reached you before with some of these letters: it was not "
    "certain that it went out.",
    nobody="nobody",
    because={},
)
RUSSIAN: Final = DigestTexts(
    code="ru",
    title="Почта, которая до вас не дошла: в «Спаме» {filed}, не принято {refused}",
    filed="В «Спаме»",
    refused="Не принято",
    not_spam="Не спам, переместить",
    allow="Всегда пропускать",
    page="Всё вместе и ваши списки",
    more="Это не всё: остальное на вашей странице.",
    stop="Больше не присылать таких писем",
    perhaps="Такое письмо с частью этого списка могло прийти вам раньше: не было точно известно, "
    "ушло ли оно.",
    nobody="никто",
    because={
        AGAIN: "его почтовый сервер попросили прийти позже",
        AT_THE_DOOR: "его почтовый сервер известен рассылкой нежелательной почты",
        NOT_ACCEPTED: "для вашего адреса оно не принимается",
        OF_GROUPS["MASS"]: "похоже на массовую рассылку",
        OF_GROUPS["PHISHING"]: "похоже на попытку выманить пароли или деньги",
        OF_GROUPS["SENDER"]: "отправителя не удалось подтвердить",
        OF_GROUPS["BROKEN"]: "собрано так, как это делают программы для рассылки спама",
        OF_GROUPS["STYLE"]: "написано так, как пишут нежелательную почту",
        OTHERWISE: "похоже на нежелательную почту",
    },
)
TEXTS: Final = {one.code: one for one in (ENGLISH, RUSSIAN)}
