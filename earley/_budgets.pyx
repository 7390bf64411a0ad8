"""Budgets: how many tokens a lexeme may take (`max_tokens`), along one sequence.

A budget counts tokens, but positions depend on bytes only: the same bytes in fewer tokens use less of the budget. So
budgets are not in rows, positions or masks. Instead, this module notes for every live pair of every position of the
sequence at which token its lexeme began. When a token is accepted and a lexeme has used its budget, the position after
the token is replaced by another one, which the rest of the engine treats like any other:

- If the terminal accepts there, it is removed from the pair. The position already has what follows the lexeme, so it
  does not become empty.
- Otherwise its remaining regex r becomes r minus r S+, where S is any byte: the lexeme continues, and ends at the first
  byte at which it can. There is such a text if r has any text.
- A terminal with `stop` or `suffix`, whose lexemes end with a text of their own, would not end before the model writes
  that text. For it r is restricted to texts no longer than the shortest such end, as soon as r has such texts: then
  only the end can be written.

A text that may end a lexeme may demand something of the text after it that cannot follow (`_chart`). If nothing could
follow at all after the lexeme has ended, it goes on, and the same is tried after each later token.

Pairs whose lexemes began at different places may be equal, because rows recur. The latest beginning counts: a sequence
is allowed if some reading of it keeps to the budgets.
"""

from libc.stdint cimport uint8_t, uint64_t

from earleymask.earley._chart cimport FINISHED, NO_ROW, n_pairs_at, pair_row, pair_state, row_at, skeleton_of
from earleymask.earley._history cimport history_notes, last_entry, n_tokens_of
from earleymask.earley._lexer cimport DEAD_STATE, demand_at, n_terminals, next_state, node_at, terminal_at
from earleymask.earley._meter cimport spend_steps
from earleymask.earley._nodes cimport R_EMPTY, nullable
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rules cimport COVERED, DEMANDING, LOOSE
from earleymask.earley._skeletons cimport start_state_of
from earleymask.earley._tables cimport NONE, ByteSet, words_free, words_push


