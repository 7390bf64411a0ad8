"""Upper bounds that short texts do not come near.

In `[A-Z]{1,30}`, and in a pattern whose text has at most 100 characters, each character leads to another regex, because
one repetition or one character fewer may follow. Most texts of a few bytes do not distinguish these regexes from each
other: they come near no bound. Precisely: if no text of b bytes comes near a bound, each text of at most b bytes begins
a match of the regex if it begins one of the regex without that bound, and is a match if it is a match of that one. This
is told from the regex alone:

- A repetition `r{l,u}`. Each turn reads as many bytes as the shortest match of `r` at least, so a text of b bytes begins
  at most u turns if b <= u times this length.
- An intersection `x & .{0,u}` in which `.` is any character and `x` matches text only. Whatever has been read, `x` needs
  no more than some number of characters to come to an end (`longest_end`). A text of b bytes has no more characters than
  bytes. Together with such an end it has at most u characters if b <= u less this number.

In concatenations, unions, repetitions and spellings (`_escaped`), what a text begins or matches is told by what its
pieces begin or match in the members, and no piece is longer than the text. So bounds may be dropped there one by one. In
other complements and intersections that is not so: their bounds stay.
"""

from libc.stdint cimport uint64_t

from earleymask.earley._escaped cimport make_escaped
from earleymask.earley._nodes cimport (
    ANY_CLASS, E_BODY, E_HIGH, E_PHASE, E_STYLE, E_VALUE, E_WORDS, F_BOUNDED, F_ORDERED, F_TEXT, K_AND, K_BYTES, K_CHAR, K_CONCAT,
    K_EPSILON, K_ESCAPED, K_REPEAT, K_TAIL, K_UNION, nullable,
)
from earleymask.earley._tables cimport NONE, sequence, sequence_length, words_push

cdef enum:
    ROOM = 256                  # nodes, on all ways down, after which a regex is too large to be looked through
    # The most bytes by which a text can be longer than its spelling: by an escape that has only begun, and by one whose
    # last digit comes first.
    AHEAD = 3
    ANY_TAIL = 0xFFFFFFFF       # `_characters.ANY`


def farthest_bounds(Regexes regexes not None, node) -> tuple[int, int]:
    """Return what `farthest` and `without_far` find; for tests."""
    cdef uint32_t known = regexes.known(node), reach = farthest(regexes, known)
    return reach, without_far(regexes, known, reach) if reach else known


cdef uint32_t farthest(Nodes nodes, uint32_t node) noexcept nogil:
    cdef uint32_t room = ROOM, reach
    if nodes.flags[node] & (F_BOUNDED | F_ORDERED) != F_BOUNDED:
        return 0
    reach = reach_of(nodes, node, &room)
    return min(reach, <uint32_t> MOST_REACH) if room else 0


cdef uint32_t reach_of(Nodes nodes, uint32_t node, uint32_t* room) noexcept nogil:
    cdef const uint32_t* p
    cdef uint32_t reach = 0, inner
    cdef size_t i
    while room[0] and nodes.flags[node] & F_BOUNDED:
        room[0] -= 1
        p = sequence(nodes.nodes, node)
        if p[0] == K_CONCAT:
            reach = max(reach, reach_of(nodes, p[1], room))
            node = p[2]
            continue
        if p[0] == K_UNION:
            for i in range(1, sequence_length(nodes.nodes, node)):
                reach = max(reach, reach_of(nodes, p[i], room))
        elif p[0] == K_REPEAT:
            reach = max(reach, max(turns_reach(nodes, p, room), reach_of(nodes, p[1], room)))
        elif p[0] == K_ESCAPED:
            inner = reach_of(nodes, p[E_BODY], room)
            reach = max(reach, inner - min(inner, bytes_ahead(p)))
        elif p[0] == K_AND:
            reach = max(reach, length_reach(nodes, node, &inner, room))
        break
    return reach


