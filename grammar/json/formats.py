"""The formats of JSON Schema's vocabulary as regular languages over the decoded text.

`tree(name, draft)` returns the language of a format. It returns None if the draft does not define the format, which is
then an annotation, and raises `FormatRefusal` if the format cannot be enforced. Each language is exactly that of the
ABNF in its RFC, with what the RFC adds in prose (days of a month, leap seconds, the range of a number).
docs/json_formats.md says how each RFC was read.

Patterns are text in Python's syntax. They are composed of the patterns of their parts, and parsed when they are first
needed; the trees are kept and shared. Common prefixes of alternatives are factored out where derivatives would not do
so by themselves, so that few alternatives are followed side by side.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...trie.errors import EarleymaskError
from ..regex.ast import And, Chars, Concat, EcmaPattern, Literal, Node, Not, Repeat, Union
from ..regex.lower import RECURRING, Lowered
from ..regex.python import parse

if TYPE_CHECKING:
    from collections.abc import Callable


class FormatRefusal(EarleymaskError, ValueError):
    """A format that no regular language enforces.

    Attributes:
        name: the name of the format.
        reason: why it cannot be enforced, in words that can follow "because".
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"format {self.name!r} cannot be enforced: {self.reason}"


DRAFT_4 = ("date-time", "email", "hostname", "ipv4", "ipv6", "uri")
DRAFT_6 = (*DRAFT_4, "json-pointer", "uri-reference", "uri-template")
DRAFT_7 = (
    *DRAFT_6,
    *("date", "idn-email", "idn-hostname", "iri", "iri-reference", "regex", "relative-json-pointer", "time"),
)
DRAFT_2019 = (*DRAFT_7, "duration", "uuid")
NAMES = {"4": DRAFT_4, "6": DRAFT_6, "7": DRAFT_7, "2019-09": DRAFT_2019, "2020-12": DRAFT_2019}
"""The formats that each draft defines."""

REFUSED = {
    "idn-hostname": "whether a label is valid depends on the length of its Punycode and, by the Bidi rule, on all "
    "other labels (RFC 5891, 5893)",
}
"""Why these formats are refused."""

NARROWED = {
    "hostname": 'labels that begin with "xn--" are not written: a regular language cannot tell whether their Punycode '
    "decodes to a valid label (RFC 5891, section 4.4)",
    "regex": "groups with names, references to groups, and groups nested more than 100 deep are not written, nor are a "
    "few counts and ranges that a regular language cannot compare (docs/json_formats.md)",
}
"""The values of a format that are not written, although they are valid."""


def tree(name: str, draft: str = "2020-12") -> Node | None:
    """Return the language of a format in a draft, one of NAMES, or None if the draft does not define the format.

    Raises FormatRefusal for the names in REFUSED.
    """
    if name not in NAMES[draft]:
        return None
    reason = REFUSED.get(name)
    if reason is not None:
        raise FormatRefusal(name, reason)
    made = _relative_json_pointer(draft == "2020-12") if name == "relative-json-pointer" else _MAKERS[name]()
    if made not in RECURRING:
        RECURRING[made] = Lowered(made, recurs=True)
    return made


# Dates and times: RFC 3339, section 5.6, appendix A (duration) and C (leap years)

_FOURTH = "(?:[02468][048]|[13579][26])"  # two digits divisible by four
_NO_FOURTH = "(?:[02468][1235679]|[13579][01345789])"
_LEAP_YEAR = rf"(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|{_FOURTH}00)"
_COMMON_YEAR = rf"(?:[0-9][0-9]{_NO_FOURTH}|{_NO_FOURTH}00)"
_LONG, _SHORT = "(?:0[13578]|1[02])", "(?:0[469]|11)"  # months of 31 and of 30 days
_DATE = (
    rf"(?:[0-9]{{4}}-(?:{_LONG}-(?:0[1-9]|[12][0-9]|3[01])|{_SHORT}-(?:0[1-9]|[12][0-9]|30)"
    rf"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_LAST_DAY = rf"(?:[0-9]{{4}}-(?:{_LONG}-31|{_SHORT}-30)|{_COMMON_YEAR}-02-28|{_LEAP_YEAR}-02-29)"
_FIRST_DAY = r"(?:[0-9]{4}-(?:0[1-9]|1[0-2])-01)"
_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]+)?"
_TIME = rf"(?:{_MINUTE}:[0-5][0-9]{_FRACTION}(?:[Zz]|[+-]{_MINUTE}))"
_LEAP_UTC = rf"(?:23:59:60{_FRACTION}(?:[Zz]|\+00:00))"


