"""Hashes of the whole content of a regex, which are the same in every process.

Files use them to identify regexes, because a node's number means nothing in another process. The members of unions and
intersections are in the order of their numbers, so the hash does not depend on their order. It recurses along the
nesting of a regex, so it must be used for regexes of this package only.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free

from earleymask.earley._nodes cimport (
    CUTS_ORACLES, I_OP, I_WORDS, I_X, K_AND, K_CHAR, K_CHOICES, K_CONCAT, K_CUTS, K_ESCAPED, K_MARKED, K_MULTIPLES, K_NOT, K_ORDERED,
    K_REPEAT, K_TAIL, K_UNION, OP_ATOM, OP_JUMP, OP_SPLIT, T_CUT, T_OPEN, T_THREAD, Instruction, code_begins,
    cut_program, item_length, items_begin,
)
from earleymask.earley._regex cimport Regexes
from earleymask.earley._tables cimport sequence, sequence_length
from earleymask.trie._memory cimport calloc

cdef enum:
    ANY_TAIL = 0xFFFFFFFF       # `_characters.ANY`


cdef class Keys:

    def __cinit__(self, Regexes regexes not None):
        self.regexes = regexes
        self.n = regexes.nodes.n
        self.keys = <uint64_t*> calloc(self.n, sizeof(uint64_t))
        if self.keys == NULL:
            raise MemoryError("keys of regexes")

    def __dealloc__(self):
        free(self.keys)

    cdef uint64_t key(self, uint32_t regex) noexcept nogil:
        """Return a hash of the regex's content that does not depend on the numbers of nodes."""
        cdef const uint32_t* p = sequence(self.regexes.nodes, regex)
        cdef const uint32_t* ranges
        cdef size_t n = sequence_length(self.regexes.nodes, regex), i
        cdef uint64_t h, total = 0
        if self.keys[regex]:
            return self.keys[regex]
        h = mixed(0x9E3779B97F4A7C15u, p[0])
        if p[0] == K_CONCAT:
            h = mixed(mixed(h, self.key(p[1])), self.key(p[2]))
        elif p[0] == K_UNION or p[0] == K_AND:
            for i in range(1, n):                       # in any order
                total += mixed(h, self.key(p[i]))
            h = mixed(h, total)
        elif p[0] == K_NOT:
            h = mixed(h, self.key(p[1]))
        elif p[0] == K_MARKED:
            for i in range(1, n):
                h = mixed(h, self.key(p[i]))
        elif p[0] == K_ESCAPED or p[0] == K_CHOICES or p[0] == K_MULTIPLES:
            h = mixed(h, self.key(p[1]))
            for i in range(2, n):
                h = mixed(h, p[i])
        elif p[0] == K_REPEAT:
            h = mixed(mixed(mixed(h, self.key(p[1])), p[2]), p[3])
        elif p[0] == K_ORDERED:
            for i in range(1, n, 2):
                h = mixed(mixed(h, self.program_key(p[i])), self.key(p[i + 1]))
        elif p[0] == K_CUTS:
            h = mixed(mixed(h, self.cut_program_key(p[1])), p[2])
            for i in range(CUTS_ORACLES, items_begin(cut_program(self.regexes, p[1]))):
                h = mixed(h, self.key(p[i]))
            i = items_begin(cut_program(self.regexes, p[1]))
            while i < n:
                h = mixed(h, p[i])
                if p[i] == T_THREAD:
                    h = mixed(mixed(h, p[i + 1]), self.key(p[i + 2]))
                elif p[i] == T_OPEN or p[i] == T_CUT:
                    h = mixed(h, p[i + 1])
                i += item_length(p[i])
        else:
            i = 1
            if p[0] == K_CHAR or (p[0] == K_TAIL and p[1] != ANY_TAIL):
                ranges = sequence(self.regexes.classes, p[1])
                for i in range(sequence_length(self.regexes.classes, p[1])):
                    h = mixed(h, ranges[i])
                i = 2
            for i in range(i, n):
                h = mixed(h, p[i])
        self.keys[regex] = h | 1                        # 0 means not computed
        return self.keys[regex]

    cdef uint64_t cut_program_key(self, uint32_t program) noexcept nogil:
        cdef const uint32_t* words = cut_program(self.regexes, program)
        cdef size_t n = sequence_length(self.regexes.cut_programs, program), i
        cdef size_t code = code_begins(words)
        cdef uint64_t h = mixed(n, code)
        for i in range(n):
            if i >= code and (i - code) % I_WORDS == I_X and words[i - I_X + I_OP] == OP_ATOM:
                h = mixed(h, self.key(words[i]))
            else:
                h = mixed(h, words[i])
        return h

    cdef uint64_t program_key(self, uint32_t instruction) noexcept nogil:
        """Return a hash of a whole ordered program and of a place in it."""
        cdef size_t k = self.regexes.programs.n
        cdef uint32_t start, end, i
        cdef const Instruction* code
        cdef uint64_t h
        while self.regexes.programs.data[k - 1] > instruction:
            k -= 1
        start = self.regexes.programs.data[k - 1]
        end = <uint32_t> self.regexes.n_code
        if k < self.regexes.programs.n:
            end = self.regexes.programs.data[k]
        h = mixed(end - start, instruction - start)
        for i in range(start, end):
            code = self.regexes.code + i
            h = mixed(h, code.op)
            if code.op == OP_ATOM:
                h = mixed(h, self.key(code.x))
            elif code.op == OP_SPLIT or code.op == OP_JUMP:
                h = mixed(h, code.x - start)
            if code.op == OP_SPLIT:
                h = mixed(h, code.y - start)
        return h


cdef inline uint64_t mixed(uint64_t h, uint64_t word) noexcept nogil:
    # The finalizer of splitmix64 (Steele, Lea, Flood 2014).
    h = (h ^ word) * 0xBF58476D1CE4E5B9u + 0x9E3779B97F4A7C15u
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu
    return h ^ (h >> 31)
