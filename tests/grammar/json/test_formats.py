"""Formats agree with the official test suite, Python's own parsers, readings of the RFCs by hand, and tables of cases.

`campaign.schema_suite` finds the official suite; its tests are skipped if it is absent.
"""

import calendar
import ipaddress
import json
import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaign import schema_suite
from earleymask.earley._regex import Regexes
from earleymask.grammar.json import formats as json_formats
from earleymask.grammar.json.formats import NAMES, NARROWED, REFUSED, FormatRefusal
from earleymask.grammar.regex.lower import lower

DRAFTS = tuple(schema_suite.DRAFTS)


@cache
def language(name: str, draft: str = "2020-12") -> Callable[[str], bool]:
    tree = json_formats.tree(name, draft)
    assert tree is not None
    regexes = Regexes()
    node = lower(tree, regexes)
    return lambda text: regexes.matches(node, text.encode())


# The official suite

CASES = [
    (draft, path.stem, case["description"], case["data"], case["valid"])
    for draft in DRAFTS
    for path in sorted((schema_suite.folder(draft) / f"tests/draft{draft}/optional/format").glob("*.json"))
    for group in json.loads(path.read_text(encoding="utf-8"))
    for case in group["tests"]
    if group["schema"].get("format") == path.stem and isinstance(case["data"], str)
]


@pytest.mark.skipif(not CASES, reason="the official suite is not there; .ci/suite fetches it")
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", sorted({*NAMES["2020-12"], "unknown"}))
def test_official_suite(draft: str, name: str) -> None:
    cases = [case[2:] for case in CASES if case[:2] == (draft, name)]
    if name in REFUSED and name in NAMES[draft]:
        with pytest.raises(FormatRefusal, match=f"format '{name}' cannot be enforced: "):
            json_formats.tree(name, draft)
    elif name not in NAMES[draft]:
        assert json_formats.tree(name, draft) is None
        assert all(valid for _, _, valid in cases)
    elif not any(case[0] == draft for case in CASES):
        pytest.skip(f"the official suite that is here has no draft {draft}; .ci/suite fetches all")
    else:
        assert cases
        accepts = language(name, draft)
        for description, data, valid in cases:
            a_label = name == "hostname" and re.search(r"(?i)(^|\.)xn--", data)
            assert accepts(data) == (valid and not a_label), (description, data)


def test_names_of_drafts() -> None:
    assert [len(NAMES[draft]) for draft in ("4", "6", "7", "2019-09", "2020-12")] == [6, 9, 17, 19, 19]
    for name in NAMES["2020-12"]:
        if name not in REFUSED:
            assert json_formats.tree(name) is json_formats.tree(name), "made once"
    assert json_formats.tree("date", "4") is None
    assert json_formats.tree("uuid", "7") is None
    assert json_formats.tree("color") is None
    assert set(NARROWED) == {"hostname", "regex"}


# Dates and times

ORDINARY_YEARS = [1, 4, 99, 100, 200, 400, 1582, 1900, 1999, 2000, 2023, 2024, 2100, 9999]


def test_all_days() -> None:
    accepts = language("date")
    for year, month, day in product(ORDINARY_YEARS, range(15), range(34)):
        valid = 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]
        assert accepts(f"{year:04}-{month:02}-{day:02}") == valid
    for year in range(10_000):
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)  # year 0 as well: RFC 3339, appendix C
        assert accepts(f"{year:04}-02-29") == leap
        assert accepts(f"{year:04}-02-28")


def offset(text: str) -> int:
    """Return how many minutes the clock is ahead of UTC."""
    return 0 if text in "Zz" else (-1 if text[0] == "-" else 1) * (int(text[1:3]) * 60 + int(text[4:]))


