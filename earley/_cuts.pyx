"""Lookarounds, atomic groups and preferences in one terminal: threads in groups that cuts end (K_CUTS).

This simulates backtracking with a cut, as in Prolog, by threads that advance side by side. The items of a state are in
the order in which a backtracking matcher would try them. A *group* holds the threads in the body of an atomic group or
a lookahead and, after them, the threads to be tried only if the body fails. When a thread completes the body of its
group, everything less preferred in the group is cut:

- atomic group: only the completing thread continues after the group;
- negative lookahead: the completing thread ends, and so do the threads after it in the group, which read the text after
  the lookahead. If no thread completes the body, these continue as if there were no lookahead;
- positive lookahead: a negative one within a negative one.

A thread that has left the body of a group stays in the group while a more preferred thread is still in the body: that
thread may yet cut it. The thread that has left is *conditional*. A group is dissolved into the group around it as soon
as none of its threads can be cut any more.

A conditional thread may complete the body of an outer group. The rest of its own group is then cut at once, because a
thread that cuts the conditional one cuts this rest, too. Whether the rest of the outer group is cut depends on whether
the conditional thread survives. So this cut becomes an item (T_CUT), which takes effect when all groups between have
been dissolved.

In a program that is cut at the first match, a match cuts everything.

An item is dropped if an equal item stands before it, directly in a group that contains both. The earlier item either
does everything first or is cut together with the later one. This keeps the states few.

A lookbehind is answered as soon as a thread reaches it. It asks whether an *oracle* matches the text so far: a regex of
the form "anything, then the body of the lookbehind". The state holds what remains of each oracle after this text.

A state also holds a *question* about what may follow the text so far (see `Regexes.cuts`). The node is nullable if the
answer is yes. To find the answer, all threads outside lookaheads end, and the threads in lookaheads read on. The states
that are met there are nodes, too, with the question Q_FOLLOWING: such a node matches the texts that may follow, so what a
text demands of the next one is read byte by byte, like everything else (`demand`).
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memmove, memset

from earleymask.earley._characters cimport encode
from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._nodes cimport (
    CP_HEADER, CP_ORACLES, CP_ORDERED, CP_POINTS, CUTS_ORACLES, CUTS_PROGRAM, CUTS_QUESTION, F_NULLABLE, G_BODY,
    G_ELSE, G_LOOK, G_PARENT, G_WORDS, I_ASKS, I_OP, I_OWNER, I_WORDS, I_X, I_Y, K_AND, K_CUTS, OP_ATOM, OP_BEHIND,
    OP_GROUP, OP_JUMP, OP_MATCH, OP_SPLIT, Q_BEFORE, Q_DECIDED, Q_FOLLOWING, Q_LAST, Q_MIXED, Q_OPEN, Q_OUTSIDE, R_EMPTY, R_EPSILON,
    T_CLOSE, T_CUT, T_MATCH, T_OPEN, T_THREAD, Nodes,
    code_begins, cut_program, groups_begin, item_length, items_begin, nullable,
)
from earleymask.earley._tables cimport (
    NONE, byteset_fill, byteset_has, reserve, sequence, sequence_length, words_extend, words_free, words_push,
)

from earleymask.earley.errors import LimitError


cdef enum:
    STEP = 0                    # read a byte
    LOOK_ON = 1                 # read a byte of what follows the lexeme: a match stays
    END_ALL = 2                 # read no byte: all threads end
    END_MAIN = 3                # read no byte: all threads end that are not in a lookahead
    MAX_ITEMS = 1 << 15         # the most words that the items of one state take; beyond it a call raises LimitError

    # A frame: its group; where the group begins in `items`; the length of `undo` when the frame was opened; and GOING
    # if items may still enter it, otherwise what has stopped it.
    FRAME = 4
    GOING = 0
    STOPPED = 1                 # by a cut of its own, or it began within a stopped one
    STOPPED_BY_CUT = 2          # the last item is a T_CUT
    STOPPED_BY_MATCH = 3        # the last item is a T_MATCH

    MAX_AHEAD = 64              # the most code points beyond its terminal that a lookahead may look at; beyond it
                                # `following_of` returns None
    UNKNOWN = 2                 # `verdict`: more has to be read
    ENDED = 0x80000000          # added to a question: the lexeme has ended, and what follows it is being read

    A_VISIT = 0                 # agenda of `visit`: action, argument
    A_CUT = 1
    A_CLOSE = 2


cdef inline const uint32_t* groups_of(const uint32_t* program) noexcept nogil:
    return program + groups_begin(program)


cdef inline const uint32_t* code_of(const uint32_t* program) noexcept nogil:
    return program + code_begins(program)


cdef bint in_lookahead(const uint32_t* program, uint32_t pc) noexcept nogil:
    cdef const uint32_t* groups = groups_of(program)
    cdef uint32_t group = code_of(program)[<size_t> pc * I_WORDS + I_OWNER]
    while group != NONE:
        if groups[group * G_WORDS + G_LOOK]:
            return True
        group = groups[group * G_WORDS + G_PARENT]
    return False


cdef bint can_match(Nodes nodes, size_t base) noexcept nogil:
    """Return whether the state stack[base:] has a match, or a thread that may come to one: none in a lookahead does."""
    cdef const uint32_t* program = program_of(nodes, base)
    cdef size_t i = base + items_begin(program)
    while i < nodes.stack.n:
        if nodes.stack.data[i] == T_MATCH:
            return True
        if nodes.stack.data[i] == T_THREAD and not in_lookahead(program, nodes.stack.data[i + 1]):
            return True
        i += item_length(nodes.stack.data[i])
    return False


cdef bint in_body(const uint32_t* program, uint32_t pc, uint32_t group) noexcept nogil:
    """Return whether the body of the group contains the instruction."""
    cdef const uint32_t* groups = groups_of(program)
    cdef uint32_t owner = code_of(program)[<size_t> pc * I_WORDS + I_OWNER]
    while owner != NONE and owner != group:
        owner = groups[owner * G_WORDS + G_PARENT]
    return owner == group


cdef class Cuts:
    """Derives K_CUTS nodes. `base`: where the words of the current state begin on the stack of the nodes; they reach to
    its top.
    """

    def __dealloc__(self):
        free(self.visited)
        words_free(&self.agenda)
        words_free(&self.frames)
        words_free(&self.items)
        words_free(&self.undo)

    cdef uint32_t derive(self, Unions nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef size_t base = nodes.stack.n
        cdef uint32_t result
        words_extend(&nodes.stack, sequence(nodes.nodes, node), sequence_length(nodes.nodes, node))
        if nodes.stack.data[base + CUTS_QUESTION] == Q_FOLLOWING:
            self.step(nodes, base, byte, LOOK_ON, same)
            result = self.make_demand(nodes, base)
        else:
            self.step(nodes, base, byte, STEP, same)
            result = self.make(nodes, base)
        nodes.stack.n = base
        return result

    cdef uint32_t demand(self, Unions nodes, uint32_t node, uint32_t inside) except? 0xFFFFFFFF nogil:
        cdef size_t base = nodes.stack.n, k
        cdef const uint32_t* p = sequence(nodes.nodes, node)
        cdef uint32_t result
        cdef bint fine
        for k in range(1, sequence_length(nodes.nodes, node) if p[0] == K_AND else 0):
            if sequence(nodes.nodes, p[k])[0] == K_CUTS:    # the other part is from a budget, see `_budgets`
                node = p[k]
                break
        words_extend(&nodes.stack, sequence(nodes.nodes, node), sequence_length(nodes.nodes, node))
        end_lexeme(self, nodes, base)
        fine = outside(self, nodes, base) == 1
        nodes.stack.data[base + CUTS_QUESTION] = Q_FOLLOWING
        result = self.make_demand(nodes, base)
        nodes.stack.n = base
        return nodes.both(result, inside) if fine else result

    cdef uint32_t make_demand(self, Unions nodes, size_t base) except? 0xFFFFFFFF nogil:
        """Return the node of the texts that may follow the ended lexeme stack[base:], which stays there."""
        cdef uint32_t known = verdict(nodes, base)
        if known != UNKNOWN:
            return nodes.make_not(R_EMPTY) if known else R_EMPTY
        self.drop_oracles(nodes, base)
        return self.intern(nodes, base, ends_well(self, nodes, base))

    cdef void drop_oracles(self, Unions nodes, size_t base) noexcept nogil:
        """Forget the oracles that no thread will ask, so that states do not differ in them."""
        cdef const uint32_t* program = program_of(nodes, base)
        cdef const uint32_t* code = code_of(program)
        cdef size_t i = base + items_begin(program)
        cdef uint32_t asked = 0, oracle
        while i < nodes.stack.n:
            if nodes.stack.data[i] == T_THREAD:
                asked |= code[<size_t> nodes.stack.data[i + 1] * I_WORDS + I_ASKS]
            i += item_length(nodes.stack.data[i])
        for oracle in range(program[CP_ORACLES]):
            if not (asked >> oracle) & 1:
                nodes.stack.data[base + CUTS_ORACLES + oracle] = R_EMPTY

    cdef uint32_t intern(self, Unions nodes, size_t base, bint answer) except? 0xFFFFFFFF nogil:
        cdef uint32_t result = nodes.nodes.find(nodes.stack.data + base, nodes.stack.n - base)
        if result == NONE:
            result = nodes.make(nodes.stack.data + base, nodes.stack.n - base)
            if answer:
                nodes.flags[result] |= F_NULLABLE
        return result

    cdef uint32_t make(self, Unions nodes, size_t base) except? 0xFFFFFFFF nogil:
        """Return the node with the words stack[base:], which stay there, or a simpler node that matches the same."""
        cdef const uint32_t* program = program_of(nodes, base)
        cdef const uint32_t* code = code_of(program)
        cdef uint32_t* item
        cdef size_t first = base + items_begin(program), i = first, end = nodes.stack.n
        cdef uint32_t question = nodes.stack.data[base + CUTS_QUESTION], result
        cdef bint plain = not program[CP_ORDERED], matched = False
        if not can_match(nodes, base):
            return R_EMPTY
        while i < end:
            item = nodes.stack.data + i
            if item[0] == T_THREAD:
                if code[<size_t> code[<size_t> item[1] * I_WORDS + I_Y] * I_WORDS + I_OP] != OP_MATCH:
                    plain = False
            elif item[0] == T_MATCH:
                matched = True
            else:
                plain = False
            i += item_length(item[0])
        if plain or (matched and end == first + 1):         # nothing is conditional
            if question > 1 and question != Q_DECIDED:      # asks for a text after which not everything may come
                return R_EMPTY
            i = first
            while i < end:
                item = nodes.stack.data + i
                i += item_length(item[0])
                result = item[2] if item[0] == T_THREAD else R_EPSILON
                words_push(&nodes.stack, result)
            return nodes.make_union(end)
        self.drop_oracles(nodes, base)
        result = nodes.nodes.find(nodes.stack.data + base, end - base)
        return result if result != NONE else self.intern(nodes, base, self.answers(nodes, base))

    cdef int answers(self, Unions nodes, size_t base) except -1 nogil:
        """Return whether a text may end in this state, as its question asks."""
        cdef size_t copy = copy_state(nodes, base)
        cdef uint32_t question = nodes.stack.data[base + CUTS_QUESTION]
        cdef int answer = 0
        if end_lexeme(self, nodes, copy):
            if question == 0:
                answer = ends_well(self, nodes, copy)
            elif question == Q_DECIDED:
                answer = verdict(nodes, copy) == 1
            elif question == Q_OPEN:
                answer = verdict(nodes, copy) == UNKNOWN
            elif question == Q_OUTSIDE:
                answer = verdict(nodes, copy) == UNKNOWN and outside(self, nodes, copy) == 1
            elif question == Q_MIXED:
                answer = verdict(nodes, copy) == UNKNOWN and outside(self, nodes, copy) == UNKNOWN
            elif question == Q_BEFORE or question == Q_LAST:
                answer = verdict(nodes, copy) == UNKNOWN and matches_before(self, nodes, copy, question == Q_LAST)
            else:
                answer = is_followed(self, nodes, copy, question)
        nodes.stack.n = copy
        return answer

    cdef int step(self, Unions nodes, size_t base, uint32_t byte, uint32_t mode, ByteSet* same) except -1 nogil:
        """Replace the state stack[base:] by the one after `byte`, or after the end if `mode` says so."""
        cdef const uint32_t* program = program_of(nodes, base)
        cdef const uint32_t* code = code_of(program)
        cdef size_t first = base + items_begin(program), i = first, end = nodes.stack.n
        cdef uint32_t pc, node, part
        if mode == STEP or mode == LOOK_ON:
            for i in range(base + CUTS_ORACLES, first):
                part = nodes.derive(nodes.stack.data[i], byte, same)
                nodes.stack.data[i] = part
            i = first
        self.begin(nodes, base)
        while i < end:
            if nodes.stack.data[i] == T_THREAD:
                pc, node = nodes.stack.data[i + 1], nodes.stack.data[i + 2]
                i += 3
                if self.frames.data[self.frames.n - 1] != GOING or mode == END_ALL:
                    continue
                if mode == END_MAIN:
                    if in_lookahead(program, pc):
                        self.put_thread(pc, node)
                    continue
                part = nodes.derive(node, byte, same)
                if part == R_EMPTY:
                    continue
                spend_steps(nodes.meter, self.items.n >> 3)
                if nullable(nodes, part):
                    self.visit(nodes, base, code[<size_t> pc * I_WORDS + I_Y])
                if part != R_EPSILON:
                    self.put_thread(pc, part)
            elif nodes.stack.data[i] == T_OPEN:
                self.open_frame(nodes.stack.data[i + 1])
                i += 3
            elif nodes.stack.data[i] == T_CLOSE:
                self.close_frame(program)
                i += 1
            elif nodes.stack.data[i] == T_CUT:
                self.cut(nodes.stack.data[i + 1])
                i += 2
            else:
                i += 1
                if mode != STEP:
                    self.put_match(program[CP_ORDERED])
                elif program[CP_ORDERED]:
                    self.cut(NONE)
        nodes.stack.n = first
        return self.end(nodes, base)

    cdef int begin(self, Unions nodes, size_t base) except -1 nogil:
        cdef const uint32_t* program = program_of(nodes, base)
        cdef size_t before = self.visited_capacity
        cdef size_t n = (sequence_length(nodes.cut_programs, nodes.stack.data[base + CUTS_PROGRAM]) - (code_of(program) - program)) // I_WORDS
        if before < n:
            reserve(<void**> &self.visited, &self.visited_capacity, n, sizeof(uint32_t))
            memset(self.visited + before, 0, (self.visited_capacity - before) * sizeof(uint32_t))
        self.closure_number += 1
        self.items.n = 0
        self.undo.n = 0
        self.frames.n = 0
        words_push(&self.frames, NONE)
        words_push(&self.frames, 0)
        words_push(&self.frames, 0)
        return words_push(&self.frames, GOING)

    cdef int end(self, Unions nodes, size_t base) except -1 nogil:
        words_extend(&nodes.stack, self.items.data, self.items.n)
        return 0

    cdef int visit(self, Unions nodes, size_t base, uint32_t start) except -1 nogil:
        """Append the items to which `start` leads without reading, in order of preference."""
        cdef const uint32_t* program = program_of(nodes, base)
        cdef const uint32_t* code = code_of(program)
        cdef const uint32_t* instruction
        cdef const uint32_t* group
        cdef uint32_t action, pc, op
        self.agenda.n = 0
        words_push(&self.agenda, start)
        words_push(&self.agenda, A_VISIT)
        while self.agenda.n:
            self.agenda.n -= 2
            pc = self.agenda.data[self.agenda.n]
            action = self.agenda.data[self.agenda.n + 1]
            if action == A_CUT:
                self.cut(pc)
                continue
            if action == A_CLOSE:
                self.close_frame(program)
                continue
            if self.frames.data[self.frames.n - 1] != GOING or self.visited[pc] == self.closure_number:
                continue
            self.visited[pc] = self.closure_number
            words_push(&self.undo, pc)
            instruction = code + <size_t> pc * I_WORDS
            op = instruction[I_OP]
            if op == OP_ATOM:
                spend_steps(nodes.meter, self.items.n >> 3)
                self.put_thread(pc, instruction[I_X])
            elif op == OP_MATCH:
                self.put_match(program[CP_ORDERED])
            elif op == OP_SPLIT:
                words_push(&self.agenda, instruction[I_Y])
                words_push(&self.agenda, A_VISIT)
                words_push(&self.agenda, instruction[I_X])
                words_push(&self.agenda, A_VISIT)
            elif op == OP_JUMP:
                words_push(&self.agenda, instruction[I_X])
                words_push(&self.agenda, A_VISIT)
            elif op == OP_BEHIND:
                if nullable(nodes, nodes.stack.data[base + CUTS_ORACLES + (instruction[I_X] >> 1)]) != (instruction[I_X] & 1):
                    words_push(&self.agenda, instruction[I_Y])
                    words_push(&self.agenda, A_VISIT)
            elif op == OP_GROUP:
                group = groups_of(program) + <size_t> instruction[I_X] * G_WORDS
                self.open_frame(instruction[I_X])
                words_push(&self.agenda, 0)
                words_push(&self.agenda, A_CLOSE)
                if group[G_ELSE] != NONE:
                    words_push(&self.agenda, group[G_ELSE])
                    words_push(&self.agenda, A_VISIT)
                words_push(&self.agenda, group[G_BODY])
                words_push(&self.agenda, A_VISIT)
            else:
                words_push(&self.agenda, instruction[I_X])
                words_push(&self.agenda, A_CUT)
                if instruction[I_Y] != NONE:
                    words_push(&self.agenda, instruction[I_Y])
                    words_push(&self.agenda, A_VISIT)
        return 0

    cdef int put_thread(self, uint32_t pc, uint32_t node) except -1 nogil:
        cdef uint32_t* items = self.items.data
        cdef size_t i = 0
        if self.frames.data[self.frames.n - 1] != GOING:
            return 0
        while i < self.items.n:
            if items[i] == T_THREAD and items[i + 1] == pc and items[i + 2] == node:
                return 0                                    # an equal item is preferred
            i += items[i + 2] if items[i] == T_OPEN and items[i + 2] else item_length(items[i])
        if exceeds(self.items.n, MAX_ITEMS):
            with gil:
                raise LimitError(f"lookarounds or atomic groups of a terminal: more than {MAX_ITEMS // 3} ways to match are "
                                 "open at once; simplify them")
        words_push(&self.items, T_THREAD)
        words_push(&self.items, pc)
        return words_push(&self.items, node)

    cdef int put_match(self, bint ordered) except -1 nogil:
        if self.frames.data[self.frames.n - 1] != GOING:
            return 0
        words_push(&self.items, T_MATCH)
        if ordered:
            self.frames.data[self.frames.n - 1] = STOPPED_BY_MATCH
        return 0

    cdef int cut(self, uint32_t group) except -1 nogil:
        """Cut, because the body of `group` has matched: now in the innermost group, and in `group` when the groups
        between are gone."""
        cdef uint32_t* frame = self.frames.data + self.frames.n - FRAME
        if frame[3] != GOING:
            return 0
        if frame[0] == group:
            frame[3] = STOPPED
            return 0
        frame[3] = STOPPED_BY_CUT
        words_push(&self.items, T_CUT)
        return words_push(&self.items, group)

    cdef int open_frame(self, uint32_t group) except -1 nogil:
        cdef uint32_t stopped = STOPPED if self.frames.data[self.frames.n - 1] != GOING else GOING
        words_push(&self.frames, group)
        words_push(&self.frames, <uint32_t> self.items.n)
        words_push(&self.frames, <uint32_t> self.undo.n)
        words_push(&self.frames, stopped)
        words_push(&self.items, T_OPEN)
        words_push(&self.items, group)
        return words_push(&self.items, 0)

    cdef int close_frame(self, const uint32_t* program) except -1 nogil:
        cdef uint32_t* items
        cdef uint32_t* parent
        cdef uint32_t group, stopped
        cdef size_t start, older, i = 0, length
        self.frames.n -= FRAME
        group = self.frames.data[self.frames.n]
        start = self.frames.data[self.frames.n + 1]
        older = self.frames.data[self.frames.n + 2]
        stopped = self.frames.data[self.frames.n + 3]
        items = self.items.data
        length = self.items.n - start
        if length > 3 and self.is_idle(program, group, start + 3):
            length = 3
        if length > 3 and not self.has_completer(program, group, start + 3):
            # Nothing in the group can be cut any more, so its items move to the group around it. Instructions met in
            # its body count as not visited all the same: another group of this kind may have to be cut from there.
            for i in range(older, self.undo.n):
                if in_body(program, self.undo.data[i], group):
                    self.visited[self.undo.data[i]] = 0
                else:
                    self.undo.data[older] = self.undo.data[i]
                    older += 1
            self.undo.n = older
            memmove(items + start, items + start + 3, (length - 3) * sizeof(uint32_t))
            self.items.n -= 3
            parent = self.frames.data + self.frames.n - FRAME
            if stopped == STOPPED_BY_CUT and items[self.items.n - 1] == parent[0]:
                self.items.n -= 2
                parent[3] = STOPPED
            elif stopped == STOPPED_BY_CUT or stopped == STOPPED_BY_MATCH:
                parent[3] = stopped
            return 0
        if length > 3:
            words_push(&self.items, T_CLOSE)
            items = self.items.data
            length += 1
            items[start + 2] = <uint32_t> length
            while i < start:
                if items[i] == T_OPEN and items[i + 2] == length and not memcmp(
                        items + i, items + start, length * sizeof(uint32_t)):
                    self.items.n = start                    # an equal group is preferred
                    break
                i += items[i + 2] if items[i] == T_OPEN and items[i + 2] else item_length(items[i])
        else:
            self.items.n = start
        while self.undo.n > older:                          # instructions met in here count as not visited from now on
            self.undo.n -= 1
            self.visited[self.undo.data[self.undo.n]] = 0
        return 0

    cdef bint is_idle(self, const uint32_t* program, uint32_t group, size_t begin) noexcept nogil:
        """Return whether items[begin:] are only in the body of a lookahead, so that nothing is left for them to cut."""
        cdef const uint32_t* items = self.items.data
        cdef size_t i = begin
        if not groups_of(program)[<size_t> group * G_WORDS + G_LOOK]:
            return False
        while i < self.items.n:
            if items[i] == T_MATCH or (items[i] == T_CUT and items[i + 1] != group):
                return False
            if items[i] == T_THREAD and not in_body(program, items[i + 1], group):
                return False
            i += item_length(items[i])
        return True

    cdef bint has_completer(self, const uint32_t* program, uint32_t group, size_t begin) noexcept nogil:
        """Return whether something in items[begin:] may complete the body of `group`."""
        cdef const uint32_t* items = self.items.data
        cdef size_t i = begin
        while i < self.items.n:
            if items[i] == T_CUT and items[i + 1] == group:
                return True
            if items[i] == T_THREAD and in_body(program, items[i + 1], group):
                return True
            # Items in a later turn of the same group complete that turn.
            i += items[i + 2] if items[i] == T_OPEN and items[i + 1] == group else item_length(items[i])
        return False

    cdef following_of(self, Unions nodes, size_t base, int depth, list followings, dict met):
        """Return the number of what may follow the ended lexeme stack[base:], or None; `met` has the numbers of states
        seen before."""
        cdef size_t here = nodes.stack.n
        cdef uint32_t known = verdict(nodes, base), point, code, byte
        cdef ByteSet same
        cdef list by_byte = [None] * 128                    # by byte: the number after it, if known
        if known != UNKNOWN:
            return known
        if depth == MAX_AHEAD:
            return None
        state = (<const char*> (nodes.stack.data + base))[:(here - base) * sizeof(uint32_t)]
        if state in met:
            return met[state]
        if exceeds(len(met), MAX_EXPLORED):
            raise LimitError(f"what may follow a terminal: more than {MAX_EXPLORED} states; simplify its lookaheads")
        row = [ends_well(self, nodes, base)]
        for point in range(n_points_of(nodes, base)):
            code = program_of(nodes, base)[CP_HEADER + point]
            number = by_byte[code] if code < 128 else None
            if number is None:
                look_on(self, nodes, base, point, &same)
                number = self.following_of(nodes, here, depth + 1, followings, met)
                if number is None:
                    return None
                nodes.stack.n = here
                for byte in range(128 if code < 128 else 0):
                    if byteset_has(&same, byte):
                        by_byte[byte] = number
            row.append(number)
        if max(row) < UNKNOWN and min(row) == max(row):
            number = row[0]
        else:
            number = met.get(tuple(row))
            if number is None:
                number = met[tuple(row)] = UNKNOWN + len(followings)
                followings.append(tuple(row))
        met[state] = number
        return number


# What may follow a lexeme. Here stack[base:] is the state of a K_CUTS node.

cdef int end_lexeme(Cuts cuts, Unions nodes, size_t base) except -1 nogil:
    """End the threads that are not in lookaheads; return whether there is a match."""
    cdef size_t i = base + items_begin(program_of(nodes, base))
    cdef ByteSet same
    while i < nodes.stack.n:
        if nodes.stack.data[i] == T_MATCH:
            cuts.step(nodes, base, 0, END_MAIN, &same)
            return 1
        i += item_length(nodes.stack.data[i])
    return 0


cdef uint32_t verdict(Nodes nodes, size_t base) noexcept nogil:
    """Return whether the ended lexeme matches: 0 no, 1 yes, UNKNOWN."""
    cdef size_t i = base + items_begin(program_of(nodes, base)), end
    cdef bint found = False, cut = False
    # A match in no group is certain, unless a cut of everything may still come before it.
    while i < nodes.stack.n:
        if nodes.stack.data[i] == T_MATCH:
            return UNKNOWN if cut else 1
        if nodes.stack.data[i] != T_OPEN:
            i += item_length(nodes.stack.data[i])
            continue
        end = i + nodes.stack.data[i + 2]
        while i < end:
            found |= nodes.stack.data[i] == T_MATCH
            cut |= nodes.stack.data[i] == T_CUT and nodes.stack.data[i + 1] == NONE
            i += item_length(nodes.stack.data[i])
    return UNKNOWN if found else 0


cdef size_t copy_state(Nodes nodes, size_t base) except? 0 nogil:
    """Push a copy of the state on the stack; return where it begins."""
    cdef size_t copy = nodes.stack.n, i
    for i in range(base, copy):
        words_push(&nodes.stack, nodes.stack.data[i])
    return copy


cdef int ends_well(Cuts cuts, Unions nodes, size_t base) except -1 nogil:
    """Return whether the ended lexeme matches if the text ends, too."""
    cdef size_t copy = copy_state(nodes, base)
    cdef ByteSet same
    cdef bint answer
    cuts.step(nodes, copy, 0, END_ALL, &same)
    answer = verdict(nodes, copy) == 1
    nodes.stack.n = copy
    return answer


cdef int look_on(Cuts cuts, Unions nodes, size_t base, uint32_t point, ByteSet* same) except -1 nogil:
    """Push the state after the ended lexeme stack[base:] and a code point, given by its number. If the code point is one
    byte, set `same` to bytes with the same state."""
    cdef size_t copy = copy_state(nodes, base)
    cdef uint32_t encoded[4]
    cdef uint32_t i
    byteset_fill(same, <uint64_t> -1)
    for i in range(encode(program_of(nodes, base)[CP_HEADER + point], encoded)):
        cuts.step(nodes, copy, encoded[i], LOOK_ON, same)
    return 0


cdef int outside(Cuts cuts, Unions nodes, size_t base) except -1 nogil:
    """Return whether the ended lexeme matches if the text ends here, too, or continues with one of the points: 1 yes in
    all cases, 0 in none, else UNKNOWN. Points are code points at which no lookahead reads on, so each of them decides."""
    cdef size_t copy = nodes.stack.n
    cdef uint32_t point
    cdef ByteSet same
    cdef int answer = ends_well(cuts, nodes, base), other
    for point in range(n_points_of(nodes, base)):
        look_on(cuts, nodes, base, point, &same)
        other = verdict(nodes, copy)
        nodes.stack.n = copy
        if other != answer:
            return UNKNOWN
    return answer


cdef bint matches_before(Cuts cuts, Unions nodes, size_t base, bint last) except -1 nogil:
    """Return whether the ended lexeme matches if the points follow, one after the other, and if then the text ends or,
    unless `last`, whatever comes after them. The state stack[base:] is replaced."""
    cdef const uint32_t* program = program_of(nodes, base)
    cdef uint32_t encoded[4]
    cdef uint32_t point, i
    cdef ByteSet same
    for point in range(n_points_of(nodes, base)):
        for i in range(encode(program[CP_HEADER + point], encoded)):
            cuts.step(nodes, base, encoded[i], LOOK_ON, &same)
    return ends_well(cuts, nodes, base) if last else verdict(nodes, base) == 1


cdef int is_followed(Cuts cuts, Unions nodes, size_t base, uint32_t number) except -1 nogil:
    """Return whether what may follow the ended lexeme is the following of this number. The answer is remembered as a
    node with that question."""
    cdef uint32_t known = verdict(nodes, base), point, node, end
    cdef size_t copy = nodes.stack.n, row
    cdef ByteSet same
    cdef int answer
    if known != UNKNOWN:
        return known == number
    nodes.stack.data[base + CUTS_QUESTION] = number | ENDED
    node = nodes.nodes.find(nodes.stack.data + base, copy - base)
    if node != NONE:
        return nullable(nodes, node)
    row = CP_HEADER + n_points_of(nodes, base) + (<size_t> number - 2) * (1 + n_points_of(nodes, base))
    end = number if number < 2 else program_of(nodes, base)[row]
    answer = ends_well(cuts, nodes, base) == end
    for point in range(n_points_of(nodes, base)):
        if not answer:
            break
        look_on(cuts, nodes, base, point, &same)
        answer = is_followed(
            cuts, nodes, copy, number if number < 2 else program_of(nodes, base)[row + 1 + point])
        nodes.stack.n = copy
    node = nodes.make(nodes.stack.data + base, copy - base)
    if answer:
        nodes.flags[node] |= F_NULLABLE
    return answer


cdef inline const uint32_t* program_of(Nodes nodes, size_t base) noexcept nogil:
    """Return the program of the state stack[base:]."""
    return cut_program(nodes, nodes.stack.data[base + CUTS_PROGRAM])


cdef inline uint32_t n_points_of(Nodes nodes, size_t base) noexcept nogil:
    return program_of(nodes, base)[CP_POINTS]
