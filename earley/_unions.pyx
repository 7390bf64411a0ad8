"""Unions in normal form; the counts in their members are kept as intervals.

If a text can be divided into the turns of a counted repetition in several ways, as for `(a|aa){1,100000}`, a state is a
union of members that differ in one count: the turns that may still come. Members whose counts overlap or are adjacent
are joined into one.

A union with any text is any text: (.* | x) is .*, if x matches nothing but text. So the state of a search is that of any
text, once it has found something.
"""

from libc.stdlib cimport free

from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._nodes cimport (
    F_COUNTED, F_TEXT, K_BYTES, K_CONCAT, K_EPSILON, K_REPEAT, K_UNION, R_EMPTY, R_EPSILON, is_any_text, load_bytes, nullable,
)
from earleymask.earley._tables cimport (
    NONE, byteset_fill, byteset_or, reserve, sequence, sequence_length, sort_u64, sort_words, words_free, words_push,
)

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_MEMBERS = 1 << 12       # the most members of a union with counts; each takes time at every character
    CHANGED = 0x80000000        # `merge_counts`: the member's bounds were widened
    DROPPED = 0x80000000        # `absorb`: the member is part of another one
    MAX_SKIPPED = 1 << 16       # parts that `absorb` skips for one union; members that it does not reach are kept


