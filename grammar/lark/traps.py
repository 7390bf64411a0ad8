r"""Warn of grammars that mean something else here, or in any exact engine, than their authors may think.

- A keyword and a name with ignored white space between them: no white space is needed, so `selecta` is `select a`.
- `stop="\n"` and then "\n": the text of `stop` belongs to the rule, so a second "\n" is meant.
- A rule with `lazy`, `stop` or `suffix` beside free text that may contain it: the free text goes on after it.

Followers are those of parsing theory (FIRST and FOLLOW), among alternatives that can be finished, so a pair that is
found can really stand side by side. Grammars beyond the bounds below get no such warning, nor do regexps whose
comparison exceeds a limit.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...earley.errors import LimitError
from ..bits import BIT
from ..model.analysis import first_sets, followers, nullable_symbols
from ..model.model import HELPER, IGNORED, RULE, TERMINAL
from ..regex.ast import Behind, Chars, Concat, Literal, Look, Union
from ..regex.lower import has_lookaround
from .attributes import OF_LANGUAGE
from .literals import string_text
from .tree import Attribute, Attributed, String

if TYPE_CHECKING:
    from ..regex.ast import Node as Regex

MAX_PRODUCTIONS = 20_000
MAX_TERMINALS = 1_000
"""Grammars with more productions or terminals are not looked at: the sets of followers take time in proportion to the
product of these numbers."""

MAX_KEYWORDS = 100
MAX_NAMES = 10
"""The first so many keywords are compared with the first so many other terminals. Each comparison takes the derivatives
by each character of a keyword."""

MAX_HEADS = 50
"""The first so many rules with `lazy`, `stop` or `suffix` are compared with the terminals beside them. Each comparison
is a search through an automaton."""

MAX_SAMPLES = 8
"""A keyword has at most so many spellings; terminals with more are no keywords."""

MAX_VARIANTS = 4
"""A class of at most so many characters is one letter in upper and lower case, `[sSſ]` for example."""

_KEYWORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+\Z")
_NAMES = ("x", "X", "_")
"""Texts of which a name has at least one."""

_ANY_TEXT = re.compile(r"(?s:.*)\Z")
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_BLANKS = (b" ", b"\n")


def find_traps(finder: Any, start: str) -> None:
    """Add the warnings about a grammar that has been loaded. `finder` is that of `warnings`."""
    with suppress(LimitError):  # what has been found stays
        _Traps(finder, start).find()


class _Traps:
    def __init__(self, finder: Any, start: str) -> None:
        self.finder = finder
        self.model = finder.model
        self.regexes = finder.regexes
        self.nodes: dict[int, int] = finder.nodes
        self.start: int = finder.top.symbols[start]
        self.begins: dict[int, frozenset[int]] = {}  # by regex node, see `word_bytes`

    def find(self) -> None:
        kinds = self.model.kinds
        productions = self.reached()
        reached = set(productions).union(*[rhs for alternatives in productions.values() for rhs in alternatives])
        terminals = [symbol for symbol in sorted(reached) if kinds[symbol] == TERMINAL]
        heads = [symbol for symbol in terminals if self.attributes(symbol)][:MAX_HEADS]
        spaced = any(
            kinds[symbol] == IGNORED and any(self.regexes.matches(node, blank) for blank in _BLANKS)
            for symbol, node in self.nodes.items()
        )
        if sum(map(len, productions.values())) > MAX_PRODUCTIONS or len(terminals) > MAX_TERMINALS:
            return
        if not heads and not spaced:
            return
        self.productions = productions
        self.terminals = terminals
        bits = {symbol: 1 << at for at, symbol in enumerate(terminals)}
        end = BIT << len(terminals)
        self.bits, self.end = bits, end
        nullable = {symbol for symbol in terminals if symbol in self.finder.nullable}
        self.first = first_sets(productions, bits, nullable)[0]
        self.follow = followers(productions, self.start, end, bits, nullable)
        self.repeated = self.find_repeated()
        for head in heads:
            self.stop_again(head)
            self.beside_free_text(head, heads)
        if spaced:
            others = [symbol for symbol in terminals if symbol not in heads]
            self.glued(others)

    def reached(self) -> dict[int, list[tuple[int, ...]]]:
        """Return the productions of all symbols that the start rule reaches, but for those that can never be
        finished."""
        model = self.model
        calls = set() if model.parameters is None else set(model.parameters.calls)
        ends = {symbol for symbol, kind in enumerate(model.kinds) if kind not in (RULE, HELPER)} | calls
        finished = nullable_symbols(model, ends)  # the same fixpoint, with all texts in place of the empty one
        found: dict[int, list[tuple[int, ...]]] = {}
        stack = [self.start]
        while stack:
            symbol = stack.pop()
            if symbol not in found and model.productions[symbol]:
                found[symbol] = [rhs for rhs in model.productions[symbol] if finished.issuperset(rhs)]
                stack += [part for rhs in found[symbol] for part in rhs]
        return found

    def members(self, bits: int) -> list[int]:
        return [symbol for symbol in self.terminals if bits & self.bits[symbol]]

    def name(self, symbol: int) -> str:
        name: str = self.model.names[symbol]
        return name

    # ---- keywords beside names --------------------------------------------------------------------------------------

    def glued(self, terminals: list[int]) -> None:
        """Warn of a keyword and a name, in either order, that may stand side by side without white space."""
        trees = self.model.trees
        keywords = {symbol: texts for symbol in terminals if (texts := keyword(without_break(trees[symbol])))}
        names = [symbol for symbol in terminals if symbol not in keywords][:MAX_NAMES]
        tried = list(keywords.items())[:MAX_KEYWORDS]
        found = [
            pair
            for symbol, texts in tried
            if symbol not in self.finder.contextual and (pair := self.keyword_before(symbol, texts, names))
        ]
        if found:
            symbol, text, rest = found[0]
            n_more = len(found) - 1
            more = f" (and {n_more} other keyword{'s' if n_more > 1 else ''})" if n_more else ""
            self.model.warn(
                f"no white space is needed after `{self.name(symbol)}`{more}: `{text}{rest}` is read as `{text}` and "
                f"`{rest}`, although white space is ignored; to demand it, end the keyword with `\\b`: "
                f"{self.bounded(symbol, keywords[symbol])}",
                self.model.origins[symbol],
            )
        for name in names:
            glued = self.name_before(name, tried)
            if glued:
                first, text = glued
                self.model.warn(
                    f"no white space is needed between `{self.name(name)}` and the keywords after it: `{first}{text}` "
                    f"is read as `{first}` and `{text}`, although white space is ignored; to demand it, end "
                    f"`{self.name(name)}` with `\\b`",
                    self.model.origins[name],
                )
                return

    def keyword_before(self, symbol: int, texts: list[str], names: list[int]) -> tuple[int, str, str] | None:
        """Return a keyword, one of its texts, and how a word may begin directly after it, if both together could also
        be the beginning of one name."""
        followed = [self.word_bytes(self.nodes[other]) for other in self.members(self.follow.get(symbol, 0))]
        after = frozenset().union(*followed)
        if not after:
            return None
        for name in names:
            for text in texts:
                rest = self.after(self.nodes[name], text)
                common = after & self.word_bytes(rest) if rest is not None else None
                if common:
                    return symbol, text, chr(max(common))
        return None

    def name_before(self, name: int, keywords: list[tuple[int, list[str]]]) -> tuple[str, str] | None:
        """Return a text of a name, and one of a keyword that may stand directly after it, if both together could also
        be one name."""
        if name in self.finder.contextual:
            return None
        following = self.follow.get(name, 0)
        for letter in _NAMES:
            if self.regexes.matches(self.nodes[name], letter.encode()):
                for symbol, texts in keywords:
                    if following & self.bits[symbol] and self.after(self.nodes[name], letter + texts[0]) is not None:
                        return letter, texts[0]
        return None

    def bounded(self, symbol: int, texts: list[str]) -> str:
        """Return the keyword as a regexp that no word character may follow."""
        folded = {text.casefold() for text in texts}
        if len(folded) == 1 and all(
            self.regexes.matches(self.nodes[symbol], text.swapcase().encode()) for text in texts
        ):
            return f"/{texts[0]}\\b/i"
        return f"/{texts[0]}\\b/" if len(texts) == 1 else f"/(?:{'|'.join(texts)})\\b/"

    def word_bytes(self, node: int) -> frozenset[int]:
        """Return the word characters of ASCII with which the texts of a regex may begin."""
        found = self.begins.get(node)
        if found is None:
            bytes_of = self.regexes.derivatives(node).values()
            found = self.begins[node] = frozenset(b"".join(bytes_of)) & _WORD
        return found

    def after(self, node: int, text: str) -> int | None:
        """Return the regex of what may follow `text` in the texts of a regex; None if none begins with it."""
        for byte in text.encode():
            node = next((each for each, read in self.regexes.derivatives(node).items() if byte in read), 0)
            if not node:
                return None
        return node

    # ---- rules with `lazy`, `stop` and `suffix` ------------------------------------------------------------------

    def attributes(self, symbol: int) -> list[Attribute]:
        """Return those attributes of a terminal that change its language."""
        node = self.model.origins[symbol][1]
        if not isinstance(node, Attributed):
            return []
        return [attribute for attribute in node.attributes if attribute.name in OF_LANGUAGE]

    def stop_again(self, head: int) -> None:
        """Warn if the text of `stop` is written once more after its rule."""
        for attribute in self.attributes(head):
            if attribute.name != "stop" or not isinstance(attribute.value, String):
                continue
            text = string_text(attribute.value.raw)[0]
            following = self.follow.get(head, 0)
            again = 0
            for symbol in self.members(following):
                texts = keyword(self.model.trees[symbol], _ANY_TEXT)
                if texts and all(each.startswith(text) for each in texts):
                    again |= self.bits[symbol]
            if again and (following | self.end == again | self.end or self.stands_before(head, again)):
                self.model.warn(
                    f"the text of `stop` belongs to the rule `{self.name(head)}`, so {attribute.value.raw} after the "
                    "rule is a second one; remove it there, or write the rule without `stop`",
                    (self.model.origins[head][0], attribute),
                )

    def stands_before(self, head: int, following: int) -> bool:
        """Return whether a production has one of the terminals `following` directly after `head` or its rule."""
        around = {head} | {lhs for lhs, alternatives in self.productions.items() if alternatives == [(head,)]}
        return any(
            rhs[at] in around and self.bits.get(rhs[at + 1], 0) & following
            for alternatives in self.productions.values()
            for rhs in alternatives
            for at in range(len(rhs) - 1)
        )

    def beside_free_text(self, head: int, heads: list[int]) -> None:
        """Warn if another terminal may begin where a rule does and matches its text and whatever follows that."""
        if head in self.model.commits:
            return
        only = self.bits[head]
        together = 0
        for lhs in self.productions:
            begins = self.first.get(lhs, 0)
            if begins & only:
                together |= begins
        for symbol in self.terminals:
            following = self.follow.get(symbol, 0)
            if following & only:  # free text before the rule, which may go on instead
                together |= self.bits[symbol]
            if not following & ~(only | self.bits[symbol]):  # the rule must come all the same
                together &= ~self.bits[symbol]
        for symbol in self.members(together):
            if symbol in heads or has_lookaround(self.model.trees[symbol]):
                continue
            text, shown = self.nodes[symbol], self.name(symbol)
            if symbol in self.repeated:
                text, shown = self.regexes.repeat(text, 1), f"{shown}+"
            if self.holds(text, self.nodes[head]):
                self.model.warn(
                    f"`{self.name(head)}` constrains nothing: free text, `{shown}`, may match the same in its place and"
                    f" go on with anything; {self.cure(head, shown)}",
                    self.model.origins[head],
                )
                return

    def find_repeated(self) -> set[int]:
        """Return terminals that rules repeat without a bound: those of productions `x: x T` and `x: T x`, with T by
        itself or as all that a rule consists of."""
        alone = {lhs: alternatives[0][0] for lhs, alternatives in self.productions.items() if is_alone(alternatives)}
        found = set()
        for lhs, alternatives in self.productions.items():
            for rhs in alternatives:
                if len(rhs) == 2 and lhs in rhs:
                    other = rhs[0] if rhs[1] == lhs else rhs[1]
                    met = set()  # rules may stand for each other in a circle
                    while other in alone and other not in met:
                        met.add(other)
                        other = alone[other]
                    found.add(other)
        return found

    def holds(self, text: int, head: int) -> bool:
        """Return whether `text` matches all texts of `head`, and these with any text of its own after them."""
        regexes = self.regexes
        return all(regexes.is_empty(regexes.difference(node, text)) for node in (head, regexes.concat([head, text])))

    def cure(self, head: int, shown: str) -> str:
        """Return how to write the free text `shown` so that it leaves the texts of `head` alone."""
        commit = f"or let it end where the rule has matched: `{self.name(head)}[commit, ...]`"
        for attribute in self.attributes(head):
            if isinstance(attribute.value, String):
                ending = re.escape(string_text(attribute.value.raw)[0]).replace("/", "\\/").replace("\n", "\\n")
                return f"keep its ending out of that: `{shown} & ~/(?s:.*){ending}(?s:.*)/`, {commit}"
        return f"keep what ends it out of that: `{shown} & ~(...)`, {commit}"


def is_alone(alternatives: list[tuple[int, ...]]) -> bool:
    return len(alternatives) == 1 and len(alternatives[0]) == 1


def keyword(tree: Regex | None, wanted: re.Pattern[str] = _KEYWORD) -> list[str]:
    """Return texts of a terminal that has one text or a few, apart from case, and only such as are `wanted`; an empty
    list for any other terminal."""
    texts = _texts(tree)
    return texts if all(map(wanted.match, texts)) else []


def without_break(tree: Regex | None) -> Regex | None:
    r"""Return a terminal without the `\b` or the lookahead at its end."""
    if isinstance(tree, Concat) and len(tree.parts) > 1 and _is_break(tree.parts[-1]):
        return Concat(tree.parts[:-1])
    return tree


def _is_break(tree: Regex) -> bool:
    """Return whether a tree consists of lookarounds."""
    if isinstance(tree, Union):
        return all(map(_is_break, tree.alternatives))
    if isinstance(tree, Concat):
        return all(map(_is_break, tree.parts))
    return isinstance(tree, (Behind, Look))


def _texts(tree: Regex | None) -> list[str]:
    if isinstance(tree, Literal):
        return [tree.text]
    if isinstance(tree, Chars) and 0 < sum(last - first + 1 for first, last in tree.ranges) <= MAX_VARIANTS:
        letters = [chr(code) for first, last in tree.ranges for code in range(first, last + 1)]
        return [next(iter(filter(str.islower, filter(str.isascii, letters))), letters[0])]
    found: list[str] = []
    if isinstance(tree, Union):
        for alternative in tree.alternatives:
            texts = _texts(alternative)
            if not texts or len(found) + len(texts) > MAX_SAMPLES:
                return []
            found += texts
    elif isinstance(tree, Concat):
        found = [""]
        for part in tree.parts:
            texts = _texts(part)
            if not texts or len(found) * len(texts) > MAX_SAMPLES:
                return []
            found = [before + text for before in found for text in texts]
    return found
