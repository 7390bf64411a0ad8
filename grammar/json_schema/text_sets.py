"""Sets of texts as schemas speak of them: all texts, some words, all but some words, bounds of length, patterns.

A text is in a set if all parts of the set allow it. Intersection, union and complement of sets are sets again; a result
that has no simpler form becomes one regex tree. Words are kept as words for as long as possible, because most decisions
are about words: is this key named, do these two enumerations have a value in common? The regex core makes all other
decisions, exactly.
"""

from __future__ import annotations

from ...earley._large import untrack
from ...earley._meter import tick
from ...earley._regex import Regexes
from ..errors import GrammarLimitError
from ..json.strings import Own, Style, any_text, dumped_words, spelled, spelled_surrogates, text_of_length
from ..loading import in_order, pieces
from ..regex.ast import And, Chars, Literal, Node, Not, Repeat, Union
from ..regex.choices import node_of
from ..regex.codepoints import ALL
from ..regex.lower import RECURRING, lower

Words = frozenset[str]

NO_WORDS: Words = frozenset()

NOTHING = Chars(())
MAX_WITHIN = 20
"""The most trees within each other that are read to find what they say about lengths."""
MAX_WEIGHT = 1 << 12
"""The most sets of which one set is combined. Each use of a set counts, because it is written out. Beyond it,
GrammarLimitError is raised."""


