"""From schemas to an engine: productions for values, made when the parser reaches them.

`SchemaLoader` gives every term of the algebra a symbol. Each is a lazy symbol of the engine, whose meaning is computed
when the parser first predicts it. Objects and arrays have one symbol for each of their states (`object_rules`,
`array_rules`). The engine proves, symbol by symbol, that what it predicts can be finished, so it never opens a key
whose value nothing satisfies.

Terminals that recur in all grammars are the same regexes in all of them: the plain string, numbers, and the end of a
key.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING
from weakref import ref

from ...earley._engine import Engine
from ...earley._meter import keep, tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError, MatcherInUseError
from ..errors import GrammarError, GrammarLimitError
from ..json.number_parts import MAX_FIGURES
from ..json.number_spellings import is_computed, lowered_numbers, number_tree
from ..json.numbers import exact, number_set
from ..json.strings import dumped_words, is_dumped_as_it_is, spelled
from ..regex.ast import Node
from ..regex.lower import Lowered, lower_shared
from ..regex.python import parse
from .algebra import Algebra
from .array_rules import ArrayRules
from .doubtful import KEYS, NUMBER_ITEMS, NUMBER_PARTS, TEXT_ITEMS, TEXT_PARTS, Doubtful, doubtful_nodes
from .enumerations import MARKS, constants_of, spelled_values
from .key_order import in_order
from .listed_names import MIN_NAMES
from .object_rules import ObjectRules
from .own_values import constants
from .refusals import Refusals
from .shapes import FALSE, TRUE, ArrayShape, ObjectShape, Values, is_nothing
from .shortcuts import have_scalar, is_shallow, is_something, is_structured, plain_scalars
from .terms import plain
from .text_sets import NO_TEXTS, Questions, Texts, has_surrogate, spelled_words
from .weights import heavy

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...earley.explain import Failure, Finding
    from ...earley.limits import Limits
    from ..json.numbers import NumberSet
    from .documents import Documents
    from .followed_items import FollowedItems
    from .options import Options
    from .rehearsal import Rehearsal

NO_DOCUMENT = "no document satisfies the schema"
QUOTE = b'"'
MAX_NODES = 1 << 16
"""When `Questions` has more regex nodes than this, it is replaced by a new one that knows nothing."""


MAX_FIRST = 64
"""The most symbols whose productions are made with the grammar, because the first mask needs them."""


MAX_LEVEL = 64
"""With the option `indent`, objects and arrays within more than so many others are not indented exactly: each level has
symbols of its own."""


def load(documents: Documents, options: Options, limits: Limits) -> tuple[Engine, Algebra]:
    """Return the engine for the documents that a schema allows, and the algebra, which knows what has been left out."""
    try:
        algebra, rehearsal = scanned(documents, options, limits)
        if rehearsal is not None and rehearsal.is_small():
            engine, loader = rehearsal.engine, rehearsal.loader
        else:
            engine = Engine(Regexes())
            loader = SchemaLoader(algebra, engine)
        keep(engine)
        start = loader.start(algebra.place(documents.root))
        engine.work_out_first(start, MAX_FIRST)
        engine.finish(start)
    except GrammarLimitError:
        raise
    except LimitError as error:
        raise GrammarLimitError(str(error)).copy_limit(error) from None
    return engine, algebra


def scanned(documents: Documents, options: Options, limits: Limits) -> tuple[Algebra, Rehearsal | None]:
    """Return the algebra of what the refusals have left of a schema, and the rehearsal if there was one."""
    algebra = Algebra(documents, options, {}, limits)
    refusals = Refusals(documents, algebra)
    survey = refusals.run()
    if refusals.dropped:
        algebra = Algebra(documents, options, refusals.dropped, limits)
    algebra.has_unique_items = bool(survey.endless)
    algebra.plain_numbers = survey.plain_numbers
    algebra.follows_items = survey.follows_items
    algebra.repeats_items = survey.repeats_items
    algebra.limits_keys = survey.limits_keys
    algebra.lists_names = survey.n_names >= MIN_NAMES
    found, within = heavy(survey)
    if found:
        from .rehearsal import rehearsed

        rehearsal = rehearsed(algebra, within, SchemaLoader)
        return rehearsal.algebra, rehearsal
    return algebra, None


class SchemaLoader:
    """Makes the symbols of one engine; lazy ones as long as the engine lives.

    The engine holds the loader, and the loader refers to the engine weakly. Nothing that is made of a schema refers to
    itself, so all of it is freed with the last reference to its grammar and its matchers, and the garbage collector
    need not visit it.
    """

    def __init__(
        self, algebra: Algebra, engine: Engine, around: SchemaLoader | None = None, excluded: tuple[str, ...] = ()
    ) -> None:
        """around: with the option `indent`, the loader of the values that this one's are members and items of.
        excluded: what no string and no key has in it, as they are spelled, between its quotes."""
        keep(self)
        options = self.options = algebra.options
        self.style = options.style
        self.own = algebra.documents.own
        self.is_ours = algebra.documents.is_ours
        self.number_style = options.number_style
        self.algebra = algebra
        self.regexes = engine.regexes
        self.the_engine = ref(engine)
        self.terminals: dict[object, int | None] = {}  # by what they stand for
        self.keys: dict[str, int | None] = {}  # terminals, by name
        self.scalar_symbols: dict[Values, int] = {}
        self.symbols: dict[int, int | None] = {FALSE: None}  # of terms; None: nothing is in them
        self.rules: dict[object, int] = {}  # first symbols of arrays and objects, by their shapes
        self.rehearsed: dict[object, ObjectRules | ArrayRules] | None = None  # what makes these, during a rehearsal
        # With the option `indent`, how many objects and arrays these values are within, and the loader of their members
        # and items. Deeper than `max_indent` allows, white space is flexible, so that objects and arrays of any depth
        # remain.
        self.level: int | None = None
        self.deeper: SchemaLoader | None = None
        if options.indent is not None:
            level = 0 if around is None or around.level is None else around.level + 1
            if level <= MAX_LEVEL and level * len(options.indent_of_level or "") <= options.max_indent:
                self.level = level
        # What holds this loader, if it is the second loader of `followed_items`, which reads no text.
        self.holder: Callable[[], FollowedItems | None] = _nothing
        self.followed: FollowedItems | None = None
        # What another spelling of objects (`arguments`) needs: the keys that can be spelled, None for all; and whether
        # an object has no end mark.
        self.names: Texts | None = None
        self.is_open = False
        self.excluded: tuple[str, ...] = excluded if around is None else around.excluded
        if around is not None:
            self.holder = around.holder
            self.terminals, self.keys, self.scalar_symbols = around.terminals, around.keys, around.scalar_symbols
        self.mark_symbols: dict[str, int] = {}
        self.marks = marks(options, self.level)
        self.known_questions: Questions | None = None
        self.quote = self.regexes.literal(QUOTE)
        self.key_end = self.regexes.concat((self.quote, self.marks["colon"].into(self.regexes)))

    @property
    def engine(self) -> Engine:
        engine = self.the_engine()
        if engine is None:
            raise MatcherInUseError(
                "a finalizer (`__del__`) used a matcher while the garbage collector was freeing its grammar"
            )
        return engine

    def questions(self) -> Questions:
        """Return what decides about sets of keys and remembers its regexes; a new one when these are too many."""
        known = self.known_questions
        if known is None or known.regexes.n_nodes > MAX_NODES:
            known = self.known_questions = Questions()
        return known

    def start(self, root: int) -> int:
        """Return the symbol for the values of a term. Raises GrammarError if there are none."""
        symbol = self.value(root)
        try:
            has_documents = symbol is not None and self.engine.is_productive(symbol)
        except GrammarLimitError:
            raise
        except LimitError as error:
            told = f"cannot determine whether a document satisfies the schema: {error}"
            raise self.algebra.located(GrammarLimitError(told).copy_limit(error), root) from None
        if symbol is None or not has_documents:
            from .why_empty import narrowed_away, where_nothing

            left_out = narrowed_away(self.algebra, SchemaLoader)
            message = f"no document that satisfies the schema is written: {left_out}" if left_out else NO_DOCUMENT
            raise GrammarError(message, pointer=where_nothing(self, root))
        if "around" in self.marks:
            symbol = self.engine.add_lazy("(document)", SchemaLoader.surrounded, self, symbol, witness=[symbol])
        self.engine.set_doubtful(self.doubtful, doubtful_nodes)
        self.algebra.engines.append(ref(self.engine))
        self.engine.add_explainer(self)
        if self.algebra.repeats_items:
            self.engine.refuse_budgets("the schema has a `uniqueItems` that must not hold")
        return symbol

    def surrounded(self, symbol: int) -> list[list[int]]:
        space = self.mark("around")
        return [[symbol], [space, symbol], [symbol, space], [space, symbol, space]]

    def doubtful(self) -> Doubtful:
        """Describe the tokens in which the text of a followed terminal matters, see `Engine.set_doubtful`."""
        algebra = self.algebra
        return (
            algebra.has_unique_items,
            algebra.follows_items,
            algebra.repeats_items,
            algebra.limits_keys,
            algebra.lists_names,
            algebra.items_run_out,
            algebra.has_tags,
        )

    def why_not(self, failure: Failure) -> Finding | None:
        """Return which keywords refuse a text: see `Explainer` in `earley/explain.py`."""
        from .why_not import why_not  # imported lazily: only explanations need it

        return why_not(self, failure)

    # Terminals. They are known by what they stand for: regex nodes get new numbers when the engine forgets.

    def terminal(self, key: object, name: str, node: int) -> int | None:
        """Add the terminal for what `key` stands for, which matches `node`. Return None if nothing matches."""
        made = None
        if not self.regexes.is_empty(node):
            engine = self.engine
            made = engine.add_terminal(name, node)
        self.terminals[key] = made
        return made

    def mark(self, name: str) -> int:
        """Return a mark of JSON's syntax, with the white space that belongs to it; see `marks`."""
        symbol = self.mark_symbols.get(name)
        if symbol is None:
            symbol = self.mark_symbols[name] = self.engine.add_terminal(name, self.marks[name].into(self.regexes))
            self.note(symbol, "mark", (name, self.level))
        return symbol

    def before(self, is_first: bool) -> list[int]:
        """Return what stands before a member or an item."""
        if not is_first:
            return [self.mark(",")]
        return [self.mark("first")] if "first" in self.marks else []

    def end(self, bracket: str, has_parts: bool) -> list[int]:
        """Return what stands at the end of an object or array, "}" or "]", which has members or items or not."""
        return [self.mark(bracket if has_parts else f"empty {bracket}")]

    def inner(self) -> SchemaLoader:
        """Return the loader of members and items, whose white space is that around these."""
        if self.level is None:
            return self
        if self.deeper is None:
            self.deeper = SchemaLoader(self.algebra, self.engine, self)
        return self.deeper

    def word(self, text: str) -> int:
        """Return one of JSON's literals."""
        symbol = self.terminals.get(text)
        if symbol is None:
            symbol = self.terminal(text, text, self.regexes.literal(text.encode()))
            assert symbol is not None
            self.note(symbol, "word", text)
        return symbol

    def string(self, texts: Texts) -> int | None:
        """Return the terminal of the strings whose texts are in the set; None if there are none."""
        if texts in self.terminals:
            return self.terminals[texts]
        if self.holder() is not None:
            made = self.terminals[texts] = self.leaf("texts", texts)
            return made
        regexes = self.regexes
        node = self.text_node(texts)
        return self.terminal(texts, "string", regexes.concat((self.quote, node, self.quote)))

    def text_node(self, texts: Texts) -> int:
        """Return the regex node of the spellings of a set of texts, without quotes."""
        node = texts.node(self.regexes, self.style, self.own)
        return self.without(node) if self.excluded else node

    def without(self, node: int) -> int:
        """Leave out what has one of the `excluded` texts in it."""
        return int(self.regexes.intersection([node, *[lacking(text, self.regexes) for text in self.excluded]]))

    def number(self, numbers: NumberSet) -> int | None:
        """Return the terminal of the numbers of a set; None if none of them can be spelled."""
        if numbers in self.terminals:
            return self.terminals[numbers]
        if self.holder() is not None:
            made = self.terminals[numbers] = self.leaf("numbers", numbers)
            return made
        return self.terminal(numbers, "number", lowered_numbers(numbers, self.number_style).into(self.regexes))

    def number_tree(self, numbers: NumberSet) -> Node:
        return number_tree(numbers, self.number_style)

    def key(self, name: str) -> int | None:
        """Return the terminal of a key with the colon and the white space that may follow; None if the key cannot be
        spelled."""
        if name in self.keys:
            return self.keys[name]
        regexes = self.regexes
        if self.style.dumped and is_dumped_as_it_is(name, self.own):
            key = regexes.literal(b'"' + name.encode(), self.key_end)
        else:
            if self.style.dumped:
                node = dumped_words((name,), self.own, regexes, self.style)
            elif has_surrogate(name):
                node = spelled_words(frozenset((name,)), regexes, self.style)
            else:
                node = spelled(regexes.literal(name.encode()), regexes, self.style)
            key = regexes.concat((self.quote, node, self.key_end))
        if self.excluded:
            key = regexes.concat((self.quote, self.text_node(Texts(frozenset((name,)))), self.key_end))
        symbol = None
        if not regexes.is_empty(key):
            symbol = self.engine.add_terminal(f'"{name}":', key)
            self.note(symbol, "key", name)
        self.keys[name] = symbol
        return symbol

    def has_key(self, name: str) -> bool:
        """Whether a key can be spelled."""
        return (not self.excluded and not has_surrogate(name)) or self.key(name) is not None

    def read_key(self, text: bytes) -> str:
        """Return the name of a key that is written as `text`, colon included."""
        name: str = json.loads(text[: text.rindex(b'"') + 1])
        return name

    def member(self, name: Any, term: int) -> int | None:
        """Return the symbol of a term's values as those of a member; name: None if the key has no name."""
        return self.value(term)

    def closed(self, value: int, key: str) -> int:
        """Return the symbol `value` of a member without a name as that after the key that has been read."""
        return value

    def is_sure(self, term: int) -> bool:
        """Whether it is quick to see that a value of the term can be spelled."""
        if self.excluded:  # numbers have nothing of it in them, nor has the empty string
            return term == TRUE or plain_scalars(self.algebra, term) is not None
        return is_something(self.algebra, term)

    def followed_key(self, texts: Texts, follow: Callable[..., int], *arguments: Any) -> int | None:
        """Return the terminal of the keys in a set; `follow(*arguments, text)` returns the symbol after the key that is
        read."""
        if self.holder() is not None:
            return self.leaf("keys", texts, partial(_with_quotes, partial(follow, *arguments)))
        node = self.key_node(texts)
        if self.regexes.is_empty(node):
            return None
        symbol: int = self.engine.add_followed("key", node, follow, *arguments, kind=KEYS, untracked=True)
        return symbol

    def key_of(self, names: int) -> int | None:
        """Return the regex node of the keys, colon included, whose names a node matches; None if it matches nothing."""
        node: int = self.regexes.concat([self.quote, names, self.key_end])
        return None if self.regexes.is_empty(node) else node

    def key_node(self, texts: Texts) -> int:
        regexes = self.regexes
        node: int = regexes.concat([self.quote, self.text_node(texts), self.key_end])
        return node

    def followed_scalars(
        self, values: Values, used: frozenset[object], follow: Callable[..., int], *arguments: Any
    ) -> list[int]:
        """Return terminals for the strings and numbers among `values` that are not `used` (`canonical` keys).
        `follow(*arguments, value)` returns the symbol after the value that is read. Numbers are written without an
        exponent, so that each has one spelling.
        """
        words = frozenset([value for value in used if isinstance(value, str)])
        texts = values.texts.difference(Texts(words)) if words else values.texts
        taken = number_set(excluded=[value for value in used if isinstance(value, (int, Fraction))])
        sets = [numbers.intersection(taken) for numbers in values.numbers]
        found: list[int | None]
        if self.holder() is not None:
            then = partial(follow, *arguments)
            found = [self.leaf("texts", texts, then), *[self.leaf("numbers", numbers, then) for numbers in sets]]
        else:
            found = [self.followed_leaf("texts", texts, _with_text, follow, *arguments)]
            for numbers in sets:
                found.append(self.followed_leaf("numbers", numbers, _with_number, follow, *arguments))
        return [symbol for symbol in found if symbol is not None]

    def followed_leaf(
        self, kind: str, content: Any, follow: Callable[..., int], *arguments: Any, is_part: bool = False
    ) -> int | None:
        """Return the terminal for "texts", "numbers" or "keys", `content`, after which `follow(*arguments, text)` says
        what follows; None if there are none. is_part: whether a text or number is no item, but part of one."""
        if kind == "keys":
            return self.followed_key(content, follow, *arguments)
        regexes = self.regexes
        if kind == "texts":
            node = regexes.concat([self.quote, self.text_node(content), self.quote])
            name, sort = "string", TEXT_PARTS if is_part else TEXT_ITEMS
        else:
            node = self.without_exponent(content)
            name, sort = "number", NUMBER_PARTS if is_part else NUMBER_ITEMS
        if regexes.is_empty(node):
            return None
        symbol: int = self.engine.add_followed(name, node, follow, *arguments, kind=sort, untracked=True)
        return symbol

    def without_exponent(self, numbers: NumberSet) -> int:
        """Return a regex node for the numbers of a set, without an exponent."""
        regexes = self.regexes
        spelling = self.number_style._replace(exponents=False, fractions=False)
        tree = number_tree(numbers, spelling)
        if is_computed(tree):
            return int(lower_shared(number_tree(numbers, spelling._replace(short=True)), regexes))
        node: int = lower_shared(tree, regexes)
        # At most MAX_FIGURES digits, unless all numbers of the set have more.
        written: int = regexes.intersection([node, self.few_digits()])
        return node if regexes.is_empty(written) else written

    def plain_leaf(self, kind: str, content: Any) -> int | None:
        """Return the terminal for what a `Leaf` holds; None if nothing is in it."""
        if kind == "mark":
            name, level = content
            loader = self
            while loader.level != level:
                loader = loader.inner()
            return loader.mark(name)
        if kind == "word":
            return self.word(content)
        if kind == "key":
            return self.key(content)
        if kind == "texts":
            return self.string(content)
        key = (kind, content)
        if key in self.terminals:
            return self.terminals[key]
        node = self.without_exponent(content) if kind == "numbers" else self.key_node(content)
        return self.terminal(key, kind, node)

    # Items that must differ, see `followed_items`.

    def leaf(self, kind: str, content: Any, follow: Callable[[Any], int] | None = None) -> int | None:
        """Return a terminal of the second loader; None if nothing is in `content`."""
        is_empty = self.questions().is_empty(content) if isinstance(content, Texts) else content.is_empty()
        if is_empty:
            return None
        engine = self.engine
        symbol = engine.add_terminal(kind, self.quote)
        self.note(symbol, kind, content, follow)
        return symbol

    def note(self, symbol: int, kind: str, content: Any, follow: Callable[[Any], int] | None = None) -> None:
        items = self.holder()
        if items is not None:
            from .followed_items import Leaf

            items.leaves[symbol] = Leaf(kind, content, follow)

    def followed_item(
        self, term: int, used: frozenset[object], follow: Callable[[object], int], rest: int, origin: int
    ) -> int | None:
        """Return the symbol of an item of a term, none of the `used` values, and of what follows it; None if there is
        no such item. `follow` returns the symbol after an item with a `canonical` value, `rest` is what may follow any
        item."""
        from .followed_items import FollowedItems, Item

        items = self.holder()
        if items is not None:
            value = self.value(term)
            if value is None or not items.is_left(value, used):
                return None
            symbol: int = self.engine.add_lazy("item", tuple, ((value, rest),), witness=(value, rest))
            items.leaves[symbol] = Item(value, used, follow, rest)
            return symbol
        if self.followed is None:
            self.followed = FollowedItems(self.second)
        return self.followed.first(self, term, (used, follow, rest), origin)

    def repeated_item(self, term: int, used: frozenset[object], rest: int, origin: int) -> list[list[int]]:
        """Return items of a term that equal one of the `used` values, and `rest` after each."""
        if self.holder() is None and self.followed is not None:
            structured = frozenset([value for value in used if isinstance(value, tuple) and isinstance(value[0], str)])
            symbol = self.followed.equal(self, term, (structured, None, rest), origin)
            used -= structured
            found = [] if symbol is None else [[symbol]]
        else:
            found = []
        algebra = self.algebra
        values = [self.value(algebra.intersection(term, algebra.constant(plain(value)))) for value in used]
        return found + [[value, rest] for value in values if value is not None]

    def second(self, engine: Engine) -> SchemaLoader:
        """Return a loader of the same schema for another engine."""
        loader = SchemaLoader(self.algebra, engine, None, self.excluded)
        loader.level, loader.marks = self.level, self.marks
        return loader

    def few_digits(self) -> int:
        """Return a regex node for the texts without an exponent that have at most MAX_FIGURES digits."""
        regexes = self.regexes
        minus = regexes.repeat(regexes.byte_set(b"-"), 0, 1)
        return regexes.concat([minus, regexes.repeat(regexes.byte_set(b".0123456789"), 1, MAX_FIGURES)])

    # Values.

    def value(self, term: int) -> int | None:
        """Return the symbol of the term's values; None if nothing is in it, as far as this is known."""
        symbols = self.symbols
        if term in symbols:
            return symbols[term]
        algebra = self.algebra
        symbol: int | None
        values = plain_scalars(algebra, term)
        if values is None and self.lists(term):
            witness = () if self.is_sure(term) else None
            symbol = self.engine.add_lazy(
                "value", SchemaLoader.expand_list, self, term, witness=witness, untracked=self.is_ours
            )
            symbols[term] = symbol
            return symbol
        if values is None and term != TRUE and not is_structured(algebra, term) and is_shallow(algebra, term):
            values = algebra.values(term)
        if values is not None and not values.arrays and not values.objects:
            symbol = None if is_nothing(values) else self.scalar(values, term)
        else:
            witness = () if self.is_sure(term) else None
            symbol = self.engine.add_lazy(
                "value", SchemaLoader.expand, self, term, witness=witness, untracked=self.is_ours
            )
        symbols[term] = symbol
        return symbol

    def scalar(self, values: Values, origin: int) -> int:
        """Return the symbol of values without arrays and objects: the same one for equal values. Its terminals are made
        when the parser reaches it: the terminal of an enumeration or a bound takes longer than everything else.

        origin: here and below, the term that has these values; errors name its place.
        """
        symbol = self.scalar_symbols.get(values)
        if symbol is None:
            witness = () if not self.excluded and have_scalar(self.algebra, values) else None
            symbol = self.scalar_symbols[values] = self.engine.add_lazy(
                "scalar", SchemaLoader.scalars, self, values, origin, witness=witness, untracked=self.is_ours
            )
        return symbol

    def lists(self, term: int) -> bool:
        """Whether the arrays and objects of a term become one terminal, see `enumerations`."""
        options = self.options
        if (
            self.excluded
            or not self.style.dumped
            or not self.algebra.is_plain
            or options.indent is not None
            or options.closed
        ):
            return False
        return constants_of(self.algebra, term) is not None and self.holder() is None

    def expand_list(self, term: int) -> list[list[int]]:
        """Return the productions of a long enumeration."""
        algebra = self.algebra
        regexes = self.regexes
        try:
            texts, others = spelled_values(
                constants_of(algebra, term) or [], self.own, self.options.property_order == "any"
            )
            found = []
            if texts:
                node = regexes.marked(texts, [self.marks[name].into(regexes) for name in MARKS])
                found.append([self.engine.add_terminal("value", node)])
            if others:
                symbol = self.value(algebra.meaning(constants(algebra, others)))
                if symbol is not None:
                    found.append([symbol])
        except LimitError as error:
            raise algebra.located(error, term) from None
        return found

    def expand(self, term: int) -> list[list[int]]:
        """Return the productions of a value."""
        algebra = self.algebra
        try:
            tick()
            values = algebra.written_values(term)
            scalars = Values(values.null, values.booleans, values.numbers, values.texts, (), ())
            found = [] if is_nothing(scalars) else [[self.scalar(scalars, term)]]
            inner = self.inner()
            if values.objects:
                objects = self.ordered(values, term)
                found += [[inner.mark("{"), inner.members(shape, n_ordered, term)] for shape, n_ordered in objects]
            found += [[inner.mark("["), inner.items(shape, term)] for shape in values.arrays]
        except LimitError as error:
            raise algebra.located(error, term) from None
        return found

    def ordered(self, values: Values, term: int) -> list[tuple[ObjectShape, int]]:
        """Return the shapes of objects, and how many names of each come in an order."""
        if self.options.property_order == "schema":
            return in_order(self.algebra, values.objects, term)
        return [(shape, 0) for shape in values.objects]

    def scalars(self, values: Values, origin: int) -> list[list[int]]:
        try:
            return self.scalar_productions(values)
        except LimitError as error:
            raise self.algebra.located(error, origin) from None

    def scalar_productions(self, values: Values) -> list[list[int]]:
        found: list[int | None] = []
        if values.null:
            found.append(self.word("null"))
        if values.booleans & 1:
            found.append(self.word("false"))
        if values.booleans & 2:
            found.append(self.word("true"))
        for numbers in values.numbers:
            found.append(self.number(numbers))
        if values.texts is not NO_TEXTS:
            found.append(self.string(values.texts))
        return [[symbol] for symbol in found if symbol is not None]

    def members(self, shape: ObjectShape, n_ordered: int, origin: int) -> int:
        """Return what follows the brace of an object of this shape, whose first `n_ordered` names come in order."""
        symbol = self.rules.get((shape, n_ordered))
        if symbol is None:
            rules = ObjectRules(self, shape, n_ordered, origin)
            symbol = self.rules[shape, n_ordered] = rules.start()
            if self.rehearsed is not None:
                self.rehearsed[shape, n_ordered] = rules
        return symbol

    def items(self, shape: ArrayShape, origin: int) -> int:
        """Return what follows the bracket of an array of this shape."""
        symbol = self.rules.get(shape)
        if symbol is None:
            rules = ArrayRules(self, shape, origin)
            symbol = self.rules[shape] = rules.start()
            if self.rehearsed is not None:
                self.rehearsed[shape] = rules
        return symbol


