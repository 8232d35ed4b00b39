"""Names under which somebody is reached on a messenger or a network: `telegram:name`,
`whatsapp:+79051234567`, `vk:id1`.

    links    t.me/name, name.t.me, wa.me/number, vk.com/name, discord.gg/code, ...; tg:, whatsapp:,
             viber:, skype: of HTML
    text     the service's word within 30 characters of @name; or the word, a colon, and a name with
             a digit or an underscore in it

Names are in lower case; codes of invitations keep theirs. Pages of a service that are nobody's
(sharing, log-in, single posts) are none. A word like "telegram" is found in its normalised form, in
whatever letters it is painted.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import re2

from oborona.message.normalise import normalise

MAX_HANDLES: Final = 10  # of one message, of text and of links each
MAX_TRIED: Final = 200  # places of a text that are looked at

_HOSTS: Final = {
    "t.me": "telegram",
    "telegram.me": "telegram",
    "telegram.dog": "telegram",
    "wa.me": "whatsapp",
    "api.whatsapp.com": "whatsapp",
    "web.whatsapp.com": "whatsapp",
    "chat.whatsapp.com": "whatsapp",
    "chats.viber.com": "viber",
    "invite.viber.com": "viber",
    "vk.com": "vk",
    "vk.ru": "vk",
    "vk.me": "vk",
    "join.skype.com": "skype",
    "discord.gg": "discord",
    "discord.com": "discord",
    "m.me": "messenger",
    "instagram.com": "instagram",
    "ig.me": "instagram",
    "line.me": "line",
    "lin.ee": "line",
    "signal.me": "signal",
}
_SCHEMES: Final = {
    "tg": "telegram",
    "whatsapp": "whatsapp",
    "viber": "viber",
    "skype": "skype",
    "vk": "vk",
    "sgnl": "signal",
    "line": "line",
}
_NOBODY: Final = {  # first steps of a path that are pages of the service
    "telegram": re.compile(
        r"share|iv|proxy|socks|addstickers|addemoji|addtheme|login|setlanguage|bg|c"
    ),
    "vk": re.compile(
        r"(?:wall|photo|video|album|topic|doc|clip|market|article|story|audio|page|app|feed|im|search|login|join|away|share|dev|ads)[\d_.a-z-]*|@.*"
    ),
    "instagram": re.compile(r"p|reels?|stories|explore|accounts|tv|about|developer"),
    "discord": re.compile(r"channels|login|register|download|app|api|users|nitro|company|blog"),
}
_STEPS: Final = {  # steps of a path before the name
    "telegram": frozenset({"joinchat", "s"}),
    "whatsapp": frozenset({"message"}),
    "discord": frozenset({"invite"}),
    "instagram": frozenset({"m"}),
    "line": frozenset({"ti", "r", "p"}),
}
# such steps before the code of an invitation
_CODES: Final = frozenset({"joinchat", "invite", "message"})
_CODE_HOSTS: Final = frozenset({"discord.gg", "chat.whatsapp.com", "join.skype.com", "lin.ee"})
_NO_STEPS: Final[frozenset[str]] = frozenset()
_PARAMETER: Final = re.compile(
    r"[?&](?:phone|number|domain|invite|chaturi|code)=([^&#]+)", re.IGNORECASE
)
_NAME: Final = re.compile(r"[+~]?[A-Za-z0-9_.:-]{3,64}")
_PHONE: Final = re.compile(r"\+?[0-9]{7,15}")

_WORDS: Final = {
    normalise(word): service
    for service, words in {
        "telegram": "telegram telegramm tlgrm tg телеграм телеграмм телеграмме телега тг",
        "skype": "skype скайп",
        "wechat": "wechat weixin",
        "discord": "discord дискорд",
        "instagram": "instagram insta инстаграм инста",
        "viber": "viber вайбер",
        "icq": "icq аська",
        "kik": "kik",
        "snapchat": "snapchat",
        "line": "line-id",
    }.items()
    for word in words.split()
}
WORDS: Final = tuple(sorted(_WORDS, key=len, reverse=True))
"""Words for services, normalised"""
_WORD: Final = "|".join(map(re.escape, WORDS))
_AT: Final = r"@([a-z][a-z0-9_]{3,31})(?:[^a-z0-9_@.]|\.[^a-z0-9]|\.?$)"
HINT: Final = rf"(?:^|[^a-z0-9])(?:{_WORD})(?:[^a-z0-9]|$)"
"""RE2, of something that any normalised text with a handle holds"""
_MAY_HOLD: Final = re2.compile(HINT.encode())
_NEAR: Final = re2.compile(
    rf"(?:^|[^a-z0-9])({_WORD})(?:[^a-z0-9@][^@]{{0,30}})?[^a-z0-9_.@]{_AT}".encode()
)
_AFTER: Final = re2.compile(
    (
        rf"(?:^|[^a-z0-9_.])@([a-z][a-z0-9_]{{3,31}})[^@a-z0-9]{{1,4}}(?:(?:in|on|via|b|ha) "
        rf")?({_WORD})(?:[^a-z0-9]|$)"
    ).encode()
)
_COLON: Final = re2.compile(
    (
        rf"(?:^|[^a-z0-9])({_WORD}) ?(?:id ?)?[:=#] "
        rf"?((?:live:)?[a-z0-9_.-]{{4,40}})(?:[^a-z0-9_@/.-]|$)"
    ).encode()
)


def of_link(url: str, host: str) -> str:
    """Return the handle that a web link leads to, empty when it leads to none.

    Args:
        url: normal.
        host: its host.
    """
    host = host.removeprefix("www.")
    if host.endswith(".t.me"):
        return f"telegram:{host.removesuffix('.t.me')}"
    service = _HOSTS.get(host) or _HOSTS.get(host.removeprefix("m."))
    if service is None:
        return ""
    parameter = _PARAMETER.search(url)
    if parameter is not None:
        return _handle(service, unquote(parameter[1]), code=False)
    steps = [
        unquote(step)
        for step in url[url.find("/", 8) + 1 :].partition("?")[0].split("/", 4)
        if step
    ]
    code = host in _CODE_HOSTS
    while len(steps) > 1 and steps[0].lower() in _STEPS.get(service, _NO_STEPS):
        step = steps.pop(0).lower()
        code = code or step in _CODES
        if step == "joinchat":
            steps[0] = "+" + steps[0]  # the same invitation in its newer form
    if not steps:
        return ""
    nobody = _NOBODY.get(service)
    if not code and nobody is not None and nobody.fullmatch(steps[0].lower()):
        return ""
    return _handle(service, steps[0], code=code)


def of_scheme(url: str) -> str:
    """Return the handle of a link that a messenger opens itself (tg:, skype:, ...), empty when
    there is none.
    """
    scheme, _, rest = url.strip()[:200].partition(":")
    service = _SCHEMES.get(scheme.lower())
    if service is None:
        return ""
    parameter = _PARAMETER.search(rest)
    name = (
        parameter[1]
        if parameter
        else rest.lstrip("/").partition("?")[0]
        if service == "skype"
        else ""
    )
    return _handle(service, unquote(name), code=False)


def in_text(normal: str) -> list[tuple[str, str]]:
    """Return the distinct handles in a text as (service:name, as found), at most `MAX_HANDLES`.

    Args:
        normal: the text, `normalise`d.
    """
    octets = normal.encode("utf-8", "surrogatepass")
    if _MAY_HOLD.search(octets) is None:
        return []
    names: dict[str, str] = {}
    for pattern, word, name_group in ((_NEAR, 1, 2), (_AFTER, 2, 1), (_COLON, 1, 2)):
        position = 0
        for _ in range(MAX_TRIED):
            match = pattern.search(octets, position)
            if match is None or len(names) >= MAX_HANDLES:
                break
            position = max(match.end(1), match.end(2))
            name = match[name_group].decode("ascii").rstrip(".-")
            if pattern is _COLON and name.isalpha():
                continue  # "telegram: write to us"
            handle = _handle(_WORDS[match[word].decode("utf-8")], name, code=False)
            if handle:
                names.setdefault(handle, match[0].decode("utf-8", "ignore").strip())
    return list(names.items())


def phone(handle: str) -> str:
    """Return the digits of a handle that is a telephone number, empty when it is none."""
    service, _, name = handle.partition(":")
    return (
        name
        if service in ("whatsapp", "viber", "telegram", "signal") and _PHONE.fullmatch(name)
        else ""
    )


def _handle(service: str, name: str, *, code: bool) -> str:
    name = name.strip().lstrip("@")
    if _PHONE.fullmatch(name):
        return (
            f"{service}:+{name.lstrip('+')}"
            if service in ("whatsapp", "viber", "telegram", "signal")
            else f"{service}:{name}"
        )
    if not _NAME.fullmatch(name):
        return ""
    return f"{service}:{name if code or name[0] == '+' else name.lower()}"
