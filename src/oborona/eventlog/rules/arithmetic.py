"""Numbers of event rules as an engine of tables calculates them, equal to the last bit to what
Python makes of one row.

All numbers are doubles.  What engines do otherwise than the language:
    comparisons   with NULL they are NULL, here false; NaN equals NaN there and is the greatest
    x / 0         an error, infinity or NULL; here 0
    x // y, x % y towards zero there, down here
    round()       half away from zero there, of the product with a power of ten; here half to even
                  of the number itself
    0.5           a decimal there, with an arithmetic of its own
    floor()       a whole number of 64 bits there, which infinity has not
    min, max      skip NULL there

Source of whole division and remainder: CPython's Objects/floatobject.c (`_float_div_mod`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import exp, inf, nan
from operator import or_
from typing import Final, TypeAlias

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from oborona.eventlog.rules.columns import engine_function
from oborona.policy.expression.runtime import MOST_ODDS

Number: TypeAlias = ir.FloatingValue

_WHOLE: Final = float(2**53)  # from here on every double is a whole number
_UNROUNDED: Final = 1e15  # from here on round() leaves a number as it is
_SPLIT: Final = float(2**27 + 1)  # halves the digits of a double: Veltkamp's constant
_LEAST_SHARE: Final = 1 / (1 + exp(MOST_ODDS))
_floor: Final = engine_function("floor", dt.float64, dt.float64)
_ceiling: Final = engine_function("ceil", dt.float64, dt.float64)


def known(condition: ir.Value) -> ir.BooleanValue:
    """Return a condition that is false where it is NULL."""
    return ibis.coalesce(condition, False)


def double(number: float) -> Number:
    """Return a number that stands in a rule: 0.5 alone is a decimal to engines, and so is what
    they make of two of them.
    """
    return ibis.literal(repr(float(number))).cast("float64")


def is_none(value: ir.Value) -> ir.BooleanValue:
    """Return whether a value is none; Ibis takes NaN for NULL on Spark, and it is not."""
    return (value == value).isnull() if value.type().is_floating() else value.isnull()  # noqa: PLR0124


def compared(left: Number, sign: str, right: Number, *, of_nan: tuple[bool, bool]) -> ir.Value:
    """Return a comparison; NULL or false where a side is none.

    Args:
        left: a number.
        sign: == != < <= > >=
        right: the other.
        of_nan: whether each may be NaN.
    """
    left_nan = left.isnan() if of_nan[0] else None
    right_nan = right.isnan() if of_nan[1] else None
    match sign:
        case "==":
            return _unless(left == right, left_nan)
        case "!=":
            if left_nan is None:
                return left != right
            return (left != right) | (left_nan & ~is_none(right))
        case "<":
            return _unless(left < right, right_nan)
        case "<=":
            return _unless(left <= right, right_nan)
        case ">":
            return _unless(left > right, left_nan)
    return _unless(left >= right, left_nan)


def _unless(condition: ir.Value, unless: ir.Value | None) -> ir.Value:
    return condition if unless is None else condition & ~unless


def floor(x: Number) -> Number:
    """Return the next whole number down, as a double; infinity as it is."""
    # of NaN, the greatest number to engines, too: their own floor has none
    return ibis.ifelse(x.abs() >= _WHOLE, x, _floor(x))


def divided(x: Number, y: Number, constant: float | None = None) -> Number:
    """Return x / y; 0 where y is 0.

    Args:
        x: a number.
        y: the divisor.
        constant: its value, where it stands in the rule and is not 0: that asks for less.
    """
    return x / y if constant else _unless_zero(x, y, x / y.nullif(0.0))


def remainder(x: Number, y: Number, constant: float | None = None) -> Number:
    """Return x % y with the sign of y; 0 where y is 0; arguments as of `divided`."""
    rest = x % (y if constant else y.nullif(0.0))
    signed = ibis.ifelse(_crosses(rest, y, constant), rest + y, rest)
    return signed if constant else _unless_zero(x, y, signed)


def whole_division(x: Number, y: Number, constant: float | None = None) -> Number:
    """Return x // y; 0 where y is 0; arguments as of `divided`."""
    divisor = y if constant else y.nullif(0.0)
    rest = x % divisor
    quotient = (x - rest) / divisor
    quotient = ibis.ifelse(_crosses(rest, y, constant), quotient - 1.0, quotient)
    # the next whole number, a half down; beyond 2^52 there are no halves
    near = ibis.ifelse(quotient.abs() >= _WHOLE / 2, quotient, _ceiling(quotient - 0.5))
    return near if constant else _unless_zero(x, y, near)


