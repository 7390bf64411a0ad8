"""Lexemes whose text is asked for when they end (K_READ): a node that remembers what was read.

Derivatives forget how they were reached, which is what makes them few. Where what may follow a lexeme depends on its very
text (the key of an object, which may not come again), its state is a K_READ node: the body's derivative, and the bytes. There
are as many as there are texts, so only positions of matchers have them; masks are made with the body alone.
Such a node is a whole state of a terminal and never within another node.
"""

cdef enum:
    READ_BODY = 1
    READ_LENGTH = 2
    READ_BYTES = 3                  # four in a word, the first one lowest


cdef uint32_t derive_read(Regexes self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
    cdef size_t base = self.stack.n
    cdef uint32_t part = self.derive(sequence(self.nodes, node)[READ_BODY], byte, same), length
    if part == R_EMPTY:
        return R_EMPTY
    only(byte, same)
    words_extend(&self.stack, sequence(self.nodes, node), sequence_length(self.nodes, node))
    length = self.stack.data[base + READ_LENGTH]
    if length % 4 == 0:
        words_push(&self.stack, 0)
    self.stack.data[base + READ_BODY] = part
    self.stack.data[base + READ_LENGTH] = length + 1
    self.stack.data[base + READ_BYTES + length // 4] |= byte << (8 * (length % 4))
    part = self.make(self.stack.data + base, self.stack.n - base)
    self.stack.n = base
    return part
