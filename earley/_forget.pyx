"""Drops what an engine has learned and no living matcher uses.

An engine learns lexer states, regex nodes of derivatives, skeletons and shapes as texts reach them. A hostile grammar,
or a long text of an ambiguous one, can lead to any number of them, but a matcher needs only those to which its rows and
positions refer. So this is a collection like that of a chart (`Chart.collect`), one level down: mark from the charts of
living matchers, drop the rest, number the remaining things anew, and change the references in the charts. Matchers,
their histories and their forks are not affected. Everything that can be computed again is dropped.

It happens between two calls, as soon as three quarters of a limit are in use (`Engine.is_full`), and within a call that
has reached a limit, which is then repeated (`make_room`). If the histories of living matchers alone use more
than half of a limit, their older positions are dropped, too: going back to such a position means accepting the tokens
before it again (`Matcher.go_back`). So a call fails only if it cannot be done within the limit, or if there are too
many matchers.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free

from earleymask.earley._chart cimport Chart
from earleymask.earley._history cimport history_drop_old
from earleymask.earley._lexer cimport DEAD_STATE, demand_at
from earleymask.earley._masks cimport Masks
from earleymask.earley._meter cimport Meter
from earleymask.earley._rules cimport S_TERMINAL
from earleymask.earley._tables cimport NONE, hash_again
from earleymask.trie._memory cimport calloc

cdef enum:
    STATE_BYTES = 1100          # the least memory of a lexer state with its transitions


FINAL = ("seconds", "derivations", "row_items", "load_bytes")   # limits of one call: forgetting what was learned does not help

cdef enum:
    EVERYTHING = 0xFFFFFFFF     # all positions of all histories
    RECENT = 16                 # the number of last positions of each history that are kept; most rollbacks are shorter


cdef int forget(Engine engine) except -1:
    """Drop what no living matcher uses; if more than half of a limit is still in use, drop old positions of histories,
    too."""
    return forget_but(engine, EVERYTHING)


cdef int make_room(Engine engine, error) except -1:
    """After a limit was reached, drop what was learned, so that the call can be repeated.

    Raise the error again if that cannot help.
    """
    if error.limit in FINAL:
        raise error
    return forget_in_call(engine)


cdef int forget_in_call(Engine engine) except -1:
    """Drop what was learned. That takes up to some 50 ms, which count as time of the call."""
    engine.regexes.meter.look_at_clock()
    forget(engine)
    engine.regexes.meter.left = 0                       # so the next step looks at it, too
    return 0


cdef int forget_but(Engine engine, size_t keep) except -1:
    """Do this for the charts of all living matchers."""
    cdef Chart chart
    charts = [chart for chart in [known() for known in engine.charts] if chart is not None]
    idle = [chart for chart in charts if not chart.busy]
    for chart in idle:                                  # other threads do not look into busy charts without the lock
        chart.busy = True
    try:
        return collect(engine, charts, keep)
    finally:
        for chart in idle:
            chart.busy = False


cdef int collect(Engine engine, list charts, size_t keep) except -1:
    """Keep the regex nodes of the grammar itself and of its terminals, and everything to which rows and positions
    refer.

    What is kept is numbered anew, here and in the charts. Transitions, closures, outcomes and answers are dropped, and
    computed again when they are needed. If something fails before the tables are changed, nothing has changed; changing
    them cannot fail.
    """
    cdef Chart chart
    cdef Masks masks
    cdef Collection marks
    cdef size_t i
    for masks in engine.masks.values():
        masks.flush()
    while True:
        for chart in charts:
            if keep != EVERYTHING:
                history_drop_old(&chart.histories, keep)
            with nogil:
                chart.collect()
        marks = Collection(engine)
        for chart in charts:
            chart.mark_learned(marks.states, marks.skeletons, marks.shapes)
        with nogil:
            marks.spread(engine)
        if keep <= 1 or has_room(engine, marks, charts):
            break
        keep = RECENT if keep > RECENT else 1
    # From here on nothing can fail.
    engine.regexes.collect(marks.nodes, marks.node_map)
    for i in range(engine.rules.n_symbols):
        if engine.rules.symbols[i].kind == S_TERMINAL:
            engine.rules.symbols[i].node = marks.node_map[engine.rules.symbols[i].node]
            if engine.rules.symbols[i].inside != NONE:
                engine.rules.symbols[i].inside = marks.node_map[engine.rules.symbols[i].inside]
    engine.lexer.collect(marks.states, marks.state_map, marks.node_map)
    engine.skeletons.collect(marks.skeletons, marks.skeleton_map, marks.shapes, marks.shape_map)
    for chart in charts:
        chart.renumber(marks.state_map, marks.skeleton_map, marks.shape_map)
    # Nobody enters anything: this thread has the lock of the engine.
    with nogil:
        hash_again(engine.regexes.nodes)
        hash_again(engine.lexer.states)
        hash_again(engine.skeletons.skeletons)
        hash_again(engine.skeletons.shapes)
    for chart in charts:
        with nogil:
            chart.hash_again()
    engine.set_marks()
    engine.n_collections += 1
    return 0


cdef bint has_room(Engine engine, Collection marks, list charts) except -1:
    """Return whether the marked things take at most half of each limit."""
    cdef Meter meter = engine.regexes.meter
    cdef Chart chart
    cdef size_t i, n_states = 0, n_nodes = 0, n_words = 0, n_bytes
    with nogil:
        for i in range(engine.lexer.states.n):
            n_states += marks.states[i]
        for i in range(engine.regexes.nodes.n):
            if marks.nodes[i]:
                n_nodes += 1
                n_words += 4 + engine.regexes.nodes.starts[i + 1] - engine.regexes.nodes.starts[i]
        for i in range(engine.skeletons.skeletons.n):
            if marks.skeletons[i]:
                n_words += 4 + engine.skeletons.skeletons.starts[i + 1] - engine.skeletons.skeletons.starts[i]
    for chart in charts:
        # Without their positions, histories are no smaller.
        if chart.n_bytes() > (meter.most_matcher_bytes - min(meter.most_matcher_bytes, chart.histories.n_bytes)) // 2:
            return False
    n_bytes = n_words * sizeof(uint32_t) + n_states * STATE_BYTES
    return (n_states <= meter.most_lexer_states // 2 and n_nodes <= meter.most_regex_nodes // 2
            and n_bytes <= engine.n_base_bytes + (meter.most_grammar_bytes - engine.n_base_bytes) // 2)


cdef class Collection:
    """What is kept, by id: marks, and room for the new ids."""

    cdef uint8_t* nodes
    cdef uint8_t* states
    cdef uint8_t* skeletons
    cdef uint8_t* shapes
    cdef uint32_t* node_map
    cdef uint32_t* state_map
    cdef uint32_t* skeleton_map
    cdef uint32_t* shape_map

    def __cinit__(self, Engine engine):
        cdef size_t n_nodes = engine.regexes.nodes.n, n_states = engine.lexer.states.n, i
        cdef size_t n_skeletons = engine.skeletons.skeletons.n, n_shapes = engine.skeletons.shapes.n
        self.nodes = <uint8_t*> calloc(n_nodes + 1, 1)
        self.states = <uint8_t*> calloc(n_states + 1, 1)
        self.skeletons = <uint8_t*> calloc(n_skeletons + 1, 1)
        self.shapes = <uint8_t*> calloc(n_shapes + 1, 1)
        self.node_map = <uint32_t*> calloc(n_nodes + 1, sizeof(uint32_t))
        self.state_map = <uint32_t*> calloc(n_states + 1, sizeof(uint32_t))
        self.skeleton_map = <uint32_t*> calloc(n_skeletons + 1, sizeof(uint32_t))
        self.shape_map = <uint32_t*> calloc(n_shapes + 1, sizeof(uint32_t))
        if (self.nodes == NULL or self.states == NULL or self.skeletons == NULL or self.shapes == NULL
                or self.node_map == NULL or self.state_map == NULL or self.skeleton_map == NULL or self.shape_map == NULL):
            raise MemoryError("forgetting what was learned about a grammar")
        for i in range(engine.n_base_nodes):
            self.nodes[i] = 1
        for i in range(engine.rules.n_symbols):
            if engine.rules.symbols[i].kind == S_TERMINAL:
                self.nodes[engine.rules.symbols[i].node] = 1
                if engine.rules.symbols[i].inside != NONE:
                    self.nodes[engine.rules.symbols[i].inside] = 1
        for i in range(engine.skeletons.n_base_shapes):
            self.shapes[i] = 1
        self.states[DEAD_STATE] = 1

    cdef int spread(self, Engine engine) except -1 nogil:
        """Mark the things to which marked things refer."""
        cdef size_t i, k
        engine.skeletons.mark(self.skeletons, self.shapes)
        for i in range(engine.lexer.states.n):
            if self.states[i]:
                for k in range(engine.lexer.states.starts[i] + 1, engine.lexer.states.starts[i + 1], 2):
                    self.nodes[engine.lexer.states.words.data[k]] = 1
                if demand_at(engine.lexer, <uint32_t> i) != NONE:
                    self.nodes[demand_at(engine.lexer, <uint32_t> i)] = 1
        engine.regexes.mark(self.nodes)
        return 0

    def __dealloc__(self):
        free(self.nodes)
        free(self.states)
        free(self.skeletons)
        free(self.shapes)
        free(self.node_map)
        free(self.state_map)
        free(self.skeleton_map)
        free(self.shape_map)


def forget_now(Engine engine not None, keep=None) -> None:
    """Drop what no living matcher uses, and all but the last `keep` positions of their histories. For tests."""
    engine.acquire()
    try:
        forget_but(engine, EVERYTHING if keep is None else keep)
    finally:
        engine.release()
