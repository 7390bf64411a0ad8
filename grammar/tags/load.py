"""From a structural tag to a compiled engine.

Each format becomes symbols of one model, in the order in which it is read. Free text is what needs care: it ends at the
first occurrence of what ends it, wherever tokens are cut. So free text and the constant that ends it are one terminal
(`free_text.until`), and a format that comes last in a tag is read together with the end of the tag (`closing`).

A special token has no text. If the names of a vocabulary's special tokens are known, a constant that contains one is
matched by the token, as models write it, or by text that spells its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...earley._meter import keep, tick
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError
from ..model.attributes import Ending, RuleAttributes
from ..model.compile import compile_model
from ..model.model import SPECIAL, Model, Symbols
from ..model.repetition import counted, group, optional, star
from ..regex.ast import And, Concat, Literal, Node
from ..regex.free_text import ANY_TEXT, at_most, both, once, one_of, until, without
from ..source import GrammarWarning
from .spec import MAX_DEPTH, OLDER, Format, error, is_older, placed, pointer, shown, text_of

if TYPE_CHECKING:
    from ...earley import Engine
    from ...earley.limits import Limits
    from ..lark.embedded import Embedded

NO_END = ("",)
"""The end of a format that is not the last one of a tag: nothing."""


class Names(NamedTuple):
    """What a vocabulary says about names of tokens in formats."""

    special: tuple[str, ...] = ()
    """The special tokens whose names stand in the formats."""
    ids: tuple[tuple[str, int], ...] = ()
    """Tokens with text that formats give by their text, and their ids."""


class Closing(NamedTuple):
    """What follows a format at once: one of some strings, or a token."""

    texts: tuple[str, ...] = ()
    token: int = -1  # its symbol
    path: str = ""

    @property
    def is_empty(self) -> bool:
        return self.token < 0 and self.texts == NO_END


NOTHING = Closing(NO_END)


class Branch(NamedTuple):
    """One way on from free text: what begins it, how much of that is the trigger, and what follows."""

    begin: str
    n_trigger: int
    path: str
    rest: Symbols


class TagLoader:
    """Fills a model with the formats of one structural tag. The origin of a symbol is a JSON pointer."""

    def __init__(self, names: Names, options: dict[str, Any], limits: Limits, embedded: Embedded | None = None) -> None:
        """`options`: those of schemas. `embedded`: the grammars of a grammar around this one, and its model."""
        self.names = names
        self.options = options
        self.own_options: str | None = None  # their text
        self.limits = limits
        self.model = Model(self, limits) if embedded is None else embedded.model
        self._embedded = embedded
        self.schemas: list[tuple[str, Any, str]] = []  # their places, the schemas, their options
        self.grammars: list[tuple[str, Any]] = []  # their places, and the grammars
        self.terminals: dict[Node, int] = {}
        self.tokens: dict[object, int] = {}
        self.excluded: tuple[str, ...] = ()  # what free text may not contain: the ends of the tag around it
        self.depth = 0
        pieces = sorted(names.special, key=len, reverse=True)
        self.special = re.compile("|".join(map(re.escape, pieces))) if pieces else None
        keep(self)

    @property
    def embedded(self) -> Embedded:
        if self._embedded is None:
            from ..lark.embedded import Embedded
            from ..lark.load import LarkLoader

            self._embedded = Embedded(self.model, LarkLoader)
        return self._embedded

    def load(self, format: Any, path: str) -> Engine:
        start = self.start(format, path)
        if self._embedded is not None:
            start = self._embedded.lay_out(None, start)
        return compile_model(self.model, start)

    def start(self, format: Any, path: str) -> int:
        """Return the symbol of the whole structural tag."""
        symbol = self.model.rule("structural tag", self.origin(path))
        self.model.produce(symbol, self.older(format) if is_older(format) else self.read(format, path))
        return symbol

    # Formats.

    def read(self, given: Any, path: str, closing: Closing = NOTHING) -> Symbols:
        """Return the symbols of a format and of what closes it."""
        tick()
        if not isinstance(given, dict):
            if hasattr(given, "fingerprint"):  # a Grammar
                return (*self.grammar_object(given, path), *self.close(closing))
            raise error(f"a format is an object or a Grammar, not {shown(given)}", path)
        if self.depth == MAX_DEPTH:
            raise GrammarLimitError(f"more than {MAX_DEPTH} formats are within each other", pointer=path)
        format = Format(given, path)
        self.depth += 1
        try:
            read = getattr(self, f"read_{format.kind}", None)
            if read is not None:
                found: Symbols = read(format)
                return (*found, *self.close(closing))
            closed: Symbols = getattr(self, f"close_{format.kind}")(format, closing)
            return closed
        finally:
            self.depth -= 1

    def rule(self, name: str, path: str, alternatives: Iterable[Symbols]) -> Symbols:
        """Return the symbol of a rule for one of `alternatives`."""
        symbol = self.model.rule(name, self.origin(path))
        for symbols in alternatives:
            self.model.produce(symbol, symbols)
        return (symbol,)

    def read_const_string(self, format: Format) -> Symbols:
        return self.constant(format.text("value"), format.at("value"))

    def read_regex(self, format: Format) -> Symbols:
        from ..regex import parse_regex, whole_text

        pattern = format.text("pattern")
        path = format.at("pattern")
        try:
            tree = whole_text(parse_regex(pattern))
        except RegexSyntaxError as problem:
            raise self.regex_error(problem, path) from problem
        return (self.terminal(tree, f"/{pattern}/", path),)

    def read_grammar(self, format: Format) -> Symbols:
        from ..gbnf.load import embed

        path = format.at("grammar")
        text = format.text("grammar")
        try:
            return (embed(text, "root", self.model, f"the grammar at {path}"),)
        except GrammarError as problem:
            problem.pointer = path
            raise

    def read_json_string(self, format: Format) -> Symbols:
        """Return the symbols of a JSON string whose text, without quotes and escapes, is of the format within.

        Each terminal of that format stands for all spellings of its texts in JSON.
        """
        from ..json_schema.options import DEFAULT_OPTIONS, check

        style = check(DEFAULT_OPTIONS._replace(**self.options)).style
        model = self.model
        before, begin = (self.terminals, self.tokens, self.excluded), len(model.kinds)
        self.terminals, self.tokens, self.excluded = {}, {}, ()
        inside = self.read(format.value["content"], format.at("content"))
        self.terminals, self.tokens, self.excluded = before
        for symbol in range(begin, len(model.kinds)):
            self.check_quoted(symbol, format.path)
            model.quoted[symbol] = (style.shortest, style.ascii)
        quote = self.literal('"', format.path)
        return (quote, *inside, quote)

    def check_quoted(self, symbol: int, path: str) -> None:
        """Refuse what cannot be spelled within a JSON string."""
        model = self.model
        if symbol in model.makers:
            what = "a JSON Schema"
        elif model.kinds[symbol] == SPECIAL:
            what = "a token of the vocabulary"
        elif symbol in model.quoted:
            what = "another JSON string"
        elif symbol in model.attributes or symbol in model.commits:
            what = "a rule or terminal with attributes"
        elif model.parameters is not None:
            what = "a rule with a value"
        else:
            return
        raise error(f"{what} cannot stand within a JSON string", path, "write its text as rules and terminals")

    def close_json_schema(self, format: Format, closing: Closing) -> Symbols:
        options = self.options
        if format.flag("any_order"):
            options = {**options, "property_order": "any"}
        most = format.number("max_whitespace_cnt")
        if most is not None:
            for name in ("indent", "separators"):
                if self.options.get(name) is not None:
                    message = f"the option {name!r} already says which white space is written"
                    raise error(message, format.at("max_whitespace_cnt"), "remove one of them")
            white = {"whitespace": "any", "max_whitespace": most} if most else {"whitespace": "compact"}
            options = {**options, **white}
        style = format.value.get("style", "json")
        if not isinstance(style, str):
            raise error(f"'style' is a string, not {shown(style)}", format.at("style"))
        excludes = tuple(format.texts("excludes"))
        return self.styled(format, closing, options, style, excludes)

    def close_qwen_xml_parameter(self, format: Format, closing: Closing) -> Symbols:
        return self.styled(format, closing, self.options, "qwen_xml")

    def styled(
        self, format: Format, closing: Closing, options: dict[str, Any], style: str, excludes: tuple[str, ...] = ()
    ) -> Symbols:
        """Return the symbols of a schema in a style, and of what closes it."""
        schema, path = format.value["json_schema"], format.at("json_schema")
        if style == "json":
            return (*self.schema(schema, path, options, excludes), *self.close(closing))
        return self.arguments(schema, path, options, style, excludes, closing)

    def read_token(self, format: Format) -> Symbols:
        return (self.token(format.value["token"], format.at("token")),)

    def read_exclude_token(self, format: Format) -> Symbols:
        return (self.other_tokens(format, "exclude_tokens"),)

    def read_any_tokens(self, format: Format) -> Symbols:
        symbol = self.other_tokens(format, "exclude_tokens")
        return counted(self.model, ((symbol,),), 0, format.number("max_tokens"))

    def read_plus(self, format: Format) -> Symbols:
        return self.repeated(format, 1, None)

    def read_star(self, format: Format) -> Symbols:
        return self.repeated(format, 0, None)

    def read_repeat(self, format: Format) -> Symbols:
        least = format.number("min")
        most = None if format.value["max"] == -1 else format.number("max")
        if least is None or (most is None and format.value["max"] != -1):
            raise error("'min' and 'max' are whole numbers", format.path, "-1 as 'max' means without end")
        if most is not None and most < least:
            raise error(f"'max' is {most}, less than 'min', {least}", format.at("max"))
        return self.repeated(format, least, most)

    def repeated(self, format: Format, least: int, most: int | None) -> Symbols:
        symbols = self.read(format.value["content"], format.at("content"))
        return counted(self.model, (symbols,), least, most)

    def close_any_text(self, format: Format, closing: Closing) -> Symbols:
        return self.free_text(
            format.path,
            closing,
            format.texts("excludes"),
            format.number("max_tokens"),
            format.number("max_chars"),
        )

    def close_sequence(self, format: Format, closing: Closing) -> Symbols:
        found: list[int] = []
        items = format.items("elements")
        for given, path in items[:-1]:
            found += self.read(given, path)
        return (*found, *self.read(*items[-1], closing))

    def close_optional(self, format: Format, closing: Closing) -> Symbols:
        content = self.read(format.value["content"], format.at("content"), closing)
        return group(self.model, tuple(dict.fromkeys((content, self.close(closing)))))

    def close_or(self, format: Format, closing: Closing) -> Symbols:
        alternatives = [self.read(given, path, closing) for given, path in format.items("elements")]
        return group(self.model, tuple(dict.fromkeys(alternatives)))

    def read_tag(self, format: Format) -> Symbols:
        return (*self.begin(format), *self.inside(format))

    def begin(self, format: Format) -> Symbols:
        """Return what a tag begins with: a string, or a token."""
        given = format.value["begin"]
        if isinstance(given, dict):
            return self.read_token(Format(given, format.at("begin"), "token"))
        return self.constant(format.text("begin"), format.at("begin"))

    def inside(self, format: Format) -> Symbols:
        """Return the content of a tag, and its end."""
        closing = self.end(format)
        path = format.at("content")
        if (
            "" in closing.texts
            and closing.token < 0
            and is_unlimited(format.value["content"])
            and len(closing.texts) < 2
        ):
            raise error(
                "the content of the tag has no end: it is free text, and the tag ends with nothing",
                path,
                "give the tag an 'end', or the text 'excludes'",
            )
        before = self.excluded
        self.excluded = tuple([text for text in closing.texts if text])
        found = self.read(format.value["content"], path, closing)
        self.excluded = before
        return found

    def end(self, format: Format) -> Closing:
        given = format.value["end"]
        path = format.at("end")
        if isinstance(given, dict):
            return Closing((), self.read_token(Format(given, path, "token"))[0], path)
        if isinstance(given, list):
            found = [text_of(each, where) for each, where in format.items("end")]
            return Closing(tuple(dict.fromkeys(found)), -1, path)
        return Closing((text_of(given, path),), -1, path)

    def close_triggered_tags(self, format: Format, closing: Closing) -> Symbols:
        found: list[Branch] = []
        triggers = dict.fromkeys(format.texts("triggers", empty=False))
        for tag in format.tags():
            if not isinstance(tag.value["begin"], str):
                message = "a tag of triggered tags begins with a string"
                raise error(message, tag.at("begin"), "for a token, write token_triggered_tags")
            begin = tag.text("begin")
            found.append(self.branch(begin, tag.at("begin"), triggers, self.inside(tag)))
        check_triggers(triggers, found, format.at("triggers"))
        loops, first = not format.flag("stop_after_first"), format.flag("at_least_one")
        return self.branching(found, format.path, closing, format.texts("excludes"), loops, first)

    def close_dispatch(self, format: Format, closing: Closing) -> Symbols:
        found: list[Branch] = []
        for begin, path, given, inner in format.rules():
            text = text_of(begin, path)
            if not text:
                raise error("a rule begins with a string that is not empty", path)
            found.append(Branch(text, len(text), path, self.read(given, inner)))
        return self.branching(found, format.path, closing, format.texts("excludes"), format.flag("loop", True), False)

    def older(self, given: dict[str, Any]) -> Symbols:
        """Return the symbols of the older form, in which triggered tags are called `structures`."""
        format = Format(given, "", OLDER)
        triggers = dict.fromkeys(format.texts("triggers", empty=False))
        found: list[Branch] = []
        for each, path in format.items("structures"):
            if not isinstance(each, dict) or each.keys() != {"begin", "schema", "end"}:
                raise error("a structure is an object with 'begin', 'schema' and 'end'", path)
            begin = text_of(each["begin"], pointer(path, "begin"))
            end = pointer(path, "end")
            schema = self.schema(each["schema"], pointer(path, "schema"), self.options)
            rest = (*schema, *self.constant(text_of(each["end"], end), end))
            found.append(self.branch(begin, pointer(path, "begin"), triggers, rest))
        check_triggers(triggers, found, "/triggers")
        return self.branching(found, "", NOTHING, [], True, format.flag("at_least_one"))

    def branch(self, begin: str, path: str, triggers: dict[str, None], rest: Symbols) -> Branch:
        """Return the way on from free text into a tag."""
        lengths = sorted(set(map(len, triggers)))
        fitting = [begin[:n] for n in lengths if n <= len(begin) and begin[:n] in triggers]
        if len(fitting) != 1:
            few = f"several do: {', '.join(map(repr, fitting))}" if fitting else "none of the triggers begins it"
            raise error(f"the tag {begin!r} must begin with one trigger, and {few}", path, "change 'triggers'")
        return Branch(begin, len(fitting[0]), path, rest)

    def branching(
        self, branches: list[Branch], path: str, closing: Closing, excludes: list[str], loops: bool, first: bool
    ) -> Symbols:
        """Return free text with branches, and what closes it. `first`: a branch must stand first."""
        triggers = [branch.begin[: branch.n_trigger] for branch in branches]
        begun: Symbols = ()
        if first:
            firsts = [(*self.constant(branch.begin, branch.path), *branch.rest) for branch in branches]
            begun = self.rule("tags", path, firsts)
            if not loops:
                return (*begun, *self.close(closing))
        others = [*triggers, *excludes, *self.excluded]
        # Both are the same for all branches.
        bound, free = once(others), without(others)
        ways = [way for branch in branches for way in self.ways(branch, bound, free, excludes)]
        last = self.free_text(path, closing, excludes, triggers=triggers)
        if loops:
            return (*begun, *star(self.model, tuple(ways)), *last)
        closed = self.close(closing)
        return self.rule("text with a tag", path, [last, *[(*way, *closed) for way in ways]])

    def ways(self, branch: Branch, bound: Node, free: Node, excludes: list[str]) -> list[Symbols]:
        """Return the ways on from free text into a branch: each special token in what begins it may be one, or text.

        bound: the texts in which no trigger stands before the end. free: those in which none stands at all."""
        begin, n_trigger, path, rest = branch
        trigger = begin[:n_trigger]
        for excluded in excludes:
            if excluded in trigger:
                raise error(
                    f"{trigger!r} can never stand, because text that contains {excluded!r} is excluded",
                    path,
                    "remove one of them",
                )
        tree = And((Concat((ANY_TEXT, Literal(trigger))), bound))
        found = [(self.terminal(tree, trigger, path), *self.constant(begin, path, n_trigger), *rest)]
        for at, name in self.special_in(begin):
            if at >= n_trigger:
                break
            before = And((free, Concat((ANY_TEXT, Literal(begin[:at]))))) if at else free
            symbols = (self.terminal(before, "free text", path), self.special_token(name, path))
            found.append((*symbols, *self.constant(begin, path, at + len(name)), *rest))
        return found

    def close_tags_with_separator(self, format: Format, closing: Closing) -> Symbols:
        tags = tuple([self.read_tag(tag) for tag in format.tags()])
        separator = self.constant(format.text("separator"), format.at("separator"))
        one = self.rule("tags_with_separator", format.path, tags)
        if not format.flag("stop_after_first"):
            one = (*one, *star(self.model, ((*separator, *one),)))
        if not format.flag("at_least_one"):
            one = optional(self.model, (one,))
        return (*one, *self.close(closing))

    def read_token_triggered_tags(self, format: Format) -> Symbols:
        triggers = {self.token(given, path) for given, path in format.items("trigger_tokens")}
        free = self.other_tokens(format, "exclude_tokens", "trigger_tokens")
        tags = []
        for tag in format.tags():
            begin = tag.value["begin"]
            if not isinstance(begin, dict):
                message = "a tag of token-triggered tags begins with a token"
                raise error(message, tag.at("begin"), "for a string, write triggered_tags")
            symbols = self.begin(tag)
            if symbols[0] not in triggers:
                message = f"the tag begins with {shown(begin.get('token'))}, which is no trigger"
                raise error(message, tag.at("begin"), "add it to 'trigger_tokens'")
            tags.append((*symbols, *self.inside(tag)))
        used = {symbols[0] for symbols in tags}
        for token, path in format.items("trigger_tokens"):
            if self.token(token, path) not in used:
                raise unused(shown(token), path, "'exclude_tokens'")
        loops = not format.flag("stop_after_first")
        return self.token_branching(format, free, tags, loops, format.flag("at_least_one"))

    def read_token_dispatch(self, format: Format) -> Symbols:
        rules = [(self.token(begin, path), *self.read(given, inner)) for begin, path, given, inner in format.rules()]
        begins = [(begin, path) for begin, path, _, _ in format.rules()]
        free = self.other_tokens(format, "exclude_tokens", begins=begins)
        return self.token_branching(format, free, rules, format.flag("loop", True), False)

    def token_branching(
        self, format: Format, free: int, branches: list[Symbols], loops: bool, at_least_one: bool
    ) -> Symbols:
        name = format.kind
        first = self.rule(name, format.path, branches)
        if loops:
            many = star(self.model, ((free,), first))
            return (*first, *many) if at_least_one else many
        if at_least_one:
            return first
        return (*star(self.model, ((free,),)), *optional(self.model, (first,)))

    # Constants, free text and tokens.

    def constant(self, text: str, path: str, begin: int = 0) -> Symbols:
        """Return the symbols of `text` from `begin` on, in which each special token may be one, or text."""
        found: list[int] = []
        at = begin
        for place, name in self.special_in(text):
            if place < at:
                continue
            if place > at:
                found.append(self.literal(text[at:place], path))
            token = self.special_token(name, path)
            found += group(self.model, ((token,), (self.literal(name, path),)))
            at = place + len(name)
        if at < len(text):
            found.append(self.literal(text[at:], path))
        return tuple(found)

    def close(self, closing: Closing) -> Symbols:
        """Return the symbols of what closes a format."""
        if closing.token >= 0:
            return (closing.token,)
        alternatives = tuple([self.constant(text, closing.path) for text in closing.texts])
        return () if alternatives == ((),) else group(self.model, alternatives)

    def free_text(
        self,
        path: str,
        closing: Closing,
        excludes: Sequence[str],
        max_tokens: int | None = None,
        max_chars: int | None = None,
        triggers: Sequence[str] = (),
    ) -> Symbols:
        """Return the symbols of free text and of what closes it, at its first occurrence.

        excludes: what does not stand in the text alone. triggers: what would end it before."""
        others = [*triggers, *self.excluded]
        if max_tokens == 0:
            max_tokens, max_chars = None, 0
        ends = [text for text in closing.texts if text]
        found: list[Symbols] = []
        ending: Ending | None
        if ends:
            tree = until(ends, others, max_chars, excludes)
            ending = Ending(ANY_TEXT, one_of(ends), True)
            found.append((self.terminal(tree, "free text", path, max_tokens, ending),))
        tokens = [(text, at, name) for text in ends for at, name in self.special_in(text)]
        if closing.token >= 0 or "" in closing.texts or tokens:
            free = both(at_most(max_chars), without([*ends, *others, *excludes]))
            if closing.token >= 0 or "" in closing.texts:
                token = () if closing.token < 0 else (closing.token,)
                found.append((self.terminal(free, "free text", path, max_tokens), *token))
            for text, at, name in tokens:
                before, ending = free, None
                if at:  # what stands before the token belongs to the end
                    begin = Literal(text[:at])
                    body = both(at_most(max_chars), without(excludes))
                    before = both(Concat((body, begin)), without([*ends, *others]))
                    ending = Ending(ANY_TEXT, begin, True)
                symbols = (self.terminal(before, "free text", path, max_tokens, ending), self.special_token(name, path))
                found.append((*symbols, *self.constant(text, closing.path, at + len(name))))
        return group(self.model, tuple(dict.fromkeys(found)))

    def literal(self, text: str, path: str) -> int:
        return self.terminal(Literal(text), text, path)

    def terminal(
        self, tree: Node, name: str, path: str, max_tokens: int | None = None, ending: Ending | None = None
    ) -> int:
        """Return the terminal of a regex. `max_tokens`: the tokens that it may take, not counting its `ending`."""
        if max_tokens is None:
            symbol = self.terminals.get(tree)
            if symbol is None:
                symbol = self.terminals[tree] = self.model.terminal(name, tree, self.origin(path))
            return symbol
        symbol = self.model.terminal(name, tree, self.origin(path))
        self.model.attributes[symbol] = RuleAttributes(ending=ending, max_tokens=max_tokens)
        return symbol

    def special_in(self, text: str) -> list[tuple[int, str]]:
        """Return the special tokens whose names stand in a text, from left to right, each with its place."""
        return [] if self.special is None else [(match.start(), match[0]) for match in self.special.finditer(text)]

    def special_token(self, name: str, path: str) -> int:
        symbol = self.tokens.get(name)
        if symbol is None:
            symbol = self.tokens[name] = self.model.special(name, self.origin(path))
        return symbol

    def token(self, given: Any, path: str) -> int:
        """Return the symbol of one token, given as its id or its text."""
        id_ = self.token_id(given, path)
        if isinstance(id_, str):
            return self.special_token(id_, path)
        symbol = self.tokens.get(id_)
        if symbol is None:
            symbol = self.model.token_ids(f"<[{id_}]>", ((id_, id_),), (), False, self.origin(path))
            self.tokens[id_] = symbol
        return symbol

    def token_id(self, given: Any, path: str) -> int | str:
        """Return the id of a token, or the name of a special token."""
        if isinstance(given, str):
            if not text_of(given, path):
                raise error("a token is an id or a text, not an empty one", path)
            return dict(self.names.ids).get(given, given)
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= 0xFFFFFFFF:
            raise error(f"a token is an id or a text, not {shown(given)}", path)
        return given

    def other_tokens(self, format: Format, *names: str, begins: Iterable[tuple[Any, str]] = ()) -> int:
        """Return the symbol of any token but EOS and those that the lists of the format name."""
        excluded = [item for name in names for item in format.items(name, empty=True)]
        found = [self.token_id(given, path) for given, path in [*excluded, *begins]]
        ids = sorted({one for one in found if isinstance(one, int)})
        special = sorted({one for one in found if isinstance(one, str)})
        key = (tuple(ids), tuple(special))
        symbol = self.tokens.get(key)
        if symbol is None:
            ranges = tuple([(one, one) for one in ids])
            origin = self.origin(format.path)
            symbol = self.model.token_ids("any other token", ranges, tuple(special), True, origin, eos=False)
            self.tokens[key] = symbol
        return symbol

    # Schemas and grammars.

    def schema(self, schema: Any, path: str, options: dict[str, Any], excludes: tuple[str, ...] = ()) -> Symbols:
        """Return the symbol of the JSON that a schema allows. `excludes`: what no string may contain."""
        written = self.written(options)
        origin = self.origin(path)
        self.schemas.append((path, schema, written))

        from ..json_schema.grammar import embed

        def make(engine: Engine) -> int:
            try:
                return embed(schema, written, engine, self.limits, excludes)
            except GrammarError as problem:
                raise placed(problem, path) from problem

        return (self.model.made("JSON", make, origin),)

    def arguments(
        self,
        schema: Any,
        path: str,
        options: dict[str, Any],
        style: str,
        excludes: tuple[str, ...],
        closing: Closing,
    ) -> Symbols:
        """Return the symbols of a schema in a style that is not JSON, and of what closes it. `excludes`: what no string
        may contain.

        A schema that allows strings alone is a raw string, and the tag ends at the first end. What that string must not
        end with depends on which end follows.
        """
        from ..arguments.embed import Alone, embed_alone
        from ..json_schema.options import DEFAULT_OPTIONS

        self.schemas.append((path, schema, self.written(options)))
        ways: dict[tuple[str, ...], list[str]] = {}  # ends that may follow a string, by what it must not end with
        for end in first_ends(closing.texts):
            ways.setdefault(unfinished(end, closing.texts), []).append(end)
        try:
            found = embed_alone(
                schema,
                style,
                DEFAULT_OPTIONS._replace(**options),
                self.model,
                self.origin(path),
                Alone(self.excluded, tuple(ways) or ((),)),
                excluded=excludes,
                specials=frozenset(self.names.special),
            )
        except GrammarError as problem:
            raise placed(problem, path) from problem
        except ValueError as problem:
            raise error(str(problem), path.removesuffix("json_schema") + "style") from None
        if isinstance(found, int):
            return (found, *self.close(closing))
        closed = [
            (symbol, *self.close(closing._replace(texts=tuple(ways.get(before, ())))))
            for before, symbol in found.items()
        ]
        return group(self.model, tuple(closed))

    def written(self, options: dict[str, Any]) -> str:
        """Return the text of the options of a schema."""
        if options is self.options and self.own_options is not None:
            return self.own_options
        from ..json_schema.grammar import options_text
        from ..json_schema.options import DEFAULT_OPTIONS, check

        text = options_text(check(DEFAULT_OPTIONS._replace(**options)), {})
        if options is self.options:
            self.own_options = text
        return text

    def grammar_object(self, grammar: Any, path: str) -> Symbols:
        """Return the symbol of a `Grammar` that stands in the place of a format."""
        self.grammars.append((path, grammar))
        symbol = self.model.rule("grammar", self.origin(path))
        self.embedded.given(grammar, f"the grammar at {path}", symbol, self.origin(path), self.limits)
        return (symbol,)

    # The model reports through these.

    def origin(self, path: str) -> Any:
        from ..model.model import Origin

        return Origin(self, path)

    # The symbols of a Lark grammar within have a scope and a node of it in place of a pointer.

    def error(self, message: str, path: Any, hint: str | None = None) -> GrammarError:
        if not isinstance(path, str):
            found: GrammarError = path[0].error(message, path[1], hint)
            return found
        return GrammarError(message, pointer=path, hint=hint)

    def limit_error(self, message: str, path: Any) -> GrammarLimitError:
        if not isinstance(path, str):
            found: GrammarLimitError = path[0].limit_error(message, path[1])
            return found
        return GrammarLimitError(message, pointer=path)

    def regex_error(self, problem: RegexSyntaxError, path: Any) -> GrammarError:
        return self.error(problem.message, path, problem.hint)

    def warning(self, message: str, path: Any) -> GrammarWarning:
        if not isinstance(path, str):
            parsed, at = path[0].place(path[1])
            found: GrammarWarning = parsed.warning(message, at)
            return found
        return GrammarWarning(message, None, None, pointer=path)


def first_ends(ends: Sequence[str]) -> list[str]:
    """Return the ends at which a tag may end: those in which no other one is complete before the last character."""
    found = []
    for end in ends:
        tick()
        if not any([other and other in end[:-1] for other in ends]):
            found.append(end)
    return found


def unfinished(end: str, ends: Iterable[str]) -> tuple[str, ...]:
    """Return what a text before `end`, which is one of `first_ends`, must not end with, because one of `ends` would
    then be complete before `end` is."""
    found: tuple[str, ...] = ()
    for one in ends:
        for at in range(max(1, len(one) - len(end) + 1), len(one)):
            tick()
            if end.startswith(one[at:]) and not one[:at].endswith(found):
                found += (one[:at],)
    return found


def is_unlimited(given: Any) -> bool:
    """Return whether nothing says where the text of a format ends."""
    if not isinstance(given, dict):
        return False
    kind = given.get("type")
    if given.get("max_tokens") is not None or given.get("max_chars") is not None:
        return False
    if kind in ("any_text", "triggered_tags", "dispatch") and not given.get("excludes"):
        return not given.get("stop_after_first") and given.get("loop", True) is True
    if kind in ("any_tokens", "token_triggered_tags", "token_dispatch"):
        return not given.get("exclude_tokens") and not given.get("stop_after_first")
    elements = given.get("elements")
    if kind == "sequence" and isinstance(elements, list) and elements:
        return is_unlimited(elements[-1])
    return kind == "or" and isinstance(elements, list) and any([is_unlimited(each) for each in elements])


def check_triggers(triggers: dict[str, None], branches: list[Branch], path: str) -> None:
    """Raise the error about a trigger that begins no tag."""
    used = {branch.begin[: branch.n_trigger] for branch in branches}
    for index, trigger in enumerate(triggers):
        if trigger not in used:
            raise unused(repr(trigger), pointer(path, index), "'excludes'")


def unused(trigger: str, path: str, excludes: str) -> GrammarError:
    """Return the error about a trigger that begins no tag. `excludes`: where what must not stand is listed."""
    hint = f"remove it; what must not stand is for {excludes}"
    return error(f"no tag begins with the trigger {trigger}", path, hint)
