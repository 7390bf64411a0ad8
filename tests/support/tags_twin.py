"""A slow reader of structural tags: where may a format that begins at `i` end, in a given text?

A text is a tuple of units: characters, and special tokens as `Special`. Every format is read straight from its
description; nothing is shared with the package. Free text is searched for its end place by place.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Special(NamedTuple):
    name: str


Unit = str | Special


class TagsTwin:
    """Reads texts by one structural tag."""

    def __init__(self, format: Any, names: tuple[str, ...] = (), documents: dict[str, set[str]] | None = None) -> None:
        """`names`: special tokens. `documents`: by the text of a schema or a grammar, all its texts."""
        self.format = format
        self.names = names
        self.documents = documents or {}

    def accepts(self, units: tuple[Unit, ...]) -> bool:
        self.units = units
        return len(units) in self.ends(self.format, 0, [""], [])

    def chars(self, i: int, j: int) -> str | None:
        """Return the text from `i` to `j`, or None if a special token is among it."""
        part = self.units[i:j]
        return "".join(map(str, part)) if all(isinstance(unit, str) for unit in part) else None

    def constant(self, text: str, i: int) -> set[int]:
        """Return where a constant that begins at `i` may end."""
        pattern = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        match = re.search(pattern, text) if pattern else None
        if match is None:
            return {i + len(text)} if self.chars(i, i + len(text)) == text else set()
        before = i + match.start()
        if self.chars(i, before) != text[: match.start()]:
            return set()
        rest = text[match.end() :]
        found = set()
        if self.chars(before, before + len(match[0])) == match[0]:
            found |= self.constant(rest, before + len(match[0]))
        if before < len(self.units) and self.units[before] == Special(match[0]):
            found |= self.constant(rest, before + 1)
        return found

    def after_free(self, i: int, end: str, others: list[str], excludes: list[str], most: int | None = None) -> set[int]:
        """Return where free text from `i` and its end may end: the end counts where it first stands. What is excluded
        does not stand in the text before the end."""
        found: set[int] = set()
        for k in range(i, len(self.units) + 1):
            before = self.chars(i, k)
            if before is None or (most is not None and k - i > most):
                break
            if any(excluded in before for excluded in excludes):
                break
            for j in self.constant(end, k):
                # Whatever is text from the beginning up to the first special token must not hold what ends the text.
                last = next((at for at in range(k, j) if isinstance(self.units[at], Special)), j)
                text = self.chars(i, last) or ""
                whole = last == j and bool(end)
                inside = text[:-1] if whole else text
                if not any(other and other in inside for other in [end, *others]):
                    found.add(j)
        return found

    def ends(self, format: Any, i: int, closing: list[str], excluded: list[str]) -> set[int]:
        """Return where a format that begins at `i`, with what closes it, may end."""
        kind = format["type"]
        if kind == "any_text":
            others = [*excluded, *closing]
            excludes, most = format.get("excludes", []), format.get("max_chars")
            return {j for end in closing for j in self.after_free(i, end, others, excludes, most)}
        if kind == "sequence":
            places = {i}
            for each in format["elements"][:-1]:
                places = {j for place in places for j in self.ends(each, place, [""], excluded)}
            last = format["elements"][-1]
            return {j for place in places for j in self.ends(last, place, closing, excluded)}
        if kind == "or":
            return {j for each in format["elements"] for j in self.ends(each, i, closing, excluded)}
        if kind == "optional":
            without = {j for end in closing for j in self.constant(end, i)}
            return without | self.ends(format["content"], i, closing, excluded)
        if kind in ("triggered_tags", "dispatch"):
            return self.branching(format, i, closing, excluded)
        places = self.plain(format, i, excluded)
        return {j for place in places for end in closing for j in self.constant(end, place)}

    def plain(self, format: Any, i: int, excluded: list[str]) -> set[int]:
        """Return where a format without free text at its end may end."""
        kind = format["type"]
        everywhere = range(i, len(self.units) + 1)
        if kind == "const_string":
            return self.constant(format["value"], i)
        if kind == "regex":
            return {j for j in everywhere if self.matches(format["pattern"], i, j)}
        if kind in ("json_schema", "grammar"):
            texts = self.documents[str(format[kind])]
            return {j for j in everywhere if self.chars(i, j) in texts}
        if kind == "token":
            return {i + 1} if i < len(self.units) and self.units[i] == Special(format["token"]) else set()
        if kind == "tag":
            return self.tag(format, i)
        if kind == "tags_with_separator":
            return self.separated(format, i)
        least, most = {"plus": (1, -1), "star": (0, -1)}.get(kind) or (format["min"], format["max"])
        found, places, n = set(), {i}, 0
        seen: set[tuple[int, frozenset[int]]] = set()
        while places and (min(n, least), frozenset(places)) not in seen:
            seen.add((min(n, least), frozenset(places)))
            if n >= least:
                found |= places
            if n == most:
                break
            places = {j for place in places for j in self.ends(format["content"], place, [""], excluded)}
            n += 1
        return found

    def matches(self, pattern: str, i: int, j: int) -> bool:
        text = self.chars(i, j)
        return text is not None and re.fullmatch(pattern, text) is not None

    def tag(self, format: Any, i: int, begin: str | None = None) -> set[int]:
        """Return where a tag may end that begins at `i`; or, with "" as `begin`, whose content does."""
        given = format["begin"] if begin is None else begin
        places = self.plain(given, i, []) if isinstance(given, dict) else self.constant(given, i)
        end = format["end"]
        if isinstance(end, dict):
            inner = {j for place in places for j in self.before_token(format["content"], place)}
            return {j for place in inner for j in self.plain(end, place, [])}
        ends = [end] if isinstance(end, str) else end
        return {j for place in places for j in self.ends(format["content"], place, ends, [e for e in ends if e])}

    def before_token(self, format: Any, i: int) -> set[int]:
        return self.ends(format, i, [""], [])

    def separated(self, format: Any, i: int) -> set[int]:
        once = {j for tag in format["tags"] for j in self.tag(tag, i)}
        found = set() if format.get("at_least_one") else {i}
        places = once
        while places - found:
            found |= places
            if format.get("stop_after_first"):
                break
            after = {j for place in places for j in self.constant(format["separator"], place)}
            places = {j for place in after for tag in format["tags"] for j in self.tag(tag, place)}
        return found

    def branching(self, format: Any, i: int, closing: list[str], excluded: list[str]) -> set[int]:
        """Return where free text may end in which a trigger begins a branch wherever it first stands."""
        if format["type"] == "dispatch":
            branches = [(begin, begin, content) for begin, content in format["rules"]]
            loops, first = format.get("loop", True), False
        else:
            branches = [
                (next(t for t in format["triggers"] if tag["begin"].startswith(t)), tag["begin"], tag)
                for tag in format["tags"]
            ]
            loops, first = not format.get("stop_after_first"), format.get("at_least_one", False)
        triggers = [trigger for trigger, _, _ in branches]
        excludes = format.get("excludes", [])
        others = [*triggers, *excludes, *excluded]

        def inside(branch: Any, place: int) -> set[int]:
            return (
                self.tag(branch, place, "")
                if format["type"] == "triggered_tags"
                else self.ends(branch, place, [""], excluded)
            )

        done: set[int] = set()
        begun = {i}
        if first:
            begun = {j for _, begin, branch in branches for at in self.constant(begin, i) for j in inside(branch, at)}
            if not loops:
                return {j for place in begun for end in closing for j in self.constant(end, place)}
        found: set[int] = set()
        while begun - done:
            place = min(begun - done)
            done.add(place)
            if place == i or loops:
                for end in closing:
                    found |= self.after_free(place, end, [*triggers, *excluded, *closing], excludes)
                for trigger, begin, branch in branches:
                    for at in self.begun(place, trigger, begin, others):
                        after = inside(branch, at)
                        begun |= after
            if not loops and place != i:
                found |= {j for end in closing for j in self.constant(end, place)}
        return found

    def begun(self, i: int, trigger: str, begin: str, others: list[str]) -> set[int]:
        """Return where the beginning of a branch ends, after free text from `i`: once the trigger stands, it binds."""
        found = set()
        for k in range(i, len(self.units) + 1):
            if self.chars(i, k) is None:
                break
            for j in self.constant(begin, k):
                last = next((at for at in range(k, j) if isinstance(self.units[at], Special)), j)
                if last - k >= len(trigger):  # the trigger is text
                    text = self.chars(i, k + len(trigger)) or ""
                    inside = text[:-1]
                else:
                    inside = self.chars(i, last) or ""
                if not any(other in inside for other in others):
                    found.add(j)
        return found
