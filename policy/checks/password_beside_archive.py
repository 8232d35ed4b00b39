"""An archive or a document needs a password, and the text around it says one: what no filter can
open, a reader can.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.normalise import normalise
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "password-beside-archive"
SEARCHED: Final = 20_000  # characters of text: a password stands where a reader finds it

# As dictionaries and the programs that ask for one have it; in the form that texts are normalised
# to.
_WORDS: Final = (
    "password", "passwort", "kennwort", "passcode", "pass code", "пароль", "пароля", "паролем", "паролю", "mot de passe", "contraseña", "clave",
    "senha", "hasło", "haslo", "heslo", "wachtwoord", "lösenord", "salasana", "parola", "parolă", "şifre", "sifre", "jelszó", "密码", "密碼",
    "パスワード", "비밀번호", "pwd", "pw",
)  # fmt: skip
# The word, then the password itself: behind a colon, a dash or an equals sign, or with a digit in
# it.
_SAID: Final = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted({re.escape(normalise(word)) for word in _WORDS}))})(?:"
    r"[^:=\n]{0,20}?(?:\s?[:=]|\s-)\s?(?!//|https?:)\S{2,}|\s(?:is\s|ist\s|this\s|это\s)?[^\s:=]{0,20}\d)"
)


def check(context: CheckContext) -> Finding | None:
    """Return a finding where the subject or the text says a password; the evidence is the
    attachment, never the password.
    """
    message = context.message
    locked = next((file for file in message.attachments if file.encrypted), None)
    if locked is None:
        return None
    match = _SAID.search(normalise(message.subject)) or _SAID.search(
        message.normal_text, 0, SEARCHED
    )
    return Finding(SLUG, quoted(locked.name or locked.kind, 80)) if match else None