cdef uint32_t bytes_ahead(const uint32_t* escaped) noexcept nogil:
    return AHEAD if escaped[E_PHASE] == 0 else 2 * AHEAD


cdef uint32_t turns_reach(Nodes nodes, const uint32_t* p, uint32_t* room) noexcept nogil:
    """Return the reach of the bound of a repetition itself."""
    if p[3] == NONE:
        return 0
    return <uint32_t> min(<uint64_t> p[3] * least_bytes(nodes, p[1], room), <uint64_t> MOST_REACH)


cdef uint32_t length_reach(Nodes nodes, uint32_t node, uint32_t* others, uint32_t* room) noexcept nogil:
    """Return the reach of the bound of an intersection with all texts of some length. Note its other member."""
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef uint32_t most, end
    if sequence_length(nodes.nodes, node) != 3:
        return 0
    others[0] = p[2]
    most = most_characters(nodes, p[1], p[2])
    if most == NONE:
        others[0] = p[1]
        most = most_characters(nodes, p[2], p[1])
    if most == NONE:
        return 0
    end = longest_end(nodes, others[0], room)
    return 0 if end == NONE else min(most - min(most, end), <uint32_t> MOST_REACH)


cdef uint32_t most_characters(Nodes nodes, uint32_t node, uint32_t other) noexcept nogil:
    """Return how many characters a text may have that matches `node`, if that is all that the node demands of the texts of
    `other`; else NONE. The node is `.{0,u}`, or the tail of a character and this."""
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef const uint32_t* body
    cdef uint32_t tail = NONE
    if p[0] == K_CONCAT:
        tail = p[1]
        p = sequence(nodes.nodes, p[2])
    if p[0] != K_REPEAT or p[2] != 0:
        return NONE
    if tail == NONE:
        if not nodes.flags[other] & F_TEXT:
            return NONE
    elif not ends_with_text(nodes, other, sequence(nodes.nodes, tail)):
        return NONE
    body = sequence(nodes.nodes, p[1])
    return p[3] if body[0] == K_CHAR and body[1] == ANY_CLASS else NONE


cdef bint ends_with_text(Nodes nodes, uint32_t node, const uint32_t* tail) noexcept nogil:
    """Return whether it is obvious that each match is the tail of a character that `tail` matches, too, and text after
    it."""
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef const uint32_t* own = p
    cdef size_t i
    if p[0] == K_UNION:
        for i in range(1, sequence_length(nodes.nodes, node)):
            if not ends_with_text(nodes, p[i], tail):
                return False
        return True
    if p[0] == K_CONCAT:
        if not nodes.flags[p[2]] & F_TEXT:
            return False
        own = sequence(nodes.nodes, p[1])
    if tail[0] != K_TAIL or own[0] != K_TAIL or own[3] != tail[3]:
        return False
    if tail[1] == ANY_TAIL:                             # any continuation bytes
        return True
    return tail[1] == ANY_CLASS and own[1] != ANY_TAIL and own[2] == tail[2] and own[4] == tail[4]


cdef uint32_t least_bytes(Nodes nodes, uint32_t node, uint32_t* room) noexcept nogil:
    """Return a number of bytes than which no match is shorter."""
    cdef const uint32_t* p
    cdef uint64_t total = 0, least
    cdef size_t i
    while room[0]:
        room[0] -= 1
        p = sequence(nodes.nodes, node)
        if p[0] == K_CONCAT:
            total += least_bytes(nodes, p[1], room)
            node = p[2]
            continue
        if p[0] == K_UNION:
            least = MOST_REACH
            for i in range(1, sequence_length(nodes.nodes, node)):
                least = min(least, <uint64_t> least_bytes(nodes, p[i], room))
            total += least
        elif p[0] == K_REPEAT:
            total += <uint64_t> p[2] * least_bytes(nodes, p[1], room)
        elif not nullable(nodes, node):
            total += 1
        break
    return <uint32_t> min(total, <uint64_t> MOST_REACH)