def test_all_leap_seconds_of_a_day() -> None:
    """A second 60 is allowed at exactly those minutes and offsets that are 23:59 in UTC."""
    accepts = language("time")
    for minute in range(1440):
        for ahead in {*range(-1439, 1440, 97), *(minute + k for k in (-1440, -1439, -1, 0, 1, 2))}:
            sign, size = "+-"[ahead < 0], abs(ahead)
            if size >= 1440:
                continue
            zone = f"{sign}{size // 60:02}:{size % 60:02}"
            valid = (minute - offset(zone)) % 1440 == 1439
            assert accepts(f"{minute // 60:02}:{minute % 60:02}:60{zone}") == valid
            assert accepts(f"{minute // 60:02}:{minute % 60:02}:60.25{zone}") == valid
            assert accepts(f"{minute // 60:02}:{minute % 60:02}:59.25{zone}")
        assert accepts(f"{minute // 60:02}:{minute % 60:02}:60z") == (minute == 1439)


two = st.integers(0, 99).map(lambda value: f"{value:02}")
small = st.integers(0, 24).map(lambda value: f"{value:02}")
zones = st.one_of(st.sampled_from(["Z", "z", "", "+1"]), st.builds("{}{}:{}".format, st.sampled_from("+-"), small, two))


@given(st.builds("{}:{}:{}{}{}".format, small, two, two, st.sampled_from(["", ".", ".5", ".123456789", ",1"]), zones))
@settings(max_examples=500)
def test_times(text: str) -> None:
    found = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", text)
    valid = False
    if found:
        hour, minute, second = map(int, found.groups()[:3])
        zone = found[5]
        valid = hour < 24 and minute < 60 and second < 60
        valid = valid and (zone in "Zz" or (int(zone[1:3]) < 24 and int(zone[4:]) < 60))
        if second == 60 and hour < 24 and minute < 60:
            valid = (hour * 60 + minute - offset(zone)) % 1440 == 1439 and abs(offset(zone)) < 1440
    assert language("time")(text) == valid


moments = st.one_of(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),
    st.builds(
        lambda year, month, minutes: datetime(year, month, 1) + timedelta(minutes=minutes, seconds=-1),
        st.integers(2, 9998),
        st.integers(1, 12),
        st.integers(-1, 1),
    ),
)


@given(moments, st.integers(-1439, 1439), st.booleans())
@settings(max_examples=500)
def test_date_times(moment: datetime, ahead: int, leap: bool) -> None:
    """A leap second is allowed exactly after 23:59:59, in UTC, of the last day of a month."""
    zone = timezone(timedelta(minutes=ahead))
    local = moment.replace(tzinfo=timezone.utc, microsecond=0).astimezone(zone)
    text = local.isoformat()
    accepts = language("date-time")
    assert accepts(text)
    assert accepts(text.replace("T", "t")) and not accepts(text.replace("T", " "))
    if leap:
        text = text[:17] + "60" + text[19:]
        last = moment.day == calendar.monthrange(moment.year, moment.month)[1]
        assert accepts(text) == (last and (moment.hour, moment.minute) == (23, 59))


def test_durations() -> None:
    """A sequence of up to six parts is a duration exactly if its units have no gaps, in the date and in the time."""
    accepts = language("duration")
    for n in range(6):
        for parts in product("YMDWTHS", repeat=n):
            text = "P" + "".join("T" if part == "T" else f"1{part}" for part in parts)
            date, t, time = "".join(parts).partition("T")
            valid = (date in "YMD" and time in "HMS" and (bool(time) == bool(t)) and bool(date or time)) or (
                date == "W" and not t
            )
            assert accepts(text) == valid, text
            if n:
                assert not accepts(text + "1") and not accepts(text[1:])


# Hosts


@given(st.text("0123456789.", max_size=17) | st.builds("{}.{}.{}.{}".format, *[st.integers(0, 300)] * 4))
@settings(max_examples=500)
@example("1.2.3.04")
def test_ipv4(text: str) -> None:
    assert language("ipv4")(text) == succeeds(ipaddress.IPv4Address, text)


