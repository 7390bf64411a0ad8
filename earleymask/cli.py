"""The command line: `earleymask demo`, `earleymask check GRAMMAR [TEXT]`, `earleymask schema FILE`, `earleymask
generate --model PATH ...`, `earleymask serve --model PATH`.

This module parses the arguments, calls the command and shows its error. Results go to stdout. Errors go to stderr,
without a traceback. Exit codes: 0, all is well; 1, the answer is no; 2, an error. Each command is a module of
`commands/` with a function `run`, and is imported only when it is called, so that `check` does not wait for torch.
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
from typing import Any

from . import __version__
from .commands.shared import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK, CommandError
from .errors import EarleymaskError, GrammarError

FORMATS = "a Lark grammar, or a GBNF grammar if its name ends in .gbnf"
MAX_SEED = 2**63 - 1  # the largest that torch takes; numpy takes larger ones


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        parser.exit(EXIT_ERROR, "\nearleymask: give a command\n")
    given = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # escape characters that the terminal's encoding lacks
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
        # The reader closed the pipe (`earleymask demo | head`).
        _drop_stdout()
        return EXIT_OK
    except OSError as error:  # writing failed, say on a full disk; `read_text` turns its errors into CommandErrors
        print(f"earleymask: {error}", file=sys.stderr)
        _drop_stdout()
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("earleymask: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _here(error: GrammarError, given: argparse.Namespace) -> str | None:
    """Return the hint of an error, with options of the command line in place of those of the Python API."""
    hint = error.hint
    if hint is None or error.option is None:
        return hint
    if error.option == "strict" and hasattr(given, "report"):
        return "--report shows what the schema becomes without it"
    if error.option == "start" and hasattr(given, "start"):
        return re.sub(r"start='([^']*)'", r"--start \1", hint)
    return f"{hint} (in Python; the command line has no such option)"


def _drop_stdout() -> None:
    """Discard what is still to be written: Python would fail once more when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="earleymask",
        description="Exact token masks for generation under a context-free grammar.",
        epilog="`earleymask COMMAND -h` shows the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"earleymask {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="generate a text under a grammar, token by token, without a model",
        description="Generate a text under a grammar from pseudo-random logits over a real vocabulary (tekken, 131,072 "
        "tokens), and show at each step how many tokens were allowed and how long the mask took. Downloads nothing.",
    )
    demo.add_argument("--seed", type=_seed, default=0, help="the seed of the logits (default: %(default)s)")
    demo.add_argument(
        "--max-tokens", type=_positive, default=400, metavar="N", help="stop after N tokens (default: %(default)s)"
    )
    demo.add_argument("--grammar", metavar="FILE", help=f"use this grammar instead of the built-in one: {FORMATS}")

    check = commands.add_parser(
        "check",
        help="check a grammar, and whether a text is one of its sentences",
        usage="%(prog)s [-h] [--file FILE] [--start RULE] [--gbnf] (GRAMMAR | --regex PATTERN | --choice TEXT) [TEXT]",
        description="Load a grammar and show its errors and warnings. With a text, check whether it is a sentence of "
        "the grammar. Exit code 0: all is well; 1: the text is not a sentence; 2: the grammar has errors, or a file "
        "cannot be read.",
    )
    check.add_argument("grammar", metavar="GRAMMAR", nargs="?", help=f'a file: {FORMATS}; "-" for stdin')
    check.add_argument("text", metavar="TEXT", nargs="?", help="the text to check, with <|name|> for a special token")
    check.add_argument("--file", metavar="FILE", help='read the text from a file ("-": from stdin)')
    check.add_argument("--start", metavar="RULE", help="the start rule (default: start; in GBNF: root)")
    _add_grammars(check, check)
    check.set_defaults(usage_error=check.error)

    schema = commands.add_parser(
        "schema",
        help="check a JSON Schema, and whether a JSON document is valid against it",
        description="Load a JSON Schema and show a document that it allows. With --report, show how each keyword is "
        "enforced. With --instance, show where a document stops being valid. Exit code 0: all is well; 1: the instance "
        "is not valid, or --report shows a keyword that is not enforced; 2: the schema has errors or cannot be "
        "enforced, or a file cannot be read.",
    )
    schema.add_argument("schema", metavar="FILE", help='the schema ("-": from stdin)')
    schema.add_argument("--instance", metavar="FILE", help='check whether this document is valid ("-": from stdin)')
    schema.add_argument("--report", action="store_true", help="show how each keyword is enforced, and why")
    schema.add_argument(
        "--order",
        choices=("schema", "any"),
        default="schema",
        help="the order of an object's keys: that of the schema, or any (default: %(default)s)",
    )
    schema.add_argument(
        "--seed", type=_seed, default=0, help="the seed of the document that is shown (default: %(default)s)"
    )

    generate = commands.add_parser(
        "generate",
        help="generate a text under a grammar with a transformers model",
        usage="%(prog)s [-h] --model PATH (--grammar FILE [--gbnf] | --regex PATTERN | --choice TEXT) --prompt TEXT "
        "[options]",
        description="Generate a text under a grammar with a transformers model. The text goes to stdout, everything "
        "else to stderr. Exit code 0: the text is a sentence; 1: it ended before it was one; 2: an error.",
    )
    generate.add_argument("--model", metavar="PATH", required=True, help="a folder, or a name on the Hugging Face hub")
    grammars = generate.add_mutually_exclusive_group(required=True)
    grammars.add_argument("--grammar", metavar="FILE", help=f'a file: {FORMATS}; "-" for stdin')
    _add_grammars(generate, grammars)
    generate.add_argument("--prompt", metavar="TEXT", required=True, help="the text that the model continues")
    generate.add_argument(
        "--max-tokens", type=_positive, default=512, metavar="N", help="stop after N tokens (default: %(default)s)"
    )
    generate.add_argument("--sample", action="store_true", help="sample tokens (default: take the likeliest one)")
    generate.add_argument(
        "--temperature", type=_temperature, default=1.0, metavar="X", help="of sampling (default: %(default)s)"
    )
    generate.add_argument("--seed", type=_seed, default=0, help="the seed of sampling (default: %(default)s)")
    generate.add_argument(
        "--beams", type=_positive, default=1, metavar="N", help="search with N beams (default: %(default)s)"
    )
    _add_serve(commands)
    return parser


