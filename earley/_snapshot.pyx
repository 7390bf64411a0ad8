"""The bytes of a snapshot: what a matcher is made from again, in another process or on another machine.

    4 bytes     the letters EMsn
    1 byte      the version of the format, 1
    16 bytes    the first half of the grammar's fingerprint
    16 bytes    the first half of the vocabulary's fingerprint
    numbers     1 + how many EOS tokens there are, and their ids; or 0 if they are the vocabulary's
    numbers     how many tokens were accepted, and their ids
    numbers     what has ended the sequence, and two texts about it (see `write_error`); or 0
    4 bytes     CRC-32 of all bytes before, the lowest byte first

A number is written in bytes of seven bits, the lowest first; the highest bit of a byte says that another one follows
(LEB128). A text is the number of its bytes, and these in UTF-8.

Whoever writes a snapshot may write anything, and a checksum too. So each count is compared with the bytes that are left
before memory is taken for it, and `Matcher.restore` accepts the tokens as if a model had chosen them.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint32_t, uint64_t

from array import array as make_array
from binascii import crc32

from earleymask.earley._meter cimport tick

from earleymask.earley.errors import LimitError, SnapshotError
from earleymask.trie.errors import EarleymaskError

MAGIC = b"EMsn"
VERSION = 1
N_FINGERPRINT = 16              # bytes
HEAD = len(MAGIC) + 1
EMPTY = make_array("I")         # numbers take 4 bytes each: a list of them would take ten times as much
END = 4                         # bytes of the checksum
MOST_CHARACTERS = 1000          # of a message that is written

cdef enum:
    NO_ERROR = 0
    LIMIT_ERROR = 1             # and the limit, and the message
    OTHER_ERROR = 2             # and the name of its class, and the message


def write(str grammar not None, str vocabulary not None, eos_token_ids, list tokens not None, error) -> bytes:
    """Return the bytes of a snapshot. `grammar`, `vocabulary`: their fingerprints, in hex. `eos_token_ids`: None for those
    of the vocabulary. `error`: what has ended the sequence, or None."""
    cdef bytearray written = bytearray(MAGIC)
    written.append(VERSION)
    written += bytes.fromhex(grammar)[:N_FINGERPRINT]
    written += bytes.fromhex(vocabulary)[:N_FINGERPRINT]
    if eos_token_ids is None:
        write_number(written, 0)
    else:
        write_number(written, 1 + len(eos_token_ids))
        for token in eos_token_ids:
            write_number(written, token)
    write_number(written, len(tokens))
    write_numbers(written, tokens)
    write_error(written, error)
    written += crc32(written).to_bytes(END, "little")
    return bytes(written)


cdef int write_numbers(bytearray written, list numbers) except -1:
    cdef size_t i
    for i in range(<size_t> len(numbers)):
        if not i & 0xFFF:
            tick()
        write_number(written, numbers[i])
    return 0


cdef int write_number(bytearray written, uint64_t number) except -1:
    while number >= 0x80:
        written.append(<unsigned char> (number & 0x7F | 0x80))
        number >>= 7
    written.append(<unsigned char> number)
    return 0


cdef int write_error(bytearray written, error) except -1:
    if error is None:
        return write_number(written, NO_ERROR)
    is_limit = isinstance(error, LimitError)
    name, message = error.limit if is_limit else type(error).__name__, str(error)
    if type(error) is EarleymaskError:                      # of a snapshot, maybe: it has the name already
        first, colon, rest = message.partition(": ")
        if colon and first.isidentifier():
            name, message = first, rest
    if not is_limit and not name.isidentifier():            # a class may have any name, which would not be read
        name = "Exception"
    write_number(written, LIMIT_ERROR if is_limit else OTHER_ERROR)
    for text in (name, message):
        data = text[:MOST_CHARACTERS].encode("utf-8", "backslashreplace")
        write_number(written, len(data))
        written += data
    return 0


def read(snapshot) -> tuple:
    """Return the halves of the two fingerprints, in hex, the ids of EOS tokens or None, the accepted tokens, and what has ended
    the sequence or None. Raises SnapshotError, and TypeError if it is not bytes."""
    if not isinstance(snapshot, (bytes, bytearray, memoryview)):
        raise TypeError(f"a snapshot is bytes, not {type(snapshot).__name__}")
    cdef bytes data = bytes(snapshot)
    if not data.startswith(MAGIC):
        raise damaged("these bytes are no snapshot of a matcher")
    if len(data) < HEAD + 2 * N_FINGERPRINT + END:
        raise damaged("the snapshot is not whole")
    if data[HEAD - 1] != VERSION:
        raise refused("version", f"the snapshot has version {data[HEAD - 1]} of the format, and this package reads version {VERSION}")
    if crc32(memoryview(data)[:-END]) != int.from_bytes(data[-END:], "little"):
        raise damaged("the snapshot was changed, or is not whole: its checksum is wrong")
    cdef Reader reader = Reader.__new__(Reader)
    reader.data = data
    reader.at = HEAD + 2 * N_FINGERPRINT
    reader.end = len(data) - END
    eos_token_ids = None
    cdef uint32_t n = reader.number()
    if n:
        eos_token_ids = reader.numbers(n - 1)
    tokens = reader.numbers(reader.number())
    error = reader.error()
    if reader.at != reader.end:
        raise damaged("the snapshot has bytes after its end")
    grammar = data[HEAD:HEAD + N_FINGERPRINT].hex()
    return grammar, data[HEAD + N_FINGERPRINT:HEAD + 2 * N_FINGERPRINT].hex(), eos_token_ids, tokens, error


cdef class Reader:
    """Reads what a snapshot has between its fingerprints and its checksum."""

    cdef uint32_t number(self) except? 0xFFFFFFFF:
        cdef uint64_t number = 0
        cdef unsigned char byte
        cdef uint32_t shift
        for shift in range(0, 35, 7):
            if self.at >= self.end:
                raise damaged("the snapshot ends within a number")
            byte = <unsigned char> PyBytes_AS_STRING(self.data)[self.at]
            self.at += 1
            number |= <uint64_t> (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise damaged("a number of the snapshot is too long")
        if number > 0xFFFFFFFF:
            raise damaged("a number of the snapshot is too large")
        return <uint32_t> number

    cdef array.array numbers(self, uint32_t n):
        cdef array.array found
        cdef uint32_t i
        self.check(n)
        found = array.clone(EMPTY, n, False)
        for i in range(n):
            if not i & 0xFFF:
                tick()
            found.data.as_uints[i] = self.number()
        return found

    cdef str text(self):
        cdef uint32_t n = self.number()
        self.check(n)
        self.at += n
        try:
            return self.data[self.at - n:self.at].decode("utf-8")
        except UnicodeDecodeError:
            raise damaged("a text of the snapshot is not UTF-8") from None

    cdef int check(self, uint32_t n) except -1:
        if <Py_ssize_t> n > self.end - self.at:
            raise damaged(f"the snapshot ends before {n:,} more things that it should have")
        return 0

    cdef object error(self):
        cdef uint32_t kind = self.number()
        if kind == NO_ERROR:
            return None
        name, message = self.text(), self.text()
        if kind == LIMIT_ERROR:
            return LimitError(message).at_limit(name)
        if kind == OTHER_ERROR:
            if not name.isidentifier():
                raise damaged("the error of the snapshot has no name")
            return EarleymaskError(f"{name}: {message}")
        raise damaged("the snapshot has an error of an unknown kind")


cdef object damaged(str message):
    return refused("damaged", f"{message}; use the bytes that Matcher.snapshot has returned")


cpdef object refused(str cause, str message):
    """Return the error that refuses a snapshot."""
    error = SnapshotError(message)
    error.cause = cause
    return error
