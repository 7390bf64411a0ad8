"""Terminals with lazy quantifiers: threads in order of preference, cut at the first match (K_ORDERED).

Pike's simulation of backtracking (Cox 2010, "Regular expression matching: the virtual machine approach"). The language
is { w : the preferred match on w consumes all of w }.
"""

from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._nodes cimport (
    K_ORDERED, OP_ATOM, OP_JUMP, OP_MATCH, R_EMPTY, R_EPSILON, Instruction,
)
from earleymask.earley._tables cimport reserve, sequence, sequence_length, words_extend, words_free, words_push


cdef class Threads:
    """Derives K_ORDERED nodes. To make a new list of threads, call `begin`, then `close` and `push`, then `make`."""

    def __dealloc__(self):
        free(self.visited)
        words_free(&self.threads)
        words_free(&self.agenda)

    cdef int begin(self, Nodes nodes) except -1 nogil:
        cdef size_t before = self.visited_capacity
        if before < nodes.n_code:
            reserve(<void**> &self.visited, &self.visited_capacity, nodes.n_code, sizeof(uint32_t))
            memset(self.visited + before, 0, (self.visited_capacity - before) * sizeof(uint32_t))
        self.closure_number += 1
        self.threads.n = 0
        return words_push(&self.threads, K_ORDERED)

    cdef uint32_t derive(self, Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        # One step of Pike's machine. `threads` becomes the new list; a match cuts all less preferred threads.
        cdef size_t base = nodes.stack.n, i, n = sequence_length(nodes.nodes, node) - 1
        cdef uint32_t pc, part, result
        words_extend(&nodes.stack, sequence(nodes.nodes, node) + 1, n)
        self.begin(nodes)
        for i in range(base, base + n, 2):
            pc = nodes.stack.data[i]
            if nodes.code[pc].op == OP_MATCH:
                break
            part = nodes.derive(nodes.stack.data[i + 1], byte, same)
            if part == R_EMPTY:
                continue
            if part != R_EPSILON:
                self.push(pc, part)
            elif self.close(nodes, pc + 1):
                break
        result = self.make(nodes)
        nodes.stack.n = base
        return result

    cdef uint32_t make(self, Nodes nodes) except? 0xFFFFFFFF nogil:
        if self.threads.n == 1:
            return R_EMPTY
        if self.threads.n == 3 and nodes.code[self.threads.data[1]].op == OP_MATCH:
            return R_EPSILON
        return nodes.make(self.threads.data, self.threads.n)

    cdef int push(self, uint32_t pc, uint32_t node) except -1 nogil:
        cdef size_t i
        for i in range(1, self.threads.n, 2):
            if self.threads.data[i] == pc and self.threads.data[i + 1] == node:
                return 0                                    # a more preferred thread is there already
        words_push(&self.threads, pc)
        words_push(&self.threads, node)
        return 0

    cdef int close(self, Nodes nodes, uint32_t start) except -1 nogil:
        """Follow SPLIT and JUMP from `start` in order of preference; return 1 if a match was met, which cuts."""
        cdef uint32_t pc
        cdef Instruction instruction
        self.agenda.n = 0
        words_push(&self.agenda, start)
        while self.agenda.n:
            self.agenda.n -= 1
            pc = self.agenda.data[self.agenda.n]
            if self.visited[pc] == self.closure_number:
                continue
            self.visited[pc] = self.closure_number
            instruction = nodes.code[pc]
            if instruction.op == OP_MATCH:
                words_push(&self.threads, pc)
                words_push(&self.threads, R_EPSILON)
                return 1
            if instruction.op == OP_ATOM:
                self.push(pc, instruction.x)
            elif instruction.op == OP_JUMP:
                words_push(&self.agenda, instruction.x)
            else:
                words_push(&self.agenda, instruction.y)
                words_push(&self.agenda, instruction.x)
        return 0
