"""Rows of a batch: the masks of many matchers, which several threads make side by side.

With the GIL, a batch claims the matchers (`claim`): from then on, other calls of these raise MatcherInUseError. Then
threads fill the rows (`fill`). For a row, a thread needs the lock of its grammar, and the GIL only where rules are made,
where something is done for the first time or something is freed, so that threads hardly wait for each other. One thread
fills all rows of a grammar, because two would take turns. At last `give_back` gives the matchers back.
"""

cimport cython
from cpython.buffer cimport PyBUF_STRIDED, PyBuffer_Release, PyObject_GetBuffer
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._atomic cimport add
from earleymask.earley._chart cimport claim_chart, give_chart_back
from earleymask.earley._locks cimport n_forks
from earleymask.earley._matcher cimport Matcher, is_walk_worth_trying
from earleymask.earley._meter cimport look_at_signals, wall_clock
from earleymask.earley._shortest cimport ENDLESS
from earleymask.trie._memory cimport calloc

from earleymask.earley.errors import LimitError, ends_sequence

cdef enum:
    PIECE_NS = 5_000_000        # for so long, a thread fills rows before it looks at signals

# A row whose matcher is claimed.
cdef struct Row:
    PyObject* matcher           # owned by `Batch.matchers`, a tuple: the garbage collector would empty a list first
    uint32_t* words
    size_t index                # of the matcher
    uint64_t n                  # tokens that may still come; ENDLESS: any number
    bint is_filled
    bint ends                   # an error has ended the sequence before

# The rows that a thread is filling.
cdef struct Place:
    size_t k, end               # the next row, and the one after the last row of its grammar
    bint has_lock               # whether the thread has the lock of that grammar


cdef uint64_t limited(object remaining) except? 0xFFFFFFFFFFFFFFFE:
    """Return how many tokens may still come as the masks take it."""
    return ENDLESS if remaining is None else min(remaining, <uint64_t> ENDLESS - 1)