cdef class Unions(Nodes):
    """An arena of nodes, unions among them."""

    def __dealloc__(self):
        words_free(&self.chain)

    cdef uint32_t make_union(self, size_t base) except? 0xFFFFFFFF nogil:
        """Return the union of stack[base:], and remove these nodes from the stack."""
        cdef ByteSet bytes_, other
        cdef bint epsilon = False, other_nullable = False, any_bytes = False, can_absorb = False, any_text = False
        cdef size_t i, n = base, end = self.stack.n, j, n_counted = 0
        cdef uint32_t node
        cdef const uint32_t* p
        if end == base:
            return R_EMPTY
        if end == base + 1:
            self.stack.n = base
            return self.stack.data[base]
        byteset_fill(&bytes_, 0)
        # stack[base:n] are members in normal form, stack[i:end] wait; a union is replaced by its members.
        i = base
        spend_steps(self.meter, (end - base) // 2)
        while i < self.stack.n:
            node = self.stack.data[i]
            i += 1
            if node == R_EMPTY:
                continue
            p = sequence(self.nodes, node)
            if p[0] == K_UNION:
                for j in range(1, sequence_length(self.nodes, node)):
                    words_push(&self.stack, p[j])
            elif p[0] == K_BYTES:
                load_bytes(p, &other)
                byteset_or(&bytes_, &other)
                any_bytes = True
            elif p[0] == K_EPSILON:
                epsilon = True
            else:
                other_nullable |= nullable(self, node)
                n_counted += self.flags[node] & F_COUNTED != 0
                any_text |= is_any_text(self, node)
                can_absorb |= p[0] == K_CONCAT and nullable(self, p[1])
                self.stack.data[n] = node
                n += 1
        self.stack.n = n
        if any_text:
            n = base
            for i in range(base, self.stack.n):
                node = self.stack.data[i]
                if is_any_text(self, node) or not self.flags[node] & F_TEXT:
                    self.stack.data[n] = node
                    n += 1
            self.stack.n = n
            if (bytes_.w[2] | bytes_.w[3]) == 0:
                any_bytes = False
        if n_counted > 1:
            self.merge_counts(base)
        if can_absorb and self.stack.n > base + 1:
            self.absorb(base)
        if any_bytes:
            words_push(&self.stack, self.make_bytes(&bytes_))
        if epsilon and not other_nullable:
            words_push(&self.stack, R_EPSILON)
        if n_counted > MAX_MEMBERS and self.stack.n > base + MAX_MEMBERS or exceeds(0, 0):
            self.stack.n = base
            with gil:
                raise LimitError(f"regex: a state with more than {MAX_MEMBERS} alternatives; simplify the counts of the terminal")
        return self.make_sorted(K_UNION, base)

    cdef int absorb(self, size_t base) except -1 nogil:
        """Drop the union's members stack[base:] that another member is after it has skipped parts that may be empty.

        (x* y* z | y* z | z) is x* y* z. Without this, each set of places in a sequence of such parts would be a state.
        """
        cdef uint32_t* data = self.stack.data
        cdef size_t i, n, low, high, middle, room = MAX_SKIPPED
        cdef uint32_t node
        cdef const uint32_t* p
        sort_words(data + base, self.stack.n - base)
        n = base + 1
        for i in range(base + 1, self.stack.n):
            if data[i] != data[n - 1]:
                data[n] = data[i]
                n += 1
        i = n
        while i > base + 1 and room:                        # what a node refers to is older, so it is a lower number
            i -= 1
            if data[i] & DROPPED:
                continue
            node = data[i]
            p = sequence(self.nodes, node)
            while p[0] == K_CONCAT and nullable(self, p[1]) and room:
                room -= 1
                node = p[2]
                if node < data[base] & ~<uint32_t> DROPPED:
                    break
                low, high = base, i
                while low < high:
                    middle = (low + high) // 2
                    if data[middle] & ~<uint32_t> DROPPED < node:
                        low = middle + 1
                    else:
                        high = middle
                if low < i and data[low] & ~<uint32_t> DROPPED == node:
                    if data[low] & DROPPED:
                        break                               # the places beyond it have been looked at
                    data[low] |= DROPPED
                p = sequence(self.nodes, node)
        spend_steps(self.meter, (MAX_SKIPPED - room) // 4)
        low = base
        for i in range(base, n):
            if not data[i] & DROPPED:
                data[low] = data[i]
                low += 1
        self.stack.n = low
        return 0

    cdef int merge_counts(self, size_t base) except -1 nogil:
        """Join the union's members stack[base:] that are equal except for one count, if the counts join up.

        (x r{1,3} y | x r{2,5} y) is x r{1,5} y. The first count along each member is compared, then the last one.
        """
        cdef size_t i, j, k, run, n, end
        cdef uint32_t place, least, most, node, which
        cdef uint64_t* keys = NULL
        cdef size_t capacity = 0
        try:
            for which in range(2):
                end = self.stack.n
                reserve(<void**> &keys, &capacity, end - base, sizeof(uint64_t))
                self.chain.n = 0                            # place, minimum, maximum of each member with a count
                n = 0
                for i in range(base, end):
                    words_push(&self.chain, 0)
                    words_push(&self.chain, 0)
                    words_push(&self.chain, 0)
                    if self.flags[self.stack.data[i]] & F_COUNTED:
                        keys[n] = (<uint64_t> self.count_place(self.stack.data[i], which, 3 * (i - base)) << 32) | (i - base)
                        n += 1
                sort_u64(keys, n)
                i = 0
                while i < n:
                    run = i + 1
                    while run < n and keys[run] >> 32 == keys[i] >> 32:
                        run += 1
                    for j in range(i, run):                 # members with one hash, sorted by their minima
                        k = <uint32_t> keys[j]
                        keys[j] = (<uint64_t> self.chain.data[3 * k + 1] << 32) | k
                    sort_u64(keys + i, run - i)
                    k = <uint32_t> keys[i]
                    for j in range(i + 1, run):
                        self.join(base, k, <uint32_t> keys[j], &k)
                    i = run
                for i in range(base, end):
                    if self.chain.data[3 * (i - base)] & CHANGED:
                        place = self.chain.data[3 * (i - base)] & ~<uint32_t> CHANGED
                        least, most = self.chain.data[3 * (i - base) + 1], self.chain.data[3 * (i - base) + 2]
                        node = self.with_counts(self.stack.data[i], place, least, most)
                        self.stack.data[i] = node
                j = base
                for i in range(base, end):
                    if self.stack.data[i] != R_EMPTY:
                        self.stack.data[j] = self.stack.data[i]
                        j += 1
                self.stack.n = j
        finally:
            free(keys)
        return 0

    cdef uint32_t count_place(self, uint32_t node, uint32_t last, size_t entry) except? 0xFFFFFFFF nogil:
        """Return a hash of a member without its first (or last) count; note which part that is, and its bounds."""
        cdef const uint32_t* p
        cdef uint32_t place = 0, part, rest, found = NONE
        cdef uint32_t h = 0, before = 0
        while node != R_EPSILON:
            p = sequence(self.nodes, node)
            part, rest = node, R_EPSILON
            if p[0] == K_CONCAT:
                part, rest = p[1], p[2]
            p = sequence(self.nodes, part)
            if p[0] == K_REPEAT and self.flags[part] & F_COUNTED:
                found = place
                self.chain.data[entry] = place
                self.chain.data[entry + 1] = p[2]
                self.chain.data[entry + 2] = p[3]
                h = ((before * 0x9E3779B1u) ^ p[1]) * 0x85EBCA77u ^ rest
                if not last:
                    break
            if not self.flags[rest] & F_COUNTED:
                break
            before = (before ^ part) * 0xC2B2AE3Du + 1
            place += 1
            node = rest
        spend_steps(self.meter, place)
        return h

    cdef int join(self, size_t base, size_t first, size_t second, size_t* current) except -1 nogil:
        """Join two members if they are equal except for their counts; `current` becomes the one to compare next."""
        cdef uint32_t* a = self.chain.data + 3 * first
        cdef uint32_t* b = self.chain.data + 3 * second
        cdef uint32_t x = self.stack.data[base + first], y = self.stack.data[base + second]
        cdef uint32_t place = a[0] & ~<uint32_t> CHANGED, i, x_rest, y_rest
        cdef const uint32_t* p
        cdef const uint32_t* q
        current[0] = second
        if x == R_EMPTY or place != b[0] or (a[2] != NONE and b[1] > a[2] + 1):
            return 0
        spend_steps(self.meter, place)
        for i in range(place):
            p, q = sequence(self.nodes, x), sequence(self.nodes, y)
            if p[1] != q[1]:
                return 0
            x, y = p[2], q[2]
        p, q = sequence(self.nodes, x), sequence(self.nodes, y)
        x_rest = y_rest = R_EPSILON
        if p[0] == K_CONCAT:
            x_rest = p[2]
            p = sequence(self.nodes, p[1])
        if q[0] == K_CONCAT:
            y_rest = q[2]
            q = sequence(self.nodes, q[1])
        if x_rest != y_rest or p[1] != q[1]:
            return 0
        if a[2] != NONE and (b[2] == NONE or b[2] > a[2]):
            a[0] |= CHANGED
            a[2] = b[2]
        self.stack.data[base + second] = R_EMPTY
        current[0] = first
        return 0

    cdef uint32_t with_counts(self, uint32_t node, uint32_t place, uint32_t minimum, uint32_t maximum) except? 0xFFFFFFFF nogil:
        """Return a member of a union with other bounds for the count that is its part number `place`."""
        cdef size_t base = self.stack.n
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t i, rest = R_EPSILON
        for i in range(place):
            words_push(&self.stack, p[1])
            p = sequence(self.nodes, p[2])
        if p[0] == K_CONCAT:
            rest = p[2]
            p = sequence(self.nodes, p[1])
        node = self.make_repeat(p[1], minimum, maximum)
        node = self.make_concat(node, rest)
        while self.stack.n > base:
            self.stack.n -= 1
            node = self.make_concat(self.stack.data[self.stack.n], node)
        return node
