# ruff: noqa: RUF001 - Russian is Russian
"""What scripts read: facts under the names of expressions, none, sets, counts, findings, and the
functions on texts.
"""

import pytest

from oborona.errors import PolicyError
from oborona.message.normalise import normalise
from oborona.policy.counts import MessageCounts
from oborona.types import Shingle, Stage
from tests.policy.scripts.made import facts, failure, judged, loaded, real, rule, said


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("facts.text.words", "4"),
        ('facts["text.words"] + facts.text.words', "8"),
        ("facts['text' .. '.words']", "4"),
        ("facts . text\n. words", "4"),
        ("facts.text:upper()", "FREE TICKETS FOR YOU"),
        ("#facts.text", "20"),
        ("facts.text.hidden_share", "0.25"),
        ("facts.html", "true"),
        ("facts.from.address", "a@example.org"),
        ("#facts.links.hosts", "2"),
        ("facts.links.hosts[1] .. facts.links.hosts[2]", "a.exampleb.example"),
        ("facts.links.hosts['b.example']", "true"),
        ("facts.links.hosts['c.example']", "nil"),
        ("facts.headers.subject", "true"),
        ("facts.headers['x-spam']", "nil"),
        ("facts.message_id", ""),
        ("'facts.no_such' .. [[ facts.none ]]", "facts.no_such facts.none "),
        ("1 --[[ facts.no_such ]] -- facts.none", "1"),
        ("({factsheet = 2}).factsheet", "2"),
    ],
)
def test_facts_have_their_names(expression: str, value: str) -> None:
    known = {
        "text_hidden_share": 0.25,
        "html": True,
        "from_address": "a@example.org",
        "links_hosts": frozenset({"b.example", "a.example"}),
        "headers": frozenset({"subject"}),
    }
    assert said(f"{expression}\n", **known) == value


def test_a_set_is_walked_in_order_of_its_members() -> None:
    hosts = frozenset({"c", "a", "b"})
    walk = "local all = '' for n, host in {}(facts.links.hosts) do all = all .. n .. host end"
    assert said("all", walk.format("ipairs"), links_hosts=hosts) == "1a2b3c"
    assert said("all", walk.format("pairs"), links_hosts=hosts) == "1a2b3c"


def test_pairs_has_one_order() -> None:
    walk = (
        "local all = '' for k in pairs({z = 1, b = 1, a = 1, [3] = 1, [1] = 1, [2.5] = 1}) do "
        "all = all .. k end"
    )
    assert said("all", walk) == "12.53abz"
    assert failure("for k in pairs({[true] = 1}) do end") == "pairs: a key is a boolean"
    assert (
        failure("local t = {} for i = 1, 10001 do t[i] = i end for k in pairs(t) do end")
        == "pairs: more than 10000 members"
    )


def test_half_characters_are_question_marks_and_a_text_ends_at_its_bound() -> None:
    assert said("facts.from.name", from_name="a\ud800b") == "a?b"
    assert said("#facts.text", text="ж" * 200_000) == "262144"
    assert (
        said("#facts.links.hosts", links_hosts=frozenset(f"h{n}" for n in range(9_000))) == "5000"
    )
    assert (
        said("#facts.links.hosts", links_hosts=frozenset(f"{n}" * 60_000 for n in range(9))) == "4"
    )
    assert said("facts.links.hosts[1]", links_hosts=frozenset({"a\0b"})) == "a b"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("facts.model.content == nil", "true"),
        ("facts.model.content > 0.5", "false"),
        ("facts.model.content <= 0.5", "false"),
        ("0.5 < facts.model.content", "false"),
        ("facts.model.content + 1", "nil"),
        ("1 - facts.model.content * 2", "nil"),
        ("-facts.model.content", "nil"),
        ("not (facts.model.content > 0.5)", "true"),
        ("contains(facts.model.content, 'x')", "false"),
        ("#captures(facts.model.content, 'x')", "0"),
    ],
)
def test_none_is_nil_and_compares_as_false(expression: str, value: str) -> None:
    assert said(expression) == value
    assert said("facts.model.content > 0.5", model_content=0.75) == "true"


def test_counts_and_findings() -> None:
    totals = [[window * 10 + metric for metric in range(6)] for window in range(4)]
    known = MessageCounts([Shingle(14, 1)], [totals])
    assert said("count('From', 'day', 'seen')", known=known) == "20"
    assert said("count('From', 'fortnight', 'complaints')", known=known) == "32"
    assert said("count('From', 'day', 'ham')", known=known) == "0"
    assert said("count('From', 'day', 'spam_share') > 0.5", known=known) == "true"
    assert said("count('Text', 'hour', 'seen')", known=known) == "0"
    assert said("found('hidden-text')", findings=frozenset({"hidden-text"})) == "true"
    assert said("found('hidden-text')") == "false"


