"""The formats of JSON Schema, checked by plain Python: slow, procedural, and with no code of the grammar.

`FORMATS[name](text)` says whether a text has the format. The sources are the sections on formats in the validation
specification and the RFCs that it names, cited at each function.
"""

from __future__ import annotations

import calendar
import ipaddress
import re
from collections.abc import Callable

import idna
import regress


def is_date(text: str) -> bool:
    """RFC 3339, 5.6 full-date; months have the days of 5.7, in the proleptic Gregorian calendar."""
    match = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    lengths = (31, 29 if calendar.isleap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= lengths[month - 1]


def is_time(text: str) -> bool:
    """RFC 3339, 5.6 full-time. Second 60 must be the last one of a day in UTC."""
    match = re.fullmatch(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[zZ]|([+-])([0-9]{2}):([0-9]{2}))", text)
    if match is None:
        return False
    hour, minute, second = (int(match[i]) for i in (1, 2, 3))
    off_hour, off_minute = (int(match[i] or 0) for i in (5, 6))
    if hour > 23 or minute > 59 or second > 60 or off_hour > 23 or off_minute > 59:
        return False
    offset = (off_hour * 60 + off_minute) * (-1 if match[4] == "-" else 1)
    return second < 60 or (hour * 60 + minute - offset) % 1440 == 1439


def is_date_time(text: str) -> bool:
    return len(text) > 11 and is_date(text[:10]) and text[10] in "tT" and is_time(text[11:])


def is_duration(text: str) -> bool:
    """RFC 3339, appendix A: units follow one another without gaps, and weeks are alone."""

    def chain(units: str) -> str:
        # Only the next smaller unit may follow a unit: 1H2M3S, 1H2M, 2M3S, ... but not 1H3S.
        found = ""
        for unit in reversed(units):
            found = rf"(?:[0-9]+{unit}{found}?)" if found else rf"(?:[0-9]+{unit})"
        return found

    times = "|".join(chain("HMS"[i:]) for i in range(3))
    dates = "|".join(chain("YMD"[i:]) for i in range(3))
    return re.fullmatch(rf"P(?:[0-9]+W|T(?:{times})|(?:{dates})(?:T(?:{times}))?)", text) is not None


def is_email(text: str) -> bool:
    """RFC 5321, 4.1.2 Mailbox."""
    return _email(text, "")


def is_idn_email(text: str) -> bool:
    """RFC 6531, 3.3: atoms, quoted strings and labels may contain any character beyond ASCII."""
    return _email(text, "\x80-\U0010ffff")


def _email(text: str, more: str) -> bool:
    atom = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{more}-]+"
    label = rf"[A-Za-z0-9{more}](?:[A-Za-z0-9{more}-]*[A-Za-z0-9{more}])?"
    if text.startswith('"'):
        quoted = re.match(rf'"(?:[\x20\x21\x23-\x5b\x5d-\x7e{more}]|\\[\x20-\x7e])*"@', text)
        if quoted is None:
            return False
        domain = text[quoted.end() :]
    else:
        local, at, domain = text.partition("@")
        if not at or re.fullmatch(rf"{atom}(?:\.{atom})*", local) is None:
            return False
    if domain.startswith("[") and domain.endswith("]"):
        literal = domain[1:-1]
        return is_ipv6(literal[5:]) if literal[:5].lower() == "ipv6:" else is_ipv4(literal)
    return re.fullmatch(rf"{label}(?:\.{label})*", domain) is not None


def is_hostname(text: str) -> bool:
    """RFC 1123, 2.1, with the lengths of RFC 1034; labels that look like A-labels are (RFC 5890, 2.3.2.1)."""
    if not 0 < len(text) <= 253:
        return False
    for label in text.split("."):
        if re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", label) is None:
            return False
        if label[:4].lower() == "xn--":
            try:
                idna.ulabel(label)
            except (idna.IDNAError, UnicodeError):
                return False
    return True


def is_ipv4(text: str) -> bool:
    """RFC 2673, 3.2: decimal numbers without leading zeros."""
    parts = text.split(".")
    return len(parts) == 4 and all(
        re.fullmatch("[0-9]{1,3}", part) is not None and int(part) < 256 and str(int(part)) == part for part in parts
    )