class Texts:
    """A set of texts.

    Attributes:
        words: if not None, the set is exactly these, and the other attributes say nothing.
        least, most: how many code points a text has; `most` None: without bound.
        trees: regex trees over texts; a text is in all of them.
        but: words that are not in the set.
        weight: how many sets this one is combined of.

    Garbage collections do not visit these sets, nor their words: the thousand branches of an `anyOf` have a million.
    """

    __slots__ = ("_hash", "_lowered", "but", "least", "most", "trees", "weight", "words")
    words: Words | None
    least: int
    most: int | None
    trees: tuple[Node, ...]
    but: Words

    def __init__(
        self,
        words: Words | None = None,
        least: int = 0,
        most: int | None = None,
        trees: tuple[Node, ...] = (),
        but: Words = NO_WORDS,
        weight: int = 1,
    ) -> None:
        if weight > MAX_WEIGHT:
            raise GrammarLimitError(f"a combination of schemas becomes one of more than {MAX_WEIGHT} sets of strings")
        if words is not None:
            untrack(words)
        untrack(but)
        self.weight = weight
        self.words = words
        self.least = least
        self.most = most
        self.trees = trees
        self.but = but
        self._hash = 0
        self._lowered: list[tuple[Regexes, int] | None] | None = None  # of each tree, made when needed
        untrack(self)

    def key(self) -> tuple[object, ...]:
        return (self.words, self.least, self.most, self.trees, self.but)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Texts) and hash(self) == hash(other) and self.key() == other.key()

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash(self.key())
        return self._hash

    def __repr__(self) -> str:
        return f"Texts{self.key()}"

    def is_all(self) -> bool:
        return self is ALL_TEXTS or self.key() == ALL_TEXTS.key()

    def has(self, word: str) -> bool:
        """Whether `word` is in the set. Raises LimitError if that takes too much work."""
        if self.words is not None:
            return word in self.words
        if len(word) < self.least or (self.most is not None and len(word) > self.most) or word in self.but:
            return False
        if not self.trees:
            return True
        tick()
        data = word.encode("utf-8", "surrogatepass")
        lowered = self.lowered()
        for index, tree in enumerate(self.trees):
            known = lowered[index]
            if known is None:
                regexes = Regexes()
                known = lowered[index] = (regexes, lower(tree, regexes))
            regexes, node = known
            if not regexes.matches(node, data):
                return False
        return True

    def lowered(self) -> list[tuple[Regexes, int] | None]:
        if self._lowered is None:
            self._lowered = [None] * len(self.trees)
        return self._lowered

    def take_over(self, left: Texts, right: Texts) -> None:
        """Reuse the trees that two other sets have lowered already."""
        if left._lowered is not None or right._lowered is not None:
            trees = zip(left.trees + right.trees, left.lowered() + right.lowered(), strict=True)
            known = {id(tree): lowered for tree, lowered in trees if lowered is not None}
            self._lowered = [known.get(id(tree)) for tree in self.trees]

    def among(self, words: Words) -> Words:
        """Return the words that are in the set. Raises LimitError if that takes too much work."""
        if self.words is not None:
            return words & self.words
        if not self.trees and self.least == 0 and self.most is None:
            return words - self.but
        return frozenset([word for word in words if self.has(word)])

    def intersection(self, other: Texts) -> Texts:
        if self is other or other is ALL_TEXTS:
            return self
        if self is ALL_TEXTS:
            return other
        if self.words is not None:
            words = other.among(self.words)
            return self if len(words) == len(self.words) else Texts(words)
        if other.words is not None:
            return other.intersection(self)
        most = self.most
        if most is None or (other.most is not None and other.most < most):
            most = other.most
        trees = self.trees + tuple([tree for tree in other.trees if tree not in self.trees])
        least = max(self.least, other.least)
        if most is not None and least > most:
            return NO_TEXTS
        if trees and (least or most is not None):
            found = []
            for tree in trees:
                left = within(tree, least, most, MAX_WITHIN)
                if left is NOTHING:
                    return NO_TEXTS
                if left is not None:
                    found.append(left)
            trees = tuple(found)
        made = Texts(None, least, most, trees, self.but | other.but, self.weight + other.weight)
        if trees:
            made.take_over(self, other)
        return made

    def union(self, other: Texts) -> Texts:
        if self == other or self.is_all() or other.words == NO_WORDS:
            return self
        if other.is_all() or self.words == NO_WORDS:
            return other
        if self.words is not None and other.words is not None:
            return Texts(self.words | other.words)
        if self.words is not None:
            return other.union(self)
        if other.words is not None and not self.trees and self.least == 0 and self.most is None:
            return Texts(but=self.but - other.words)
        left, right = self, other
        least, most = 0, None
        if self.least == other.least and self.most == other.most and other.words is None:
            # If both say the same about the length, say it once: counts in unions need many states.
            least, most = self.least, self.most
            left = Texts(None, 0, None, self.trees, self.but, self.weight)
            right = Texts(None, 0, None, other.trees, other.but, other.weight)
            if left.is_all() or right.is_all():
                return Texts(None, least, most)
        # An `And` with one part is that part as a language, whatever is in it.
        either = Union((And((left.tree(),)), And((right.tree(),))))
        return Texts(None, least, most, (either,), weight=self.weight + other.weight)

    def complement(self) -> Texts:
        if self.words is not None:
            return Texts(but=self.words) if self.words else ALL_TEXTS
        if not self.trees and not self.but:
            if self.most is None:
                return NO_TEXTS if self.least == 0 else Texts(most=self.least - 1)
            if self.least == 0:
                return Texts(least=self.most + 1)
        if not self.trees and self.least == 0 and self.most is None:
            return Texts(self.but)
        if len(self.trees) == 1 and not self.but and self.least == 0 and self.most is None:
            tree = self.trees[0]
            if not isinstance(tree, Not):
                return Texts(trees=(Not(tree),), weight=self.weight)
            found = Texts(weight=self.weight)
            for part in tree.body.parts if isinstance(tree.body, And) else (tree.body,):
                lengths = lengths_of(part)
                one = Texts(trees=(part,)) if lengths is None else Texts(None, *lengths)
                found = found.intersection(one)
            return Texts(found.words, found.least, found.most, found.trees, found.but, self.weight)
        return Texts(trees=(Not(self.tree()),), weight=self.weight)

    def difference(self, other: Texts) -> Texts:
        return self.intersection(other.complement())

    def tree(self) -> Node:
        """Return the set as one regex tree."""
        if self.words is not None:
            return _words_tree(self.words)
        parts = list(self.trees)
        if self.least > 0 or self.most is not None or not (parts or self.but):
            parts.append(Repeat(Chars(ALL), self.least, self.most))
        if self.but:
            parts.append(Not(_words_tree(self.but)))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def node(self, regexes: Regexes, style: Style, own: Own) -> int:
        """Return the spellings of the texts, without quotes, as a regex node; `own`: see `dumped_words`."""
        words = self.words
        if words is not None:
            return dumped_words(words, own, regexes, style) if style.dumped else spelled_words(words, regexes, style)
        if self.but:
            # Subtract the words instead of spelling the complement: after a character with which none of the words
            # continues, this is the plain string, which other grammars have, too.
            body = Texts(None, self.least, self.most, self.trees).node(regexes, style, own)
            return regexes.difference(body, spelled_words(self.but, regexes, style))
        if self.trees:
            tree = self.tree()
            known = RECURRING.get(tree)
            return spelled(lower(tree, regexes) if known is None else known.into(regexes), regexes, style)
        if self.least or self.most is not None:
            return text_of_length(self.least, self.most, regexes, style)
        return any_text(regexes, style)


