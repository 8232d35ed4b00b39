"""Types of where the client is."""

from oborona.message.shingles import ShingleType
from oborona.types import Client, Envelope, Location
from tests.message.types.case import Case, mail

HERE, THERE = (Envelope(client=Client(ip=ip)) for ip in ("192.0.2.7", "198.51.100.7"))

RUSSIAN = "Мы рады пригласить вас на встречу, которая пройдёт в пятницу в нашем офисе"

CASES = {
    ShingleType.LANGUAGE: Case(
        same=(
            mail(RUSSIAN),
            mail("Отчёт за прошлый квартал готов, посмотрите, пожалуйста, до вечера"),
            mail(html=f"<p>{RUSSIAN}</p>"),
        ),
        differ=(
            mail(RUSSIAN),
            mail(
                "We are glad to invite you to a meeting that will be held on Friday in our office"
            ),
            mail("Wir freuen uns, Sie zu einem Treffen am Freitag in unserem Büro einzuladen"),
        ),
        none=(
            mail("Привет, Боб!"),
            mail("https://a.example/b/c/d/e/f/g/h?i=j 12345678901234567890"),
            mail(),
        ),
    ),
    ShingleType.AS_NUMBER: Case(
        same=(
            mail(
                envelope=HERE,
                location=Location(as_number=64496, as_name="Example Net", country="DE"),
            ),
            mail(envelope=THERE, location=Location(as_number=64496, as_name="EXAMPLE-AS")),
        ),
        differ=(
            mail(envelope=HERE, location=Location(as_number=64496, as_name="Example Net")),
            mail(envelope=HERE, location=Location(as_number=64497, as_name="Example Net")),
        ),
        none=(
            mail(envelope=HERE),
            mail(envelope=HERE, location=Location(country="DE", as_name="Example Net")),
        ),
    ),
    ShingleType.COUNTRY: Case(
        same=(
            mail(envelope=HERE, location=Location(country="DE", as_number=64496)),
            mail(envelope=THERE, location=Location(country="DE")),
        ),
        differ=(
            mail(envelope=HERE, location=Location(country="DE")),
            mail(envelope=HERE, location=Location(country="NL")),
        ),
        none=(mail(envelope=HERE), mail(envelope=HERE, location=Location(as_number=64496))),
    ),
}
