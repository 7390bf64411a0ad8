"""Tokens that are accepted by their ids, whatever their bytes are, for one vocabulary.

EOS tokens end the text; special tokens are symbols of a grammar that names them. And some symbols stand for one token
out of a set of ids. A grammar names sets such as `<[128000-128255]>` or `<[^5]>` without knowing the vocabulary. For
a vocabulary, each such symbol becomes a bitmap of the ids that exist there: text tokens, special tokens and EOS, but
no gaps and no padding. Masks unite these bitmaps (`_masks`), so a symbol costs the same for one id as for all.
"""

from libc.stdlib cimport free

from earleymask.earley._tables cimport sort_unique, words_free, words_push
from earleymask.trie._bitmask cimport mask_allow
from earleymask.trie._memory cimport calloc
from earleymask.trie._trie cimport TokenTrie

from earleymask.trie.errors import VocabularyError, shortened

cdef enum:
    FEW_IDS = 32                # the most ids of a set that is put into masks id by id


cdef class Specials:
    """EOS tokens, and the special tokens that a grammar names, with their symbols."""

    def __cinit__(self, eos_token_ids, named):
        for token in eos_token_ids:
            words_push(&self.eos, token)
        sort_unique(&self.eos)
        for token, symbol in named:
            words_push(&self.named, token)
            words_push(&self.named, symbol)

    def __dealloc__(self):
        words_free(&self.eos)
        words_free(&self.named)


cdef class TokenIds:
    """The sets of ids of one grammar, as bitmaps over one vocabulary."""

    def __cinit__(self, size_t n, uint32_t n_words):
        self.n_words = n_words
        self.symbols = <uint32_t*> calloc(n + 1, sizeof(uint32_t))
        self.n_ids = <uint32_t*> calloc(n + 1, sizeof(uint32_t))
        self.few = <uint32_t**> calloc(n + 1, sizeof(uint32_t*))
        self.bits = <uint32_t*> calloc(n * n_words + 1, sizeof(uint32_t))
        if self.symbols == NULL or self.n_ids == NULL or self.few == NULL or self.bits == NULL:
            raise MemoryError("token ids")
        self.n = n

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n):
            free(self.few[i])
        free(self.few)
        free(self.symbols)
        free(self.n_ids)
        free(self.bits)

    cdef int fill(self, size_t i, list ranges, const uint32_t* existing, bint negated) except -1:
        """Let set i be the existing ids within the ranges, or with `negated` those outside of them."""
        cdef uint32_t* bits = self.bits + i * self.n_words
        cdef uint32_t w, token, low, high, n = 0
        for low, high in ranges:
            for token in range(low, high + 1):
                mask_allow(bits, token)
        for w in range(self.n_words):
            bits[w] = existing[w] & (~bits[w] if negated else bits[w])
        for w in range(self.n_words * 32):
            n += has_id(self, i, w)
        self.n_ids[i] = n
        if n <= FEW_IDS:
            self.few[i] = <uint32_t*> calloc(n + 1, sizeof(uint32_t))
            if self.few[i] == NULL:
                raise MemoryError("token ids")
            n = 0
            for w in range(self.n_words * 32):
                if has_id(self, i, w):
                    self.few[i][n] = w
                    n += 1
        return 0


cdef TokenIds token_ids_of(list token_sets, object vocabulary, tuple eos_token_ids):
    """Return the sets over this vocabulary. Those that exclude EOS have none of `eos_token_ids`. Raises VocabularyError for a set without ids, and for a single id that does
    not exist."""
    cdef TokenTrie trie = vocabulary.trie
    cdef TokenIds sets = TokenIds(len(token_sets), trie.n_words)
    cdef TokenIds existing = TokenIds(1, trie.n_words)
    cdef TokenIds others = TokenIds(1, trie.n_words)        # without EOS
    cdef uint32_t token, w, last = trie.n_tokens
    cdef size_t i
    for token in range(trie.n_tokens):
        if trie.token_offsets[token] < trie.token_offsets[token + 1]:
            mask_allow(existing.bits, token)
    for token in vocabulary.special_token_ids:
        mask_allow(existing.bits, token)
    for w in range(trie.n_words):
        others.bits[w] = existing.bits[w]
    for token in eos_token_ids:
        others.bits[token // 32] &= ~(<uint32_t> 1 << (token % 32))
    for i in range(sets.n):
        symbol, name, ranges, names, negated, eos = token_sets[i]
        sets.symbols[i] = symbol
        within = []
        for low, high in ranges:
            if low == high and (low >= last or not has_id(existing, 0, low)):
                raise VocabularyError(f"the grammar names token {low} in {shortened(name)!r}, which the vocabulary of {last} ids does not have")
            if low < last:
                within.append((low, min(high, last - 1)))
        for special in names:
            token_id = vocabulary.special_tokens[special]   # the matcher has looked for all names
            within.append((token_id, token_id))
        sets.fill(i, within, existing.bits if eos else others.bits, negated)
        if sets.n_ids[i] == 0:
            raise VocabularyError(f"the grammar asks for a token of {shortened(name)!r}, and the vocabulary of {last} ids has none")
    return sets
