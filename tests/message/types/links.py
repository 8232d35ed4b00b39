"""Types of links and of whom a message names."""

from oborona.message.shingles import ShingleType
from tests.message.types.case import Case, mail

GENESIS = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"


def picture(url: str) -> str:
    return f"<p>look<img src='{url}'></p>"


CASES = {
    ShingleType.URL: Case(
        same=(
            mail("see http://shop.example/a?b=1"),
            mail("see HTTP://SHOP.example/a?b=1#top"),
            mail("see hxxp://shop[.]example/a?b=1"),
            mail(html="<a href='http://shop.example/a?b=1&utm_source=x'>here</a>"),
        ),
        differ=(mail("http://shop.example/a?b=1"), mail("http://shop.example/a?b=2"), mail("http://shop.example/A?b=1"), mail("http://www.shop.example/a?b=1")),
        none=(mail("no link"), mail(html=picture("http://shop.example/a.png"))),
    ),
    ShingleType.HOST: Case(
        same=(mail("http://Shop.Example/a"), mail("https://shop.example:8443/b?c"), mail(html="<a href='http://user@shop.example/'>x</a>")),
        differ=(mail("http://shop.example/"), mail("http://www.shop.example/"), mail("http://192.0.2.7/")),
        none=(mail("no link"), mail(html=picture("http://shop.example/a.png"))),
    ),
    ShingleType.LINK_DOMAIN: Case(
        same=(mail("http://a.shop.co.uk/1"), mail("http://b.c.SHOP.co.uk/2"), mail("http://shop.co.uk")),
        differ=(mail("http://a.shop.co.uk/"), mail("http://a.bank.co.uk/"), mail("http://x.blogspot.com/"), mail("http://y.blogspot.com/")),
        none=(mail("no link"), mail(html=picture("http://shop.example/a.png"))),
    ),
    ShingleType.PATH: Case(
        same=(
            mail("http://img7.shop.example/u/83aef0c1b2/go?id=77&k=x"),
            mail("http://img12.shop.example/u/91bb02d4e7/go?id=12345&k=y"),
        ),
        differ=(
            mail("http://shop.example/u/83aef0c1b2/go?id=77"),
            mail("http://shop.example/u/83aef0c1b2/stop?id=77"),
            mail("http://shop.example/u/83aef0c1b2/go?user=77"),
            mail("http://other.example/u/83aef0c1b2/go?id=77"),
        ),
        none=(mail("no link"), mail("http://shop.example/")),
    ),
    ShingleType.PHONE: Case(
        same=(
            mail("call +7 (905) 123-45-67 now"),
            mail("call 8 905 123 45 67 now", regions=("RU",)),
            mail("x", "Subject: +7-905-123-4567"),
            mail(html="<a href='tel:+79051234567'>call</a>"),
        ),
        differ=(mail("call +7 905 123-45-67"), mail("call +7 905 123-45-68"), mail("call +49 30 901820")),
        none=(mail("no number"), mail("order 8 905 123 45 67 now"), mail("invoice 123456789012345678")),
    ),
    ShingleType.ADDRESS: Case(
        same=(
            mail("write to Ann@Shop.com today"),
            mail("write to ann (at) shop dot com today"),
            mail(html="<a href='mailto:ann@shop.com?subject=x'>write</a>"),
        ),
        differ=(mail("write to ann@shop.com"), mail("write to eve@shop.com")),
        none=(mail("no address", "From: ann@c.example"), mail("@ann at noon")),
    ),
    ShingleType.WALLET: Case(
        same=(mail(f"pay to {SEGWIT} now"), mail(f"pay to {SEGWIT.upper()} now"), mail(html=f"<a href='bitcoin:{SEGWIT}?amount=1'>pay</a>")),
        differ=(mail(f"pay to {SEGWIT}"), mail(f"pay to {GENESIS}")),
        none=(mail("no wallet"), mail(f"pay to {GENESIS[:-1]}b"), mail(f"pay to {GENESIS.swapcase()}")),
    ),
    ShingleType.HANDLE: Case(
        same=(mail("https://t.me/Money_Desk"), mail("telegram: @money_desk"), mail(html="<a href='tg://resolve?domain=money_desk'>x</a>")),
        differ=(mail("https://t.me/money_desk"), mail("https://t.me/money_desk2"), mail("https://vk.com/money_desk")),
        none=(mail("no handle"), mail("I like telegram and money"), mail("https://t.me/share/url?url=x")),
    ),
    ShingleType.PICTURE_HOST: Case(
        same=(mail(html=picture("http://img.shop.example/1.png")), mail(html=picture("https://IMG.shop.example/2.gif?x"))),
        differ=(mail(html=picture("http://img.shop.example/1.png")), mail(html=picture("http://pix.shop.example/1.png"))),
        none=(mail(html="<a href='http://img.shop.example/1.png'>x</a>"), mail(html=picture("cid:1"))),
    ),
    ShingleType.LIST: Case(
        same=(mail("x", "List-Id: News <news.a.example>"), mail("y", "List-ID: =?utf-8?Q?Other_words?= <News.A.example>")),
        differ=(mail("x", "List-Id: <news.a.example>"), mail("x", "List-Id: <talk.a.example>")),
        none=(mail("x"), mail("x", "List-Id: News"), mail("x", "Precedence: bulk")),
    ),
}  # fmt: skip
