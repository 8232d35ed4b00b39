"""A shop in each language, and what stands in its mail."""

from __future__ import annotations

from datetime import date
from typing import Final

from benchmarks.generated.senders import READER, Shop

SHOPS: Final = {
    "en": ("Hartley & Sons", "hartley-sons.example"),
    "de": ("Leinenhaus Weber", "leinenhaus-weber.example"),
    "fr": ("Maison Perrin", "maison-perrin.example"),
    "es": ("Casa Olmedo", "casa-olmedo.example"),
    "pt": ("Loja da Ribeira", "loja-ribeira.example"),
    "it": ("Bottega Moretti", "bottega-moretti.example"),
    "nl": ("Winkel van Dam", "winkel-vandam.example"),
    "pl": ("Sklep Lniany", "sklep-lniany.example"),
    "ru": ("Дом льна", "dom-lna.example"),
    "uk": ("Лляна крамниця", "lliana-kramnytsia.example"),
    "ja": ("麻の店", "asanomise.example"),
    "zh": ("麻布之家", "mabuzhijia.example"),
    "ko": ("리넨하우스", "linenhouse.example"),
    "tr": ("Keten Evi", "ketenevi.example"),
    "cs": ("Lněný krám", "lnenykram.example"),
}
CURRENCIES: Final = {"en": "£", "pl": "zł", "ru": "₽", "uk": "грн", "ja": "円", "zh": "元"}
CURRENCIES_MORE: Final = {"ko": "원", "tr": "TL", "cs": "Kč"}


def shop_of(language: str) -> Shop:
    """Return the shop of a language."""
    name, domain = SHOPS[language]
    return Shop(name=name, domain=domain)


def values_of(language: str, lot: int = 0) -> dict[str, str]:
    """Return what stands for each variable of a mail.

    Args:
        language: of the mail.
        lot: which of several mails of a kind; number, sum and date differ by it.
    """
    shop = shop_of(language)
    currency = (CURRENCIES | CURRENCIES_MORE).get(language, "€")
    link = f"https://www.{shop.domain}/account/{20431 + lot}"
    day = date(2026, 6, 11 + lot)
    signs = {"ja": "%Y年%m月%d日", "zh": "%Y年%m月%d日", "ko": "%Y년 %m월 %d일", "en": "%d/%m/%Y"}
    values = {
        "name": "Anna Berg",
        "shop": shop.name,
        "number": str(20431 + 7 * lot),
        "date": day.strftime(signs.get(language, "%d.%m.%Y")),
        "sum": f"{84 + 13 * lot},50 {currency}",
        "link": link,
        "other": "Anna Berg",
        "site_name": shop.name,
        "site_url": link,
        "domain": shop.domain,
        "site_domain": shop.domain,
        "url": link,
        "code": "482 913",
        "ip": "192.0.2.77",
        "user_agent": "Firefox 139, Linux",
        "timestamp": "2026-05-28 20:10",
        "email": READER,
        "from_email": READER,
        "to_email": READER,
        "expiration_days": "7",
        "provider": "GitHub",
        "quantity": "2",
        "title": "Table runner",
        "line_price_incl_tax": f"24,50 {currency}",
        "basket_total_incl_tax": f"84,50 {currency}",
        "shipping_incl_tax": f"0,00 {currency}",
        "total_incl_tax": f"84,50 {currency}",
        "field": "Lindenweg 4",
        "display_name": "Friends",
        "listname": f"friends@{shop.domain}",
        "list": f"friends@{shop.domain}",
        "user_email": READER,
        "user_name": "Anna Berg",
        "member": READER,
        "request_email": f"friends-request@{shop.domain}",
        "owner_email": f"friends-owner@{shop.domain}",
        "sender_email": READER,
        "subject": "Saturday",
        "reasons": "",
        "reason": "",
        "token": "8b1d0a7c52f0",
        "count": "2",
        "data": "",
    }
    for name in ("password_reset_url", "activate_url", "absolute_status_url", "signup_url"):
        values[name] = link
    return values
