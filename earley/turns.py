"""A piece of Python that compiled code runs to let other threads have the interpreter.

Never compiled: its bytecodes are what matters. Before some of them (the beginning of a function, a jump backwards) the
interpreter gives its lock away if another thread has waited long enough for it, runs the handlers of signals that have
arrived, and collects garbage if that is due. There is no function of Python's C API for all of this.
"""


def turn() -> None:
    for _ in "..":
        pass
