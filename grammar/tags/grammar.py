"""A structural tag as a grammar: how it is read, pickled and reported on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..arguments.styles import STYLES
from ..errors import IGNORED, Row
from ..json_schema.grammar import reread, warning_of, written
from ..json_schema.options import DEFAULT_OPTIONS, Options, check
from ..lark.modules import Kept
from ..source import MAX_WARNINGS, GrammarWarning, did_you_mean
from .load import Names, TagLoader
from .spec import SCHEMAS, dicts_within, read, texts_within, top

if TYPE_CHECKING:
    from ...earley.limits import Limits
    from ...trie import Vocabulary
    from ..lark.embedded import Embedded

GRAMMAR = "earleymask"
"""The type of a format that stands for a `Grammar`, in the text that a grammar keeps; its value is a number."""


class ReadTags:
    """One structural tag, and the engine that is made of it."""

    def __init__(self, value: Any, names: Names, options: dict[str, Any], limits: Limits, given: str | None) -> None:
        """`options`: those of schemas. `given`: the text of the tag, if it was given as one."""
        self.value = value
        self.names = names
        self.options = options
        self.given = given
        self._text = given
        loader = TagLoader(names, options, limits)
        self.engine = loader.load(*top(value))
        self.schemas = loader.schemas
        self.grammars = loader.grammars
        self._warnings = tuple(loader.model.warnings)
        self._kept = None if loader.grammars else Kept()

    @property
    def kept(self) -> Kept | None:
        """The grammars that stand in the tag, by their numbers in its text."""
        if self._kept is None:
            found = grammars_within(self.value)
            self._kept = Kept(grammars=tuple([(str(index), grammar) for index, grammar in enumerate(found)]))
        return self._kept if self._kept.grammars else None

    def again(self, limits: Limits) -> ReadTags:
        """Return the same tag with an engine of its own."""
        return ReadTags(self.value, self.names, self.options, limits, self.given)

    def text(self) -> str:
        """Return the JSON text of the tag."""
        if self._text is None:
            numbers = iter(range(len(self.kept.grammars) if self.kept is not None else 0))
            self._text = written(replaced(self.value, lambda _: {"type": GRAMMAR, "grammar": next(numbers)}))
        return self._text

    def written_options(self) -> str:
        """Return what the names mean, and the options of schemas, as JSON text; nothing if there are none."""
        found: dict[str, Any] = {}
        if self.names.special:
            found["special"] = self.names.special
        if self.names.ids:
            found["ids"] = self.names.ids
        if self.options:
            found["schemas"] = self.options
        return json.dumps(found, sort_keys=True) if found else ""

    def report(self) -> tuple[Row, ...]:
        found: list[Row] = []
        limits = self.engine.limits
        for path, schema, options in self.schemas:
            rows = reread(schema, options, limits).report()
            found += [row._replace(pointer=path + row.pointer) for row in rows]
        for path, grammar in self.grammars:
            place = f"the grammar at {path}"
            found += [row._replace(source=f"{place}, {row.source}" if row.source else place) for row in grammar.report]
        return tuple(found)

    def warnings(self) -> tuple[GrammarWarning, ...]:
        ignored = [
            warning_of(row)._replace(source=row.source or None) for row in self.report() if row.status == IGNORED
        ]
        found = [*self._warnings, *ignored]
        more = len(found) - MAX_WARNINGS
        if more > 0:
            found[MAX_WARNINGS:] = [found[MAX_WARNINGS]._replace(message=f"and {more} more warnings")]
        return tuple(found)


def read_tags(given: Any, vocabulary: Vocabulary | None, options: dict[str, Any], limits: Limits) -> ReadTags:
    """Read a structural tag as the caller gives it."""
    from ...trie import Vocabulary

    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}")
    value = read(given, limits)
    if isinstance(given, (bytes, bytearray)):
        given = bytes(given).decode()
    names = Names() if vocabulary is None else names_in(value, vocabulary)
    return ReadTags(value, names, options, limits, given if isinstance(given, str) else None)


def schema_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of schemas that the caller gives, checked. Raises TypeError or ValueError that names a wrong
    one."""
    for name in given:
        if name not in Options._fields:
            hint = did_you_mean(name, Options._fields)
            if name == "registry":
                hint = "put Grammar.from_json_schema(schema, registry=...) in the place of the schema's format"
            raise TypeError(f"a structural tag takes no option {name!r}{f'; {hint}' if hint else ''}")
    check(DEFAULT_OPTIONS._replace(**given))
    return dict(given)