cdef uint32_t longest_end(Nodes nodes, uint32_t node, uint32_t* room) noexcept nogil:
    """Return a number of characters with which each text that begins a match can be ended; NONE if none is known."""
    cdef uint32_t match
    return ends_of(nodes, node, &match, room)


cdef uint32_t ends_of(Nodes nodes, uint32_t node, uint32_t* match, uint32_t* room) noexcept nogil:
    """Do what `longest_end` does; note a number of characters than which some match is no longer."""
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef uint64_t end = 0, total
    cdef uint32_t inner, later
    cdef size_t i
    match[0] = 0
    if room[0] == 0:
        return NONE
    room[0] -= 1
    if p[0] == K_EPSILON:
        return 0
    if p[0] == K_BYTES or p[0] == K_CHAR or p[0] == K_TAIL:
        match[0] = 1
        return 1
    if p[0] == K_CONCAT:
        # Within the first member, its end and the shortest match of the second one are needed; then the end of the second.
        end = ends_of(nodes, p[1], &inner, room)
        later = ends_of(nodes, p[2], match, room)
        if end >= MOST_REACH or later >= MOST_REACH:
            return NONE
        end = max(end + match[0], <uint64_t> later)
        total = <uint64_t> match[0] + inner
    elif p[0] == K_UNION:
        total = MOST_REACH
        for i in range(1, sequence_length(nodes.nodes, node)):
            end = max(end, <uint64_t> ends_of(nodes, p[i], &inner, room))
            total = min(total, <uint64_t> inner)
    elif p[0] == K_REPEAT:
        end = ends_of(nodes, p[1], &inner, room)
        total = <uint64_t> p[2] * inner
        if p[2] > 1:
            end += total - inner
    else:
        return NONE
    if end >= MOST_REACH or total >= MOST_REACH:
        return NONE
    match[0] = <uint32_t> total
    return <uint32_t> end


cdef uint32_t without_far(Regexes regexes, uint32_t node, uint32_t n_bytes) except? 0xFFFFFFFF nogil:
    cdef const uint32_t* p = sequence(regexes.nodes, node)
    cdef size_t base = regexes.stack.n, i, n = sequence_length(regexes.nodes, node)
    cdef uint32_t words[E_WORDS]
    cdef uint32_t part, least, most, room = ROOM
    if not regexes.flags[node] & F_BOUNDED:
        return node
    if p[0] == K_CONCAT:
        while p[0] == K_CONCAT and regexes.flags[node] & F_BOUNDED:     # a long literal may come after the bounds
            part, node = p[1], p[2]
            words_push(&regexes.stack, without_far(regexes, part, n_bytes))
            p = sequence(regexes.nodes, node)
        part = without_far(regexes, node, n_bytes)
        while regexes.stack.n > base:
            regexes.stack.n -= 1
            part = regexes.make_concat(regexes.stack.data[regexes.stack.n], part)
        return part
    if p[0] == K_REPEAT:
        part, least, most = p[1], p[2], p[3]
        if turns_reach(regexes, p, &room) >= n_bytes:
            most = NONE
        return regexes.make_repeat(without_far(regexes, part, n_bytes), least, most)
    if p[0] == K_ESCAPED:
        for i in range(E_WORDS):
            words[i] = p[i]
        part = without_far(regexes, words[E_BODY], n_bytes + bytes_ahead(words))
        return make_escaped(regexes, part, words[E_STYLE], words[E_PHASE], words[E_VALUE], words[E_HIGH])
    if p[0] == K_AND:
        if length_reach(regexes, node, &part, &room) < n_bytes:
            return node
        return without_far(regexes, part, n_bytes)
    if p[0] != K_UNION:
        return node
    for i in range(1, n):
        part = without_far(regexes, sequence(regexes.nodes, node)[i], n_bytes)
        words_push(&regexes.stack, part)
    return regexes.make_union(base)