cdef class Budgets:

    def __cinit__(self, Chart chart not None, dict most not None):
        self.chart = chart
        self.most = most

    def __dealloc__(self):
        words_free(&self.coming)

    cdef uint32_t spend(self, History* history, uint32_t after, const unsigned char* data, size_t n) except? 0xFFFFFFFF:
        cdef Chart chart = self.chart
        cdef uint32_t token = <uint32_t> n_tokens_of(history), before = last_entry(history).position
        cdef uint32_t position = before, target, row, state, start
        cdef size_t i, n_notes
        cdef const uint32_t* notes = history_notes(history, &n_notes)
        cdef bint changed = False
        cdef dict begun = {}, kept = {}, whole = {}
        self.coming.n = 0
        if after == FINISHED:
            return after
        if n:                                   # a special token ends all lexemes
            for i in range(n_pairs_at(chart, before)):
                key = plain_pair(chart, before, i)
                begun[key] = max(begun.get(key, 0), notes[i] if token else 0)
        for i in range(n):
            target = chart.advance(position, data[i])
            begun = self.moved(begun, position, data[i], target, token if i + 1 < n else token + 1)
            position = target
        for i in range(n_pairs_at(chart, after)):
            row, state = pair_row(chart, after, i), pair_state(chart, after, i)
            start = begun.get(plain_pair(chart, after, i), token + 1)
            whole[pair(chart, after, i)] = start
            target = self.spent_state(state, token + 1 - start)
            changed |= target != state
            if target != DEAD_STATE:
                key = (<uint64_t> row << 32) | target
                kept[key] = max(kept.get(key, 0), start)
        if changed:
            chart.n_pairs = 0
            for key in kept:
                chart.push_pair(<uint32_t> (<uint64_t> key >> 32), <uint32_t> <uint64_t> key)
            target = chart.intern_position(row_at(chart, after))
            if not chart.rules.has_demanding or chart.leads_to_sentence(target):
                after = target
            else:
                kept = whole
        for i in range(n_pairs_at(chart, after)):
            words_push(&self.coming, kept[pair(chart, after, i)])
        return after

    cdef object moved(self, dict begun, uint32_t position, uint32_t byte, uint32_t target, uint32_t fresh):
        """Return when the lexemes of `target` began, to which a byte leads from `position`; new ones begin with token
        `fresh`."""
        cdef Chart chart = self.chart
        cdef uint32_t row, state, start
        cdef size_t i, k
        cdef dict found = {}
        cdef set arrived = None
        cdef ByteSet same
        spend_steps(chart.meter, 100 * (2 + 2 * n_pairs_at(chart, position)))
        for i in range(n_pairs_at(chart, position)):
            row = pair_row(chart, position, i)
            state = next_state(chart.lexer, pair_state(chart, position, i), byte)
            if state != DEAD_STATE:
                moved = (<uint64_t> row << 32) | chart.lexer.without_demand(state)
                found[moved] = max(found.get(moved, 0), begun.get(plain_pair(chart, position, i), fresh))
        # Lexemes begin at several rows, and those that commit in states with a part of the terminals.
        if chart.rules.has_commits or chart.rules.has_demanding:
            for i in range(n_pairs_at(chart, target)):
                row, state = pair_row(chart, target, i), chart.lexer.without_demand(pair_state(chart, target, i))
                moved = (<uint64_t> row << 32) | state
                start = start_state_of(chart.skeletons, skeleton_of(chart, row))
                if moved not in found:
                    found[moved] = fresh
                elif (state == start or state == chart.lexer.part_of(start, chart.rules.symbols, False)
                        or state == chart.lexer.part_of(start, chart.rules.symbols, True)):
                    # A lexeme begins here, or one that goes on is in the state in which it began.
                    if arrived is None:
                        chart.step_unchecked(position, byte, &same)
                        arrived = {chart.arrived.data[k] for k in range(chart.arrived.n)}
                    if row in arrived:
                        found[moved] = fresh
            return found
        row = row_at(chart, target)
        if row != NO_ROW:
            state = start_state_of(chart.skeletons, skeleton_of(chart, row))
            if state != DEAD_STATE:
                found[(<uint64_t> row << 32) | state] = fresh
        return found

    cdef uint32_t spent_state(self, uint32_t state, uint32_t n_tokens) except? 0xFFFFFFFF:
        """Return the rest of a lexer state after this number of tokens."""
        cdef uint32_t terminal, node, rest
        cdef uint8_t role
        cdef size_t i
        cdef bint changed = False
        cdef list pairs = [], rests = []        # `rests`: for those terminals for which a loose one may stand
        cdef Words words
        for i in range(n_terminals(self.chart.lexer, state)):
            terminal = terminal_at(self.chart.lexer, state, i)
            node = node_at(self.chart.lexer, state, i)
            role = self.chart.rules.symbols[terminal].role
            rest = node
            if terminal in self.most and role != LOOSE:
                rest = self.spent_node(terminal, node, n_tokens)
                if role == DEMANDING or role == COVERED:
                    rests.append(rest)
            changed |= rest != node
            pairs.append((terminal, rest))
        if not changed:
            return state
        if rests:
            rest = self.chart.lexer.regexes.union(rests)
            pairs = [(terminal, rest if self.is_loose(terminal) else node) for terminal, node in pairs]
        words.data = NULL
        words.n = words.capacity = 0
        try:
            for terminal, node in pairs:
                words_push(&words, terminal)
                words_push(&words, node)
            if demand_at(self.chart.lexer, state) != NONE:
                words_push(&words, demand_at(self.chart.lexer, state))
            return self.chart.lexer.state(words.data, words.n)
        finally:
            words_free(&words)

    cdef bint is_loose(self, uint32_t terminal):
        """Return whether the terminal stands in masks for some that have a budget."""
        return terminal in self.most and self.chart.rules.symbols[terminal].role == LOOSE

    cdef uint32_t spent_node(self, uint32_t terminal, uint32_t node, uint32_t n_tokens) except? 0xFFFFFFFF:
        """Return the node that a terminal has still to match after this number of tokens."""
        cdef Regexes regexes = self.chart.lexer.regexes
        cdef uint32_t most, n_ending, rest
        most, n_ending = self.most[terminal]
        if n_tokens < most:
            return node
        regexes.meter.derivations = regexes.meter.most_derivations
        if nullable(regexes, node):
            return R_EMPTY
        if n_ending and self.chart.rules.symbols[terminal].role == DEMANDING:
            return node                         # without its end it would be no node of which `Cuts.demand` knows
        byte = regexes.byte_set(range(256))
        if n_ending:
            rest = regexes.intersection([node, regexes.repeat(byte, 0, n_ending)])
            return node if regexes.empty(rest) else rest
        if n_tokens > most:                     # it was replaced before
            return node
        # Not `complement`, which is relative to whole characters: the token may have ended within one.
        rest = regexes.make_not(regexes.concat([node, regexes.repeat(byte, 1)]))
        return regexes.intersection([node, rest])


cdef inline object pair(Chart chart, uint32_t position, size_t i):
    """Return the i-th live pair of a position as row << 32 | lexer state."""
    return (<uint64_t> pair_row(chart, position, i) << 32) | pair_state(chart, position, i)


cdef object plain_pair(Chart chart, uint32_t position, size_t i):
    """Return the same without what is demanded of the text: a demand may come while the lexeme goes on."""
    return (<uint64_t> pair_row(chart, position, i) << 32) | chart.lexer.without_demand(pair_state(chart, position, i))
