# Texts that are likely under a grammar, and the masks along them.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._engine cimport Engine
from earleymask.earley._lexer cimport Lexer
from earleymask.earley._masks cimport Masks
from earleymask.earley._matcher cimport Matcher
from earleymask.earley._tables cimport Sequences, Words
from earleymask.trie._quotient cimport Quotient

cdef enum:
    N_LEVELS = 3

cdef class LikelyTexts:
    cdef Matcher matcher            # of its own; texts begin where it stands
    cdef Chart chart                # the matcher's
    cdef Lexer lexer                # the grammar's
    cdef Masks masks                # the matcher's
    cdef Quotient quotient          # of the vocabulary
    cdef size_t most_bytes          # of a text
    cdef size_t most_masks          # bytes of answers and masks of the grammar, beyond which it ends
    cdef size_t most_parts          # and of the vocabulary's parts
    # A place is a position without its stack and without remembered text: the skeleton of the row at which a lexeme ends
    # (or NONE), then the skeleton and the lexer state of each live pair.
    cdef Sequences places
    cdef Words visits               # per place: how often texts have come there
    cdef Words choices_at           # per place: where its choices begin in `choices`, or NONE
    cdef Words choices              # how many; then bytes, one for each way to go on
    # Choices that no text has taken yet, by level: position, byte, and what `context` was there.
    cdef Words left[N_LEVELS]
    cdef size_t n_taken[N_LEVELS]   # words of it that have been taken
    # The text that is being written, or whose masks are being made:
    cdef Words text                 # bytes
    cdef Words positions            # before its bytes, and after the last one
    cdef Words place_of             # their places
    cdef Words is_new               # whether no text had been at the place; later, whether its mask is wanted
    # Its last byte; how often this has been repeated << 8; how many lexemes decided by their text what follows << 16
    cdef uint32_t context
    cdef uint32_t n_known           # bytes since the last new place
    cdef bint is_written            # whether it is complete, so that masks are made
    cdef bint is_last               # whether no further text will be written, because a limit has been met
    cdef size_t at                  # the next position whose mask may be made
    # Positions are what they were only as long as these do not grow.
    cdef uint64_t n_collected, n_forgotten
    cdef Words words, others        # scratch

    cdef int64_t most_ns            # processor time that it may take
    cdef int64_t pause              # nanoseconds for which it rests if it has to give way again
    cdef int is_stopped

    cdef readonly bint is_done      # whether it has ended
    cdef readonly bint is_complete  # whether it has because no likely text is left
    cdef readonly uint64_t n_masks, n_texts, n_given_way
    cdef readonly int64_t nanoseconds   # processor time that has been spent

    cdef int work_alone(self, int64_t began) except -1
    cdef int tidy(self) except -1
    cdef size_t most_words(self) noexcept
    cdef bint uses_much(self, Engine engine) noexcept
    cdef int go_on(self) except -1 nogil
    cdef int begin(self) except -1 nogil
    cdef int end(self) noexcept nogil
    cdef int write_byte(self) except -1 nogil
    cdef int leave(self, uint32_t level, uint32_t position, uint32_t byte) except -1 nogil
    cdef uint32_t context_after(self, uint32_t before, uint32_t byte) except? 0xFFFFFFFE nogil
    cdef bint ends_followed(self, uint32_t before, uint32_t byte) except -1 nogil
    cdef uint32_t best_choice(self, bint leaves) except? 0xFFFFFFFE nogil
    cdef uint32_t level(self, uint32_t before, uint32_t byte, uint32_t position) noexcept nogil
    cdef bint is_unlikely(self, uint32_t position) noexcept nogil
    cdef bint goes_on(self, uint32_t before, uint32_t position) noexcept nogil
    cdef uint32_t first_terminal(self, uint32_t before, uint32_t byte, uint32_t position) except? 0xFFFFFFFE nogil
    cdef int arrive(self, uint32_t position) except -1 nogil
    cdef uint32_t place(self, uint32_t position) except? 0xFFFFFFFF nogil
    cdef int find_choices(self, uint32_t place, uint32_t position) except -1 nogil
    cdef void choose_positions(self) noexcept nogil
    cdef int make_mask(self, uint32_t position) except -1 nogil