def test_counters_beyond_a_double_are_exact() -> None:
    most = 2**63 - 1
    known = MessageCounts([Shingle(14, 1)], [[[most] * 6] * 4])
    assert said("count('From', 'day', 'seen')", known=known) == str(most)
    assert said("count('From', 'day', 'seen') == 9223372036854775806", known=known) == "false"


def test_a_fact_that_cannot_be_read_fails_the_rule_that_asks_for_it() -> None:
    class Broken(MessageCounts):
        def count(self, kind: int, window: int, metric: int) -> int:
            raise OSError("gone")

    found = judged(
        real("return count('From', 'day', 'seen') > 1") + real("return true", name="Y"),
        known=Broken(),
    )
    assert [hit.name for hit in found.hits] == ["Y"]
    assert found.problems[0].words == "the count cannot be read: OSError: gone"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("contains(facts.subject, 'tick')", "true"),
        ("contains(facts.links.hosts, 'exam')", "true"),
        ("contains(facts.links.hosts, 'no')", "false"),
        ("contains({'a', 'b'}, 'b')", "true"),
        ("contains(facts.subject, '.')", "false"),
        ("startswith(facts.subject, 'Free')", "true"),
        ("startswith(facts.subject, '')", "true"),
        ("endswith(facts.links.hosts, '.example')", "true"),
        ("endswith(facts.subject, '')", "true"),
        ("endswith('ab', 'aab')", "false"),
        ("in_networks('192.0.2.7', {'198.51.100.0/24', '192.0.2.0/24'})", "true"),
        ("in_networks('192.0.2.7', '2001:db8::/32')", "false"),
        ("in_networks(nil, '2001:db8::/32')", "false"),
        ("in_domains('www.Example.org', {'example.net', 'example.org'})", "true"),
        ("in_domains('notexample.org', 'example.org')", "false"),
        ("in_domains(facts.links.hosts, {'example'})", "true"),
        ("matches(facts.subject, '(?i)^free\\\\s')", "true"),
        ("matches(facts.links.hosts, '^b\\\\.')", "true"),
        ("matches('ёж', '^.ж$')", "true"),
        ("matches('x', '\\\\d')", "false"),
        ("table.concat({capture('a@b.c', '(.*)@(.*)')}, ' ')", "a b.c"),
        ("capture('a@b.c', '@.*')", "@b.c"),
        ("capture('a', 'b') == nil", "true"),
        ("select('#', capture('ab', '(x)?(b)'))", "2"),
        ("table.concat(captures('a1b22', '[0-9]+'), ' ')", "1 22"),
        ("table.concat(captures('a1b22', '([a-z])[0-9]'), ' ')", "a b"),
        ("#captures(('a'):rep(2000), 'a')", "1000"),
        ("#captures('aaa', '')", "4"),
        ("('a.b'):find('.', 1, true)", "2"),
        ("('ab'):find('b')", "2"),
        ("('%d %s'):format(7, 'x')", "7 x"),
        ("string.format('100%%p %s', true)", "100%p true"),
        ("('ab'):rep(3, '-')", "ab-ab-ab"),
        (("('ab'):rep(-5) .. ('abc'):sub(-2) .. ('abc'):reverse() .. ('aB'):lower() .. "
            "('aB'):upper()"), "bccbaabAB"),
        ("select(-1, ('abc'):byte(1, -1))", "99"),
        ("('abc'):byte()", "97"),
        ("utf8.len('ёж') .. utf8.char(1105)", "2ё"),
        ("math.max(1, 2.5) .. math.floor(2.7) .. tostring(math.type(1))", "2.52integer"),
        ("tonumber('0x10') + tonumber('z', 36)", "51"),
        ("table.concat({3, 1, 2})", "312"),
        ("select('#', table.unpack({1, nil, 3}, 1, 3))", "3"),
        ("type(facts.subject) .. type(facts.links.hosts) .. type(nil) .. type(contains)", "stringtablenilfunction"),
    ],
)  # fmt: skip
def test_functions(expression: str, value: str) -> None:
    assert said(expression, links_hosts=frozenset({"a.example", "b.example"})) == value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return matches(facts.subject, '(')", "pattern: missing ): ("),
        ("return matches(facts.subject, 'a(?=b)')", ('pattern: RE2 has no look-ahead ((?=); ask '
            'for it beside the pattern: matches(x, '
            'r"...") and not matches(x, r"...")')),
        ("return matches(facts.subject, ('x'):rep(501))", "pattern: is 501 characters long; at most 500 are allowed"),
        ("return matches(5, 'x')", "matches takes a text or a set, not number"),
        ("return in_networks('', '192.0.2.1/24')", ('in_networks: "192.0.2.1/24" has bits set '
            'behind its length; the network is '
            '192.0.2.0/24')),
        ("return in_domains('', {'*.example.org'})", 'in_domains: "*.example.org" is no domain; write it as "example.org"'),
        ("return in_domains('', {5})", "in_domains: the list holds number"),
        ("return in_domains('', 5)", "in_domains takes a text as its second argument, not number"),
        ("return in_domains('', string.rep('a.example ', 2000))", "in_domains: the list is longer than 16384 bytes"),
        ("return contains('x', 5)", "contains takes a text as its second argument, not number"),
        ("return contains({1}, 'x')", "contains: the list holds number"),
        ("return capture(5, 'x')", "capture takes a text and a pattern"),
        ("return ('x'):find('[a]')", ("string.find finds plain text: give true as its fourth "
            "argument, or use matches() "
            "or capture()")),
        ("return facts['te' .. 'xt.wrods']", "unknown fact text.wrods; did you mean text.words?"),
        ("return facts[5]", "a fact is named by a text, not by a number"),
        ("return cuont('From', 'day', 'seen')", "unknown name cuont; did you mean count?"),
        ("return found('hidden' .. '-txet')", 'unknown finding "hidden-txet"; did you mean hidden-text?'),
        ("return found()", 'found() takes the name of one finding: found("hidden-text")'),
        ("return count('From', 'day', 'se' .. 'em')", "unknown metric seem; did you mean seen?"),
        ("return count('From', 'day', 5)", 'count() takes a shingle type, a window and a metric: count("From", "day", "seen")'),
        ("return string.joni", "unknown name string.joni"),
        ("local t = facts.subject return t.words", "a text has no words"),
        ("return ('x') + 1", "attempt to add a 'string' with a 'number'"),
    ],
)  # fmt: skip
def test_what_is_wrong_says_so(body: str, words: str) -> None:
    assert failure(body) == words