@cache
def _leap_behind() -> Node:
    """Return 23:59:60 UTC as a clock behind UTC shows it: the offset is -(23:59 - the time)."""
    hours = "|".join(f"{hour:02}:[0-9:.]*-{23 - hour:02}:.*" for hour in range(24))
    tens = "|".join(f"...{digit}.:[0-9:.]*-...{5 - digit}." for digit in range(6))
    units = "|".join(f"....{digit}:[0-9:.]*-....{9 - digit}" for digit in range(10))
    whole = rf"{_MINUTE}:60{_FRACTION}-{_MINUTE}"
    return And((parse(whole), parse(hours), parse(tens), parse(units)))


@cache
def _leap_ahead() -> Node:
    """Return 23:59:60 UTC as a clock ahead of UTC shows it, on the next day: the offset is a minute more than the
    time."""
    hours = "|".join(
        rf"{hour:02}:(?:(?:[0-4].|5[0-8]):[0-9:.]*\+{hour:02}:.*"
        + (rf"|59:[0-9:.]*\+{hour + 1:02}:.*)" if hour < 23 else ")")
        for hour in range(24)
    )
    tens = "|".join(
        rf"...{digit}(?:[0-8]:[0-9:.]*\+...{digit}.|9:[0-9:.]*\+...{(digit + 1) % 6}.)" for digit in range(6)
    )
    units = "|".join(rf"....{digit}:[0-9:.]*\+....{(digit + 1) % 10}" for digit in range(10))
    whole = rf"{_MINUTE}:60{_FRACTION}\+{_MINUTE}"
    return And((parse(whole), parse(hours), parse(tens), parse(units)))


def _time() -> Node:
    return Union((parse(f"{_TIME}|{_LEAP_UTC}"), _leap_behind(), _leap_ahead()))


def _date_time() -> Node:
    """Return the language of `date-time`. A leap second ends a month in UTC (RFC 3339, section 5.7): clocks ahead of
    UTC show the first day of the next month."""
    ordinary = parse(f"{_DATE}[Tt]{_TIME}")
    behind = Concat((parse(f"{_LAST_DAY}[Tt]"), Union((parse(_LEAP_UTC), _leap_behind()))))
    ahead = Concat((parse(f"{_FIRST_DAY}[Tt]"), _leap_ahead()))
    return Union((ordinary, behind, ahead))


_DURATION_TIME = "T(?:[0-9]+(?:H(?:[0-9]+M(?:[0-9]+S)?)?|M(?:[0-9]+S)?|S))"
_DURATION = rf"P(?:{_DURATION_TIME}|[0-9]+(?:W|(?:Y(?:[0-9]+M(?:[0-9]+D)?)?|M(?:[0-9]+D)?|D)(?:{_DURATION_TIME})?))"

# Hosts

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = "[0-9A-Fa-f]{1,4}"


def _ipv6(most: int, ipv4: str) -> str:
    """Return the pattern of IPv6 addresses. If there is a "::", at most `most` groups stand beside it; an IPv4 address
    at the end counts as two groups."""

    def rest(n: int) -> str:  # after n groups
        left = most - n
        alternatives = [f"::{after(left)}"] if left >= 0 else []
        if n == 6:
            alternatives.append(f":(?:{_GROUP}{rest(7)}|{ipv4})")
        elif n < 8:
            alternatives.append(f":{_GROUP}{rest(n + 1)}")
        return f"(?:{'|'.join(alternatives)})" if alternatives else ""

    def after(left: int) -> str:  # what may follow "::"
        if left == 0:
            return ""
        if left == 1:
            return f"(?:{_GROUP})?"
        return f"(?:{_GROUP}(?::{_GROUP}){{0,{left - 1}}}|(?:{_GROUP}:){{0,{left - 2}}}{ipv4})?"

    return f"(?:::{after(most)}|{_GROUP}{rest(1)})"


_IPV6 = _ipv6(7, _IPV4)

_LETTER_DIGIT = "[A-Za-z0-9]"


def _hostname() -> Node:
    """Return the language of RFC 1123, section 2.1, after RFC 952 and 1034: labels of at most 63 characters, 253 in
    all.

    It has no labels that begin with "xn--", see NARROWED. It has other labels with hyphens at the third and fourth
    place: RFC 5890, section 2.3.1, reserves them, but no encoding uses them, so there is nothing to decode."""
    label = parse(f"{_LETTER_DIGIT}(?:[A-Za-z0-9-]{{0,61}}{_LETTER_DIGIT})?")
    label = And((label, Not(parse("[Xx][Nn]--.*"))))
    names = Concat((label, Repeat(Concat((Literal("."), label)), 0, None)))
    return And((names, Repeat(Chars(((45, 46), (48, 57), (65, 90), (97, 122))), 1, 253)))


# Mail: RFC 5321, section 4.1.2 and 4.1.3; RFC 6531, section 3.3