def succeeds(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


ipv6_parts = st.lists(
    st.sampled_from(["0", "a", "1234", "12345", "G", "", "1.2.3.4", "256.1.1.1", "1.2.3.04"]), min_size=1, max_size=9
)


@given(st.one_of(ipv6_parts.map(":".join), st.ip_addresses(v=6).map(str), st.text("01a:.", max_size=12)))
@settings(max_examples=1000)
def test_ipv6(text: str) -> None:
    assert language("ipv6")(text) == succeeds(ipaddress.IPv6Address, text)


def test_ipv6_with_all_numbers_of_groups() -> None:
    for before, after, tail in product(range(10), range(10), ["", "1.2.3.4"]):
        text = ":".join("1" * before) + "::" + ":".join([*("2" * after), *([tail] if tail else [])])
        assert language("ipv6")(text) == succeeds(ipaddress.IPv6Address, text), text
        text = ":".join([*("2" * after), *([tail] if tail else [])])
        assert language("ipv6")(text) == succeeds(ipaddress.IPv6Address, text), text


def is_hostname(text: str) -> bool:
    labels = text.split(".")
    return len(text) <= 253 and all(
        0 < len(label) <= 63 and re.fullmatch("[A-Za-z0-9-]+", label) and "-" not in (label[0], label[-1])
        for label in labels
    )


labels = st.one_of(
    st.text("aZ0-", max_size=5),
    st.integers(60, 66).map(lambda n: "a" * n),
    st.sampled_from(["xn--a", "XN--b", "xn-c", "ab--c", "a--b"]),
)


@given(st.lists(labels, max_size=6).map(".".join))
@settings(max_examples=500)
@example(".".join(["a" * 63] * 3 + ["b" * 61]))
@example(".".join(["a" * 63] * 3 + ["b" * 62]))
@example(".".join("a" * 127))
@example(".".join("a" * 128))
def test_hostname(text: str) -> None:
    may_be_a_label = any(label[:4].lower() == "xn--" for label in text.split("."))  # RFC 5890, section 2.3.2.1
    assert language("hostname")(text) == (is_hostname(text) and not may_be_a_label)


# Mail

ATOM = re.compile(r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+")


def is_dotted_mailbox(text: str) -> bool:
    """Return whether this is a mailbox of RFC 5321 without quoted strings and address literals."""
    local, at, domain = text.rpartition("@")
    return bool(
        at
        and all(ATOM.fullmatch(atom) for atom in local.split("."))
        and all(re.fullmatch("[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?", label) for label in domain.split("."))
    )


@given(st.text("ab1.@-_+ (é", max_size=12))
@settings(max_examples=500)
@example("a@b.c")
def test_mailboxes(text: str) -> None:
    assert language("email")(text) == is_dotted_mailbox(text)
    # A character beyond ASCII is allowed wherever a letter is.
    assert language("idn-email")(text) == is_dotted_mailbox(text.replace("é", "e"))


# Identifiers: the regex of RFC 3986, appendix B, splits them, and each part follows the rule of its section.

APART = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
UNRESERVED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
SUB_DELIMS = set("!$&'()*+,;=")


def only(text: str, characters: set[str]) -> bool:
    return set(re.sub("%[0-9A-Fa-f]{2}", "", text)) <= characters


def is_reference(text: str, absolute: bool, iri: bool) -> bool:
    found = APART.fullmatch(text)
    assert found
    scheme, authority, path, query, fragment = found.groups()
    ascii_only = UNRESERVED | SUB_DELIMS
    plain = ascii_only | {"é"} if iri else ascii_only  # letters beyond ASCII are unreserved
    if scheme is not None and not re.fullmatch("[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return False
    if scheme is None and (absolute or text.startswith(":")):
        return False
    if authority is not None:
        user, at, host = authority.rpartition("@")
        if at and not only(user, plain | {":"}):
            return False
        found = re.fullmatch(r"(\[.*\]|[^:]*)(?::[0-9]*)?", host, re.DOTALL)
        if not found:
            return False
        if found[1].startswith("["):
            literal = found[1][1:-1]
            future = re.fullmatch(r"[Vv][0-9A-Fa-f]+\.(.+)", literal, re.DOTALL)
            if future:
                if not set(future[1]) <= ascii_only | {":"}:
                    return False
            elif "%" in literal or not succeeds(ipaddress.IPv6Address, literal):
                return False
        elif not only(found[1], plain):
            return False
    allowed = plain | set(":@/")
    private = {"?", "\ue000"} if iri else {"?"}
    return only(path, allowed) and only(query or "", allowed | private) and only(fragment or "", allowed | {"?"})


pieces = st.sampled_from(
    [*'aZ:/?#[]@!$%.-~+é\ue000 "\\^|', "//", "%2f", "%zz", "://", "[::1]", "[1::2.3.4.5]", "[v1.a:b]", ":80", "http"]
)


@given(st.lists(pieces, max_size=8).map("".join))
@settings(max_examples=3000)
@example("1:b")
@example("a/b:c")
@example("//[::1]@b")
@example("//a:b")
@example("a://b@[::1]:/?é#")
def test_identifiers(text: str) -> None:
    for name, absolute, iri in (
        ("uri", True, False),
        ("uri-reference", False, False),
        ("iri", True, True),
        ("iri-reference", False, True),
    ):
        assert language(name)(text) == is_reference(text, absolute, iri), name


@pytest.mark.parametrize("first", [0xA0, 0xF900, 0xFDF0, 0x10000, 0xE1000])
def test_characters_of_iris(first: int) -> None:
    """The first characters of the ranges of RFC 3987's `ucschar` are allowed, and those before them are not."""
    assert language("iri")(f"a:{chr(first)}")
    assert not language("iri")(f"a:{chr(first - 1)}")
    assert not language("uri")(f"a:{chr(first)}")


def is_template(text: str) -> bool:
    """Return whether this is a template of RFC 6570, section 2: literals and expressions in turn."""
    for i, part in enumerate(re.split(r"(\{[^{}]*\})", text)):
        if i % 2 == 0:
            if set(re.sub("%[0-9A-Fa-f]{2}", "", part)) & set(' "%<>\\^`{|}\x7f\x80\n'):
                return False
            continue
        body = part[1:-1]
        for spec in body[1 if body and body[0] in "+#./;?&=,!@|" else 0 :].split(","):
            name, colon, length = spec.partition(":")
            if colon and not re.fullmatch("[1-9][0-9]{0,3}", length):
                return False
            name = name if colon else name.removesuffix("*")
            for piece in name.split("."):
                if not re.fullmatch("(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+", piece):
                    return False
    return True


@given(st.lists(st.sampled_from([*"{}{}aZ0_.,:*+|=%é\x80'<", "{a", "%2f", ":12", "a,b"]), max_size=8).map("".join))
@settings(max_examples=1000)
@example("{+a.b*,c:9999}'")
def test_templates(text: str) -> None:
    assert language("uri-template")(text) == is_template(text)


@given(st.one_of(st.uuids().map(str), st.text("0aAg-", max_size=36)))
def test_uuids(text: str) -> None:
    valid = [len(part) for part in text.split("-")] == [8, 4, 4, 4, 12] and succeeds(uuid.UUID, text)
    assert language("uuid")(text) == valid
    assert language("uuid")(text.upper()) == valid


@given(st.text('/~01a\n"é', max_size=6), st.text("01+-#", max_size=4))
@settings(max_examples=500)
def test_pointers(pointer: str, prefix: str) -> None:
    valid = not pointer or (pointer[0] == "/" and all(part[:1] in ("0", "1") for part in pointer.split("~")[1:]))
    assert language("json-pointer")(pointer) == valid
    text = prefix + pointer
    for draft, shifts in (("7", ""), ("2020-12", "(?:[+-][1-9][0-9]*)?")):
        found = re.match(f"(?:0|[1-9][0-9]*){shifts}", text)
        rest = text[found.end() :] if found else "?"
        expected = rest == "#" or language("json-pointer")(rest)
        assert language("relative-json-pointer", draft)(text) == expected


# Cases that neither the suite nor a parser of Python decides

TABLE = [
    # RFC 3339, section 5.7: a leap second ends a month, in UTC.
    ("date-time", "2016-12-31T23:59:60Z", True),
    ("date-time", "2016-06-30T23:59:60+00:00", True),
    ("date-time", "2017-01-01T00:59:60+01:00", True),
    ("date-time", "2016-12-31T00:59:60+01:00", False),
    ("date-time", "2016-12-30T23:59:60Z", False),
    ("date-time", "2024-02-29T23:59:60Z", True),
    ("date-time", "2024-02-28T23:59:60Z", False),
    ("date-time", "2023-02-28T15:59:60-08:00", True),
    # RFC 5321, section 4.1.2: any printable character may be quoted, the string may be empty, atoms may not.
    ("email", '""@a', True),
    ("email", r'"\""@a', True),
    ("email", '"a"b@c', False),
    ("email", '"\t"@a', False),
    # Section 4.1.3: "::" stands for two groups or more, numbers may have leading zeros, no other tag is registered.
    ("email", "a@[IPv6:1:2:3:4:5:6::]", True),
    ("email", "a@[IPv6:1:2:3:4:5:6:7::]", False),
    ("email", "a@[ipv6:::ffff:1.2.3.4]", True),
    ("email", "a@[001.02.3.4]", True),
    ("email", "a@[256.2.3.4]", False),
    ("email", "a@[x400:a]", False),
    # Section 4.1.2 puts no bound on the length of a label, and section 4.5.3.1 asks for none.
    ("email", f"{'a' * 65}@{'b' * 64}", True),
    ("email", "a@b_c", False),
    ("email", "a@b-", False),
    # RFC 4291, section 2.2: one "::" for one group or more.
    ("ipv6", "1:2:3:4:5:6:7::", True),
    ("ipv6", "1:2:3:4:5:6:7::8", False),
    ("ipv6", "fe80::1%1", False),
    # RFC 6570, section 2: reserved operators are in the syntax; 2.3: no empty names.
    ("uri-template", "{=a}", True),
    ("uri-template", "{|a*,b:12}", True),
    ("uri-template", "{+}", False),
    ("uri-template", "{a:}", False),
    ("uri-template", "{%4}", False),
    ("uri-template", "a%2", False),
    ("uri-template", "{a b}", False),
    ("uri-template", "a\\b", False),
    # RFC 3986, section 3.3: a path without authority does not begin with two slashes; with one, anything is a segment.
    ("uri", "a:", True),
    ("uri", "a:/", True),
    ("uri", "a://", True),
    ("uri", "a:////b", True),
    ("uri-reference", "/a//b", True),
    # RFC 1123, section 2.1: a digit may come first; as in RFC 952, names do not end with a dot.
    ("hostname", "3com.com", True),
    ("hostname", "a.", False),
    ("hostname", "ab--cd.com", True),  # reserved, but no A-label: nothing to decode
    ("hostname", "a.r3---sn-4g5e6nz7.com", True),
    ("hostname", "xn---a.com", False),  # as any label after "xn--"
    ("hostname", "axn--a.com", True),
    ("hostname", "a.Xn--4gbwdl", False),
    # ISO 8601 writes its designators in upper case.
    ("duration", "p1d", False),
    ("uuid", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}", False),
]


@pytest.mark.parametrize(("name", "text", "valid"), TABLE)
def test_table(name: str, text: str, valid: bool) -> None:
    assert language(name)(text) == valid
