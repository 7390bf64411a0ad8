"""The symbols of arguments that are written with tags, in the styles of `styles`.

`MemberLoader` makes the symbols of an object whose members are written with tags. It takes the place of a
`SchemaLoader` in `ObjectRules`, which decides which member may come next, and in `ArrayRules`; so all keywords mean the
same as in JSON. It spells the keys, and says what stands around the members and at the end. `Tags` makes the symbols
of their values: raw strings; JSON, by another loader; and, in styles that write arrays and objects with tags, these.

The text of an argument must be read as the value for which the grammar takes it. Where the text alone decides whether
it is a string, a string that would be read as JSON is not written; see `views`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._meter import tick
from ...earley.errors import LimitError
from ..json_schema.array_rules import ArrayRules
from ..json_schema.doubtful import TAGS
from ..json_schema.key_order import in_order as in_document_order
from ..json_schema.load import SchemaLoader, lacking
from ..json_schema.object_rules import ObjectRules
from ..json_schema.shapes import ALL_VALUES, FALSE, Values, is_nothing
from ..json_schema.text_sets import NO_TEXTS, Texts, has_surrogate
from ..loading import in_order
from ..regex.choices import node_of
from ..regex.lower import RECURRING, Lowered, lower
from ..regex.python import parse
from .styles import PLAIN_NAMES, STRUCTURES, read_name, written_name
from .text import may_be_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...earley import Engine
    from ..json_schema.algebra import Algebra
    from ..json_schema.shapes import ArrayShape, ObjectShape
    from .styles import ArgumentStyle
    from .views import View, Views

EPSILON = 1  # `Regexes.EPSILON`
SPACE = Lowered(parse(r"[ \t\n\r]"), recurs=True)
_JSON = {
    "null": Lowered(parse("null"), recurs=True),
    "boolean": Lowered(parse("true|false"), recurs=True),
    "number": Lowered(parse(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"), recurs=True),
    "array": Lowered(parse(r"(?s:\[.*\])"), recurs=True),
    "object": Lowered(parse(r"(?s:\{.*\})"), recurs=True),
}
"""By type, the texts that may be read as JSON of that type: see `may_be_json`."""
_WRAPPED = Lowered(parse(r"(?s:\n.*|.*\n)"), recurs=True)
_NAMES = Texts(trees=(parse(PLAIN_NAMES),))

Piece = str | tuple[Any, ...]
"""A text, which may have special tokens in it, or what stands for a regex node, see `Tags.node`. Nodes themselves get
new numbers when the engine forgets."""
WHITE: Piece = ("space",)


class Tags:
    """Makes the symbols of arguments and their values in one engine.

    views: those of the schema. excluded: what no raw string and no name has in it. specials: names of special tokens;
    where a tag has one in it, there may be the token instead of the text.
    """

    def __init__(
        self,
        engine: Engine,
        algebra: Algebra,
        style: ArgumentStyle,
        views: Views,
        excluded: tuple[str, ...],
        specials: frozenset[str],
    ) -> None:
        self.style = style
        self.views = views
        self.algebra = algebra
        self.specials = in_order([one for one in specials if one])
        self.excluded = excluded
        # What would end a value does not stand in JSON, either: in a string, an escape hides it.
        self.json = SchemaLoader(algebra, engine, None, (*excluded, style.stop))
        self.regexes = engine.regexes
        # Special tokens are declared with the grammar; everything else is made when the parser reaches it.
        for _, special in self.split(style.texts()):
            if special:
                engine.add_special(special)
        options = algebra.options
        self.is_any_order = options.property_order == "any"
        self.most_space = 0 if options.whitespace == "compact" else options.max_whitespace
        self.known: dict[object, Any] = {}  # by what they stand for: symbols, and lists of symbols

    @property
    def engine(self) -> Engine:
        return self.json.engine

    # Texts.

    def symbols(self, *pieces: Piece) -> list[int] | None:
        """Return symbols for pieces one after the other; None if nothing matches them."""
        key = ("symbols", pieces)
        if key not in self.known:
            self.known[key] = self.make_symbols(pieces)
        found: list[int] | None = self.known[key]
        return found

    def make_symbols(self, pieces: Iterable[Piece]) -> list[int] | None:
        regexes = self.regexes
        found: list[int] = []
        nodes: list[int] = []
        name = ""
        for piece, special in [*self.split(pieces), (None, "")]:
            if piece is not None:
                nodes.append(self.node(piece))
                if name != "string":
                    name = "string" if piece[0] == "raw" else name + piece if isinstance(piece, str) else name
                continue
            node = regexes.concat(nodes)
            nodes = []
            if regexes.is_empty(node):
                return None
            if node != EPSILON:
                found.append(self.terminal(node, name or "white space"))
            name = ""
            if special:
                found.append(self.token_or_text(special))
        return found

    def token_or_text(self, name: str) -> int:
        """Return a symbol for a special token, or for text that spells its name."""
        key = ("special", name)
        symbol: int | None = self.known.get(key)
        if symbol is None:
            ways = [self.engine.add_special(name)], self.symbols_of_text(name)
            symbol = self.known[key] = self.engine.add_lazy("(token)", tuple, ways, witness=())
        return symbol

    def symbols_of_text(self, text: str) -> list[int]:
        return [self.terminal(self.regexes.literal(text.encode()), text)]

    def split(self, pieces: Iterable[Piece]) -> list[tuple[Piece | None, str]]:
        """Return each piece without special tokens with an empty text, and None with the name of each special token."""
        found: list[tuple[Piece | None, str]] = []
        for piece in pieces:
            if not isinstance(piece, str):
                found.append((piece, ""))
                continue
            while piece:
                at, name = min(
                    [(piece.find(one), one) for one in self.specials if one in piece],
                    key=lambda one: (one[0], -len(one[1])),
                    default=(len(piece), ""),
                )
                if at:
                    found.append((piece[:at], ""))
                if name:
                    found.append((None, name))
                piece = piece[at + len(name) :]
        return found

    def node(self, piece: Piece) -> int:
        """Return the regex node of a text, of white space, of the raw strings with texts in a set, or of names in a
        set."""
        if isinstance(piece, str):
            return int(self.regexes.literal(piece.encode()))
        kind, *content = piece
        if kind == "space":
            return self.space()
        return self.raw(*content) if kind == "raw" else self.names(*content)

    def space(self) -> int:
        regexes = self.regexes
        some = regexes.repeat(SPACE.into(regexes), 0, self.most_space)
        return int(regexes.union([some, regexes.literal(self.style.between.encode())]))

    def terminal(self, node: int, name: str) -> int:
        """Return a symbol for what a node matches, which may be empty. `name` is for messages."""
        engine = self.engine
        if not self.regexes.is_nullable(node):
            return engine.add_terminal(name, node)
        symbol = engine.add_terminal(name, self.regexes.difference(node, EPSILON))
        return engine.add_lazy(f"({name})", tuple, ([], [symbol]), nullable=True, witness=())

    def raw(self, texts: Texts, others: frozenset[str]) -> int:
        """Return the node of raw strings. others: the types of JSON as which a text would be read instead."""
        regexes = self.regexes
        node = self.plain(texts, others, (self.style.stop, *self.excluded))
        if self.style.is_wrapped:
            line = regexes.literal(b"\n")
            bare = regexes.intersection([node, regexes.complement(_WRAPPED.into(regexes))])
            node = regexes.union([regexes.concat([line, node, line]), bare])
        return int(node)

    def plain(
        self, texts: Texts, others: frozenset[str], absent: tuple[str, ...], unfinished: tuple[str, ...] = ()
    ) -> int:
        """Return the node of the texts themselves. absent: what none of them has in it. unfinished: what none of them
        ends with. others: as for `raw`."""
        regexes = self.regexes
        words = texts.words
        if words is not None:
            kept = [
                word
                for word in words
                if not has_surrogate(word)
                and not may_be_json(word, others)
                and not any([stop in word for stop in absent])
                and not word.endswith(unfinished)
            ]
            node = node_of(in_order([word.encode() for word in kept]), regexes) if kept else regexes.union([])
        else:
            tree = texts.tree()
            known = RECURRING.get(tree)
            node = lower(tree, regexes) if known is None else known.into(regexes)
            node = regexes.intersection([node, *[lacking(stop, regexes) for stop in absent]])
            if unfinished:
                anything = regexes.complement(regexes.union([]))
                ends = regexes.union([regexes.literal(text.encode()) for text in unfinished])
                node = regexes.intersection([node, regexes.complement(regexes.concat([anything, ends]))])
            if others:
                space = regexes.repeat(SPACE.into(regexes), 0)
                read = regexes.union([_JSON[one].into(regexes) for one in sorted(others)])
                node = regexes.intersection([node, regexes.complement(regexes.concat([space, read, space]))])
        return int(node)

    def end(self, name: str | None) -> list[Piece]:
        """Return what ends the value of an argument, and the white space after it; name: None if it is not known."""
        style = self.style
        if name is None and "{}" in style.end:
            before, after = style.end.split("{}")
            return [before, ("names", _NAMES), after, WHITE]
        return [style.end_of(name or ""), WHITE]

    def names(self, texts: Texts) -> int:
        """Return the node of the names in a set, which need no entities."""
        found = [lower(texts.tree(), self.regexes), *[lacking(text, self.regexes) for text in self.excluded]]
        return int(self.regexes.intersection(found))

    # Values.

    def value(self, view: View, term: int, name: str | None) -> int:
        """Return the symbol of the values of a term, with what stands before and after them. name: how the name is
        written with which they end; None if it is not known."""
        name = name if "{}" in self.style.end else ""
        key = ("value", view, term, name)
        symbol: int | None = self.known.get(key)
        if symbol is None:
            symbol = self.known[key] = self.engine.add_lazy("value", Tags.expand, self, view, term, name)
        return symbol

    def expand(self, view: View, term: int, name: str | None) -> list[list[int]]:
        algebra = self.algebra
        try:
            tick()
            values = algebra.written_values(term)
            found: list[list[int]] = []
            allowed = self.views.types(view)
            for before, types in self.style.kinds:
                # Where one kind has all types, those that the reader expects.
                self.add_kind(before, types & allowed if len(types) > 1 else types, view, values, term, name, found)
        except LimitError as error:
            raise algebra.located(error, term) from None
        return found

    def add_kind(
        self,
        before: str,
        types: frozenset[str],
        view: View,
        values: Values,
        term: int,
        name: str | None,
        found: list[list[int]],
    ) -> None:
        """Add the values of some types."""
        is_nested = bool(self.style.item)
        end = self.end(name)
        if "string" in types and values.texts is not NO_TEXTS:
            others = types - {"string"} - (STRUCTURES if is_nested else frozenset())
            symbols = self.symbols(before, ("raw", values.texts, others), *end)
            if symbols is not None:
                found.append(symbols)
        as_json = types - {"string"} - (STRUCTURES if is_nested else frozenset())
        if as_json:
            part = values_of(values, as_json)
            symbol = None
            if not is_nothing(part):
                symbol = self.json.value(algebra_part(self.algebra, term, as_json))
            begin, close = self.symbols(before, WHITE), self.symbols(WHITE, *end)
            if symbol is not None and begin is not None and close is not None:
                found.append([*begin, symbol, *close])
        if not is_nested:
            return
        begin = self.symbols(before, WHITE)
        assert begin is not None
        if "object" in types and values.objects:
            for shape, n_ordered in with_names(self.algebra, self.views, view, ordered(self.algebra, values, term)):
                if "string" in types:
                    shape = shape._replace(least=max(shape.least, 1))  # as the empty text it would be a string
                if shape.most is None or shape.most >= shape.least:
                    found.append([*begin, self.members(view, shape, n_ordered, end, term)])
        if "array" in types:
            for array in values.arrays:
                if "string" in types or "object" in types:
                    array = array._replace(least=max(array.least, 1))
                if array.most is None or array.most >= array.least:
                    found.append([*begin, self.items(view, array, end, term)])

    def members(self, view: View, shape: ObjectShape, n_ordered: int, end: list[Piece] | None, origin: int) -> int:
        """Return the symbol of the members of an object and what ends it; end: None if nothing does, and then there is
        one member at least."""
        n_ordered = 0 if self.is_any_order else n_ordered
        key = ("members", view, shape, n_ordered, None if end is None else tuple(end))
        symbol: int | None = self.known.get(key)
        if symbol is None:
            rules = ObjectRules(MemberLoader(self, view, end), shape, n_ordered, origin)
            symbol = self.known[key] = rules.start()
        return symbol

    def items(self, view: View, shape: ArrayShape, end: list[Piece], origin: int) -> int:
        """Return the symbol of the items of an array and what ends it."""
        key = ("items", view, shape, tuple(end))
        symbol: int | None = self.known.get(key)
        if symbol is None:
            rules = ArrayRules(MemberLoader(self, self.views.item(view), end), shape, origin)
            symbol = self.known[key] = rules.start()
        return symbol


class MemberLoader(SchemaLoader):
    """Makes the symbols of the members of one object, or of the items of one array, in a style with tags."""

    def __init__(self, tags: Tags, view: View, end_: list[Piece] | None) -> None:
        """view: that of the object, or of the items. end_: what ends the object or array; None if nothing does."""
        super().__init__(tags.algebra, tags.engine)
        self.tags = tags
        self.view = view
        self.end_pieces = end_
        self.is_open = end_ is None
        self.names = _NAMES
        # An object with such a key would be read as an array.
        self.not_key = ""
        types = tags.views.types(view)
        if tags.style.item_name and "array" in types and "object" in types and end_ is not None:
            self.not_key = tags.style.item_name
            self.names = _NAMES.difference(Texts(frozenset((self.not_key,))))
        self.unnamed: dict[int, int] = {}  # terms, by the symbols of members without a name
        # The key is one terminal; special tokens stand before it.
        begin = tags.style.begin
        at = max([begin.rindex(special) + len(special) for _, special in tags.split([begin]) if special], default=0)
        self.before_key = tags.symbols(begin[:at]) or []
        self.key_begin = begin[at:]

    def before(self, is_first: bool) -> list[int]:
        if is_first and self.is_open:
            return [*(self.tags.symbols(WHITE) or []), *self.before_key]
        return list(self.before_key)

    def after_key(self) -> list[Piece]:
        style = self.tags.style
        return [style.after_name, WHITE, style.before_value] if style.before_value else [style.after_name]

    def key(self, name: str) -> int | None:
        tags = self.tags
        key = ("key", name)
        if key not in tags.known:
            written = written_name(name, tags.style)
            symbols = None
            if written is not None and not any([text in written for text in tags.excluded]):
                symbols = tags.symbols(self.key_begin, written, *self.after_key())
            tags.known[key] = None if symbols is None else self.one(symbols)
        symbol: int | None = tags.known[key]
        return None if name == self.not_key else symbol

    def one(self, symbols: list[int]) -> int:
        return symbols[0] if len(symbols) == 1 else self.engine.add_lazy("key", tuple, (symbols,), witness=symbols)

    def has_key(self, name: str) -> bool:
        return self.key(name) is not None

    def is_sure(self, term: int) -> bool:
        return False

    def followed_key(self, texts: Texts, follow: Callable[..., int], *arguments: Any) -> int | None:
        regexes = self.regexes
        pieces = [self.key_begin, ("names", texts), *self.after_key()]
        node = regexes.concat([self.tags.node(piece) for piece in pieces])
        if regexes.is_empty(node):
            return None
        symbol: int = self.engine.add_followed("key", node, follow, *arguments, kind=TAGS, untracked=True)
        return symbol

    def read_key(self, text: bytes) -> str:
        rest = text.decode()[len(self.key_begin) :]
        return read_name(rest[: rest.index(self.tags.style.after_name)], self.tags.style)

    def member(self, name: Any, term: int) -> int | None:
        if term == FALSE:
            return None
        tags = self.tags
        if name is not None:
            written = written_name(name, tags.style)
            return None if written is None else tags.value(tags.views.member(self.view, name), term, written)
        symbol = tags.value(tags.views.member(self.view, None), term, None)
        self.unnamed[symbol] = term
        return symbol

    def closed(self, value: int, key: str) -> int:
        tags = self.tags
        return tags.value(tags.views.member(self.view, None), self.unnamed[value], written_name(key, tags.style))

    def value(self, term: int) -> int | None:
        """Return the symbol of an item."""
        if term == FALSE:
            return None
        tags = self.tags
        key = ("item", self.view, term)
        if key not in tags.known:
            begin = tags.symbols(tags.style.item)
            assert begin is not None
            parts = (*begin, tags.value(self.view, term, tags.style.item_name))
            tags.known[key] = self.engine.add_lazy("item", tuple, (parts,), witness=parts)
        symbol: int = tags.known[key]
        return symbol

    def end(self, bracket: str, has_parts: bool) -> list[int]:
        assert self.end_pieces is not None
        return self.tags.symbols(*self.end_pieces) or []

    def members(self, shape: ObjectShape, n_ordered: int, origin: int) -> int:
        """Return a symbol that derives something if there are members of this shape, or no members at all."""
        return self.tags.members(self.view, shape, n_ordered, [self.tags.style.stop], origin)


def ordered(algebra: Algebra, values: Values, term: int) -> list[tuple[ObjectShape, int]]:
    return in_document_order(algebra, values.objects, term)


def with_names(
    algebra: Algebra, views: Views, view: View, shapes: list[tuple[ObjectShape, int]]
) -> list[tuple[ObjectShape, int]]:
    """Make all names of `properties` names of the shapes, since the types of such a member are its own."""
    found = []
    for shape, n_ordered in shapes:
        known = dict(shape.named)
        more = [(name, algebra.sets.objects.value_of(shape, name)) for name in views.names(view) if name not in known]
        found.append((shape._replace(named=(*shape.named, *more)) if more else shape, n_ordered))
    return found


def values_of(values: Values, types: frozenset[str]) -> Values:
    """Return those of some values that have one of the types."""
    return Values(
        values.null and "null" in types,
        values.booleans if "boolean" in types else 0,
        values.numbers if "number" in types else (),
        values.texts if "string" in types else NO_TEXTS,
        values.arrays if "array" in types else (),
        values.objects if "object" in types else (),
    )


def algebra_part(algebra: Algebra, term: int, types: frozenset[str]) -> int:
    """Return the term of those values of a term that have one of the types."""
    return algebra.intersection(term, algebra.meaning(values_of(ALL_VALUES, types)))
