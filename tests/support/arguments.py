"""Grammars of arguments in the styles with tags, random schemas for them, and texts that masks write."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from earleymask import Grammar, Limits, Matcher, Vocabulary
from earleymask.grammar.arguments.embed import embed_arguments
from earleymask.grammar.arguments.styles import STYLES
from earleymask.grammar.arguments.text import write_arguments
from earleymask.grammar.errors import GrammarError, GrammarLimitError, RegexSyntaxError
from earleymask.grammar.json_schema.options import DEFAULT_OPTIONS, Options
from earleymask.grammar.loading import loading
from earleymask.grammar.model.compile import compile_model
from earleymask.grammar.model.model import Model
from earleymask.grammar.regex.ast import Literal
from earleymask.grammar.source import GrammarWarning
from support.mask_paths import agreed

LIMITS = Limits.trusted()
EOS = 256
VOCABULARY = Vocabulary.from_tokens([*[bytes([one]) for one in range(256)], b""], eos_token_id=EOS)
SOME_ARGUMENTS = {"a": 1, "b": "x", "c d": True, "ab": None, "zz": ""}


def vocabulary_of(style: str, rng: Random, size: int = 60) -> Vocabulary:
    """Return the bytes, EOS, and parts of texts in a style. Some have several tags in them, and some the same name
    twice: what a name rules out is not known before such a token is read."""
    text = write_arguments(SOME_ARGUMENTS, style).encode() + write_arguments({"a": 2, "b": 3}, style).encode()
    parts = {
        text[begin : begin + rng.choice((2, 5, 12, 40, 90, 200))] for begin in rng.choices(range(len(text)), k=size)
    }
    tokens = [bytes([one]) for one in range(256)]
    return Vocabulary.from_tokens([*tokens, b"", *sorted(parts - set(tokens))], eos_token_id=EOS)


class Reporter:
    """Errors without a place."""

    def error(self, message: str, origin: Any, hint: str | None = None) -> GrammarError:
        return GrammarError(message, hint=hint)

    def warning(self, message: str, origin: Any) -> GrammarWarning:
        return GrammarWarning(message, None, None)

    def limit_error(self, message: str, origin: Any) -> GrammarLimitError:
        return GrammarLimitError(message)

    def regex_error(self, error: RegexSyntaxError, origin: Any) -> GrammarError:
        return GrammarError(str(error))


class ArgumentsGrammar(Grammar):
    """A grammar of arguments alone, which no source text has."""

    def _again(self) -> Grammar:
        made: Grammar = self._make_again()
        return made


def arguments_grammar(
    schema: Any, style: str, options: Options = DEFAULT_OPTIONS, end: str = "", limits: Limits = LIMITS, **given: Any
) -> Grammar:
    """Return the grammar of the arguments, followed by the text `end`."""
    with loading(limits):
        model = Model(Reporter(), limits)
        symbol = embed_arguments(schema, style, options, model, None, **given)
        start = model.rule("start", None)
        model.produce(start, (symbol, model.terminal("end", Literal(end), None)) if end else (symbol,))
        engine = compile_model(model, start)
    grammar = ArgumentsGrammar._make("gbnf", "", "start", engine, (), limits=limits)
    again = partial(arguments_grammar, schema, style, options, end, limits, **given)
    object.__setattr__(grammar, "_make_again", again)
    return grammar


def accepts(grammar: Grammar, text: str, vocabulary: Vocabulary = VOCABULARY) -> bool:
    """Whether the text is in the grammar, byte by byte; the vocabulary begins with the bytes and EOS."""
    matcher = Matcher(grammar, vocabulary)
    return all(matcher.accept(token) for token in [*text.encode(), EOS])


def tried(matcher: Matcher) -> Any:
    """Return the mask, the same in all ways, after a trial of each token that is not one byte: what a mask says of keys
    that have been read is not in the masks that are made for all texts, so the walk over the trie is no oracle."""
    mask = agreed(matcher)
    for token in range(EOS + 1, matcher.vocabulary.size):
        assert mask[token] == matcher.fork().accept(token), (matcher.tokens, matcher.vocabulary.token_bytes(token))
    return mask


def written(rng: Random, grammar: Grammar, vocabulary: Vocabulary, most: int) -> str | None:
    """Return a text that masks allow, whichever way they are made; None if it does not end after `most` tokens."""
    matcher = Matcher(grammar, vocabulary)
    eos = next(iter(vocabulary.eos_token_ids))
    text = b""
    for n in range(most):
        mask = tried(matcher)
        allowed = [token for token in range(vocabulary.size) if mask[token]]
        assert allowed, text
        # Tags have to end: prefer what ends them, and the end of the text.
        if eos in allowed and (n > most // 3 or rng.random() < 0.3):
            return text.decode()
        likely = [one for one in allowed if vocabulary.token_bytes(one)[:1] in (b"<", b"]", b"/", b">", b'"', b"}")]
        token = rng.choice(likely if likely and rng.random() < 0.3 + n / most else allowed)
        if token == eos:
            return text.decode()
        assert matcher.accept(token)
        text += vocabulary.token_bytes(token)
    return None


NAMES = ("a", "b", "ab", "c d", "item")
TEXTS = ("", "a", "ab", "5", "-1.5e3", "true", "null", "[x]", '{"a": 1}', " 5\n", "\na\n", "é<b>", '"q"', "</paramete")


class Schemas:
    """Random schemas of arguments, with the keywords that decide which arguments come and what their texts are."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def maybe(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance

    def whole(self) -> dict[str, Any]:
        schema = self.object(2)
        if self.maybe(0.2):
            schema["anyOf"] = [self.object(1) for _ in range(2)]
        if self.maybe(0.1):
            schema["if"] = {"required": ["a"]}
            schema["then"] = {"required": [self.rng.choice(NAMES)]}
        if self.maybe(0.15):
            schema["allOf"] = [self.object(1)]
        schema["$defs"] = {"s": self.value(-1), "o": self.object(0)}
        return schema

    def object(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        names = rng.sample(NAMES, rng.randint(0, 3))
        schema: dict[str, Any] = {"type": "object"}
        if names:
            schema["properties"] = {name: self.value(depth) for name in names}
        if self.maybe() and names:
            schema["required"] = rng.sample(names, rng.randint(1, len(names)))
        if self.maybe(0.6):
            schema["additionalProperties"] = self.value(depth - 1) if self.maybe(0.4) else False
        if self.maybe(0.15):
            schema["patternProperties"] = {"^a": self.value(depth - 1)}
        if self.maybe(0.15):
            schema["minProperties"] = rng.randint(1, 2)
        if self.maybe(0.15):
            schema["maxProperties"] = rng.randint(1, 3)
        if self.maybe(0.1):
            schema["dependentRequired"] = {rng.choice(NAMES): [rng.choice(NAMES)]}
        if self.maybe(0.1):
            schema["propertyNames"] = {"pattern": "^[a-d]"}
        return schema

    def value(self, depth: int) -> Any:
        rng = self.rng
        kind = rng.randrange(14)
        if kind == 0:
            return True
        if kind == 1:
            return {"type": rng.sample(["string", "number", "null", "boolean", "integer"], 2)}
        if kind == 2:
            return {"enum": rng.sample([*TEXTS, 5, True, None, 1.5, [], {}], 4)}
        if kind == 3:
            return {"type": "string", "maxLength": rng.randint(0, 4), "minLength": rng.randint(0, 2)}
        if kind == 4:
            return {"type": "string", "pattern": rng.choice(["^a*$", "^[0-9]+$", "b", "^(?:\\n|a)*$"])}
        if kind == 5:
            return {"type": rng.choice(["integer", "number"]), "minimum": rng.randint(-2, 2)}
        if kind == 6:
            return {"anyOf": [{"type": "string"}, {"type": rng.choice(["integer", "array", "object"])}]}
        if kind == 7:
            return {"$ref": rng.choice(["#/$defs/s", "#/$defs/o"])} if depth >= 0 else {"type": "null"}
        if kind == 8 and depth > 0:
            return self.object(depth - 1)
        if kind == 9 and depth > 0:
            schema = {"type": "array", "items": self.value(depth - 1), "maxItems": rng.randint(1, 3)}
            return {**schema, "minItems": 1} if self.maybe(0.3) else schema
        if kind == 10:
            return {"not": {"type": rng.choice(["string", "object"])}}
        if kind == 11:
            return {"const": rng.choice([*TEXTS, 5, {"a": "</parameter>"}, ["x"]])}
        if kind == 12:
            return {"allOf": [{"type": ["string", "integer"]}, {"type": ["string", "null"]}]}
        return {"type": "string"}


def random_schema(seed: int, number: int) -> tuple[Random, dict[str, Any]]:
    rng = Random(f"arguments {seed} {number}")
    return rng, Schemas(rng).whole()


__all__ = ["STYLES", "VOCABULARY", "accepts", "arguments_grammar", "random_schema", "tried", "vocabulary_of", "written"]