def lengths_of(tree: Node) -> tuple[int, int | None] | None:
    """Return the least and the greatest length, if the tree says nothing else; otherwise None."""
    if isinstance(tree, Repeat) and isinstance(tree.body, Chars) and tree.body.ranges == ALL:
        return tree.minimum, tree.maximum
    return None


def within(tree: Node, least: int, most: int | None, depth: int) -> Node | None:
    """Return what the tree says about texts of these lengths. None: nothing; NOTHING: there are no such texts.

    If one string with bounds of length must not be in another set, this leaves only their patterns to compare. It reads
    what `Texts` makes of trees, not the inside of a pattern or a format.
    """
    if depth == 0:
        return tree
    lengths = lengths_of(tree)
    if lengths is not None:
        minimum, maximum = lengths
        if (most is not None and minimum > most) or (maximum is not None and maximum < least):
            return NOTHING
        minimum = 0 if minimum <= least else minimum
        maximum = None if most is not None and maximum is not None and maximum >= most else maximum
        if (minimum, maximum) == lengths:
            return tree
        return Repeat(Chars(ALL), minimum, maximum) if minimum or maximum is not None else None
    if isinstance(tree, Not):
        left = within(tree.body, least, most, depth - 1)
        if left is tree.body:
            return tree
        return NOTHING if left is None else None if left is NOTHING else Not(left)
    if isinstance(tree, And):
        parts = [within(part, least, most, depth - 1) for part in tree.parts]
        if NOTHING in parts:
            return NOTHING
        found = tuple([part for part in parts if part is not None])
        if len(found) < 2 and len(tree.parts) > 1:
            return found[0] if found else None
        return tree if found == tree.parts else And(found) if found else None
    if isinstance(tree, Union) and all([isinstance(one, And) for one in tree.alternatives]):
        parts = [within(one, least, most, depth - 1) for one in tree.alternatives]
        if None in parts:
            return None
        found = tuple(
            [part if isinstance(part, And) else And((part,)) for part in parts if part not in (None, NOTHING)]
        )
        return tree if found == tree.alternatives else Union(found) if found else NOTHING
    return tree


def union_of(sets: list[Texts]) -> Texts:
    """Return the union of sets. Unite halves first, so that trees do not become deep."""
    if len(sets) == 1:
        return sets[0]
    half = len(sets) // 2
    return union_of(sets[:half]).union(union_of(sets[half:]))


class Questions:
    """Decides questions about sets of texts. Trees that several sets have are lowered once."""

    def __init__(self) -> None:
        self.regexes = Regexes()
        self.nodes: dict[object, int] = {}  # of trees and of the complements of words

    def is_empty(self, texts: Texts) -> bool:
        """Whether no text is in the set. Raises LimitError if that takes too much work."""
        if texts.words is not None:
            return not texts.words
        if not texts.trees and texts.most is None:
            return False
        return self.regexes.is_empty(self.node_of(texts))

    def node_of(self, texts: Texts) -> int:
        """Return the regex node of a set that is not just words."""
        parts = [self.node(tree) for tree in texts.trees]
        if texts.least > 0 or texts.most is not None:
            parts.append(lower(Repeat(Chars(ALL), texts.least, texts.most), self.regexes))
        if texts.but:
            known = self.nodes.get(texts.but)
            if known is None:
                known = self.nodes[texts.but] = lower(Not(_words_tree(texts.but)), self.regexes)
            parts.append(known)
        return parts[0] if len(parts) == 1 else self.regexes.intersection(parts)

    def node(self, tree: Node) -> int:
        known = self.nodes.get(tree)
        if known is None:
            if isinstance(tree, Not):
                known = self.regexes.complement(self.node(tree.body))
            else:
                known = lower(tree, self.regexes)
            self.nodes[tree] = known
        return known


ALL_TEXTS = Texts()
NO_TEXTS = Texts(NO_WORDS)


def has_surrogate(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return True
    return False


def _words_tree(words: Words) -> Node:
    """Return words as a language of texts, which have no lone surrogates."""
    return Union(tuple([Literal(word) for word in in_order(words) if not has_surrogate(word)]))


def spelled_words(words: Words, regexes: Regexes, style: Style) -> int:
    """Return all spellings of some words."""
    ordered = in_order(words)  # UTF-8 has the same order
    found = []
    try:
        texts = [word.encode() for piece in pieces(ordered) for word in piece]
    except UnicodeEncodeError:
        found = [spelled_surrogates(word, regexes, style) for word in ordered if has_surrogate(word)]
        texts = [word.encode() for word in ordered if not has_surrogate(word)]
    if texts:
        found.append(spelled(node_of(texts, regexes), regexes, style))
    return found[0] if len(found) == 1 else regexes.union(found)