def is_ipv6(text: str) -> bool:
    """RFC 4291, 2.2."""
    if not text.isascii() or "%" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def is_uuid(text: str) -> bool:
    """RFC 4122, 3."""
    return re.fullmatch(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


IPRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
UCSCHAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16 | (0x1000 if plane == 14 else 0))}-{chr(plane << 16 | 0xFFFD)}" for plane in range(1, 15)
)


def _uri(text: str, *, relative: bool, international: bool) -> bool:
    """RFC 3986, appendix A; RFC 3987, 2.2."""
    more = UCSCHAR if international else ""
    escaped = "%[0-9A-Fa-f]{2}"
    unreserved = rf"A-Za-z0-9\-._~{more}"
    pchar = rf"(?:[{unreserved}!$&'()*+,;=:@]|{escaped})"
    rest, hash_, fragment = text.partition("#")
    if hash_ and re.fullmatch(rf"(?:{pchar}|[/?])*", fragment) is None:
        return False
    rest, mark, query = rest.partition("?")
    if mark and re.fullmatch(rf"(?:{pchar}|[/?{IPRIVATE if international else ''}])*", query) is None:
        return False
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:", rest)
    if scheme is not None:
        rest = rest[scheme.end() :]
    elif not relative:
        return False
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, at, host = authority.rpartition("@")
        if at and re.fullmatch(rf"(?:[{unreserved}!$&'()*+,;=:]|{escaped})*", user) is None:
            return False
        literal = re.fullmatch(r"\[(.*)\](?::[0-9]*)?", host)
        if literal is not None:
            inner = literal[1]
            future = re.fullmatch(r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+", inner)
            if future is None and not is_ipv6(inner):
                return False
        elif re.fullmatch(rf"(?:[{unreserved}!$&'()*+,;=]|{escaped})*(?::[0-9]*)?", host) is None:
            return False
        return re.fullmatch(rf"(?:{pchar}|/)*", slash + path) is not None
    if scheme is None and ":" in rest.partition("/")[0]:
        return False  # the part before a colon in the first segment would be a scheme
    return re.fullmatch(rf"(?:{pchar}|/)*", rest) is not None


def is_uri(text: str) -> bool:
    return _uri(text, relative=False, international=False)


def is_uri_reference(text: str) -> bool:
    return _uri(text, relative=True, international=False)


def is_iri(text: str) -> bool:
    return _uri(text, relative=False, international=True)


def is_iri_reference(text: str) -> bool:
    return _uri(text, relative=True, international=True)


def is_uri_template(text: str) -> bool:
    """RFC 6570, 2, with erratum 6937: an apostrophe is a literal."""
    name = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+(?:\.(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+)*"
    variable = rf"{name}(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = rf"\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}}"
    literal = rf"[\x21\x23\x24\x26-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e{UCSCHAR}{IPRIVATE}]|%[0-9A-Fa-f]{{2}}"
    return re.fullmatch(rf"(?:{literal}|{expression})*", text) is not None


def is_json_pointer(text: str) -> bool:
    """RFC 6901, 3."""
    return re.fullmatch(r"(?:/(?:[^~/]|~[01])*)*", text, re.DOTALL) is not None


def is_relative_json_pointer(text: str) -> bool:
    """draft-bhutton-relative-json-pointer-00, 3."""
    match = re.match(r"(?:0|[1-9][0-9]*)(?:[+-](?:[1-9][0-9]*))?", text)
    return match is not None and (text[match.end() :] == "#" or is_json_pointer(text[match.end() :]))


def is_regex(text: str) -> bool:
    """ECMA-262 with the flag `u`."""
    try:
        regress.Regex(text, "u")
    except regress.RegressError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": is_date,
    "date-time": is_date_time,
    "duration": is_duration,
    "email": is_email,
    "hostname": is_hostname,
    "idn-email": is_idn_email,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "iri": is_iri,
    "iri-reference": is_iri_reference,
    "json-pointer": is_json_pointer,
    "regex": is_regex,
    "relative-json-pointer": is_relative_json_pointer,
    "time": is_time,
    "uri": is_uri,
    "uri-reference": is_uri_reference,
    "uri-template": is_uri_template,
    "uuid": is_uuid,
}
