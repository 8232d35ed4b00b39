"""Types of the text."""

from oborona.message.shingles import ShingleType
from tests.message.types.case import LONG, OTHER, Case, mail

SENTENCE = "You have won a prize of one million, write to us today"
SHORT = "Cheap pills for everybody who writes back"
BEGINNING, END = " ".join(LONG.split()[:16]), " ".join(OTHER.split()[:16])


def page(words: str, cell: str = "offer") -> str:
    rows = "".join(
        (
            f"<tr><td class={cell}><a href='http://{word}.example'><img "
            f"src=x.png></a><h2>{word}</h2></td></tr>"
        )
        for word in words.split()
    )
    return f"<table>{rows}</table>"


CASES = {
    ShingleType.TEXT: Case(
        same=(
            mail(SENTENCE),
            mail("  YOU have\twon a\n\nPRIZE of one million,  write to us today\n"),
            # Cyrillic
            mail("Y\u043eu h\u0430ve w\u043en \u0430 prize \u043ef one million, write to us today"),
            mail("You have w\u200bon a pr\u00adize of one million, \uff57rite to us today"),
            mail(html=("<p>You have <b>won a</b> pri<!-- x -->ze of one million, write to us "
                "<i>today</i></p>")),
        ),
        differ=(mail(SENTENCE), mail(f"{SENTENCE} 7"), mail(SENTENCE.replace("us", "me"))),
        none=(mail(), mail("Thanks, see you all tomorrow at noon"), mail(html="<p style='display:none'>" + SENTENCE)),
    ),
    ShingleType.TEMPLATE: Case(
        same=(
            mail("Dear Bob, you won 100 at http://a.example/1 today, call us", "To: Bob <bob@b.example>"),
            mail("Dear Eve, you won 2,345 at http://z.example/9 today, call us", "To: Eve <eve@b.example>"),
            mail("DEAR y\u043eu w\u043en at today, call us now@c.example", "To: x@b.example"),
        ),
        differ=(mail("you won a prize today, call us"), mail("you lost a prize today, call us")),
        none=(mail(), mail("Call me at 6, 7, 8 or 9"), mail("http://a.example/ 1 2 3 4 5 6 7 8")),
    ),
    ShingleType.OPENING: Case(
        same=(mail(f"{BEGINNING} {OTHER}"), mail(f"{BEGINNING.upper()} 12345 and so on")),
        differ=(mail(f"{BEGINNING} {OTHER}"), mail(f"hello {BEGINNING} {OTHER}")),
        none=(mail(), mail(BEGINNING.rpartition(" ")[0])),
    ),
    ShingleType.CLOSING: Case(
        same=(mail(f"{LONG} {END}"), mail(f"so 12345 {END.upper()}")),
        differ=(mail(f"{LONG} {END}"), mail(f"{LONG} {END} goodbye")),
        none=(mail(), mail(END.partition(" ")[2])),
    ),
    ShingleType.WORDS: Case(
        same=(
            mail(LONG),
            mail(LONG.title() + " 12345 http://a.example/x"),
            mail(f"{LONG}\n\n> a line that somebody else wrote before\n"),
        ),
        differ=(mail(LONG), mail(OTHER)),
        none=(mail(), mail(SHORT), mail(f"{SHORT}\n" + "> quoted from elsewhere, word for word, again\n" * 9)),
    ),
    ShingleType.CHARACTERS: Case(
        same=(mail(SHORT), mail("CHEAP p\u0456lls for  everybody who writes back, 12345!")),
        differ=(mail(SHORT), mail("Meet me below the bridge when our kettle sings")),
        none=(mail(), mail("Call me at six"), mail(LONG)),
    ),
    ShingleType.SKELETON: Case(
        same=(
            mail(html=page("alpha bravo charlie delta")),
            mail(html=page("golf hotel india juliet")),
            mail(html=page("golf hotel india juliet").upper().replace("CLASS=OFFER", "class=offer")),
        ),
        differ=(
            mail(html=page("alpha bravo charlie delta")),
            mail(html=page("alpha bravo charlie delta echo")),
            mail(html=page("alpha bravo charlie delta", cell="other")),
        ),
        none=(mail(LONG), mail(html=(f"<div class=MsoNormal><p><b>{LONG}</b><br><a "
            f"href=http://a.example>x</a></p></div>"))),
    ),
}  # fmt: skip