def test_facts_of_a_later_stage_are_none() -> None:
    text = (
        'oborona.rule { name = "X", score = 1, stage = "connect", when = function() '
        'local name = "subject" return facts[name] == nil and count("From", "day", "seen") == nil '
        'and not found("hidden-text"), facts.client.ip end }'
    )
    scripts = loaded(text)
    (hit,) = scripts.judge(facts(client_ip="192.0.2.1"), Stage.CONNECT).hits
    assert hit.say == "192.0.2.1"
    assert not scripts.judge(facts(client_ip="192.0.2.1"), Stage.CONTENT).hits


def test_facts_stand_in_scripts_by_their_names_alone() -> None:
    for body in (
        "local f = facts",
        "return use(facts)",
        "facts = nil",
        "return facts",
        "return {facts}",
    ):
        with pytest.raises(PolicyError, match="facts stands before a name") as refused:
            judged(real(body))
        assert refused.value.line == 4
        assert refused.value.column == body.index("facts") + 1


@pytest.mark.parametrize(
    "expression",
    [
        r"matches(facts.subject, '\\bБилеты\\b')",
        "startswith(facts.subject, 'Бесплатные')",
        "contains(facts['text'], ' БИЛЕТЫ ')",
        "endswith(facts.from.name, 'Казино')",
        "facts.subject == fold('Бесплатные Билеты')",
        "contains(facts.headers, 'Subject')",
        "not matches(facts.subject.raw, 'бесплатные')",
        "fold(nil) == nil",
    ],
)
def test_texts_are_compared_in_the_form_of_the_fact(expression: str) -> None:
    written = {
        "subject": "Бесплатные Билеты",
        "text": "Ваши билеты ждут.",
        "from_name": "Наше казино",
    }
    assert (
        said(
            expression,
            headers=frozenset({"subject"}),
            subject_raw=written["subject"],
            **{name: normalise(text) for name, text in written.items()},
        )
        == "true"
    )


@pytest.mark.parametrize(
    "body", ["return facts.subject == 'Turn'", "return 'Turn' ~= facts.subject"]
)
def test_a_text_that_a_fact_never_is_is_refused_as_it_is_read(body: str) -> None:
    with pytest.raises(PolicyError, match='subject is normalised, and never "Turn"; write "turn"'):
        loaded(rule(body))
