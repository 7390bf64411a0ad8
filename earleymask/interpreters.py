"""Refuses to be imported into an interpreter other than the first one of the process.

Compiled modules of Cython belong to the first interpreter that imports them. The core also takes the interpreter's lock
again by functions that know the main interpreter only: in another one (`Py_NewInterpreter`, as in mod_wsgi) it could
stop, or end the process. So this is found out before any compiled module is imported, and the main interpreter can
import them later.
"""

from __future__ import annotations


def is_main_interpreter() -> bool:
    """Return whether this is the first interpreter of the process."""
    try:
        import ctypes  # numpy imports it, too

        current, main = (
            ctypes.PYFUNCTYPE(ctypes.c_void_p)((name, ctypes.pythonapi))()
            for name in ("PyInterpreterState_Get", "PyInterpreterState_Main")
        )
    except ImportError as error:  # from Python 3.12 on, there are interpreters that load no module of C; or no ctypes
        return "subinterpreters" not in str(error)
    except AttributeError:  # an interpreter that does not show its functions
        return True
    return bool(current == main)


if not is_main_interpreter():
    raise ImportError(
        "earleymask does not support interpreters of their own (sub-interpreters): import it in the main interpreter, "
        "or in a process of its own; with mod_wsgi, set WSGIApplicationGroup %{GLOBAL}"
    )
