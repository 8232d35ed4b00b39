"""What is a domain name of mail, and what is fit to be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.authentication.names import fqdn, printable


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example.com", "example.com"), ("EXAMPLE.Com.", "example.com"), ("_dmarc.a-b.test", "_dmarc.a-b.test"),
        ("пример.РФ", "xn--e1afmkfd.xn--p1ai"), ("xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"), ("straße.test", "xn--strae-oqa.test"),
        ("a。test", "a.test"), ("1.a1", "1.a1"), ("x" * 63 + ".test", "x" * 63 + ".test"),
        ("a." * 125 + "com", "a." * 125 + "com"),
        ("", ""), (".", ""), ("com", ""), ("com.", ""), ("a.test..", ""), (".a.test", ""), ("a..test", ""), ("1.2.3.4", ""),
        ("[1.2.3.4]", ""), ("2001:db8::1", ""), ("a.1", ""), ("a.-", ""), ("x" * 64 + ".test", ""), ("a." * 126 + "com", ""),
        ("a b.test", ""), ("a.test\n", ""), ("a\x00.test", ""), ("a%2etest", ""), ("a@b.test", ""), ("*.test", ""), ("é" * 60 + ".test", ""),
        ("\udcff.test", ""), ("a" * 1_000_000, ""), ("٣.٤", "xn--cib.xn--dib"), ("é." * 60 + "test", ""),
    ],
)  # fmt: skip
def test_fqdn(text: str, name: str) -> None:
    assert fqdn(text) == name


def test_reasons_are_cut() -> None:
    assert printable("é\r\n" + "x" * 1000) == "???" + "x" * 247


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    """Invariant: a name is its own normal form, ASCII, and no longer than a name can be.

    A reason is printable.
    """
    name = fqdn(text)
    assert fqdn(name) == name
    assert name.isascii()
    assert len(name) <= 253
    assert printable(text).isprintable()
    assert len(printable(text)) <= 250
