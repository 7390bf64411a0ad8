"""The macros of XGrammar's EBNF: `TagDispatch(...)`, `Token(...)`, `Regex(...)` and so on.

Each is read to expressions of GBNF with the same meaning, so nothing after the parser knows of macros. What they mean
has been found out by running XGrammar 0.2.8.

- `TagDispatch((tag, rule), ..., loop_after_dispatch=true, excludes=(text, ...))`: free text without any tag; where a
  tag stands, its rule follows, and after it, unless the loop is off, free text again.
- `TokenTagDispatch((id, rule), ..., ...)`: the same with tokens in place of tags and of free text.
- `Token(id, ...)`, `ExcludeToken(id, ...)`: one of these tokens, or any other one.
- `Regex(pattern, flags=letters, json_string=false)`: the texts that the pattern matches as a whole.
- `Substring(chunk, ...)`: any run of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...earley._meter import take, tick
from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from ..regex import parse_regex, whole_text
from ..regex.ast import And, Chars, Substring
from ..regex.ast import Node as Regex
from ..regex.ast import Repeat as RegexRepeat
from ..regex.codepoints import complement
from ..regex.free_text import endings, without
from .terminals import MAX_SIZE
from .tree import Choice, Node, Reference, Repeat, Sequence, Text, Token

if TYPE_CHECKING:
    from ..errors import GrammarError
    from ..source import SourceText

MAX_VALUES = 3_000
"""The most arguments of one macro, those in parentheses included. Beyond it, GrammarLimitError is raised: the regex of
each tag excludes all others of its macro, so 1,000 of them have a million parts."""

MAX_TOKEN_ID = 0xFFFFFFFF
"""The largest token id that a grammar can name."""

VALUE_BYTES = 1_000
"""Memory of an argument, with the nodes that are made of it: an estimate."""

_LOOP = "loop_after_dispatch"
_EXCLUDES = "excludes"
_KINDS = {str: "a string", int: "a number", bool: "true or false", tuple: "a list in parentheses"}
_PAIR_HINTS = {str: 'write ("text", rule)', int: "write (5, rule)"}

# The characters that a string of JSON has as they are.
_UNESCAPED = RegexRepeat(Chars(complement(((0, 31), (34, 34), (92, 92)))), 0, None)


class Parser(Protocol):
    """What a macro asks of the parser of the text, see `parse`."""

    source: SourceText
    text: str
    end: int
    at: int
    references: list[Reference]

    def skip(self, lines: bool) -> None: ...

    def name(self) -> str | None: ...

    def string(self) -> Node: ...

    def rule_begins(self) -> bool: ...


class _Name(str):
    """The name of a rule as an argument."""

    __slots__ = ()


class _Value(NamedTuple):
    """An argument: a str, int, bool or _Name, or a tuple of these. `begin` and `end` are its offsets in the text."""

    begin: int
    end: int
    value: Any


class _Macro:
    """The arguments of one macro, read."""

    def __init__(self, parser: Parser, begin: int, name: str) -> None:
        """Read the arguments. The parser is at the opening parenthesis; `begin` is the offset of the macro's name."""
        self.parser = parser
        self.begin = begin
        self.name = name
        self.values: list[_Value] = []
        self.named: dict[str, _Value] = {}
        self.n_values = 0
        parser.at += 1
        parser.skip(True)
        while not self.at(")"):
            place = parser.at
            found = self.value()
            if isinstance(found.value, _Name) and self.at("="):
                parser.at += 1
                parser.skip(True)
                if found.value in self.named:
                    raise self.error(f"`{found.value}` is given twice", place)
                self.named[str(found.value)] = self.value()
            else:
                self.values.append(found)
            self.comma()
        parser.at += 1
        self.end = parser.at

    def error(self, message: str, place: int, hint: str | None = None) -> GrammarError:
        return self.parser.source.error(f"in `{self.name}(...)`: {message}", place, hint)

    def at(self, text: str) -> bool:
        return self.parser.text.startswith(text, self.parser.at)

    def comma(self) -> None:
        """Read a comma, unless the closing parenthesis is here."""
        self.parser.skip(True)
        if self.at(","):
            self.parser.at += 1
            self.parser.skip(True)
        elif not self.at(")"):
            raise self.missing("`,` or `)` is expected here")

    def missing(self, message: str) -> GrammarError:
        """Return the error about what is missing here, or about the parenthesis that is not closed."""
        if self.parser.at == self.parser.end or self.parser.rule_begins():
            return self.error("the parenthesis is never closed", self.begin)
        return self.error(message, self.parser.at)

    def value(self, depth: int = 0) -> _Value:
        parser = self.parser
        begin = parser.at
        tick()
        take(VALUE_BYTES)
        self.n_values += 1
        if self.n_values > MAX_VALUES:
            raise parser.source.limit_error(f"`{self.name}(...)` has more than {MAX_VALUES} arguments", begin)
        value: object
        if self.at('"'):
            value = parser.string().regex.text  # type: ignore[union-attr]
        elif self.at("("):
            if depth:
                raise self.error("these parentheses are nested too deep", begin)
            parser.at += 1
            parser.skip(True)
            parts: list[_Value] = []
            while not self.at(")"):
                parts.append(self.value(depth + 1))
                self.comma()
            parser.at += 1
            value = tuple(parts)
        else:
            word = None if parser.rule_begins() else parser.name()
            if word is None:
                raise self.missing("a string, a number, the name of a rule or a list in parentheses is expected here")
            if word in ("true", "false"):
                value = word == "true"
            elif word.isdecimal():
                value = int(word) if len(word) <= 10 else MAX_TOKEN_ID + 1
            else:
                value = _Name(word)
        end = parser.at
        parser.skip(True)
        return _Value(begin, end, value)

    # What the arguments must be.

    def check_names(self, *known: str) -> None:
        """Refuse arguments by other names."""
        for name, found in self.named.items():
            if name not in known:
                listed = " and ".join([f"`{each}`" for each in known])
                hint = f"{listed} can be given by name" if known else "no argument has a name"
                raise self.error(f"there is no argument `{name}`", found.begin, hint)

    def typed(self, found: _Value, kind: type, what: str) -> Any:
        """Return the value of an argument, which must be of a kind."""
        value: Any = found.value
        if type(found.value) is not kind:
            raise self.error(f"{what} must be {_KINDS[kind]}", found.begin)
        if kind is int and value > MAX_TOKEN_ID:
            raise self.error(f"token ids go up to {MAX_TOKEN_ID}", found.begin)
        return value

    def option(self, name: str, default: bool) -> bool:
        found = self.named.get(name)
        return default if found is None else bool(self.typed(found, bool, f"`{name}`"))

    def all_of(self, kind: type) -> list[Any]:
        """Return the arguments, all of which must be of a kind."""
        self.check_names()
        return [self.typed(found, kind, "each argument") for found in self.values]

    def pairs(self, kind: type) -> list[tuple[_Value, Reference]]:
        """Return the triggers of a kind, each with the rule that follows it."""
        self.check_names(_LOOP, _EXCLUDES)
        pairs = []
        for found in self.values:
            parts = found.value
            if not isinstance(parts, tuple) or len(parts) != 2 or not isinstance(parts[1].value, _Name):
                raise self.error("each argument is a pair of a trigger and a rule", found.begin, _PAIR_HINTS[kind])
            self.typed(parts[0], kind, "a trigger")
            if parts[0].value == "":
                raise self.error("a trigger cannot be empty", parts[0].begin)
            reference = Reference(parts[1].begin, parts[1].end, str(parts[1].value))
            self.parser.references.append(reference)
            pairs.append((parts[0], reference))
        return pairs

    def excludes(self, kind: type) -> list[_Value]:
        """Return what `excludes` lists."""
        found = self.named.get(_EXCLUDES)
        if found is None:
            return []
        parts = found.value if isinstance(found.value, tuple) else (found,)  # ("a") is a list of one, too
        for part in parts:
            self.typed(part, kind, f"what `{_EXCLUDES}` lists")
            if part.value == "":
                raise self.error(f"`{_EXCLUDES}` lists an empty string", part.begin)
        return list(parts)

    # What the macros mean.

    def tag_dispatch(self) -> Node:
        pairs = self.pairs(str)
        excludes = [found.value for found in self.excludes(str)]
        for tag, _ in pairs:
            for text in excludes:
                if tag.value.startswith(text):
                    message = f"no tag can begin with the excluded text {text!r}"
                    raise self.error(message, tag.begin, "remove the tag, or the text from `excludes`")
        loops = self.option(_LOOP, True)
        tags = [tag.value for tag, _ in pairs]
        free = self.text(without([*tags, *excludes]))
        calls: list[Node] = []
        for (tag, rule), regex in zip(pairs, endings(tags, excludes), strict=True):
            begin = Text(self.begin, self.end, regex)
            begin.size = MAX_SIZE
            begin.label = f"text up to {self.parser.text[tag.begin : tag.end]} (at {tag.begin})"
            calls.append(self.sequence([begin, rule]))
        if not calls:
            return free
        if loops:
            return self.sequence([self.repeat(self.choice(calls)), free])
        return self.choice([free, *calls])

    def token_dispatch(self) -> Node:
        pairs = self.pairs(int)
        excludes = [found.value for found in self.excludes(int)]
        for trigger, _ in pairs:
            if trigger.value in excludes:
                raise self.error(f"token {trigger.value} is excluded, so it cannot be a trigger", trigger.begin)
        ids = [trigger.value for trigger, _ in pairs]
        free = self.tokens([*ids, *excludes], True)
        calls: list[Node] = [self.sequence([self.tokens([trigger.value], False), rule]) for trigger, rule in pairs]
        if self.option(_LOOP, True):
            return self.repeat(self.choice([free, *calls]))
        return self.sequence([self.repeat(free), self.choice([self.sequence([]), *calls])])

    def token(self) -> Node:
        return self.tokens(self.all_of(int), False)

    def exclude_token(self) -> Node:
        return self.tokens(self.all_of(int), True)

    def regex(self) -> Node:
        self.check_names("flags", "json_string")
        if len(self.values) != 1:
            raise self.error("one pattern is expected", self.begin, 'write Regex("[0-9]+")')
        found = self.values[0]
        pattern = self.typed(found, str, "the pattern")
        # Classes are those of ASCII, and so are the letters that `i` takes for equal.
        letters = "a"
        given = self.named.get("flags")
        if given is None:
            letters += "s"
        else:
            for letter in self.typed(given, str, "`flags`"):
                if letter not in "isu":
                    raise self.error(f"flag {letter!r} is not supported", given.begin, "the flags are i, s and u")
                if letter not in letters and letter != "u":
                    letters += letter
        try:
            tree: Regex = whole_text(parse_regex(pattern, "python", letters))
        except RegexSyntaxError as error:
            raise self.error(error.message, found.begin, error.hint) from error
        except LimitError as error:
            raise self.parser.source.limit_error(str(error), found.begin).copy_limit(error) from error
        return self.text(And((tree, _UNESCAPED)) if self.option("json_string", False) else And((tree,)))

    def substring(self) -> Node:
        return self.text(And((Substring(tuple(self.all_of(str))),)))

    # Expressions.

    def text(self, regex: Regex) -> Node:
        """Return an expression that is a terminal by itself: it does not become part of a larger one in other rules."""
        node = Text(self.begin, self.end, regex)
        node.size = MAX_SIZE
        return node

    def tokens(self, ids: list[int], negated: bool) -> Node:
        if not ids and self.name in ("Token", "ExcludeToken"):
            raise self.error("at least one token id is expected", self.begin)
        listed = ",".join(map(str, dict.fromkeys(ids)))
        return Token(self.begin, self.end, f"<[{'^' if negated and ids else ''}{listed or '*'}]>", False, False)

    def sequence(self, items: list[Node]) -> Node:
        return Sequence(self.begin, self.end, items)

    def choice(self, alternatives: list[Node]) -> Node:
        return Choice(self.begin, self.end, alternatives) if len(alternatives) > 1 else alternatives[0]

    def repeat(self, body: Node) -> Node:
        return Repeat(self.begin, self.end, body, 0, None)


MACROS: dict[str, Callable[[_Macro], Node]] = {
    "TagDispatch": _Macro.tag_dispatch,
    "TokenTagDispatch": _Macro.token_dispatch,
    "Token": _Macro.token,
    "ExcludeToken": _Macro.exclude_token,
    "Regex": _Macro.regex,
    "Substring": _Macro.substring,
}


def read(parser: Parser, begin: int, name: str) -> Node:
    """Return the expression of the macro `name`. `begin` is its offset; the parser is at the parenthesis after it."""
    return MACROS[name](_Macro(parser, begin, name))
