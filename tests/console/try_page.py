"""Pages that only tests have: an act, whose form, preview and end are those of all; and one with
every macro on it.
"""

from __future__ import annotations

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.bar_chart import bar_chart
from oborona.console.console_answer import html_answer
from oborona.console.declaration import page
from oborona.console.language import VIEWER
from oborona.console.visit import Visit
from oborona.people.rights import Right

PATH = "/try/act"
ROWS = 60
AT_ONCE = 25
SPECIMEN = """
{% extends "layout.html" %}
{% block title %}Specimen{% endblock %}
{% block main %}
<h1>Specimen</h1>
<ul class="chips"><li><a href="/try/page" aria-current="true">all</a></li><li><a href="/try/page?a=1">some</a></li></ul>
{{ m.bars("Messages", chart, "Hour") }}
{% call(row, key) m.table("Rows", [("n", "Number"), ("who", "Who"), ("act", "Act")], rows, visit.url(), "rows") %}
{% if key == "n" %}{{ row.n|count }}{% elif key == "who" %}{{ row.who|peer }}
{% else %}{{ m.act_button("/try/act", "Undo", {"id": row.n}) }}{% endif %}
{% endcall %}
{{ m.older(older, "rows") }}
{{ m.facts([("Name", who|peer), ("At", 1795862400|moment), ("Part", 0.5|share)]) }}
<pre>{{ "a\n\tb"|lines }}</pre>
{% call m.form("/try/act") %}
<fieldset><legend>Which</legend>
{{ m.field("word", "word", "Word", who|flat, hint="any", required=true) }}
{{ m.choice("kind", "kind", "Kind", [("a", "A"), ("b", "B")], "b") }}
<p class="field"><label for="text">Text</label><textarea id="text" name="text"></textarea></p>
<p><label><input type="checkbox" name="tick" value="1"> tick</label></p>
</fieldset>
<p class="buttons"><button type="submit" class="strong">Go</button> <button type="button" data-copy="">Copy</button></p>
{% endcall %}
<div class="grid"><section class="card"><h2>Good</h2><p class="good">good <span class="tag warn">warn</span> <span class="bad">bad</span></p></section></div>
{{ m.none_yet("x") }}{{ m.none_found("x") }}{{ m.away("x") }}{{ m.purged("x") }}{{ m.slow("x", "/try/page") }}
{{ m.told("wrong") }}
{% endblock %}
"""


@page("GET", "/try/page", Right.MOVE)
async def try_page(visit: Visit) -> web.Response:
    """Show every macro."""
    begin = int(visit.query("from") or 0)
    rows = [{"n": n, "who": f"\u202e{n}<b>"} for n in range(begin, min(begin + AT_ONCE, ROWS))]
    if visit.query("as") == "csv":
        return visit.csv("rows", ["n", "who"], ([row["n"], row["who"]] for row in rows))
    words = visit.console.templates._environment.from_string(SPECIMEN).render(
        visit=visit,
        language=VIEWER.get().language.code,
        chart=bar_chart(["good", "bad"], ["10", "11", "12"], [[3, 1], [0, 0], [5, 5]]),
        rows=rows,
        older=f"/try/page?from={begin + AT_ONCE}" if begin + AT_ONCE < ROWS else "",
        who="\u202e<b>'\"",
    )
    return html_answer(visit.request, words)


@page("POST", PATH, Right.MOVE)
async def try_act(visit: Visit) -> web.Response:
    """Undo a move that there is not."""
    plan = ActPlan(
        call="recheck.undo",
        order={"id": visit.form.one("id")},
        title="Undo",
        back="/overview",
        undo=PATH,
        undo_fields=lambda answer: {"id": str(answer["undo"])},
    )
    return await carry_out(visit, plan)