@cython.no_gc_clear             # `__dealloc__` needs the matchers
cdef class Batch:
    """Rows and the matchers whose masks they are to become.

    words: a writable buffer of 32-bit words, of shape (rows, >= n_words of each); the words of a row follow one another.
    places: the row of each matcher. remaining: for each matcher, how many tokens may still come, or None. errors: by index of
    the matcher, why its row could not be filled; `give_back` clears such a row.
    """

    cdef readonly tuple matchers
    cdef readonly dict errors
    cdef list remaining
    cdef readonly size_t n_rows         # that are claimed
    cdef readonly size_t n_grammars     # of these rows
    cdef Py_buffer buffer
    cdef size_t n_bytes                 # of a row
    cdef size_t* places                 # by matcher
    cdef Row* rows                      # sorted by grammar
    cdef size_t* ends                   # by grammar: the end of its rows
    cdef size_t n_begun                 # grammars whose rows are being filled, or have been; changed by `add`
    cdef Place left                     # rows of such a grammar that no thread is filling
    cdef size_t n_filling               # calls of `fill` that have not returned
    cdef bint is_over                   # `give_back` was called
    cdef size_t claimed_in              # `n_forks` when the matchers were claimed

    def __cinit__(self, tuple matchers not None, words not None, places not None, list remaining not None):
        cdef Matcher matcher
        cdef size_t i, n_rows
        self.matchers = matchers
        self.errors = {}
        self.remaining = remaining
        if not matchers:
            return
        PyObject_GetBuffer(words, &self.buffer, PyBUF_STRIDED)
        if (self.buffer.ndim != 2 or self.buffer.itemsize != sizeof(uint32_t) or len(places) != len(matchers) or len(remaining) != len(matchers)
                or self.buffer.shape[1] > 1 and self.buffer.strides[1] != sizeof(uint32_t)):
            raise ValueError("rows must be an array of int32 with two dimensions, whose words follow one another; with one "
                             "place and one number of tokens for each matcher")
        if <size_t> self.buffer.buf % sizeof(uint32_t) or self.buffer.strides[0] % <Py_ssize_t> sizeof(uint32_t):
            raise ValueError("rows begin at an address that is no multiple of 4; use an array that numpy has allocated")
        self.n_bytes = self.buffer.shape[1] * sizeof(uint32_t)
        for matcher in matchers:
            if self.n_bytes < matcher.trie.n_words * sizeof(uint32_t):
                raise ValueError(f"rows have {self.buffer.shape[1]} words; {matcher.trie.n_words} are needed")
        self.rows = <Row*> calloc(len(matchers) + 1, sizeof(Row))
        self.ends = <size_t*> calloc(len(matchers) + 1, sizeof(size_t))
        self.places = <size_t*> calloc(len(matchers) + 1, sizeof(size_t))
        if self.rows == NULL or self.ends == NULL or self.places == NULL:
            raise MemoryError("rows of a batch")
        n_rows = self.buffer.shape[0]
        for i in range(<size_t> len(matchers)):
            self.places[i] = places[i]
            if self.places[i] >= n_rows:
                raise ValueError(f"there are {n_rows} rows, and matcher {i} has row {self.places[i]}")

    def __dealloc__(self):
        self.free_claims(True)
        free(self.rows)
        free(self.ends)
        free(self.places)
        PyBuffer_Release(&self.buffer)

    def claim(self, indexes, *, bint strict) -> None:
        """Claim the matchers with these indexes, which must be different ones.

        With `strict`, raise MatcherInUseError if one is in use, and claim none. Otherwise write masks that are
        remembered at once, and enter such an error for its row.
        """
        cdef Matcher matcher
        cdef size_t index
        by_grammar = {}
        for index in indexes:
            matcher = self.matchers[index]
            if (strict or matcher.error is not None or self.remaining[index] is not None
                    or not matcher.write_known(self.row(index), self.n_bytes)):
                by_grammar.setdefault(id(matcher.engine), []).append(index)
        self.claimed_in = n_forks
        try:
            for chosen in by_grammar.values():
                for index in chosen:
                    self.claim_one(index, strict)
                if self.n_rows > (self.ends[self.n_grammars - 1] if self.n_grammars else 0):
                    self.ends[self.n_grammars] = self.n_rows
                    self.n_grammars += 1
        except:
            self.free_claims(False)
            raise

    cdef int claim_one(self, size_t index, bint strict) except -1:
        cdef Matcher matcher = self.matchers[index]
        cdef Row* row = &self.rows[self.n_rows]
        try:
            matcher.claim()
        except Exception as error:
            if strict:
                raise
            self.errors[index] = error
            memset(self.row(index), 0, self.n_bytes)
            return 0
        claim_chart(matcher.chart)
        matcher.masks.users.clock += 1
        matcher.masks.last_used = matcher.masks.users.clock
        row.matcher = <PyObject*> matcher
        row.words = self.row(index)
        row.index = index
        row.n = limited(self.remaining[index])
        row.ends = matcher.error is not None
        self.n_rows += 1
        return 0

    cdef uint32_t* row(self, size_t index) noexcept:
        return <uint32_t*> (<char*> self.buffer.buf + <Py_ssize_t> self.places[index] * self.buffer.strides[0])

    def end_failed(self) -> None:
        """End the sequences whose rows could not be filled, and forget their errors, but for those that say nothing about the
        sequence: see `ends_sequence`, and of matchers that are not set up. To be called after `give_back`."""
        cdef Matcher matcher
        for index, error in list(self.errors.items()):
            matcher = self.matchers[index]
            if ends_sequence(error) and matcher.history != NULL:
                matcher.end_with(error)
                matcher.write_end(self.row(index), self.n_bytes)
                del self.errors[index]

    @property
    def claimed(self) -> list[int]:
        """The indexes of the matchers that are claimed."""
        cdef size_t k
        return [self.rows[k].index for k in range(self.n_rows)]

    def fill_until(self, size_t index, double seconds) -> bool:
        """Fill the row of a claimed matcher, or what is found of it in so many seconds; return whether it is complete. In
        place of `fill`, and then `give_back(clears=False)`. The index may be another one of the same matcher."""
        cdef Matcher matcher = self.matchers[index]
        if matcher.error is not None:
            matcher.write_end(self.row(index), self.n_bytes)
            return True
        return matcher.write_claimed(self.row(index), self.n_bytes, limited(self.remaining[index]), seconds)

    def give_back(self, *, bint clears=True) -> None:
        """Give the matchers back: now, or when the last call of `fill` returns. Such calls return after the row that they
        are filling. With `clears`, clear the claimed rows that `fill` has not filled."""
        self.is_over = True
        if self.n_filling == 0:
            self.free_claims(clears)

    cdef void free_claims(self, bint clears) noexcept:
        cdef size_t k
        # In a forked child, the next call takes the matcher anyway, and the rows may have been filled anew.
        for k in range(self.n_rows if self.claimed_in == n_forks else 0):
            if clears and not self.rows[k].is_filled:
                memset(self.rows[k].words, 0, self.n_bytes)
            give_chart_back((<Matcher> self.rows[k].matcher).chart)
            (<Matcher> self.rows[k].matcher).in_use = 0
        self.n_rows = self.n_grammars = 0
        memset(&self.left, 0, sizeof(Place))

    @property
    def n_left(self) -> int:
        """The number of grammars of which another thread may begin to fill rows."""
        return self.n_grammars - min(self.n_begun, self.n_grammars) + (self.left.k < self.left.end)

    def fill(self, double seconds=4e9) -> None:
        """Fill rows until none is left that no thread has begun to fill, or for so many seconds. Several threads may
        call this. An error of one row leaves the others filled."""
        cdef Place place
        cdef int64_t last = wall_clock() + <int64_t> (seconds * 1e9)
        cdef bint is_done = self.is_over, tries_walk
        place = self.left
        memset(&self.left, 0, sizeof(Place))
        self.n_filling += 1
        try:
            while not is_done:
                tries_walk = False
                try:
                    with nogil:
                        is_done = self.fill_some(&place, last)
                except LimitError as error:
                    tries_walk = place.has_lock and self.rows[place.k].n == ENDLESS and is_walk_worth_trying(error)
                    if not tries_walk:
                        self.fail(&place, error)
                except Exception as error:              # an error of any kind must not stop the other rows
                    self.fail(&place, error)
                if tries_walk:                          # here, the error and what it refers to have been dropped
                    self.fill_otherwise(&place)
                if not is_done:
                    look_at_signals()
                    is_done = wall_clock() > last
        finally:
            if place.has_lock:                          # a handler of a signal has raised something
                place.has_lock = False
                (<Matcher> self.rows[place.k].matcher).unlock()
            if place.k < place.end and self.left.k == self.left.end:
                self.left = place
            self.n_filling -= 1
            if self.is_over and self.n_filling == 0:
                self.free_claims(True)

    cdef bint fill_some(self, Place* place, int64_t last) except -1 nogil:
        """Fill rows for some milliseconds, or until a time. Return whether none is left."""
        cdef int64_t until = min(wall_clock() + PIECE_NS, last)
        cdef size_t grammar
        cdef Row* row
        while not self.is_over:
            if place.k == place.end:
                grammar = add(&self.n_begun, 1)
                if grammar >= self.n_grammars:
                    return True
                place.k = self.ends[grammar - 1] if grammar else 0
                place.end = self.ends[grammar]
            row = &self.rows[place.k]
            if row.ends:
                (<Matcher> row.matcher).write_end(row.words, self.n_bytes)
                self.end_row(place)
                continue
            (<Matcher> row.matcher).lock_freely()
            place.has_lock = True
            if row.n == ENDLESS:
                (<Matcher> row.matcher).write_freely(row.words, self.n_bytes)
            else:
                with gil:
                    (<Matcher> row.matcher).write_cut(row.words, self.n_bytes, row.n)
            self.end_row(place)
            if wall_clock() > until:
                return False
        return True

    cdef void end_row(self, Place* place) noexcept nogil:
        self.rows[place.k].is_filled = True
        self.leave_row(place)

    cdef void leave_row(self, Place* place) noexcept nogil:
        if place.has_lock:
            place.has_lock = False
            (<Matcher> self.rows[place.k].matcher).unlock()
        place.k += 1

    cdef int fail(self, Place* place, error) except -1:
        self.errors[self.rows[place.k].index] = error
        self.leave_row(place)
        return 0

    cdef int fill_otherwise(self, Place* place) except -1:
        """Fill a row whose mask has met a limit."""
        cdef Row* row = &self.rows[place.k]
        try:
            (<Matcher> row.matcher).write_otherwise(row.words, self.n_bytes)
        except Exception as error:
            self.fail(place, error)
        else:
            self.end_row(place)
        return 0