def lacking(text: str, regexes: Regexes) -> int:
    """Return the regex node of the texts that do not have `text` in them."""
    anything = regexes.complement(regexes.union([]))
    node: int = regexes.complement(regexes.concat((anything, regexes.literal(text.encode(), anything))))
    return node


def _nothing() -> None:
    return None


def _with_text(follow: Callable[..., int], *given: Any) -> int:
    return follow(*given[:-1], json.loads(given[-1]))


def _with_number(follow: Callable[..., int], *given: Any) -> int:
    return follow(*given[:-1], exact(Decimal(given[-1].decode())))


def _with_quotes(follow: Callable[[bytes], int], name: str) -> int:
    return follow(json.dumps(name).encode())


@lru_cache(maxsize=256)
def marks(options: Options, level: int | None = None) -> dict[str, Lowered]:
    """Return the marks of JSON's syntax with the white space around them, as regexes, by name.

    Flexible white space is all that `json.dumps` writes, whatever its `indent`: after a colon a blank or nothing;
    within brackets and after a comma a blank, or a line break with up to `max_indent` blanks or as many tabs, or
    nothing. If spellings are not plain, an indent mixes blanks and tabs.
    "empty }" is the brace that ends an object without members: only "{" stands before it. "first", if there is one,
    stands before the first member or item.

    level: how many objects and arrays a member or an item is within, if `indent` says what stands before it.
    """
    whitespace = options.whitespace
    most = f"{{0,{options.max_indent}}}"
    line = f"\\n[ \\t]{most}" if options.spellings == "all" else f"\\n(?:[ ]{most}|\\t{most})"
    gap = first = ""
    comma, colon = ",", ":"
    if options.separators is not None:
        comma, colon = [_exactly(separator) for separator in options.separators]
    elif whitespace == "spaced":
        comma, colon = ", ", ": "
    elif level is not None:
        colon = ": "
    elif whitespace == "flexible":
        colon = ": ?"
    if level is not None:
        indent = options.indent_of_level or ""
        first = _exactly(f"\n{indent * level}")
        comma += first
        end = _exactly(f"\n{indent * (level - 1)}")
    elif whitespace == "flexible":
        end = gap = f"(?: |{line})?"
        comma += gap if options.separators is None else f"(?:{line})?"
    elif whitespace == "any":
        end = gap = f"[ \\t\\n\\r]{{0,{options.max_whitespace}}}"
        comma, colon = f"{gap},{gap}", f"{gap}:{gap}"
    else:
        end = ""
    patterns = {
        "{": f"\\{{{gap}",
        "}": f"{end}\\}}",
        "[": f"\\[{gap}",
        "]": f"{end}\\]",
        "empty }": "\\}",
        "empty ]": "\\]",
        ",": comma,
        "colon": colon,
    }
    if first:
        patterns["first"] = first
    if whitespace == "any" and options.max_whitespace:
        patterns["around"] = f"[ \\t\\n\\r]{{1,{options.max_whitespace}}}"
    return {name: Lowered(parse(pattern), recurs=True) for name, pattern in patterns.items()}


def _exactly(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r").replace(" ", "[ ]")
