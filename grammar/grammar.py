"""`Grammar`: a front end makes one, and matchers share it.

The first grammar that needs a front end imports it: importing all of them would take longer than everything else that
`import earleymask` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, cast

from ..earley.limits import DEFAULT, Limits
from .errors import GrammarError, GrammarLimitError, too_long
from .loading import loading

if TYPE_CHECKING:
    import lark
    from typing_extensions import Unpack

    from ..earley import Engine
    from ..earley.warming import Warming
    from ..trie import Vocabulary
    from .errors import Row
    from .json_schema.grammar import ReadSchema
    from .json_schema.options import (
        Draft,
        PropertyOrder,
        SchemaOptions,
        Spellings,
        StringEscapes,
        ToolOptions,
        Whitespace,
    )
    from .lark.embedded import Embedded
    from .lark.modules import Imported, Kept, Loader
    from .regex import Dialect
    from .source import GrammarWarning
    from .tags.grammar import ReadTags
    from .tools.definitions import Strict
    from .tools.style import Style
    from .tools.tag import Reasoning

_FORMAT = b"earleymask grammar 1\0"
"""Hashed first, so that a fingerprint changes when a later version reads the same text in another way."""

MAX_ADDED = 20_000
"""The most symbols that matching adds to an engine, for keys and for rules with values, before the next matcher makes a
new engine."""

MOST_LIKELY_BYTES = 4096
"""Bytes of a text whose masks `warm` makes."""


class Grammar:
    """A context-free grammar over bytes, ready for matchers. Make one with a class method such as `from_lark`.

    Immutable and safe to share between threads. Two grammars are equal if they were made from the same source in the
    same way; pickling keeps the source and reads it again.

    Attributes:
        kind: what it was made from: "lark", "json_schema", "gbnf", "regex", "choices" or "structural_tag".
        source: the text it was made from. For choices it is a JSON array; for a schema or a structural tag that was
            not given as text, it is its JSON text.
        start: the name of its start rule, if the source names rules.
        options: how the source is to be read, such as the dialect and the flags of a regular expression; for a JSON
            Schema it is a JSON object.
        imports: the texts that it imported, including those that come with Lark.
        fingerprint: hex SHA-256 over the kind of source, the source, the start rule, the options, and what was imported
            or declared.
        warnings: what is legal but probably not meant, such as a rule that nothing uses or a misspelled keyword of a
            schema; each has `message`, and `line` and `column` or `pointer`.
        engine: the compiled form, for matchers.
    """

    __slots__ = ("_engine", "_fingerprint", "_kept", "_options", "_schema", "_warnings", "kind", "start")
    _engine: Engine
    kind: str
    start: str
    _kept: Kept | None
    _options: str
    _schema: ReadSchema | ReadTags | str
    _fingerprint: str | None
    _warnings: tuple[GrammarWarning, ...] | None

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError("make a grammar with Grammar.from_lark, Grammar.from_json_schema or another from_... method")

    @classmethod
    def from_lark(
        cls,
        text: str | lark.Lark,
        *,
        start: str = "start",
        import_paths: Iterable[Any] = (),
        loader: Loader | None = None,
        source_path: str | os.PathLike[str] | None = None,
        declared: Mapping[str, str] | None = None,
        grammars: Mapping[str, str | Grammar] | None = None,
        posix_classes: bool = False,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make a grammar from a text in Lark's syntax.

        The text means what it means to Lark with `parser="earley", lexer="dynamic_complete"`. Except for the files that
        come with Lark, no file is read unless an argument names a place to read from.

        Args:
            text: the grammar; or a `lark.Lark` with any parser, which gives its text, start rule and import paths.
            start: the rule that sentences are made from.
            import_paths: folders in which `%import a.b.X` finds `a/b.lark`, or loader functions as Lark takes them.
            loader: a function or a mapping from the dotted name of a module, `a.b`, to its text or None.
            source_path: the file that the text is from, for imports relative to it.
            declared: the meaning of terminals that the grammar only declares (`%declare`), as expressions in Lark's
                syntax: `{"INDENT": "<|indent|>", "ID": "/[a-z]+/"}`.
            grammars: the meaning of `@name` in the text: a grammar, or a text in Lark's syntax with a rule `start`.
            posix_classes: whether `[[:alpha:]]` in regexps means the class, as in POSIX and Rust.
            limits: how large the grammar may be, and how much time and memory matching may take.

        Raises:
            GrammarError: the text is malformed, uses something that is not supported, or has no sentence. It has line,
                column and hint, and all errors if several were found.
        """
        from .lark import load as lark_load
        from .lark.modules import NO_OPTIONS, options_of

        if not isinstance(text, str):
            from .lark.instance import source_of

            text, start, import_paths, source_path = source_of(text, start, import_paths, source_path)
        if not isinstance(start, str):
            raise TypeError(f"start must be a str, not {type(start).__name__}")
        _check_size(len(text), limits)
        options = NO_OPTIONS
        if import_paths or loader is not None or source_path is not None or declared or grammars:
            options = options_of(import_paths, loader, source_path, declared, grammars)
        if limits is not DEFAULT or posix_classes:
            options = options._replace(limits=limits, posix_classes=bool(posix_classes))
        with loading(limits):
            try:
                engine, kept = lark_load.load(text, start, options)
            except GrammarError as error:
                from .lark.errors import explained

                raise explained(error, text, start, options) from None
            return cls._make("lark", text, start, engine, None, kept=kept, limits=limits)

    @classmethod
    def from_lark_file(
        cls,
        path: str | os.PathLike[str],
        *,
        start: str = "start",
        import_paths: Iterable[Any] = (),
        loader: Loader | None = None,
        declared: Mapping[str, str] | None = None,
        grammars: Mapping[str, str | Grammar] | None = None,
        posix_classes: bool = False,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make a grammar from a file in UTF-8 in Lark's syntax. It may import files relative to itself."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return cls.from_lark(
            text,
            start=start,
            import_paths=import_paths,
            loader=loader,
            source_path=path,
            declared=declared,
            grammars=grammars,
            posix_classes=posix_classes,
            limits=limits,
        )

    @classmethod
    def from_gbnf(cls, text: str, *, start: str = "root", limits: Limits = DEFAULT) -> Grammar:
        """Make a grammar from a text in GBNF, the syntax of llama.cpp, or in XGrammar's EBNF.

        Sentences are made from the rule `start`.

        Raises GrammarError, with line and column, if the text is malformed, uses something that is not supported, or
        has no sentence. `limits` as in `from_lark`.
        """
        from .gbnf import load as gbnf_load  # imported lazily: few programs need it

        for value, name in ((text, "text"), (start, "start")):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        _check_size(len(text), limits)
        with loading(limits):
            engine, warnings = gbnf_load.load(text, start, limits)
            return cls._make("gbnf", text, start, engine, warnings, limits=limits)

    @classmethod
    def from_regex(
        cls,
        pattern: str | re.Pattern[str],
        *,
        flags: int = 0,
        dialect: Dialect = "python",
        posix_classes: bool = False,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make a grammar of the texts that a regular expression matches as a whole, as `re.fullmatch` does.

        `pattern` is a str or the result of `re.compile`; `flags` are those of `re`. `dialect` is "python" or "ecma".
        With `posix_classes`, `[[:alpha:]]` in a pattern of Python's dialect means the class, as in POSIX and Rust.
        Raises GrammarError, with line and column, if the pattern is malformed, uses something that is not supported, or
        matches nothing. `limits` as in `from_lark`.
        """
        from .regex import grammar as from_regex

        if isinstance(pattern, re.Pattern):
            if flags or dialect != "python":
                raise ValueError("a compiled pattern already has its flags and its dialect; give neither")
            flags = pattern.flags
            pattern = pattern.pattern
        if not isinstance(pattern, str):
            raise TypeError(f"pattern must be a str or a compiled one, not {type(pattern).__name__}")
        _check_size(len(pattern), limits)
        letters = from_regex.flag_letters(flags)
        if posix_classes:
            if dialect == "ecma":
                raise ValueError("posix_classes is for the dialect 'python'; ECMA-262 has no POSIX classes")
            letters += "p"
        with loading(limits):
            engine = from_regex.load(pattern, letters, dialect, limits)
            warnings = from_regex.find_warnings(pattern, letters, dialect)
            options = f"{dialect} {letters}".rstrip()
            return cls._make("regex", pattern, "start", engine, warnings, options, limits=limits)

    @classmethod
    def from_choices(cls, choices: Iterable[str], *, limits: Limits = DEFAULT) -> Grammar:
        """Make a grammar of exactly the given texts. Their order does not matter; the empty text may be one of them.

        Raises GrammarError if there are none, or if one has a lone surrogate. `limits` as in `from_lark`.
        """
        from .json.writer import dumps
        from .regex import choices as choices_

        _check_size(0, limits)
        with loading(limits):
            found = choices_.read(choices, limits)
            engine = choices_.load(found)
            return cls._make("choices", dumps(found, str), "start", engine, (), limits=limits)

    @classmethod
    def from_json_schema(
        cls,
        schema: Any,
        *,
        property_order: PropertyOrder = "schema",
        whitespace: Whitespace = "flexible",
        max_indent: int = 64,
        max_whitespace: int = 64,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        spellings: Spellings = "plain",
        ensure_ascii: bool = False,
        string_escapes: StringEscapes | None = None,
        lone_surrogates: bool | None = None,
        number_digits: int = 17,
        number_shift: int = 8,
        number_plain: bool | None = None,
        number_exponents: bool | None = None,
        strict: bool = True,
        format_assertion: bool = True,
        draft: Draft = "2020-12",
        closed: bool = False,
        registry: Any = None,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make a grammar of the JSON documents that a JSON Schema allows, of draft 4, 6, 7, 2019-09 or 2020-12.

        Args:
            schema: a dict, JSON text, True or False, a pydantic model, a dataclass.
            property_order: "schema" for keys in the order of the schema, or "any".
            whitespace: "flexible" for what `json.dumps` writes with any `indent`, "spaced" for what it writes without
                `indent`, "compact" for none, "any" for all that JSON allows.
            max_indent: how many blanks or tabs may follow a line break if white space is flexible.
            max_whitespace: how many characters of white space may stand at one place with `whitespace="any"`.
            indent: as for `json.dumps`; white space is then what that writes, and nothing else.
            separators: the texts between items, and between keys and values, as for `json.dumps`.
            spellings: "all" for every spelling of strings and numbers that JSON has; "plain" for those that people and
                models write. It decides about the options below that are None.
            ensure_ascii: whether characters beyond ASCII are written as escapes.
            string_escapes: "all" for every spelling of a string, "shortest" for the shortest one, as in `json.dumps`.
            lone_surrogates: whether strings may have lone surrogates, as escapes, if no condition is on them.
            number_digits, number_shift: how many digits numbers with an exponent may have; see docs/json_schema.md.
            number_plain: whether numbers are written without an exponent, and integers without a fraction.
            number_exponents: whether numbers may have an exponent, also with `number_plain`.
            strict: whether to refuse a schema with something that cannot be enforced. If False, that is not enforced,
                and `report` says so.
            format_assertion: whether `format` is enforced, unless a metaschema says.
            draft: "4", "6", "7", "2019-09" or "2020-12", for a schema that does not name its draft.
            closed: whether to leave out members and items that the schema does not speak of, as strict modes do.
            registry: schemas that references may lead to: a mapping from URIs, or a `referencing.Registry`.
            limits: as in `from_lark`.

        Raises:
            GrammarError: the schema is malformed, has something that cannot be enforced, or allows no document. It has
                the JSON pointer of the place (`pointer`).
        """
        from .json_schema import grammar as schema_source
        from .json_schema.options import Options

        options = Options(
            property_order,
            whitespace,
            max_indent,
            separators,
            ensure_ascii,
            string_escapes,
            strict,
            format_assertion,
            number_digits,
            number_shift,
            number_plain,
            spellings,
            lone_surrogates,
            number_exponents,
            max_whitespace,
            indent,
            draft,
            closed,
        )
        if isinstance(schema, (str, bytes)):
            _check_size(len(schema), limits)
        elif not isinstance(limits, Limits):
            raise TypeError(f"limits must be Limits, not {type(limits).__name__}")
        with loading(limits):
            return cls._of_read("json_schema", schema_source.read_schema(schema, options, registry, limits), limits)

    @classmethod
    def from_type(cls, kind: Any, **options: Unpack[SchemaOptions]) -> Grammar:
        """Make a grammar of the JSON documents of a Python type: of what `pydantic.TypeAdapter` takes.

        That is a model, a dataclass, a `TypedDict`, an enumeration, `list[int]`, `Literal["a", "b"]`, `int | None` and
        so on; or a function, for an object with its arguments by name. pydantic must be installed. `options` are those
        of `from_json_schema`.

        Raises GrammarError if pydantic makes no schema of the type, and as `from_json_schema` does.
        """
        from .json_schema.python_types import schema_of_type

        return cls.from_json_schema(schema_of_type(kind), **options)

    @classmethod
    def json(cls, *, object: bool = False, **options: Unpack[SchemaOptions]) -> Grammar:
        """Make a grammar of any JSON value or, with `object`, of any JSON object ("JSON mode").

        Args:
            object: whether the text must be a JSON object.
            options: those of `from_json_schema`.
        """
        return cls.from_json_schema({"type": "object"} if object else True, **options)

    @classmethod
    def from_structural_tag(
        cls,
        spec: Any,
        vocabulary: Vocabulary | None = None,
        **options: Unpack[SchemaOptions],
    ) -> Grammar:
        """Make a grammar from a structural tag: free text, tags, schemas and grammars, put together as JSON.

        The form is that of XGrammar, vLLM and SGLang; docs/structural_tags.md describes it. Free text ends where a
        trigger or the end of its tag first stands, however tokens are cut.

        Args:
            spec: a dict, JSON text, or a pydantic model such as `xgrammar.StructuralTag`. A `Grammar` may stand
                wherever a format stands.
            vocabulary: the vocabulary whose special tokens the constants of the tag may contain. Each may then be
                written as the special token or as text.
            options: those of `from_json_schema`, for all schemas in the tag, except `registry`; and `limits`.

        Raises:
            GrammarError: the tag is malformed, has something that cannot be enforced, or has no sentence. It has the
                JSON pointer of the place in the tag (`pointer`).
        """
        from .tags.grammar import read_tags, schema_options

        limits = options.pop("limits", DEFAULT)
        _check_size(len(spec) if isinstance(spec, (str, bytes)) else 0, limits)
        with loading(limits):
            return cls._of_read("structural_tag", read_tags(spec, vocabulary, schema_options(options), limits), limits)

    @classmethod
    def from_tools(
        cls,
        tools: Iterable[Any],
        style: str | Style = "hermes",
        tool_choice: Any = "auto",
        *,
        parallel: bool = True,
        strict: Strict = True,
        reasoning: Reasoning = None,
        vocabulary: Vocabulary | None = None,
        **options: Unpack[ToolOptions],
    ) -> Grammar:
        """Make a grammar of the messages in which a model answers or calls tools.

        `earleymask.tools.parse` reads the calls of such a message; docs/tools.md describes the styles.

        Args:
            tools: the definitions: dicts of OpenAI's APIs, of functions and of custom tools with Lark or regex formats;
                pydantic models; functions.
            style: how the model writes calls: a name such as "qwen_3", or an `earleymask.tools.Style`.
            tool_choice: "auto", "none", "required", the name of the tool that must be called, or a dict of OpenAI's
                APIs, of type "function", "custom" or "allowed_tools".
            parallel: whether a message may have several calls.
            strict: whether the schemas of arguments are enforced. With "declared", only those of functions that say
                `strict: true` are. Where a schema is not enforced, the arguments are any JSON object.
            reasoning: None for none; "think" for a message that begins with reasoning; "auto" for one that may; "open"
                if the prompt ends with the beginning of the reasoning.
            vocabulary: as in `from_structural_tag`: with it, texts of the style that are special tokens may be written
                as such.
            options: those of `from_json_schema`, for arguments that are JSON, except `strict` and `registry`; and
                `limits`.

        Raises:
            GrammarError: a definition is malformed or has something that cannot be enforced, the style cannot write
                it, or `tool_choice` names no tool. It has the place (`pointer`), such as
                `/tools/2/function/parameters/properties/city`.
        """
        from .tools.request import Request

        makers: dict[str, Any] = {"lark": cls.from_lark, "regex": cls.from_regex}
        limits = options.get("limits", DEFAULT)

        def make(syntax: str, definition: str) -> Grammar:
            made: Grammar = makers[syntax](definition, limits=limits)
            return made

        request = Request(tools, style, tool_choice, parallel, strict, reasoning, make)
        try:
            return cls.from_structural_tag(request.tag, vocabulary, **options)
        except GrammarError as error:
            raise request.placed(error) from None

    @classmethod
    def union(cls, *grammars: Grammar | str, vocabulary: Vocabulary | None = None, limits: Limits = DEFAULT) -> Grammar:
        """Make a grammar of the texts of any of these grammars. A str is a constant text.

        `vocabulary` as in `from_structural_tag`, for special tokens in constant texts; `limits` as in `from_lark`.
        """
        return cls._composed({"type": "or", "elements": _parts("union", grammars)}, vocabulary, limits)

    @classmethod
    def sequence(
        cls, *grammars: Grammar | str, vocabulary: Vocabulary | None = None, limits: Limits = DEFAULT
    ) -> Grammar:
        """Make a grammar of a text of each of these grammars, one after the other. A str is a constant text.

        `vocabulary` as in `from_structural_tag`, for special tokens in constant texts; `limits` as in `from_lark`.
        """
        return cls._composed({"type": "sequence", "elements": _parts("sequence", grammars)}, vocabulary, limits)

    @classmethod
    def text(
        cls,
        until: str | Iterable[str] | None = None,
        *,
        excludes: str | Iterable[str] = (),
        max_tokens: int | None = None,
        max_chars: int | None = None,
        vocabulary: Vocabulary | None = None,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make a grammar of free text.

        Args:
            until: the text, or the texts, that end it at their first occurrence, and belong to it. Without it, the
                text may end anywhere.
            excludes: the text, or the texts, that must not stand in it.
            max_tokens: the most tokens that it may take, before it ends as soon as it can.
            max_chars: the most characters (Unicode scalar values), without `until`.
            vocabulary: as in `from_structural_tag`, for special tokens in `until`.
            limits: as in `from_lark`.
        """
        excludes = [excludes] if isinstance(excludes, str) else list(excludes)
        free: dict[str, Any] = {"type": "any_text", "excludes": excludes}
        free |= {"max_tokens": max_tokens, "max_chars": max_chars}
        if until is not None:
            ends = [until] if isinstance(until, str) else list(until)
            if not ends or "" in ends:
                raise ValueError("until: give one or more texts that are not empty, or None")
            free = {"type": "tag", "begin": "", "content": free, "end": ends}
        return cls._composed(free, vocabulary, limits)

    @classmethod
    def reasoning(
        cls,
        grammar: Grammar,
        *,
        begin: str = "<think>",
        end: str = "</think>",
        max_tokens: int | None = None,
        between: str = r"\n{0,2}",
        vocabulary: Vocabulary | None = None,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make a grammar of reasoning as free text, followed by a text of `grammar`.

        Args:
            grammar: what the answer must be.
            begin: what the reasoning begins with; "" if the prompt ends with it already.
            end: what ends it, at its first occurrence.
            max_tokens: the most tokens of free text, before `end` must be written.
            between: a regular expression for what may stand between `end` and the answer.
            vocabulary: as in `from_structural_tag`: give it if `begin` or `end` are special tokens.
            limits: as in `from_lark`.
        """
        if not end:
            raise ValueError("end: the reasoning needs an end that is not empty")
        free = {"type": "any_text", "max_tokens": max_tokens}
        elements: list[Any] = [{"type": "tag", "begin": begin, "content": free, "end": end}]
        if between:
            elements.append({"type": "regex", "pattern": between})
        elements += _parts("reasoning", (grammar,))
        return cls._composed({"type": "sequence", "elements": elements}, vocabulary, limits)

    @classmethod
    def _composed(cls, format: dict[str, Any], vocabulary: Vocabulary | None, limits: Limits) -> Grammar:
        return cls.from_structural_tag({"format": format}, vocabulary, limits=limits)

    @classmethod
    def _of_read(cls, kind: str, read: ReadSchema | ReadTags, limits: Limits) -> Grammar:
        return cls._make(kind, read, "start", read.engine, None, kept=read.kept, limits=limits)

    @classmethod
    def _make(
        cls,
        kind: str,
        source: ReadSchema | ReadTags | str,
        start: str,
        engine: Engine,
        warnings: tuple[GrammarWarning, ...] | None,
        options: str = "",
        kept: Kept | None = None,
        limits: Limits = DEFAULT,
    ) -> Grammar:
        """Make the object. If `warnings` is None, they are found when first read.

        `kept` is what a Lark grammar needs, beside its text, to be read again.
        """
        for what, n, most in (
            ("symbols", engine.n_symbols, limits.symbols),
            ("productions", engine.n_productions, limits.productions),
        ):
            if n > most:
                raise GrammarLimitError(f"the grammar has {n} {what}, and the limit is {most}").set_limit(what)
        if limits is not DEFAULT:
            engine.set_limits(limits)
        grammar = object.__new__(cls)
        values = {
            "_fingerprint": None,
            "_kept": kept,
            "_warnings": warnings,
            "_engine": engine,
            "kind": kind,
            "_options": options,
            "_schema": source,
            "start": start,
        }
        for name, value in values.items():
            object.__setattr__(grammar, name, value)
        return grammar

    @property
    def warnings(self) -> tuple[GrammarWarning, ...]:
        """What is legal but probably not meant. Found when first read, by reading the kept texts once more."""
        known: tuple[GrammarWarning, ...] | None = self._warnings
        if known is None:
            source = self._schema
            if isinstance(source, str):
                from .lark.warnings import find_warnings

                with loading(self._engine.limits):
                    known = find_warnings(source, self.start, self._kept, self._engine.limits)
            else:
                with loading(self._engine.limits):
                    known = source.warnings()
            object.__setattr__(self, "_warnings", known)
        return known

    @property
    def engine(self) -> Engine:
        """The compiled form."""
        return self._engine

    def _renewed(self) -> Engine:
        """Return the engine for a new matcher: a new one if texts have added more than MAX_ADDED symbols, or so many
        bytes that a text might be refused."""
        if self._engine.n_added > MAX_ADDED or self._engine.is_half_full:
            object.__setattr__(self, "_engine", self._again()._engine)
        return self._engine

    @property
    def source(self) -> str:
        """The text it was made from. For a schema that was given as a dict, the text is written when first read."""
        source = self._schema
        return source if isinstance(source, str) else source.text()

    @property
    def report(self) -> tuple[Row, ...]:
        """How exactly each keyword of a JSON Schema is enforced, computed when read: rows of `pointer`, `keyword`,
        `status` ("exact", "narrowed", "widened", "ignored") and `why`. A Lark grammar has the rows of the schemas in
        it, each with the place of its schema (`source`). A structural tag has the rows of its schemas, with pointers
        from its top, and those of the grammars in it. Other grammars have none."""
        source = self._schema
        if not isinstance(source, str):
            with loading(self._engine.limits):
                return source.report()
        if self.kind != "lark" or (self._kept is None and "%json" not in source):
            return ()
        from .json_schema.grammar import reread
        from .lark.load import schemas_within

        found: list[Row] = []
        limits = self._engine.limits
        with loading(limits):
            for place, schema, options in schemas_within(source, self.start, self._kept, limits):
                found += [row._replace(source=place) for row in reread(schema, options, limits).report()]
        return tuple(found)

    @property
    def options(self) -> str:
        return self._options if isinstance(self._schema, str) else self._schema.written_options()

    @property
    def imports(self) -> tuple[Imported, ...]:
        return () if self._kept is None else self._kept.texts

    def warm(
        self,
        vocabulary: Vocabulary,
        *,
        seconds: float = 0.1,
        eos_token_ids: Iterable[SupportsIndex] | SupportsIndex | None = None,
    ) -> Warming:
        """Make masks of likely texts in the background, while a model reads the prompt, say. Return at once.

        The first masks that are asked for meanwhile, or afterwards, are made faster; they are the same without it. A
        mask that is asked for does not wait for the background: that gives way within some tens of microseconds.

        Args:
            vocabulary: the vocabulary whose ids will be masked.
            seconds: processor time that it may take. It ends earlier if no likely text is left; if a limit of the
                grammar is met, or the grammar forgets what it has learned; or if it has used an eighth of the memory
                that a vocabulary has for masks, a sixteenth of it for parts of the vocabulary, or a quarter of what
                texts may add to the grammar. If 256 other calls wait, the oldest one is given up.
            eos_token_ids: as for `Matcher`.

        Returns:
            A `Warming`: `stop()` ends it, `wait()` waits for its end.

        Raises:
            VocabularyError: as `Matcher` does.
        """
        from ..earley._likely import LikelyTexts  # imported lazily, as few programs need them
        from ..earley._matcher import Matcher
        from ..earley.warming import Warming

        return Warming(LikelyTexts(Matcher(self, vocabulary, eos_token_ids), MOST_LIKELY_BYTES, seconds))

    def stats(self) -> dict[str, int]:
        """Return how much matchers have computed and kept so far, in counts and bytes: see `Engine.stats`."""
        return self._engine.stats()

    @property
    def fingerprint(self) -> str:
        """Computed when first read: the first hash in a process takes half as long as loading a small grammar."""
        known: str | None = self._fingerprint
        if known is None:
            kind = f"{self.kind} {self.options}".rstrip()
            kept = () if self._kept is None else self._kept.parts()
            if self.kind == "lark" and any("%json" in text for text in (self.source, *kept)):
                kind += " plain"  # in version 0.1 `%json` had all spellings
            content = "\0".join((kind, self.start, self.source, *kept)).encode("utf-8", "surrogatepass")
            import hashlib

            known = hashlib.sha256(_FORMAT + content).hexdigest()
            object.__setattr__(self, "_fingerprint", known)
        return known

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Grammar is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Grammar is immutable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grammar):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        source = self._schema if isinstance(self._schema, str) else self._schema.given
        size = "given as values" if source is None else f"{len(source)} characters"
        return f"<Grammar from {self.kind}, start={self.start!r}, {size}>"

    def __copy__(self) -> Grammar:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Grammar:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, self._content()

    def _again(self) -> Grammar:
        """Return an equal grammar with an engine of its own, for work that must not change this one's."""
        source = self._schema
        if isinstance(source, str):
            return _unpickle(*self._content())
        limits = self._engine.limits
        with loading(limits):
            return Grammar._of_read(self.kind, source.again(limits), limits)

    def _within(self, embedded: Embedded, shown: str, origin: Any, limits: Limits) -> int:
        """Return the symbol of this grammar, which is not Lark's, in the model of a grammar around it."""
        from .within import symbol

        return symbol(self, embedded, shown, origin, limits)

    def _content(self) -> tuple[Any, ...]:
        """Return the arguments with which `_unpickle` makes this grammar again."""
        content = (self.kind, self.source, self.start, self.fingerprint)
        if self._engine.limits != DEFAULT:
            return *content, self.options, self._kept and self._kept.plain(), self._engine.limits
        if self._kept is not None:
            return *content, self.options, self._kept.plain()
        return (*content, self.options) if self.options else content


def _check_size(n_characters: int, limits: Limits) -> None:
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits, not {type(limits).__name__}")
    if n_characters > limits.source_characters:
        raise too_long(n_characters, limits)


def _parts(what: str, given: Iterable[Grammar | str]) -> list[Any]:
    """Return the formats of the parts of a composition."""
    parts: list[Any] = []
    for part in given:
        if isinstance(part, str):
            parts.append({"type": "const_string", "value": part})
        elif isinstance(part, Grammar):
            parts.append(part)
        else:
            raise TypeError(f"{what} is made of grammars and constant texts, not of {type(part).__name__}")
    if not parts:
        raise ValueError(f"{what}: give at least one grammar")
    return parts


def _unpickle(
    kind: str,
    source: str,
    start: str,
    fingerprint: str,
    options: str = "",
    plain: tuple[Any, ...] | None = None,
    limits: Limits = DEFAULT,
) -> Grammar:
    """Make a grammar again from the source and the imported texts that its pickle has kept."""
    if kind == "lark":
        from .lark.load import load_again
        from .lark.modules import Kept

        before = None if plain is None else Kept.from_plain(plain)
        with loading(limits):
            engine, kept = load_again(source, start, before, limits)
        grammar = Grammar._make("lark", source, start, engine, None, kept=kept, limits=limits)
    elif kind == "gbnf":
        grammar = Grammar.from_gbnf(source, start=start, limits=limits)
    elif kind == "regex":
        from .regex import grammar as from_regex

        dialect, _, letters = options.partition(" ")
        grammar = Grammar.from_regex(
            source,
            flags=from_regex.flags_of(letters),
            dialect=cast("Dialect", dialect),
            posix_classes="p" in letters,
            limits=limits,
        )
    elif kind == "json_schema":
        from .json_schema.grammar import reread

        with loading(limits):
            grammar = Grammar._of_read(kind, reread(source, options, limits), limits)
    elif kind == "structural_tag":
        from .lark.modules import Kept
        from .tags.grammar import read_again

        before = None if plain is None else Kept.from_plain(plain)
        with loading(limits):
            grammar = Grammar._of_read(kind, read_again(source, options, before, limits), limits)
    elif kind == "choices":
        import json

        grammar = Grammar.from_choices(json.loads(source), limits=limits)
    else:
        raise ValueError(f"a pickled grammar of kind {kind!r} needs another version of earleymask")
    if grammar.fingerprint != fingerprint:
        raise ValueError("the pickled grammar was made by an incompatible version of earleymask")
    return grammar
