"""Arguments that are written with tags as a part of a grammar: `embed_arguments`."""

from __future__ import annotations

import json
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
    from collections.abc import Iterator

    from ..json.strings import Own
    from ..json_schema.algebra import Algebra
    from ..json_schema.options import Options
    from ..json_schema.shapes import ObjectShape
    from ..model.model import Model
    from .styles import ArgumentStyle


class Alone(NamedTuple):
    """Where a string may stand in the place of the arguments: alone in a tag around it, as it is.

    ends: what ends that tag, and so is never in the string. unfinished: what the string does not end with, because it
    would be an end together with what follows.
    """

    ends: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()


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
    alone: Alone | None = None,
) -> int:
    """Add the arguments that a schema allows, written in a style, to a model. Return their symbol.

    options: those of the schema. `property_order` "any" lets the arguments come in any order. Between tags, and around
    values that are JSON, there may be up to `max_whitespace` characters of white space, or none if `whitespace` is
    "compact"; values that are JSON have white space in them as the options say.
    registry: the documents that references may lead to, as in `Grammar.from_json_schema`.
    excluded: what no string and no name has in it, as they are written; for strings in JSON, between the quotes.
    specials: the names of special tokens. Where a tag of the style has one in it (`ArgumentStyle.texts`), there may be
        the token or text that spells its name.
    alone: if a schema that allows strings and nothing else stands for a raw string, the place of that. None: such a
        schema is refused.
    origin: the place in the source, for the errors of the model's reporter.

    Raises GrammarError, with the JSON pointer of the place, for a schema that cannot be enforced in this style, and
    ValueError for an unknown style.
    """
    row = style_of(style)
    symbol = model.rule(f"{style} arguments", origin)
    try:
        read_schema = read(schema, model.limits)
        own = with_escapes(own_spellings(schema if isinstance(schema, str) else ""), read_schema, row.stop)
        documents = Documents(read_schema, registry=registry, own=own, draft=options.draft_number, limits=model.limits)
        algebra, _ = scanned(documents, options, model.limits)
        arguments = Arguments(algebra, row, style, Views(read_schema), excluded, specials, alone)
        arguments.check(read_schema)
    except GrammarError as error:
        raise together(errors_at(model, symbol, error)) from error
    if arguments.may_be_none:
        model.produce(symbol, ())
    if arguments.may_be_some:
        model.produce(symbol, (model.made(f"{style} arguments", arguments.symbol, origin),))
    return symbol


NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
"""The keywords whose value has a schema for each of some names."""
VALUES = frozenset(("const", "enum", "default", "examples", "example"))
"""The keywords whose value is no schema."""


class Arguments:
    """The arguments that one schema allows, in one style.

    may_be_none, may_be_some: whether there may be no arguments, and any; or whether the string in their place may be
    empty, and not.
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
        self.is_string = False
        self.root = algebra.place(algebra.documents.root)
        self.shapes: list[tuple[ObjectShape, int]] = []
        self.may_be_none = self.may_be_some = False

    def check(self, schema: Any) -> None:
        """Find the shapes of the arguments. Raises GrammarError for what the style cannot say."""
        algebra = self.algebra
        values = algebra.written_values(self.root)
        if self.alone is not None and is_nothing(values_of(values, TYPES - {"string"})) and not is_nothing(values):
            self.check_string()
            return
        if not values.objects:
            raise GrammarError(
                f"in style {self.name}, the schema of the arguments must allow objects",
                pointer="",
                hint='write "type": "object" at the top of the schema',
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

    def check_string(self) -> None:
        """Find out whether a string that stands alone may be empty, and whether it may be something else."""
        regexes = Regexes()
        node = self.string_node(self.tags(Engine(regexes)))
        self.is_string = True
        self.may_be_none = regexes.is_nullable(node)
        self.may_be_some = not regexes.is_empty(regexes.difference(node, EPSILON))
        if not self.may_be_none and not self.may_be_some:
            raise GrammarError(f"no string that satisfies the schema can be written in style {self.name}", pointer="")

    def string_node(self, tags: Tags) -> int:
        """Return the regex node of a string that stands alone."""
        assert self.alone is not None
        texts = self.algebra.written_values(self.root).texts
        absent = (self.style.stop, *self.excluded, *self.alone.ends)
        return tags.plain(texts, frozenset(), absent, self.alone.unfinished)

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
        if self.is_string:
            return engine.add_terminal("string", engine.regexes.difference(self.string_node(tags), EPSILON))
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