def read_again(text: str, options: str, kept: Kept | None, limits: Limits) -> ReadTags:
    """Read what `ReadTags.text` and `written_options` wrote."""
    grammars: list[Any] = [] if kept is None else [grammar for _, grammar in kept.grammars]
    value = read(text, limits)
    if grammars:
        value = replaced(value, lambda given: grammars[given["grammar"]])
    found = json.loads(options) if options else {}
    names = Names(
        tuple(found.get("special", ())),
        tuple([(text, id_) for text, id_ in found.get("ids", ())]),
    )
    schema_options = found.get("schemas", {})
    if schema_options.get("separators") is not None:
        schema_options["separators"] = tuple(schema_options["separators"])
    return ReadTags(value, names, schema_options, limits, None if grammars else text)


def names_in(value: Any, vocabulary: Vocabulary) -> Names:
    """Return what the vocabulary says about the names of tokens in a structural tag."""
    texts = "\0".join([*texts_within(value), *[text for style in styles(value) for text in STYLES[style].texts()]])
    special = tuple(sorted([name for name in vocabulary.special_tokens if name and name in texts]))
    wanted = {
        text.encode(errors="replace"): text for text in token_texts(value) if text not in vocabulary.special_tokens
    }
    ids: dict[str, int] = {}
    if wanted:
        for id_ in range(vocabulary.size):
            text = wanted.get(vocabulary.trie.token_bytes(id_)) if id_ < vocabulary.trie.n_tokens else None
            if text is not None:
                ids.setdefault(text, id_)
    return Names(special, tuple(sorted(ids.items())))


def embed_tags(tags: Any, embedded: Embedded, limits: Limits) -> int:
    """Return the symbol of a structural tag that has been read, within another grammar."""
    return TagLoader(tags.names, tags.options, limits, embedded).start(*top(tags.value))


def styles(value: Any) -> set[str]:
    """Return the styles of arguments in a structural tag."""
    found = {
        "qwen_xml" if each.get("type") == "qwen_xml_parameter" else each.get("style") for each in dicts_within(value)
    }
    return {style for style in found if isinstance(style, str)} & STYLES.keys()


def token_texts(value: Any) -> Iterator[str]:
    """Return the texts by which formats give tokens."""
    for each in dicts_within(value):
        given: list[Any] = [each.get("token")]
        for name in ("exclude_tokens", "trigger_tokens"):
            given += each[name] if isinstance(each.get(name), list) else []
        rules = each.get("rules") if each.get("type") == "token_dispatch" else None
        if isinstance(rules, list):
            given += [rule[0] for rule in rules if isinstance(rule, list) and rule]
        yield from [one for one in given if isinstance(one, str)]


def grammars_within(value: Any) -> list[Any]:
    """Return the grammars in a structural tag, in the order of its text."""
    found: list[Any] = []

    def note(grammar: Any) -> Any:
        found.append(grammar)
        return grammar

    replaced(value, note)
    return found


def replaced(value: Any, instead: Any) -> Any:
    """Return a copy of a structural tag with `instead(grammar)` in the place of each grammar, or of what stands for
    one. Schemas are shared."""
    if isinstance(value, dict):
        if value.get("type") == GRAMMAR:
            return instead(value)
        return {name: each if name in SCHEMAS else replaced(each, instead) for name, each in value.items()}
    if isinstance(value, list):
        return [replaced(each, instead) for each in value]
    return instead(value) if hasattr(value, "fingerprint") else value