def _crosses(rest: Number, y: Number, constant: float | None) -> ir.BooleanValue:
    """Whether a remainder towards zero has another sign than the divisor."""
    if constant:
        return rest < 0.0 if constant > 0 else rest > 0.0
    return (rest != 0.0) & ((y < 0.0) != (rest < 0.0))


def _unless_zero(x: Number, y: Number, otherwise: Number) -> Number:
    return ibis.cases(
        (is_none(x) | is_none(y), ibis.null("float64")), (y == 0.0, 0.0), else_=otherwise
    )


def rounded(x: Number, digits: int) -> Number:
    """Return x to so many decimals, half to even, of its exact value.

    The product with a power of ten is rounded itself; what it lost is calculated, too, and decides
    where the product looks like a half.

    Args:
        x: a number.
        digits: 0 to 9.

    Source: Dekker 1971, "A floating-point technique for extending the available precision".
    """
    scale = 10.0**digits
    product = x * scale
    down = floor(product)
    part = product - down
    even = down % 2.0 == 0.0
    up = part > 0.5
    if digits:
        lost = _lost(x, scale, product)
        up |= (part == 0.5) & ((lost > 0.0) | ((lost == 0.0) & ~even))
    else:
        up |= (part == 0.5) & ~even
    nearest = ibis.ifelse(up, down + 1.0, down)
    kept = (x.abs() >= _UNROUNDED) | x.isnan() | (product.abs() >= _WHOLE)
    return ibis.ifelse(kept, x, nearest / scale if digits else nearest)


def _lost(x: Number, scale: float, product: Number) -> Number:
    """Return x * scale - product, exactly."""
    big = x * _SPLIT
    high = big - (big - x)
    low = x - high
    scale_big = scale * _SPLIT
    scale_high = scale_big - (scale_big - scale)
    scale_low = scale - scale_high
    return (((high * scale_high - product) + high * scale_low) + low * scale_high) + low * scale_low


def smallest(numbers: Sequence[Number]) -> Number:
    """Return the smallest; none where one is none, NaN where the first is, as Python's min()."""
    return _extreme(numbers, ibis.least, inf)


def largest(numbers: Sequence[Number]) -> Number:
    """Return the largest; none where one is none, NaN where the first is, as Python's max()."""
    return _extreme(numbers, ibis.greatest, -inf)


def _extreme(numbers: Sequence[Number], of: object, nothing: float) -> Number:
    first, *others = numbers
    plain = [ibis.ifelse(other.isnan(), nothing, other) for other in others]
    assert callable(of)
    return ibis.cases(
        (reduce(or_, [is_none(number) for number in numbers]), ibis.null("float64")),
        (first.isnan(), nan),
        else_=of(first, *plain),
    )


def share(part: Number, whole: Number) -> Number:
    """Return part / whole within 0 and 1; 0 where whole is not above 0."""
    quotient = part / whole.nullif(0.0)
    return ibis.cases(
        (is_none(part) | is_none(whole), ibis.null("float64")),
        (~(whole > 0.0) | whole.isnan(), 0.0),
        (quotient.isnan(), nan),
        (quotient < 0.0, 0.0),
        (quotient > 1.0, 1.0),
        else_=quotient,
    )


def log_odds(part: Number) -> Number:
    """Return the logarithm of a share's odds, -10 to 10; its last digit is the engine's own."""
    return ibis.cases(
        (is_none(part), ibis.null("float64")),
        (part.isnan(), nan),
        (part <= _LEAST_SHARE, -MOST_ODDS),
        (part >= 1 - _LEAST_SHARE, MOST_ODDS),
        else_=(part / (1.0 - part)).ln(),
    )
