"""Turn what callers give for a grammar and a vocabulary into a `Grammar` and a `Vocabulary`.

`Constraint`, `Matcher` and the logits processor take the same things: these functions are the only place that knows
them. Anything else is refused here, where the error can say what to do; in a lower layer it would be a missing
attribute.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, get_origin

from .earley._matcher import set_readers
from .grammar import Grammar, GrammarError
from .trie import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import UnionType

    import lark

    GrammarLike: TypeAlias = (
        Grammar | str | Mapping[str, Any] | re.Pattern[str] | type[Any] | UnionType | Callable[..., Any] | lark.Lark
    )
    """What can stand for a grammar. Other types that pydantic knows, such as `Literal["a"]`, are taken as well, but
    type checkers have no name for them; `Grammar.from_type` takes them."""


TAG = "structural_tag"
"""The `type` of a structural tag."""


def as_grammar(given: object, vocabulary: object = None) -> Grammar:
    """Return the grammar that a caller means.

    It is a `Grammar` itself; a grammar text (see `of_text`); a `lark.Lark`; a JSON Schema or a structural tag as a
    dict; a compiled regular expression; or a type, a model or a function, as `Grammar.from_type` takes them.
    `vocabulary`: the one whose special tokens the constants of a structural tag may contain.
    """
    if isinstance(given, Grammar):
        return given
    if isinstance(given, str):
        return of_text(given, vocabulary)
    if _is_tag(given):
        return Grammar.from_structural_tag(given, vocabulary if isinstance(vocabulary, Vocabulary) else None)
    if isinstance(given, Mapping):
        return Grammar.from_json_schema(given)
    if is_type(given):
        return Grammar.from_type(given)
    if isinstance(given, re.Pattern):
        return Grammar.from_regex(given)
    if _is_lark(given):
        return Grammar.from_lark(given)
    raise TypeError(
        "grammar must be a Grammar, the text of a grammar, a JSON Schema or a structural tag as a dict, a type, a "
        f"compiled regular expression or a lark.Lark, not {type(given).__name__}{_hint(given)}"
    )


def as_grammars(given: object, vocabulary: object = None) -> tuple[Grammar, ...]:
    """Return the grammars of a list, a tuple or an iterator; or the one that a caller means, as `as_grammar` does."""
    if (
        isinstance(given, (Sequence, Iterator))
        and not isinstance(given, (str, bytes, bytearray))
        and not is_type(given)
    ):
        return tuple([as_grammar(each, vocabulary) for each in given])
    return (as_grammar(given, vocabulary),)


def as_grammars_or_none(given: object, vocabulary: object = None) -> tuple[Grammar | None, ...]:
    """Return the grammars as `as_grammars` does; in a list or a tuple, None stands for a prompt without one."""
    if isinstance(given, (list, tuple)):
        return tuple([None if each is None else as_grammar(each, vocabulary) for each in given])
    return as_grammars(given, vocabulary)


def of_text(text: str, vocabulary: object = None) -> Grammar:
    """Return the grammar of a text: Lark's syntax, GBNF, a JSON Schema, or a structural tag.

    No text is two of these. A JSON Schema begins with a brace, as no grammar in Lark's syntax does, and a structural
    tag is no schema, because it has a type that JSON does not have. A text is GBNF if it is not in Lark's syntax and
    has lines that begin with `name ::=`.
    """
    if text.lstrip()[:1] == "{":
        if f'"{TAG}"' in text and _is_tag(_value(text)):
            return Grammar.from_structural_tag(text, vocabulary if isinstance(vocabulary, Vocabulary) else None)
        return Grammar.from_json_schema(text)
    try:
        return Grammar.from_lark(text)
    except GrammarError:
        from .grammar.other_syntax import is_gbnf

        if not is_gbnf(text):
            raise
    return Grammar.from_gbnf(text)


def is_type(value: object) -> bool:
    """Return whether a value is a class, another form of type such as `list[int]` or `Literal["a"]`, a function, or an
    instance of a pydantic model, a dataclass or a `TypeAdapter`."""
    return (
        isinstance(value, (type, FunctionType, MethodType))
        or get_origin(value) is not None
        or hasattr(value, "__supertype__")  # of `NewType`
        or hasattr(type(value), "model_json_schema")
        or hasattr(type(value), "__dataclass_fields__")
        or (type(value).__module__.startswith("pydantic.") and hasattr(value, "json_schema"))
    )


def _is_tag(given: object) -> bool:
    """Return whether a value is a structural tag: a dict, or a pydantic model such as XGrammar's."""
    if isinstance(given, Mapping):
        return given.get("type") == TAG
    return hasattr(given, "model_dump") and not isinstance(given, type) and getattr(given, "type", None) == TAG


def _value(text: str) -> object:
    """Return the value of a JSON text; None if it is none."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _hint(given: object) -> str:
    """Return what to do with a value that is no grammar, for the message."""
    if isinstance(given, (bytes, bytearray)):
        return "; decode the text first"
    if hasattr(given, "__fspath__"):
        return "; give the text, path.read_text(), or use Grammar.from_lark_file"
    if isinstance(given, (list, tuple, set, frozenset)):
        return "; Grammar.from_choices makes one of a list of strings"
    if isinstance(given, bool):
        return "; Grammar.from_json_schema takes True and False"
    return ""


def _is_lark(value: object) -> TypeGuard[lark.Lark]:
    """Tell whether a value is a `lark.Lark`. No caller can have one before lark is imported."""
    package = sys.modules.get("lark")
    return package is not None and isinstance(value, package.Lark)


def as_vocabulary(vocabulary: object) -> Vocabulary:
    """Return the object itself if it is a `Vocabulary`."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    raise TypeError(
        f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}; make one with "
        "Vocabulary.from_transformers(tokenizer) or another of its from_... methods"
    )


set_readers(as_grammar, as_vocabulary)
