"""Arguments that are written with tags as a part of a grammar: `embed_arguments`, and `embed_alone` within tags."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from ...earley._engine import Engine
from ...earley._meter import tick
from ...earley._regex import Regexes
from ..errors import GrammarError, together
from ..json.strings import own_spellings
from ..json_schema.documents import Documents
from ..json_schema.doubtful import doubtful_nodes
from ..json_schema.grammar import join
from ..json_schema.load import scanned
from ..json_schema.read import read
from ..json_schema.shapes import FALSE, is_nothing
from ..model.compile import errors_at
from .styles import TYPES, written_name
from .tags import EPSILON, Tags, ordered, values_of, with_names
from .text import style_of
from .views import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..json.strings import Own
    from ..json_schema.algebra import Algebra
    from ..json_schema.options import Options
    from ..json_schema.shapes import ObjectShape
    from ..model.model import Model
    from .styles import ArgumentStyle


class Alone(NamedTuple):
    """Where a string may stand in the place of the arguments: alone in a tag around it, as it is.

    ends: what ends that tag, and so is never in the string. unfinished: for each way on, what the string does not end
    with before it, because it would be an end together with what follows.
    """

    ends: tuple[str, ...] = ()
    unfinished: tuple[tuple[str, ...], ...] = ((),)


def embed_arguments(
    schema: Any,
    style: str,
    options: Options,
    model: Model,
    origin: Any,
    *,
    registry: Any = None,
    excluded: tuple[str, ...] = (),
    specials: frozenset[str] = frozenset(),
) -> int:
    """Add the arguments that a schema allows, written in a style, to a model. Return their symbol.

    options: those of the schema. `property_order` "any" lets the arguments come in any order. Between tags, and around
    values that are JSON, there may be up to `max_whitespace` characters of white space, or none if `whitespace` is
    "compact"; values that are JSON have white space in them as the options say.
    registry: the documents that references may lead to, as in `Grammar.from_json_schema`.
    excluded: what no string and no name has in it, as they are written; for strings in JSON, between the quotes.
    specials: the names of special tokens. Where a tag of the style has one in it (`ArgumentStyle.texts`), there may be
        the token or text that spells its name.
    origin: the place in the source, for the errors of the model's reporter.

    Raises GrammarError, with the JSON pointer of the place, for a schema that cannot be enforced in this style, and
    ValueError for an unknown style.
    """
    arguments = checked(schema, style, options, model, origin, registry, excluded, specials, None)
    return added(model, style, origin, arguments.may_be_none, arguments.may_be_some, arguments.symbol)


def embed_alone(
    schema: Any,
    style: str,
    options: Options,
    model: Model,
    origin: Any,
    alone: Alone,
    *,
    excluded: tuple[str, ...] = (),
    specials: frozenset[str] = frozenset(),
) -> int | dict[tuple[str, ...], int]:
    """Add what a schema allows alone in a tag, written in a style, to a model. Return the symbol of the arguments.

    If the schema allows strings and nothing else, it stands for a raw string: return the symbols of the string, by what
    it does not end with, in the order of `alone.unfinished`. Those for which no string is left are not there.

    The other parameters and the errors are those of `embed_arguments`.
    """
    arguments = checked(schema, style, options, model, origin, None, excluded, specials, alone)
    if not arguments.strings:
        return added(model, style, origin, arguments.may_be_none, arguments.may_be_some, arguments.symbol)
    return {
        unfinished: added(model, style, origin, *may_be, partial(arguments.string, unfinished))
        for unfinished, may_be in arguments.strings.items()
    }


def checked(
    schema: Any,
    style: str,
    options: Options,
    model: Model,
    origin: Any,
    registry: Any,
    excluded: tuple[str, ...],
    specials: frozenset[str],
    alone: Alone | None,
) -> Arguments:
    """Read a schema, and find out whether and how it can be written. Raises what `embed_arguments` raises."""
    row = style_of(style)
    try:
        read_schema = read(schema, model.limits)
        own = with_escapes(own_spellings(schema if isinstance(schema, str) else ""), read_schema, row.stop)
        documents = Documents(read_schema, registry=registry, own=own, draft=options.draft_number, limits=model.limits)
        algebra, _ = scanned(documents, options, model.limits)
        arguments = Arguments(algebra, row, style, Views(read_schema), excluded, specials, alone)
        arguments.check(read_schema)
    except GrammarError as error:
        raise together(errors_at(model, model.rule(f"{style} arguments", origin), error)) from error
    return arguments


def added(
    model: Model, style: str, origin: Any, may_be_none: bool, may_be_some: bool, make: Callable[[Engine], int]
) -> int:
    """Add a symbol to a model: nothing, if it may be that, or what `make` adds to an engine."""
    symbol = model.rule(f"{style} arguments", origin)
    if may_be_none:
        model.produce(symbol, ())
    if may_be_some:
        model.produce(symbol, (model.made(f"{style} arguments", make, origin),))
    return symbol


NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
"""The keywords whose value has a schema for each of some names."""
VALUES = frozenset(("const", "enum", "default", "examples", "example"))
"""The keywords whose value is no schema."""


class Arguments:
    """The arguments that one schema allows, in one style.

    may_be_none, may_be_some: whether there may be no arguments, and any.
    strings: if a string stands in their place, whether it may be empty, and not, by what it does not end with.
    """

    def __init__(
        self,
        algebra: Algebra,
        style: ArgumentStyle,
        name: str,
        views: Views,
        excluded: tuple[str, ...],
        specials: frozenset[str],
        alone: Alone | None,
    ) -> None:
        self.algebra = algebra
        self.style = style
        self.name = name
        self.views = views
        self.excluded = excluded
        self.specials = specials
        self.alone = alone
        self.strings: dict[tuple[str, ...], tuple[bool, bool]] = {}
        self.root = algebra.place(algebra.documents.root)
        self.shapes: list[tuple[ObjectShape, int]] = []
        self.may_be_none = self.may_be_some = False

    def check(self, schema: Any) -> None:
        """Find the shapes of the arguments. Raises GrammarError for what the style cannot say."""
        algebra = self.algebra
        values = algebra.written_values(self.root)
        nothing = is_nothing(values)
        if self.alone is not None and is_nothing(values_of(values, TYPES - {"string"})) and not nothing:
            self.check_string(self.alone)
            return
        if not values.objects:
            what, types = "objects", '"type": "object"'
            if self.alone is not None:
                what, types = "objects, or strings and nothing else", '"type": "object" or "type": "string"'
            raise GrammarError(
                f"in style {self.name}, the schema of the arguments must allow {what}",
                pointer="",
                hint="no value satisfies it" if nothing else f"write {types} at the top of the schema",
            )
        if self.style.item:
            self.check_inside(schema)
        view = self.views.root
        self.shapes = with_names(algebra, self.views, view, ordered(algebra, values, self.root))
        for shape, _ in self.shapes:
            for name, value in shape.named:
                if value != FALSE:
                    self.check_name(name, f"/properties/{escaped(name)}")
        self.may_be_none = any([allows_nothing(shape) for shape, _ in self.shapes])
        engine = Engine(Regexes())
        self.may_be_some = engine.is_productive(self.members(self.tags(engine)))
        if not self.may_be_none and not self.may_be_some:
            raise GrammarError(f"no arguments that satisfy the schema can be written in style {self.name}", pointer="")

    def check_string(self, alone: Alone) -> None:
        """Find out whether a string that stands alone may be empty, and whether it may be something else."""
        regexes = Regexes()
        tags = self.tags(Engine(regexes))
        for unfinished in alone.unfinished:
            node = self.string_node(tags, alone.ends, unfinished)
            may_be_some = not regexes.is_empty(regexes.difference(node, EPSILON))
            if may_be_some or regexes.is_nullable(node):
                self.strings[unfinished] = regexes.is_nullable(node), may_be_some
        if not self.strings:
            ends = " nor an end of the tag around it" if alone.ends else ""
            raise GrammarError(
                f"no string that satisfies the schema can be written in style {self.name}",
                pointer="",
                hint=f"what is written has {'neither' if ends else 'no'} {self.style.stop!r}{ends} in it",
            )

    def string_node(self, tags: Tags, ends: tuple[str, ...], unfinished: tuple[str, ...]) -> int:
        """Return the regex node of a string that stands alone."""
        texts = self.algebra.written_values(self.root).texts
        return tags.plain(texts, frozenset(), (self.style.stop, *self.excluded, *ends), unfinished)

    def string(self, unfinished: tuple[str, ...], engine: Engine) -> int:
        """Add a string that stands alone, and is not empty, to an engine, and return its symbol."""
        assert self.alone is not None
        join(self.algebra, engine, has_tags=True)
        node = self.string_node(self.tags(engine), self.alone.ends, unfinished)
        return engine.add_terminal("string", engine.regexes.difference(node, EPSILON))

    def check_name(self, name: str, pointer: str) -> None:
        if written_name(name, self.style) is None:
            raise GrammarError(f"the name {name!r} cannot be written in style {self.name}", pointer=pointer)

    def check_inside(self, schema: Any) -> None:
        """Raise GrammarError for what cannot be said or enforced where arrays and objects are written with tags."""
        for place, pointer in places(schema):
            if place.get("uniqueItems") is True:
                raise GrammarError(
                    f"`uniqueItems` cannot be enforced in style {self.name}, which writes arrays with tags",
                    pointer=f"{pointer}/uniqueItems",
                    hint='leave it out, or use "style": "json"',
                )
            named = place.get("properties")
            for name in named if isinstance(named, dict) else ():
                self.check_name(name, f"{pointer}/properties/{escaped(name)}")

    def tags(self, engine: Engine) -> Tags:
        return Tags(engine, self.algebra, self.style, self.views, self.excluded, self.specials)

    def members(self, tags: Tags) -> int:
        """Return the symbol of the arguments, which are not none."""
        found = []
        for shape, n_ordered in self.shapes:
            shape = shape._replace(least=max(shape.least, 1))
            if shape.most is None or shape.most >= shape.least:
                found.append([tags.members(self.views.root, shape, n_ordered, None, self.root)])
        return tags.engine.add_lazy("arguments", tuple, found)

    def symbol(self, engine: Engine) -> int:
        """Add the arguments, which are not none, to an engine, and return their symbol."""
        join(self.algebra, engine, has_tags=True)
        tags = self.tags(engine)
        members = self.members(tags)
        engine.set_doubtful(tags.json.doubtful, doubtful_nodes)
        self.algebra.engines.append(ref(engine))
        return members


def allows_nothing(shape: ObjectShape) -> bool:
    """Whether an object without members has the shape."""
    return not (shape.required or shape.exists or shape.least) and all(
        [any([allows_nothing(one) for one in clause]) for clause in shape.clauses]
    )


def with_escapes(own: Own, schema: Any, stop: str) -> Own:
    """Add spellings of the strings of a schema that have `stop` in them: in JSON, an escape hides it."""
    found = dict(own)
    stack = [schema]
    while stack:
        value = stack.pop()
        tick()
        if isinstance(value, str) and stop in value:
            spelled = json.dumps(value, ensure_ascii=False)[1:-1].replace("<", "\\u003c")
            found[value] = tuple(sorted({*found.get(value, ()), spelled}))
        elif isinstance(value, dict):
            stack += [*value, *value.values()]
        elif isinstance(value, list):
            stack += value
    return found


def places(schema: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each schema in a schema that is an object, with its JSON pointer."""
    stack: list[tuple[Any, str]] = [(schema, "")]
    while stack:
        value, pointer = stack.pop()
        tick()
        if isinstance(value, list):
            stack += [(one, f"{pointer}/{index}") for index, one in reversed([*enumerate(value)])]
            continue
        if not isinstance(value, dict):
            continue
        yield value, pointer
        for keyword, inside in reversed(value.items()):
            place = f"{pointer}/{escaped(keyword)}"
            if keyword in NAMED and isinstance(inside, dict):
                stack += [(one, f"{place}/{escaped(name)}") for name, one in reversed(inside.items())]
            elif keyword not in VALUES:
                stack.append((inside, place))


def escaped(key: str) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1")