def _add_serve(commands: Any) -> None:
    serve = commands.add_parser(
        "serve",
        help="answer OpenAI's API with a transformers model, with a grammar for each request",
        description="Answer OpenAI's chat completions and responses with a transformers model. Schemas, tools, custom "
        "tools with a grammar and vLLM's structured_outputs are enforced, each request's own; what cannot be enforced "
        "is refused. docs/openai_server.md describes it. Needs the extra `serve`.",
    )
    serve.add_argument("--model", metavar="PATH", required=True, help="a folder, or a name on the Hugging Face hub")
    serve.add_argument("--name", metavar="NAME", help="what clients call the model (default: PATH)")
    serve.add_argument("--device", default="cpu", help='such as "cuda" (default: %(default)s)')
    serve.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16", "float16"),
        default="auto",
        help="the type of the weights (default: that of the model's files)",
    )
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="the address to listen at (default: %(default)s)"
    )
    serve.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="the port to listen at (default: %(default)s)"
    )
    serve.add_argument(
        "--api-key", metavar="KEY", help="what clients must send (default: EARLEYMASK_API_KEY, or nothing)"
    )
    serve.add_argument(
        "--tool-style",
        metavar="STYLE",
        help="how the model writes tool calls (default: as its chat template looks)",
    )
    serve.add_argument(
        "--reasoning-parser",
        metavar="STYLE",
        help="tell the reasoning of a model that thinks from its answers, as this style has it",
    )
    serve.add_argument("--quiet", action="store_true", help="log warnings and errors alone")
    serve.add_argument("--chat-template", metavar="FILE", help="a template in place of the tokenizer's")
    serve.add_argument(
        "--slots", type=_positive, default=8, metavar="N", help="answers generated at once (default: %(default)s)"
    )
    serve.add_argument(
        "--queue",
        type=_positive,
        default=64,
        metavar="N",
        help="answers that may wait (default: %(default)s)",
    )
    serve.add_argument(
        "--max-length", type=_positive, metavar="N", help="the most tokens of a prompt and its answer together"
    )
    serve.add_argument(
        "--max-body",
        type=_positive,
        default=1 << 20,
        metavar="N",
        help="most bytes of a body (default: %(default)s)",
    )
    serve.add_argument(
        "--timeout",
        type=_positive,
        default=600,
        metavar="N",
        help="most seconds of a request (default: %(default)s)",
    )


def _add_grammars(parser: argparse.ArgumentParser, instead_of_a_file: argparse._ActionsContainer) -> None:
    """Add the options for grammars that are not Lark's."""
    parser.add_argument("--gbnf", action="store_true", help="read the file as GBNF, whatever its name")
    instead_of_a_file.add_argument(
        "--regex", metavar="PATTERN", help="allow the texts that this regular expression matches whole"
    )
    instead_of_a_file.add_argument("--choice", metavar="TEXT", action="append", help="allow this text; may be repeated")


def _positive(text: str) -> int:
    return _whole_number(text, 1, None)


def _port(text: str) -> int:
    return _whole_number(text, 0, 65535)


def _seed(text: str) -> int:
    return _whole_number(text, 0, MAX_SEED)


def _whole_number(text: str, least: int, most: int | None) -> int:
    # A ValueError that escaped would make argparse show the names of these functions.
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
            f"must be positive and finite, got {text!r}; omit --sample to take the likeliest token"
        )
    return value
