"""Lookarounds, atomic groups and preferences in one terminal: threads in groups that cuts end (K_CUTS).

Backtracking with a cut, as in Prolog, simulated by threads that advance side by side. The items of a state stand in the
order in which a backtracking matcher would try them. A *group* holds the threads in the body of an atomic group or a
lookahead and, after them, what is to be tried only if they fail. When a thread completes the body of its group, all that
is less preferred in the group is cut:

- atomic group: the completing thread goes on behind it, and nothing else in the group does;
- negative lookahead: the completing thread ends, and what stands after it in the group, the text after the lookahead,
  with it. If no thread of the body completes, that text goes on as if there had been no lookahead;
- positive lookahead: a negative one within a negative one.

A thread that went on behind the body of a group stays in it as long as a more preferred thread is still in the body, for
that one may yet cut it. Such a thread is *conditional*: if it completes the body of a group further out, the cut is
remembered as an item (T_CUT) that takes effect when the group between is gone; the rest of the innermost group is
cut at once, as it is lost either way. A group from which no thread can be cut any more is dissolved into the one
around it. A match in a program that is cut at the first match is a cut of everything.

An item that equals an earlier one directly in a group that both are in is left out: whatever it could do, the earlier one
does first, or is cut together with it. This is what keeps states few.

What lookbehinds ask is known when they are asked: whether the text so far is in one of the *oracles*, regexes of the form
"anything, then the body", whose derivatives are kept with the state.

A state also holds a *question*, see `Regexes.cuts`: it is nullable where the answer is yes. What may follow a text is
found out by reading on: threads of lookaheads read what follows; all others have ended.
"""

cdef enum:
    STEP = 0                    # read a byte
    LOOK_ON = 1                 # read a byte of what follows: a match stays
    END_ALL = 2                 # no byte: threads end
    END_MAIN = 3                # no byte: threads end that are not in a lookahead

    MAX_ITEMS = 1 << 15         # words of the items of one state

    # A frame: group, where it begins in `items`, how much of `undo` is older, whether it is stopped and by what.
    FRAME = 4
    GOING = 0
    STOPPED = 1                 # by a cut of its own, or it began within a stopped one
    STOPPED_BY_CUT = 2          # the last item is a T_CUT
    STOPPED_BY_MATCH = 3        # the last item is a T_MATCH

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


cdef bint in_body(const uint32_t* program, uint32_t pc, uint32_t group) noexcept nogil:
    """Whether the instruction stands in the body of the group."""
    cdef const uint32_t* groups = groups_of(program)
    cdef uint32_t owner = code_of(program)[<size_t> pc * I_WORDS + I_OWNER]
    while owner != NONE and owner != group:
        owner = groups[owner * G_WORDS + G_PARENT]
    return owner == group
