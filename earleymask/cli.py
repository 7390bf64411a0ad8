"""The command line: `earleymask demo`, `earleymask check GRAMMAR [TEXT]`, `earleymask schema FILE`, `earleymask
generate --model PATH ...`.

Results go to stdout. Errors go to stderr, without a traceback, with exit code 2; 1 means "the answer is no". Each
command is a module of its own with a `run(arguments) -> int`, loaded only when it is called: `check` should not wait
for torch.
"""

from __future__ import annotations

import argparse
import importlib
import io
import math
import os
import re
import sys
from collections.abc import Sequence

from . import __version__
from .commands.shared import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK, CommandError
from .errors import EarleymaskError, GrammarError

FORMATS = "a Lark grammar, or one in GBNF if it ends in .gbnf"
MAX_SEED = 2**63 - 1  # numpy takes more, torch does not


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to stop
    try:
        code: int = importlib.import_module(f".commands.{given.command}", __package__).run(given)
        sys.stdout.flush()
        return code
    except (EarleymaskError, CommandError) as error:
        if isinstance(error, GrammarError):
            for one in error.errors:
                one.hint = _here(one, given)
        print(f"earleymask: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        # The reader went away (`earleymask demo | head`). Python would complain once more while closing stdout.
        _drop_stdout()
        return EXIT_OK
    except OSError as error:  # a full disk: reading has errors of its own, see `read_text`
        print(f"earleymask: {error}", file=sys.stderr)
        _drop_stdout()
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("earleymask: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _here(error: GrammarError, given: argparse.Namespace) -> str | None:
    """Return the hint of an error. If it names an option of the Python API, name that of the command line, if any."""
    hint = error.hint
    if hint is None or error.option is None:
        return hint
    if error.option == "strict" and hasattr(given, "report"):
        return "--report tells what becomes of the schema without it"
    if error.option == "start" and hasattr(given, "start"):
        return re.sub(r"start='([^']*)'", r"--start \1", hint)
    return f"{hint} (in Python: the command line has no such option)"


def _drop_stdout() -> None:
    """Let what is still to be written go nowhere, so that closing stdout does not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="earleymask",
        description="Exact token masks for generation under a context-free grammar.",
    )
    parser.add_argument("--version", action="version", version=f"earleymask {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="watch a text grow under a grammar",
        description="Generate a text under a grammar from pseudo-random logits over a real vocabulary (tekken, 131,072 "
        "tokens), and show at each step how many tokens were allowed and how long the mask took. Downloads nothing.",
    )
    demo.add_argument("--seed", type=_seed, default=0, help="of the pseudo-random logits (default: %(default)s)")
    demo.add_argument("--max-tokens", type=_positive, default=400, metavar="N", help="stop after N (%(default)s)")
    demo.add_argument("--grammar", metavar="FILE", help=f"your own instead of the built-in one: {FORMATS}")

    check = commands.add_parser(
        "check",
        help="is a grammar well formed, and a text one of its sentences?",
        usage="%(prog)s [-h] [--file FILE] [--start RULE] [--gbnf] (GRAMMAR | --regex PATTERN | --choice TEXT) [TEXT]",
        description="Load a grammar and match a text against it. Exit code 0: all is well; 1: the text is not a "
        "sentence; 2: the grammar is malformed, or a file cannot be read.",
    )
    check.add_argument("grammar", metavar="GRAMMAR", nargs="?", help=f'file with {FORMATS}, or "-" for stdin')
    check.add_argument(
        "text", metavar="TEXT", nargs="?", help="the text itself (see --file); <|name|> for a special token"
    )
    check.add_argument("--file", metavar="FILE", help='take the text from a file, or "-" for stdin')
    check.add_argument("--start", metavar="RULE", help="the start rule (default: start, in GBNF root)")
    _add_grammars(check, check)
    check.set_defaults(usage_error=check.error)

    schema = commands.add_parser(
        "schema",
        help="can a JSON Schema be enforced, and is an instance valid?",
        description="Load a JSON Schema and show a document that it allows, what became of its keywords, or where an "
        "instance ceases to be valid. Exit code 0: all is well; 1: the instance is not valid, or --report has a "
        "keyword that is not enforced; 2: the schema is malformed or cannot be enforced, or a file cannot be read.",
    )
    schema.add_argument("schema", metavar="FILE", help='file with the schema, or "-" for stdin')
    schema.add_argument("--instance", metavar="FILE", help='is this document one of the schema\'s? ("-": from stdin)')
    schema.add_argument("--report", action="store_true", help="one line for each keyword: what became of it, and why")
    schema.add_argument(
        "--order", choices=("schema", "any"), default="schema", help="which order of keys (default: %(default)s)"
    )
    schema.add_argument("--seed", type=_seed, default=0, help="of the example (default: %(default)s)")

    generate = commands.add_parser(
        "generate",
        help="let a transformers model write under a grammar",
        description="Generate with a transformers model. The text goes to stdout, everything else to stderr. Exit code "
        "1: --max-tokens ended the text before it was a sentence.",
    )
    generate.add_argument("--model", metavar="PATH", required=True, help="a folder, or a name that transformers knows")
    grammars = generate.add_mutually_exclusive_group(required=True)
    grammars.add_argument("--grammar", metavar="FILE", help=f'file with {FORMATS}, or "-" for stdin')
    _add_grammars(generate, grammars)
    generate.add_argument("--prompt", metavar="TEXT", required=True)
    generate.add_argument("--max-tokens", type=_positive, default=512, metavar="N", help="(default: %(default)s)")
    generate.add_argument("--sample", action="store_true", help="sample; without it, the likeliest token is taken")
    generate.add_argument(
        "--temperature", type=_temperature, default=1.0, metavar="X", help="with --sample (%(default)s)"
    )
    generate.add_argument("--seed", type=_seed, default=0, help="with --sample (default: %(default)s)")
    generate.add_argument("--beams", type=_positive, default=1, metavar="N", help="beam search (default: no)")
    return parser


def _add_grammars(parser: argparse.ArgumentParser, instead_of_a_file: argparse._ActionsContainer) -> None:
    """The options for grammars that are not Lark's."""
    parser.add_argument("--gbnf", action="store_true", help="the file is GBNF, whatever it is called")
    instead_of_a_file.add_argument(
        "--regex", metavar="PATTERN", help="texts that this regular expression matches whole"
    )
    instead_of_a_file.add_argument("--choice", metavar="TEXT", action="append", help="this text; give several")


def _positive(text: str) -> int:
    return _whole_number(text, 1, None)


def _seed(text: str) -> int:
    return _whole_number(text, 0, MAX_SEED)


def _whole_number(text: str, least: int, most: int | None) -> int:
    # argparse would show the names of these functions where they let a ValueError through.
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least or (most is not None and value > most):
        wanted = f"from {least}" + (f" to {most}" if most is not None else " up")
        raise argparse.ArgumentTypeError(f"must be a whole number {wanted}, got {text!r}")
    return value


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(
            f"must be positive and finite, got {text!r}; leave out --sample for the likeliest text"
        )
    return value
