"""A JSON Schema as a grammar: how it is read, pickled and reported on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ...earley.limits import DEFAULT
from ...trie.errors import shortened
from ..errors import IGNORED, Row
from ..json.strings import own_spellings
from ..json.writer import dumps
from ..source import MAX_WARNINGS, GrammarWarning, did_you_mean
from .documents import Documents
from .load import SchemaLoader, load, scanned
from .options import DEFAULT_OPTIONS, Options, check
from .read import Spelled, own_spelling, read
from .wrapped import may_wrap, wrapping

if TYPE_CHECKING:
    from ...earley import Engine
    from ...earley.limits import Limits
    from .algebra import Algebra


class ReadSchema:
    """One schema, its options, and the engine that is made of them."""

    kept = None
    """A schema needs nothing else to be read again."""

    def __init__(
        self,
        schema: Any,
        options: Options,
        documents: Documents,
        limits: Limits,
        given: str | None,
        given_options: str | None = None,
    ) -> None:
        """`given`, `given_options`: the text of the schema, and that of `written_options`, if it was given as one."""
        self.schema = schema
        self.options = options
        self.documents = documents
        self.given = given
        self._text = given
        self.given_options = given_options
        self.engine, self.algebra = load(documents, options, limits)

    def again(self, limits: Limits) -> ReadSchema:
        """Return the same schema with an engine of its own."""
        documents = Documents(
            self.schema,
            remote=dict(self.documents.remote),
            own=self.documents.own,
            draft=self.options.draft_number,
            limits=limits,
        )
        return ReadSchema(self.schema, self.options, documents, limits, self.given, self.given_options)

    def text(self) -> str:
        """Return the JSON text of the schema: the text that was given, if the schema was given as one."""
        if self._text is None:
            self._text = written(self.schema)
        return self._text

    def written_options(self) -> str:
        """Return the options that differ from the default ones, and the documents that references have led to, as JSON
        text."""
        if self.given_options is not None:
            return self.given_options  # numbers that were read are spelled as they were, and may be written differently
        return options_text(self.options, self.documents.remote)

    def report(self) -> tuple[Row, ...]:
        from .report import report

        return report(self.algebra)

    def warnings(self) -> tuple[GrammarWarning, ...]:
        """Return a warning about each keyword that has no effect, although its author may expect one."""
        found = [warning_of(row) for row in self.report() if row.status == IGNORED]
        more = len(found) - MAX_WARNINGS
        if more > 0:
            found[MAX_WARNINGS:] = [found[MAX_WARNINGS]._replace(message=f"and {more} more warnings")]
        return tuple(found)


def read_schema(
    given: Any, options: Options, registry: Any = None, limits: Limits = DEFAULT, given_options: str | None = None
) -> ReadSchema:
    """Read a schema. Without `given_options`, it comes from the caller, who may take for it what only holds it."""
    options = check(options)
    schema = read(given, limits)
    text = bytes(given).decode("utf-8") if isinstance(given, (bytes, bytearray)) else given
    text = text if isinstance(text, str) else None
    if given_options is None and options.strict and type(schema) is dict and may_wrap(schema):
        error = wrapping(schema)
        if error is not None:
            raise error
    own = own_spellings(text or "")
    documents = Documents(schema, registry=registry, own=own, draft=options.draft_number, limits=limits)
    return ReadSchema(schema, options, documents, limits, text, given_options)


def warning_of(row: Row) -> GrammarWarning:
    """Return the warning about a keyword that is ignored."""
    message = f"`{row.keyword}` has no effect: {row.why}"
    return GrammarWarning(shortened(message), None, None, pointer=row.pointer)


BASE = Options(spellings="all")
"""The options that a text of options leaves out. They are the defaults of version 0.1, so that its pickles are read as
they were meant."""

BLOCK_OPTIONS = "x-earleymask"
"""The keyword of the schema in a `%json` block whose value has options."""


def options_text(options: Options, remote: dict[str, Any]) -> str:
    found: dict[str, Any] = {name: value for name, value in options._asdict().items() if value != getattr(BASE, name)}
    if remote:
        found["registry"] = remote
    return written(found) if found else ""


def block_options(schema: Any) -> tuple[Any, str]:
    """Return the schema of a `%json` block without its options, and these as text. Raises TypeError or ValueError that
    names a wrong option."""
    given: Any = {}
    if isinstance(schema, dict) and BLOCK_OPTIONS in schema:
        schema = dict(schema)
        given = schema.pop(BLOCK_OPTIONS)
    if not isinstance(given, dict):
        raise TypeError(f"`{BLOCK_OPTIONS}` must be an object of options of Grammar.from_json_schema")
    for name in given:
        if name not in Options._fields:
            meant = did_you_mean(name, Options._fields)
            if name == "registry":
                meant = "give the schema by name, `@name`, as a grammar that has it"
            raise ValueError(f"`{BLOCK_OPTIONS}`: there is no option `{name}`{f'; {meant}' if meant else ''}")
    return schema, options_text(check(DEFAULT_OPTIONS._replace(**given)), {})


def reread(given: Any, options: str, limits: Limits) -> ReadSchema:
    """Return the schema that was pickled as its text and its `written_options`, or stands in a Lark grammar."""
    return read_schema(given, *read_options(options), limits, options)


_FOLLOWING: WeakSet[Engine] = WeakSet()
"""Engines of grammars with a schema whose items are read (`followed_items`)."""
_REPEATING: WeakSet[Engine] = WeakSet()
"""Engines of grammars with a schema in which some items may have to be equal."""
_TAGGED: WeakSet[Engine] = WeakSet()
"""Engines of grammars with a schema whose objects are written with tags (`arguments`)."""


def embed(schema: Any, written_options: str, engine: Engine, limits: Limits, excluded: tuple[str, ...] = ()) -> int:
    """Return the symbol for the documents of a schema, in the engine of another grammar.

    excluded: what no string and no key of the documents has in it, as they are spelled, between its quotes."""
    options, registry = read_options(written_options)
    own = own_spellings(schema if isinstance(schema, str) else "")
    documents = Documents(read(schema, limits), registry=registry, own=own, draft=options.draft_number, limits=limits)
    algebra, _ = scanned(documents, options, limits)
    join(algebra, engine)
    return SchemaLoader(algebra, engine, None, excluded).start(algebra.place(documents.root))


def join(algebra: Algebra, engine: Engine, has_tags: bool = False) -> None:
    """Let an algebra describe the doubtful tokens of all schemas in an engine."""
    # More tokens are doubtful then: right for other schemas, too.
    algebra.has_unique_items = algebra.limits_keys = algebra.items_run_out = True
    algebra.lists_names = False
    if algebra.follows_items:
        _FOLLOWING.add(engine)
    if algebra.repeats_items:
        _REPEATING.add(engine)
    if has_tags:
        _TAGGED.add(engine)
    algebra.follows_items = engine in _FOLLOWING
    algebra.repeats_items = engine in _REPEATING
    algebra.has_tags = engine in _TAGGED


def read_options(options: str) -> tuple[Options, Any]:
    """Read what `written_options` wrote: the options and the documents that references lead to."""
    given = json.loads(options, parse_float=Spelled) if options else {}
    registry = given.pop("registry", None)
    separators = given.pop("separators", None)
    return BASE._replace(**given, separators=None if separators is None else tuple(separators)), registry


def written(value: Any) -> str:
    """Return the JSON text of a value. Decimals are numbers with all their digits, spelled as they were.

    Annotations may hold values that JSON does not have, and integers that Python does not read; null replaces them.
    """
    return dumps(value, lambda number: str(own_spelling(number)))
