"""Types of the subject."""

from oborona.message.shingles import ShingleType
from tests.message.types.case import Case, mail

CASES = {
    ShingleType.SUBJECT: Case(
        same=(
            mail("x", "Subject: Cheap pills 77"),
            mail("y", "Subject:  CHEAP   pills\n 77 "),
            mail("x", "Subject: =?utf-8?B?Q2hlYXAgcGlsbHMgNzc=?="),
            mail("x", "Subject: Che\u0430p pi\u200blls 77"),
        ),
        differ=(mail("x", "Subject: Cheap pills 77"), mail("x", "Subject: Cheap pills 78"), mail("x", "Subject: Re: Cheap pills 77")),
        none=(mail("x"), mail("x", "Subject:"), mail("x", "Subject: hello")),
    ),
    ShingleType.SUBJECT_TEMPLATE: Case(
        same=(
            mail("x", "Subject: Bob, cheap pills 77", "To: Bob <b@b.example>"),
            mail("x", "Subject: Re: Fwd: cheap pills 1234567 for Eve".replace(" for", ","), "To: Eve <e@b.example>"),
            mail("x", "Subject: CHEAP http://a.example/ pills"),
        ),
        differ=(mail("x", "Subject: cheap pills"), mail("x", "Subject: cheap pens")),
        none=(mail("x"), mail("x", "Subject: Re: 12345 67890"), mail("x", "Subject: Re: Offer 7")),
    ),
}  # fmt: skip
