# ruff: noqa: RUF001 - letters of other scripts are what is tested
"""Tricks with letters are found; what is honest and looks alike is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.message.findings import Findings
from oborona.message.mixed_scripts import judge, visual_order
from oborona.message.parse import parse

# Written as escapes where letters of one script stand for those of another: the Cyrillic a e o p c
# x, B H K M T.
FOLDED = str.maketrans(
    "aeopcxBHKMT", "\u0430\u0435\u043e\u0440\u0441\u0445\u0412\u041d\u041a\u041c\u0422"
)
NEARLY_ALL = "Buy cheap Viagra and Cialis today, the best prices for our customers".translate(
    FOLDED
)
ONE_IN_TWO = " ".join(
    word.translate(FOLDED) if place % 2 else word for place, word in enumerate(NEARLY_ALL.split())
)
RUSSIAN_PAINTED = "Купите де\u0161ево рaбoту нa дoму, дoхoд oт ста тысяч в месяц"
ZERO = "\u200b"


def found(text: str, header: str = "", plain: str | None = None) -> set[str]:
    findings = Findings()
    judge(text, text if plain is None else plain, header, findings)
    return {each.name for each in findings.all()}


TRICKS = {
    "look-alikes in English": ("mixed-scripts", NEARLY_ALL),
    "look-alikes in Russian": ("mixed-scripts", RUSSIAN_PAINTED),
    "Greek capitals in English": ("mixed-scripts", "\u0391ccount \u0392ank \u039eot \u039dotice \u03a1aypal pay"),
    "mathematical": ("painted-letters", ("\U0001d405\U0001d411\U0001d404\U0001d404 "
        "\U0001d40c\U0001d40e\U0001d40d\U0001d404\U0001d418 "
        "\U0001d40d\U0001d40e\U0001d416\U0001d400")),
    "small capitals": ("painted-letters", ("\u1d0d\u1d0f\u0274\u1d07\u028f "
        "\u1d1b\u1d0f\u1d05\u1d00\u028f \u0493\u1d0f\u0280 "
        "\u028f\u1d0f\u1d1c")),
    "circled": ("painted-letters", "\u24bb\u24c7\u24ba\u24ba \u24c2\u24c4\u24c3\u24ba\u24ce \u24c3\u24c4\u24cc\u24cc"),
    "full width": ("painted-letters", "\uff26\uff32\uff25\uff25 \uff2d\uff2f\uff2e\uff25\uff39 \uff2e\uff2f\uff37\uff37"),
    "zero width": ("zero-width", f"v{ZERO}i{ZERO}a{ZERO}g{ZERO}r{ZERO}a for you"),
    "word joiners": ("zero-width", "c\u2060asino, b\u2060onus, w\u2060in, p\u2060rize"),
    "Cyrillic ge for r": ("mixed-scripts", "youг oгdeг, tгack the paгcel in ouг stoгe"),
    "variation selectors": ("zero-width", "v\ufe00i\ufe01a\ufe00g\ufe0fra for you"),
    "selectors of the second plane": ("zero-width", "б\U000e0101о\U000e0102н\U000e0103у\U000e0104с"),
    "tags": ("zero-width", "p\U000e0061r\U000e0062i\U000e0063z\U000e0064e"),
    "selectors in Japanese": ("zero-width", "お\ufe00め\ufe00で\ufe00と\ufe00う"),
    "operators in Japanese": ("zero-width", "重\u2063要\u2062な\u2061お\u2063知\u2064らせ"),
    "selectors in Korean": ("zero-width", "무\ufe00료\ufe00당\ufe00첨\ufe00입니다"),
    "piles": ("marks-piled", "Z\u0301\u0302\u0303\u0304a\u0301\u0302\u0303l\u0301\u0302\u0303\u0304go"),
    "struck out": ("marks-piled", "".join(f"{letter}\u0336" for letter in "freemoney")),
    "override": ("direction-override", "go to \u202emoc.elpmaxe\u202c now"),
    "soft hyphens": ("soft-hyphens", "b\u00adu\u00ady v\u00adi\u00ada\u00adgra"),
    "soft hyphens in word after word": ("soft-hyphens", "ca\u00adsino bo\u00adnus wi\u00adnner pr\u00adizes fo\u00adrtune and you"),
}  # fmt: skip

HONEST = {
    "emoji and signs with selectors": "I\ufe0f \u2764\ufe0f you \u2600\ufe0f\u260e\ufe0f A1\ufe0f\u20e3 \u2122\ufe0fx \u00a9\ufe0fy \u2139\ufe0fz",
    "a flag of tags": "from \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f with love",
    "variants of Chinese characters": "葛\U000e0100城市の葛\U000e0101飾区、辻\U000e0100さんと辻\U000e0101さん、榊\ufe00原",
    "places where Japanese lines may break": "重要な\u200bお知らせ、\u200b会議の\u200b日程に\u200bついて",
    "Russian": ("Добрый день! Мы купили iPhone и GPS, работа идёт по плану, COVID-19-инфекция "
        "отступает."),
    "Russian with Latin names": "IP-адрес и Wi-Fi-роутер, VPN-клиент, USB-кабель, HTML-страница, 5G-сеть, SMSка, VIPы",
    "slips of the keyboard": "Cпасибо за письмо, мы посмотрим его завтра утром и ответим. Вот и всё, спасибо.",
    "Greek": "Καλημέρα, σας στέλνω το τιμολόγιο του Οκτωβρίου μαζί με το email από το Google.",
    "physics": ("\u03bcm, k\u03a9, \u0394x, \u03b1-helix, TNF\u03b1, TNF\u03b1, TNF\u03b1, "
        "IFN\u03b3, "
        "NF\u03baB, NF\u03baB, NF\u03baB"),
    "Chinese": "这款iPhone用起来很好，请下载App或访问官网。",
    "Japanese full width": "ＮＨＫ　ＴＥＬ　ＦＡＸ　ＴＯＫＹＯ　ＯＳＡＫＡ　株式会社",
    "Persian joiners": "می\u200cخواهم نمی\u200cدانم کتاب\u200cها خانه\u200cها می\u200cروم",
    "Hindi joiners": "क्\u200dष र्\u200dय क्\u200cष ज्\u200dञ श्\u200dर",
    "Thai": "สวัสดี\u200bครับ\u200bผม\u200bชื่อ\u200bสมชาย\u200bครับ",
    "emoji": ("ok \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f469\u200d\U0001f4bb "
        "\u2764\ufe0f\u200d\U0001f525 1\ufe0f\u20e3"),
    "Vietnamese": ("Tie\u0302\u0301ng Vie\u0323\u0302t co\u0301 da\u0302\u0301u, xin cha\u0300o "
        "ca\u0301c ba\u0323n"),
    "Hebrew": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים",
    "Arabic": "بِسْمِ ٱللَّٰهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
    "phonetic": "[ˈɡʊd ˈmɔːnɪŋ] /ˈpɹɛzɪdənt/ ʀ ɢ ʟ",
    "formula": "\U0001d465 + \U0001d466 = \U0001d467, \u211d\u207f, \u2115, \U0001d53c[\U0001d44b]",
    "telephone in an embedding": "call \u202d+1 202 555 0100\u202c or \u2068Ann\u2069",
    "long names in a wiki": f"see Long{ZERO}Class{ZERO}Name{ZERO}Factory{ZERO}Bean{ZERO}Test",
    "hyphenated German": ("Die Donau\u00addampf\u00adschiff\u00adfahrt ist eine der ältesten in "
        "Europa, sagt "
        "der Ver\u00adband heute in Wien."),
    "a shop whose name is of two scripts": "АвтоSPA ждёт вас. АвтоSPA открыт каждый день, а по выходным АвтоSPA дарит скидки.",
    "Ukrainian and Kazakh without their letters": "Iван з Киiва; бiлiм беру мекемесi; вiн i вона приïхали",
    "ordinals": "1ˢᵗ and 2ⁿᵈ, Nº 5, TM™, Mᵐᵉ Dupont",
}  # fmt: skip


@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_is_found(name: str) -> None:
    finding, text = TRICKS[name]
    assert found(text) == {finding}


@pytest.mark.parametrize("name", HONEST)
def test_honest_text_is_not(name: str) -> None:
    assert found(HONEST[name]) == set()
    assert found("", header=HONEST[name]) == set()


def test_a_header_needs_less() -> None:
    painted = "Vi\u0430gr\u0430"
    assert found("", header=painted) == {"mixed-scripts"}
    assert found(f"{painted} is here") == set()
    assert found("", header=f"Win{ZERO}ner of the pri{ZERO}ze") == {"zero-width"}
    assert found("", header="Cпасибо") == set()


def test_soft_hyphens_of_a_page_are_honest() -> None:
    text = TRICKS["soft hyphens in word after word"][1]
    assert found(text, plain="") == set()


def test_a_few_painted_words_of_many_are_slips() -> None:
    assert found(" ".join([*NEARLY_ALL.split()[:3], *["word"] * 200])) == set()
    assert found(ONE_IN_TWO) == {"mixed-scripts"}


def test_what_is_turned_round_is_read_as_it_is_seen() -> None:
    assert visual_order("go to \u202emoc.elpmaxe\u202c now") == "go to example.com now"
    assert visual_order("plain") == "plain"
    head = "From: a@b.example\nContent-Type: text/html; charset=utf-8\n\n"
    for page in (
        "<p>see <bdo dir=rtl>moc.elpmaxe//:ptth</bdo>",
        "<p>see <span style='unicode-bidi:bidi-override;direction:rtl'>moc.elpmaxe//:ptth</span>",
    ):
        message = parse((head + page).encode())
        assert message.text == "see http://example.com"
        assert [link.host for link in message.links] == ["example.com"]
        assert "direction-override" in {finding.name for finding in message.findings}


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    assert found(text, header=text) <= {
        "mixed-scripts", "painted-letters", "zero-width", "marks-piled", "direction-override", "soft-hyphens",
    }  # fmt: skip
    assert sorted(visual_order(text).replace("\u202e", "").replace("\u202c", "")) == sorted(
        text.replace("\u202e", "").replace("\u202c", "")
    )


@given(
    st.text(
        alphabet=st.characters(
            whitelist_categories=["Lu", "Ll", "Zs", "Nd", "Po"],
            min_codepoint=0x400,
            max_codepoint=0x52F,
        ),
        max_size=300,
    )
)
def test_text_in_one_script_is_no_mixture(text: str) -> None:
    assert "mixed-scripts" not in found(text, header=text)