_SNUM = "(?:[01]?[0-9]?[0-9]|2[0-4][0-9]|25[0-5])"
_SNUMS = rf"{_SNUM}(?:\.{_SNUM}){{3}}"
_NON_ASCII = "\u0080-\U0010ffff"


def _mailbox(more: str) -> str:
    """Return the pattern of a mailbox. `more` are characters beyond ASCII that may be in atoms, quoted strings and
    labels."""
    atom = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~\-{more}]+"
    quoted = rf'"(?:[ !#-\[\]-~{more}]|\\[ -~])*"'
    label = f"[A-Za-z0-9{more}]+(?:-+[A-Za-z0-9{more}]+)*"
    literal = rf"\[(?:{_SNUMS}|[Ii][Pp][Vv]6:{_ipv6(6, _SNUMS)})\]"
    return rf"(?:{atom}(?:\.{atom})*|{quoted})@(?:{label}(?:\.{label})*|{literal})"


# Identifiers: RFC 3986, RFC 3987, RFC 6570

_UCSCHAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16 | (0x1000 if plane == 14 else 0))}-{chr(plane << 16 | 0xFFFD)}" for plane in range(1, 15)
)
_IPRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_PERCENT = "%[0-9A-Fa-f]{2}"


def _identifier(absolute: bool, more: str, private: str) -> str:
    """Return the pattern of a URI or, unless `absolute`, of a URI reference. IRIs have `more` characters, and `private`
    ones in queries."""
    plain = rf"A-Za-z0-9\-._~{more}!$&'()*+,;="  # unreserved and sub-delims

    def run(characters: str, repeat: str = "*") -> str:
        return f"(?:[{characters}]|{_PERCENT}){repeat}"

    slashes = run(f"{plain}:@/")
    host = rf"(?:\[(?:{_IPV6}|[Vv][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]|{run(plain)})"
    authority = f"(?:{run(plain + ':')}@)?{host}(?::[0-9]*)?"
    rooted = f"/(?:/{authority}(?:/{slashes})?|{run(plain + ':@', '')}{slashes})?"  # // authority path, or /path
    tail = rf"(?:\?{run(f'{plain}:@/?{private}')})?(?:#{run(f'{plain}:@/?')})?"
    scheme = r"[A-Za-z][A-Za-z0-9+\-.]*"
    full = f"{scheme}:(?:{rooted}|{run(plain + ':@', '')}{slashes})?{tail}"
    if absolute:
        return full
    relative = f"(?:{rooted}|{run(plain + '@', '+')}(?:/{slashes})?)?{tail}"
    return f"{full}|{relative}"


_VARIABLE = rf"(?:[A-Za-z0-9_]|{_PERCENT})(?:\.?(?:[A-Za-z0-9_]|{_PERCENT}))*(?::[1-9][0-9]{{0,3}}|\*)?"
_URI_TEMPLATE = (
    rf"(?:[!#$&'(-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PERCENT}"
    rf"|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
)

# Pointers: RFC 6901, section 3; draft-bhutton-relative-json-pointer-00, section 3

_JSON_POINTER = "(?:/(?:[^~]|~[01])*)?"


@cache
def _relative_json_pointer(shifted: bool) -> Node:
    """Return the language of relative pointers. If `shifted`, an index may be moved (`0+1/a`), which only draft 2020-12
    allows."""
    return parse(f"(?:0|[1-9][0-9]*){'(?:[+-][1-9][0-9]*)?' if shifted else ''}(?:#|{_JSON_POINTER})")


def _kept(pattern: Callable[[], str]) -> Callable[[], Node]:
    return cache(lambda: parse(pattern()))


_MAKERS: dict[str, Callable[[], Node]] = {
    "date": _kept(lambda: _DATE),
    "time": cache(_time),
    "date-time": cache(_date_time),
    "duration": _kept(lambda: _DURATION),
    "email": _kept(lambda: _mailbox("")),
    "idn-email": _kept(lambda: _mailbox(_NON_ASCII)),
    "hostname": cache(_hostname),
    "ipv4": _kept(lambda: _IPV4),
    "ipv6": _kept(lambda: _IPV6),
    "uri": _kept(lambda: _identifier(True, "", "")),
    "uri-reference": _kept(lambda: _identifier(False, "", "")),
    "iri": _kept(lambda: _identifier(True, _UCSCHAR, _IPRIVATE)),
    "iri-reference": _kept(lambda: _identifier(False, _UCSCHAR, _IPRIVATE)),
    "uri-template": _kept(lambda: _URI_TEMPLATE),
    "uuid": _kept(lambda: "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    "json-pointer": _kept(lambda: _JSON_POINTER),
    "regex": cache(EcmaPattern),
}
