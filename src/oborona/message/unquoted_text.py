"""What a sender wrote himself: a text without quotations, signature and the footer that a list or
provider appends.

Answers in one thread quote the same lines, and letters of one list end in the same footer, so both
look like copies of each other; what their writers added does not. Cut are

    quoted lines       beginning with > or |, with or without initials, and the line that introduces
                       them
    an old message     from "-----Original Message-----" on, or from a block of "From: ... Sent: ...
                       To: ..." on, as Outlook writes it
    a signature        from a line "-- " on
    a footer           from a line of ten and more - _ = ~ * # on, if no more than `TAIL_WORDS`
                       words follow

Where all of it would go, nothing goes: a text that is one quotation is its sender's own. What HTML
marks as a quotation comes here as a line "> " (`quotations`). Known limit: a sender who hides
behind two words and a quotation has no fingerprint, only exact copies meet.
"""

from __future__ import annotations

import re
from typing import Final

import re2

from oborona.message.core import marked_lines

TAIL_WORDS: Final = 80  # of a signature or footer; Yahoo! Groups and large companies reach 70
MAX_LINES: Final = 5000  # looked at: a long text is not told by its footer

_FROM: Final = r"(?:from|von|de|от|від|da|od|van|från|fra|lähettäjä|发件人|寄件者|差出人|보낸 사람)"
_FIELDS: Final = (
    r"(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|date|à|objet|enviado|fecha|para|asunto|assunto|data|inviato|a|oggetto|отправлено|"
    r"дата|кому|копия|тема|надіслано|wysłano|do|temat|verzonden|aan|onderwerp|skickat|till|ämne|发送时间|收件人|主题|日期)"
)
_WITHIN: Final = 6  # lines from From on, in which two more fields make a block
_MAY_HOLD: Final = re2.compile(
    (
        rf"(?im)^[ \t]{{0,3}}(?:\w{{0,3}}[>|]|-- ?$|-{{2,}}|[-_=~*#]{{10}}|\*?{_FROM}[ "
        rf"\t]?\*?:)"
    ).encode()
)
_MAY_BE_HELD: Final = re.compile(  # the same of one line, to which \w is what RE2 takes for it
    rf"[ \t]{{0,3}}(?:[a-z0-9_\u017f\u212a]{{0,3}}[>|]|--|[-_=~*#]{{10}}|\*?{_FROM}[ \t]?\*?:)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[ \t]{0,3}\w{0,3}[>|]")
_SAYS: Final = re.compile(
    r".{0,200}\b(?:wrote|writes|said|schrieb|a écrit|escribió|escreveu|ha scritto|pisze|napisał\w?|пишет|писал[аи]?|написал[аи]?|пише|schreef|skrev|kirjoitti|写道)\W{0,3}$"
    r"|.{0,200}\bschrieb\b.{0,80}:\W{0,3}$",
    re.IGNORECASE,
)
_OLD: Final = re.compile(
    r"[ \t]*[-_]{2,}[ \t]*(?:original message|forwarded message|forwarded by|original "
    r"appointment|ursprüngliche nachricht|weitergeleitete nachricht|"
    r"message d'origine|message original|message transféré|mensaje original|mensaje "
    r"reenviado|mensagem original|mensagem encaminhada|messaggio originale|"
    r"messaggio inoltrato|oorspronkelijk bericht|doorgestuurd bericht|wiadomość "
    r"oryginalna|oryginalna wiadomość|původní zpráva|ursprungligt meddelande|"
    r"исходное сообщение|пересылаемое сообщение|переслане повідомлення|原始邮件|元のメッセージ|원본 메시지)",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(rf"[ \t]{{0,3}}\*?{_FROM}[ \t]?\*?:", re.IGNORECASE)
_FIELD: Final = re.compile(rf"[ \t]{{0,3}}\*?{_FIELDS}[ \t]?\*?:", re.IGNORECASE)
_SIGNATURE: Final = re.compile(r"-- ?")
_RULE: Final = re.compile(r"[ \t]*[-_=~*#]{10}")


def unquoted_text(text: str) -> str:
    """Return the lines of a text that its sender wrote.

    The text itself when there is nothing to cut, or nothing else.

    Args:
        text: what a reader sees, lines kept, not normalised.
    """
    marked = marked_lines(text, MAX_LINES + 1)
    held = any(_MAY_BE_HELD.match(text, start) for _, start, _ in marked)
    if not held and not _holds_late(text):
        return text
    own: list[str] = []
    judged = None
    lines = text.split("\n", MAX_LINES)
    tail = _tail(lines)
    following = 0
    for place, _, quotes in marked:
        own += lines[following:place]
        following = place + 1
        line = lines[place]
        if not quotes:
            if _OLD.match(line) or (_HEAD.match(line) and _is_block(lines, place)):
                break
            if _SIGNATURE.fullmatch(line) or _RULE.match(line):
                if place >= tail:
                    break
                own.append(line)
                continue
            if _QUOTED.match(line) is None:
                own.append(line)
                continue
        if own and own[-1] is not judged:  # once for all the lines quoted below it
            judged = own[-1]
            if _SAYS.fullmatch(judged):
                own.pop()
    else:
        own += lines[following:]
    return "\n".join(own) if any(line.strip() for line in own) else text


def _holds_late(text: str) -> bool:
    """Return whether a text has more lines than are looked at, and anything to cut."""
    if text.count("\n") <= MAX_LINES:
        return False
    return _MAY_HOLD.search(text.encode("utf-8", "surrogatepass")) is not None


def _is_block(lines: list[str], place: int) -> bool:
    """Return whether a line "From: ..." is followed by two more fields of an old message's head."""
    return sum(_FIELD.match(line) is not None for line in lines[place + 1 : place + _WITHIN]) >= 2


def _tail(lines: list[str]) -> int:
    """Return the first line from which on no more than `TAIL_WORDS` words are left."""
    words = 0
    for place in range(len(lines) - 1, -1, -1):
        words += len(lines[place].split())
        if words > TAIL_WORDS:
            return place + 1
    return 0
