"""Rows whose stack is unknown: what all rows of one skeleton have in common.

A template is a chart whose rows have *variables* in place of real continuations. As long as no continuation of such a
row is completed, a text does the same to it as to all rows of its skeleton. If the i-th variable is popped, it is
unknown what waits there, so the pop leaves a *mark* in the row: here the i-th continuation is complete. `_answers`
continues from there with the real continuation.

A mark is an item like others. Its dot is before a symbol that nothing scans, so rows, continuations, pops and positions
need no special case for it. Only when a position is made are the marks split off: lexemes start from the rest.
"""

from earleymask.earley._chart cimport MAX_TABLES, NO_ROW, continuation_at, older_at, shape_of, skeleton_of
from earleymask.earley._lexer cimport DEAD_STATE
from earleymask.earley._skeletons cimport (
    accepts_at, base_shape_index, item_dot, item_number, n_items_of, start_state_of,
)
from libc.stdint cimport uint64_t
from libc.stdlib cimport free

from earleymask.earley._tables cimport (
    NONE, byteset_and_not, byteset_fill, byteset_has, lowest_bit, reserve, words_free, words_push,
)


cdef class Template(Chart):

    def __cinit__(self, engine):
        self.max_tables = MAX_TABLES
        self.has_variables = True

    cdef int clear(self) except -1:
        """Drop everything, because nothing refers to it between calls. Cannot fail: tables keep their memory."""
        self.continuations.clear()
        self.rows.clear()
        self.positions.clear()
        self.ends.clear()
        self.row_after.n = self.table_of.n = self.popped.n = self.popped_at.n = self.popped_rows.n = self.n_tables = 0
        self.n_listed = self.first_steps.n = 0
        self.variables.n = self.row_of.n = self.split_of.n = self.splits.n = self.marked.n = 0
        self.n_checked = self.n_checked_rows = self.n_checked_continuations = 0
        return self.start_afresh()

    def __dealloc__(self):
        words_free(&self.variables)
        words_free(&self.row_of)
        words_free(&self.split_of)
        words_free(&self.splits)
        words_free(&self.marked)
        words_free(&self.first_steps)
        free(self.steps)

    cdef uint32_t abstract_row(self, uint32_t skeleton) except? 0xFFFFFFFF nogil:
        cdef uint32_t n = 0, row, words[2]
        cdef size_t i
        if skeleton < self.row_of.n and self.row_of.data[skeleton] != NONE:
            return self.row_of.data[skeleton]
        for i in range(n_items_of(self.skeletons, skeleton)):
            n = max(n, item_number(self.skeletons, skeleton, i) + 1)
        while self.variables.n < n:
            words[0] = self.skeletons.base_shape(<uint32_t> self.variables.n)
            words[1] = self.continuations.intern(words, 1)
            words[0] = self.skeletons.variable_shape
            words_push(&self.variables, self.continuations.intern(words, 2))
        self.words.n = 0
        words_push(&self.words, skeleton)
        for i in range(n):
            words_push(&self.words, self.variables.data[i])
        row = self.rows.intern(self.words.data, self.words.n)
        while self.row_of.n <= skeleton:
            words_push(&self.row_of, NONE)
        self.row_of.data[skeleton] = row
        return row

    cdef uint32_t variable_index(self, uint32_t continuation) noexcept nogil:
        if shape_of(self, continuation) != self.skeletons.variable_shape:
            return NONE
        return self.mark_index(older_at(self, continuation, 0))

    cdef uint32_t mark_index(self, uint32_t base) noexcept nogil:
        return base_shape_index(self.skeletons, shape_of(self, base))

    cdef uint32_t split(self, uint32_t row) except? 0xFFFFFFFF nogil:
        cdef uint32_t at, skeleton, dot, base
        cdef size_t i
        if row < self.split_of.n and self.split_of.data[row] != NONE:
            return self.split_of.data[row]
        at = <uint32_t> self.splits.n
        words_push(&self.splits, row)
        words_push(&self.splits, 0)
        skeleton = skeleton_of(self, row)
        self.begin_items()
        self.accepts = accepts_at(self.skeletons, skeleton)
        for i in range(n_items_of(self.skeletons, skeleton)):
            dot = item_dot(self.skeletons, skeleton, i)
            base = continuation_at(self, row, item_number(self.skeletons, skeleton, i))
            if dot == self.rules.mark:
                words_push(&self.splits, self.mark_index(base))
                self.splits.data[at + 1] += 1
            else:
                self.push_item(dot, base)
        if self.splits.data[at + 1]:
            self.splits.data[at] = NONE if self.n_items == 0 and not self.accepts else self.row_of_items()
        while self.split_of.n <= row:
            words_push(&self.split_of, NONE)
        self.split_of.data[row] = at
        return at

    cdef uint32_t position_of(self, uint32_t row) except? 0xFFFFFFFF nogil:
        cdef uint32_t at = self.split(row), rest = self.splits.data[at], state, position
        if rest != NONE:
            state = self.begin_at(skeleton_of(self, rest))
            if state != DEAD_STATE:
                self.push_pair(rest, state)
        position = self.intern_position(row)
        if self.splits.data[at + 1]:
            while self.marked.n <= position:
                words_push(&self.marked, NONE)
            self.marked.data[position] = at
        return position

    cdef uint32_t begin_at(self, uint32_t skeleton) except? 0xFFFFFFFF nogil:
        cdef uint32_t state = start_state_of(self.skeletons, skeleton)
        return self.lexer.for_masks(state, self.rules.symbols, self.modest) if self.rules.has_demanding else state

    cdef uint32_t step_by(self, uint32_t position, uint32_t byte) except? 0xFFFFFFFF nogil:
        cdef uint32_t at, target
        cdef ByteSet same
        while self.first_steps.n <= position:
            words_push(&self.first_steps, NONE)
        at = self.first_steps.data[position]
        while at != NONE:
            if byteset_has(&self.steps[at].bytes, byte):
                return self.steps[at].target
            at = self.steps[at].next
        target = self.step(position, byte, &same)
        reserve(<void**> &self.steps, &self.steps_capacity, self.n_listed + 1, sizeof(Step))
        at = <uint32_t> self.n_listed
        self.steps[at].bytes = same
        self.steps[at].target = target
        self.steps[at].next = self.first_steps.data[position]
        self.first_steps.data[position] = at
        self.n_listed += 1
        return target

    cdef uint32_t all_steps(self, uint32_t position) except? 0xFFFFFFFF nogil:
        cdef ByteSet missing
        cdef uint32_t at = NONE, k = 0
        byteset_fill(&missing, <uint64_t> -1)
        if position < self.first_steps.n:
            at = self.first_steps.data[position]
        while at != NONE:
            byteset_and_not(&missing, &self.steps[at].bytes)
            at = self.steps[at].next
        while k < 4:
            if missing.w[k]:
                self.step_by(position, 64 * k + lowest_bit(missing.w[k]))
                byteset_and_not(&missing, &self.steps[self.first_steps.data[position]].bytes)
            else:
                k += 1
        return self.first_steps.data[position]

    cdef uint32_t position(self, uint32_t row, uint32_t state) except? 0xFFFFFFFF nogil:
        self.n_pairs = 0
        self.push_pair(row, state)
        return self.intern_position(NO_ROW)
