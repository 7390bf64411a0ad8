"""Regex nodes of one arena, *adopted* into another: the nodes there that denote the same.

The vocabulary has one arena for the regexes of all its grammars (`_automaton`), and a regex that many grammars have is
kept in an arena of its own, from which each of them adopts it (`Lowered` in `grammar/regex/lower`).
"""

from libc.string cimport memcpy, memset

from earleymask.earley._multiples cimport M_WORDS
from earleymask.earley._nodes cimport (
    CUTS_ORACLES, CUTS_PROGRAM, I_OP, I_WORDS, I_X, K_BYTES, K_CHAR, K_CHOICES, K_CONCAT, K_CUTS, K_DIVISORS, K_EMPTY,
    K_EPSILON, K_ESCAPED, K_LIST, K_MARKED, K_MULTIPLES, K_AND, K_NOT, K_ORDERED, K_REPEAT, K_TAIL, K_UNION, OP_ATOM, OP_JUMP,
    OP_SPLIT, T_THREAD, Instruction, code_begins, cut_program, item_length, items_begin,
)
from earleymask.earley._tables cimport NONE, sequence, sequence_length, words_extend, words_free, words_push

cdef enum:
    ANY_TAIL = 0xFFFFFFFF       # `_characters.ANY`


cdef class Adopter:
    """Brings nodes of other arenas into one."""

    def __cinit__(self, Regexes regexes not None):
        self.regexes = regexes
        self.programs = Sequences("ordered programs", 1 << 24)

    def __dealloc__(self):
        words_free(&self.agenda)
        words_free(&self.program_bases)

    def copy(self, Regexes other not None, node) -> int:
        """Return the node that equals `node` of another arena. Raises LimitError if this arena becomes too large."""
        cdef Words adopted
        cdef size_t base = self.regexes.stack.n
        memset(&adopted, 0, sizeof(adopted))
        try:
            return self.adopt(other, other.known(node), &adopted)
        finally:
            self.regexes.stack.n = base
            words_free(&adopted)

    cdef uint32_t adopt(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil:
        # Depth first on our own stack: a trie of choices is as deep as the choices are long.
        cdef size_t base = self.agenda.n
        cdef uint32_t mine
        if is_adopted(adopted, node):
            return adopted.data[node]
        try:
            words_push(&self.agenda, node)
            while self.agenda.n > base:
                node = self.agenda.data[self.agenda.n - 1]
                if is_adopted(adopted, node):
                    self.agenda.n -= 1
                elif not self.push_unknown(other, node, adopted):
                    mine = self.adopt_new(other, node, adopted)
                    note_adopted(adopted, node, mine)
        finally:
            self.agenda.n = base
        return adopted.data[node]

    cdef int push_unknown(self, Regexes other, uint32_t node, const Words* adopted) except -1 nogil:
        """Push the parts of the node that must be adopted before it: those that may be deep."""
        cdef const uint32_t* p = sequence(other.nodes, node)
        cdef size_t before = self.agenda.n, i, n = sequence_length(other.nodes, node)
        cdef uint32_t part
        if p[0] == K_CONCAT:
            while p[0] == K_CONCAT:                     # `adopt_new` adopts a whole chain
                if other.depths[p[1]] > 1 and not is_adopted(adopted, p[1]):
                    words_push(&self.agenda, p[1])
                node = p[2]
                if is_adopted(adopted, node):
                    return self.agenda.n > before
                p = sequence(other.nodes, node)
            if other.depths[node] > 1:
                words_push(&self.agenda, node)
        elif p[0] == K_UNION or p[0] == K_AND or p[0] == K_MARKED:
            for i in range(1, n):
                part = p[i]
                if other.depths[part] > 1 and not is_adopted(adopted, part):
                    words_push(&self.agenda, part)
        elif (p[0] == K_REPEAT or p[0] == K_NOT or p[0] == K_ESCAPED) and other.depths[p[1]] > 1 and not is_adopted(adopted, p[1]):
            words_push(&self.agenda, p[1])
        return self.agenda.n > before

    cdef uint32_t adopt_new(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil:
        # A node there is in normal form, so the node of its parts here is, too, up to the order of members.
        cdef const uint32_t* p = sequence(other.nodes, node)
        cdef uint32_t words[M_WORDS]
        cdef uint32_t kind = p[0], rest, mine
        cdef size_t base = self.regexes.stack.n, i, n = sequence_length(other.nodes, node)
        words[0] = kind
        if kind == K_EMPTY or kind == K_EPSILON:
            return node                                 # the same in every arena
        if kind == K_BYTES or kind == K_LIST or kind == K_DIVISORS:
            return self.regexes.make(p, n)
        if kind == K_CHAR:
            words[1] = self.adopt_class(other, p[1])
            return self.regexes.make(words, 2)
        if kind == K_TAIL:
            words[1] = p[1] if p[1] == ANY_TAIL else self.adopt_class(other, p[1])
            words[2], words[3], words[4] = p[2], p[3], p[4]
            return self.regexes.make(words, 5)
        if kind == K_REPEAT or kind == K_NOT or kind == K_ESCAPED or kind == K_CHOICES or kind == K_MULTIPLES:
            memcpy(words, p, n * sizeof(uint32_t))
            words[1] = self.adopt(other, p[1], adopted)
            return self.regexes.make(words, n)
        if kind == K_CONCAT:
            while p[0] == K_CONCAT:
                rest = p[2]
                mine = self.adopt(other, p[1], adopted)
                words_push(&self.regexes.stack, node)
                words_push(&self.regexes.stack, mine)
                node = rest
                if is_adopted(adopted, node):
                    break
                p = sequence(other.nodes, node)
            mine = self.adopt(other, node, adopted)
            while self.regexes.stack.n > base:
                self.regexes.stack.n -= 2
                node = self.regexes.stack.data[self.regexes.stack.n]
                words[1], words[2] = self.regexes.stack.data[self.regexes.stack.n + 1], mine
                mine = self.regexes.make(words, 3)
                note_adopted(adopted, node, mine)
            return mine
        if kind == K_ORDERED:
            words_push(&self.regexes.stack, K_ORDERED)
            for i in range(1, n, 2):
                mine = self.adopt_program(other, sequence(other.nodes, node)[i], adopted)
                words_push(&self.regexes.stack, mine)
                mine = self.adopt(other, sequence(other.nodes, node)[i + 1], adopted)
                words_push(&self.regexes.stack, mine)
            self.regexes.stack.n = base
            return self.regexes.make(self.regexes.stack.data + base, n)
        if kind == K_CUTS:
            return self.adopt_cuts(other, node, adopted)
        if kind == K_MARKED:
            words_push(&self.regexes.stack, kind)
        for i in range(1, n):                           # K_MARKED, K_UNION, K_AND
            mine = self.adopt(other, sequence(other.nodes, node)[i], adopted)
            words_push(&self.regexes.stack, mine)
        if kind == K_MARKED:
            self.regexes.stack.n = base
            return self.regexes.make(self.regexes.stack.data + base, n)
        return self.regexes.make_sorted(kind, base)

    cdef uint32_t adopt_cuts(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil:
        cdef size_t base = self.regexes.stack.n, i, n
        cdef uint32_t program = sequence(other.nodes, node)[CUTS_PROGRAM], mine
        # First the program: adopt the regexes of its atoms.
        n = sequence_length(other.cut_programs, program)
        words_extend(&self.regexes.stack, cut_program(other, program), n)
        i = code_begins(cut_program(other, program))
        while i < n:
            if self.regexes.stack.data[base + i + I_OP] == OP_ATOM:
                mine = self.adopt(other, self.regexes.stack.data[base + i + I_X], adopted)
                self.regexes.stack.data[base + i + I_X] = mine
            i += I_WORDS
        program = self.regexes.cut_programs.intern(self.regexes.stack.data + base, n)
        self.regexes.stack.n = base
        n = sequence_length(other.nodes, node)
        words_extend(&self.regexes.stack, sequence(other.nodes, node), n)
        self.regexes.stack.data[base + CUTS_PROGRAM] = program
        for i in range(CUTS_ORACLES, items_begin(cut_program(self.regexes, program))):
            mine = self.adopt(other, self.regexes.stack.data[base + i], adopted)
            self.regexes.stack.data[base + i] = mine
        i = items_begin(cut_program(self.regexes, program))
        while i < n:
            if self.regexes.stack.data[base + i] == T_THREAD:
                mine = self.adopt(other, self.regexes.stack.data[base + i + 2], adopted)
                self.regexes.stack.data[base + i + 2] = mine
            i += item_length(self.regexes.stack.data[base + i])
        mine = self.regexes.cutter.make(self.regexes, base)
        self.regexes.stack.n = base
        return mine

    cdef uint32_t adopt_class(self, Regexes other, uint32_t class_) except? 0xFFFFFFFF nogil:
        return self.regexes.classes.intern(sequence(other.classes, class_), sequence_length(other.classes, class_))

    cdef uint32_t adopt_program(self, Regexes other, uint32_t instruction, Words* adopted) except? 0xFFFFFFFF nogil:
        """Return where this instruction of the other arena is in ours. Whole programs are copied, equal ones once."""
        cdef uint32_t start, end, i, mine, program
        cdef size_t k = other.programs.n, base = self.regexes.stack.n
        cdef Instruction code
        cdef uint32_t* words
        while other.programs.data[k - 1] > instruction:
            k -= 1
        start = other.programs.data[k - 1]
        end = other.programs.data[k] if k < other.programs.n else <uint32_t> other.n_code
        for i in range(start, end):
            code = other.code[i]
            mine = code.x - start
            if code.op == OP_ATOM:
                mine = self.adopt(other, code.x, adopted)
            words_push(&self.regexes.stack, code.op)
            words_push(&self.regexes.stack, mine if code.op in (OP_ATOM, OP_SPLIT, OP_JUMP) else 0)
            words_push(&self.regexes.stack, code.y - start if code.op == OP_SPLIT else 0)
        program = self.programs.intern(self.regexes.stack.data + base, 3 * (end - start))
        self.regexes.stack.n = base
        while self.program_bases.n <= program:          # an error may have left some out
            words_push(&self.program_bases, NONE)
        if self.program_bases.data[program] == NONE:
            words = self.regexes.stack.data + base
            mine = self.regexes.add_code(end - start)
            self.program_bases.data[program] = mine
            for i in range(end - start):
                code.op, code.x, code.y = words[3 * i], words[3 * i + 1], words[3 * i + 2]
                if code.op in (OP_SPLIT, OP_JUMP):
                    code.x += mine
                    code.y += mine
                self.regexes.code[mine + i] = code
        return self.program_bases.data[program] + (instruction - start)


cdef inline bint is_adopted(const Words* adopted, uint32_t node) noexcept nogil:
    return node < adopted.n and adopted.data[node] != NONE


cdef int note_adopted(Words* adopted, uint32_t node, uint32_t mine) except -1 nogil:
    while adopted.n <= node:
        words_push(adopted, NONE)
    adopted.data[node] = mine
    return 0
