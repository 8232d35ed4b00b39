"""The words of legitimate bulk mail: what shops, schools, lists and programs write, with gaps for
who writes, about what, and where the links lead.

`<one|other>` is drawn anew for each letter (`tests.letters.varied`).
"""

from __future__ import annotations

from typing import Final

PROPER: Final = (
    "lamp", "oak", "river", "stone", "maple", "north", "harbour", "garden", "velvet", "copper",
    "meadow", "bright", "kettle", "marble", "willow", "cedar", "falcon", "pepper", "silver",
    "linen",
)  # fmt: skip
GOODS: Final = (
    "kettle", "desk lamp", "wool scarf", "pair of boots", "garden chair", "phone case", "tea set",
    "running shoes", "notebook", "bread knife", "raincoat", "reading glasses", "cushion",
    "bicycle bell",
)  # fmt: skip
TOPICS: Final = (
    "spring", "summer", "autumn", "winter", "weekend", "kitchen", "garden", "travel", "office",
    "children",
)  # fmt: skip
ORDER: Final = """\
Hi {name},

<Thank you for your order|Thanks for your purchase|We have received your order>! We're getting your
order ready to be shipped. We will notify you when it has been sent.

Order #{number}
{goods} x {count}    {price}
Subtotal {price}
Shipping 4.90

View your order: https://{link}/orders/{token}

If you have any questions, reply to this email or contact us at help@{shop}.
"""
NEWSLETTER: Final = """\
Hello {name},

our new {topic} collection is here. This week we picked {goods}, {goods2} and {goods3} for you, all
with free delivery until Sunday. Members get ten percent off with the code {token}.

See everything: https://{link}/c/{token}

You receive this email because you subscribed at {shop}. Unsubscribe: https://{link}/u/{token}
{shop}, 12 High Street, Springfield
"""
RECEIVED: Final = """\
Dear {name}, <your order has arrived with us|we have your order>, number {number} of today.

You bought: {goods}, {count} pieces, for {price} in all. As soon as it leaves our store in Springfield
you get another letter, with which you may follow it. Look at your order or change the address of
delivery until this evening at https://{link}/my/{token}

With friendly greetings, the people of {shop}
"""
MONTHLY: Final = """\
The {topic} letter of {shop}

Good morning {name}, this month we tell you how {goods} and {goods2} are made, whom we met at the fair,
and why {goods3} will be hard to get before the holidays. Readers of this letter may order first.

Read on at https://{link}/letter/{token} or leave this letter at https://{link}/leave/{token}
"""
SHIPPED: Final = """\
Good news {name}, your parcel {number} is on its way and will be delivered on <Monday|Tuesday|Friday>
between {count} and 8 pm. Track it here: https://{link}/t/{token}
"""
SCHOOL: Final = """\
Dear parents,

on Friday {count} May our school celebrates its summer party from three to six in the afternoon.
Please bring cake or salad, and tell the class teacher until Wednesday whether you can help with the
tables. Lessons end at noon that day; the children of the afternoon group stay with us as usual.

With kind regards
{name}, head teacher
"""
CODE: Final = """\
Your verification code is {number}. It is valid for ten minutes. Do not share this code with anyone.
"""
RESET: Final = """\
Someone has requested a password reset for the following account:

Site Name: {shop}
Username: {name}

If this was a mistake, ignore this email and nothing will happen.
To reset your password, visit the following address: https://{shop}/wp-login.php?key={token}
"""
RECEIPT: Final = """\
Thank you for your order. Your order has been received and is now being processed. Your order
details are shown below for your reference.

Order {number}, {goods}, {price}, cash on delivery.
We look forward to fulfilling your order soon. {shop}, built with https://shop-plugin.example/
"""
NOTICE: Final = """\
{name} commented on your photo.

See the comment: https://{link}/n/{token}
You get this notice because you have an account at Friendly. Change which notices you get in the
settings of your account.
"""
LIST_FOOTER: Final = """\
--
This list is for members of the department. Its archive is at https://{link}/archive, where
you can change your subscription as well. Please keep the rules of the list in mind.
"""
