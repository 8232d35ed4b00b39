"""Notices of accounts, shops and mailing lists: other programs' templates and translations, filled
in.
"""

from __future__ import annotations

import gettext
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.generated.django_template import DjangoTemplate

LANGUAGES: Final = (
    "en",
    "de",
    "fr",
    "es",
    "pt",
    "it",
    "nl",
    "pl",
    "ru",
    "uk",
    "ja",
    "zh",
    "ko",
    "tr",
    "cs",
)
FOLDERS: Final = {"pt": ("pt_PT", "pt"), "zh": ("zh_Hans", "zh_CN"), "tr": ("tr", "tr_TR")}
"""What packages call the folder of a language, where it is not the language's code."""
ROOTS: Final = (
    ("django-allauth", "allauth", "allauth/templates", "*/email/*_message.txt"),
    ("django-oscar", "oscar", "oscar/templates", "oscar/communication/emails/commtype_*_body.*"),
    ("django-registration-redux", "registration", "registration/templates", "*/activation_email.*"),
)


class TemplateText(msgspec.Struct, frozen=True, kw_only=True):
    """One mail's words."""

    kind: str
    language: str
    subject: str
    text: str
    page: str = ""  # HTML; empty: a text only


def texts(places: Mapping[str, Path], values: Mapping[str, str]) -> Iterator[TemplateText]:
    """Yield the mails of all packages in all languages that they are translated to.

    Args:
        places: of `fetch`.
        values: what stands for each variable, by the last part of its name.
    """
    for name, module, folder, pattern in ROOTS:
        root = places[name] / folder
        bodies = sorted(
            path
            for path in root.glob(pattern)
            if path.suffix in (".txt", ".html") and not path.name.startswith("base_")
        )
        for language in LANGUAGES:
            words = _catalogue(places[name] / module / "locale", language)
            for stem in sorted({path.with_suffix("") for path in bodies}):
                mail = _of_django(root, stem, words, values, f"{module}-{stem.name}", language)
                if mail is not None:
                    yield mail
    yield from _of_mailman(places["mailman"] / "mailman/templates", values)


def _of_django(
    root: Path,
    stem: Path,
    words: gettext.NullTranslations,
    values: Mapping[str, str],
    kind: str,
    language: str,
) -> TemplateText | None:
    said = {
        suffix: DjangoTemplate(root, words, values).of(stem.with_suffix(suffix).relative_to(root))
        for suffix in (".txt", ".html")
        if stem.with_suffix(suffix).exists()
    }
    plain = DjangoTemplate(root, gettext.NullTranslations(), values)
    first = next(iter(said))
    if language != "en" and said[first] == plain.of(stem.with_suffix(first).relative_to(root)):
        return None  # not translated
    head = stem.with_name(re.sub(r"_(message|body)$", "", stem.name) + "_subject.txt")
    subject = (
        DjangoTemplate(root, words, values).of(head.relative_to(root)) if head.exists() else ""
    )
    text = re.sub(r"\n{3,}", "\n\n", said.get(".txt", "")).strip()
    return TemplateText(
        kind=kind,
        language=language,
        subject=" ".join(subject.split()) or text.partition("\n")[0][:70],
        text=text,
        page=said.get(".html", "").strip(),
    )


def _of_mailman(root: Path, values: Mapping[str, str]) -> Iterator[TemplateText]:
    for language in LANGUAGES:
        folder = next(root / name for name in _folders(language) if (root / name).exists())
        for path in sorted(folder.glob("list:*.txt")):
            if path.name.startswith(("list:member:generic", "list:member:regular")):
                continue
            text = string.Template(path.read_text("utf-8")).safe_substitute(values).strip()
            if text:
                subject = f"{values['display_name']}: {text.splitlines()[0].strip()[:60]}"
                kind = f"mailman-{path.stem.replace(':', '-')}"
                yield TemplateText(kind=kind, language=language, subject=subject, text=text)


def _folders(language: str) -> tuple[str, ...]:
    return FOLDERS.get(language, (language,))


def _catalogue(locale: Path, language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    return gettext.translation("django", str(locale), list(_folders(language)), fallback=True)
