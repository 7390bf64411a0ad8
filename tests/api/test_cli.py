"""The command line, mostly in this process; the console script and `python -m` are run once each."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import earleymask
from earleymask import cli
from earleymask.commands import demo, shared
from earleymask.grammar import Grammar
from support.tiny_model import tiny_tokenizer

LIST = r"""
start: "[" (ITEM ("," ITEM)~0..2)? "]"
ITEM: /[a-z]{1,3}/
"""


@pytest.fixture
def grammar_file(tmp_path: Path) -> str:
    path = tmp_path / "list.lark"
    path.write_text(LIST)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


# -- check ----------------------------------------------------------------------------------------------------------


def test_check_a_grammar(capsys: pytest.CaptureFixture[str], grammar_file: str) -> None:
    assert run(capsys, "check", grammar_file) == (0, "The grammar is well formed.\n", "")


def test_check_a_sentence(capsys: pytest.CaptureFixture[str], grammar_file: str) -> None:
    assert run(capsys, "check", grammar_file, "[a,bc]") == (0, "The text is a sentence of the grammar.\n", "")


def test_check_a_viable_prefix(capsys: pytest.CaptureFixture[str], grammar_file: str) -> None:
    code, out, err = run(capsys, "check", grammar_file, "[a,")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "The text ends too early: it is only the beginning of a sentence.",
        "line 1, column 4:",
        "    [a,",
        "       ^",
        'allowed there: "a" to "z"',
        "  start > ITEM",
        "nearest: 'a]' (2 characters changed)",
    ]


def test_check_a_text_that_fails(capsys: pytest.CaptureFixture[str], grammar_file: str) -> None:
    code, out, err = run(capsys, "check", grammar_file, "[a,B]")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "The text is not a sentence: the grammar does not allow the character at the caret.",
        "line 1, column 4:",
        "    [a,B]",
        "       ^",
        'allowed there: "a" to "z"',
        "  start > ITEM",
        "nearest: 'a]' (1 character changed)",
    ]


def test_check_a_text_that_goes_on_behind_its_end(capsys: pytest.CaptureFixture[str], grammar_file: str) -> None:
    code, out, _ = run(capsys, "check", grammar_file, "[]]")
    assert code == 1
    assert out.splitlines()[-3:] == [
        "      ^",
        "allowed there: the end of the text",
        "nearest: nothing (1 character changed)",
    ]


def test_check_the_empty_text(capsys: pytest.CaptureFixture[str], grammar_file: str) -> None:
    code, out, _ = run(capsys, "check", grammar_file, "")
    assert code == 1 and "column 1" in out and "ends too early" in out


def test_check_reads_files_and_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, grammar_file: str, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("[a]")
    assert run(capsys, "check", grammar_file, "--file", str(text))[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[b]")))
    assert run(capsys, "check", grammar_file, "--file", "-")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LIST.encode())))
    assert run(capsys, "check", "-", "[b]")[0] == 0


def test_check_knows_special_tokens(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "g.lark"
    path.write_text('start: <|call|> NAME (<|end|> | "!")\nNAME: /[a-z<|>]+/')
    assert run(capsys, "check", str(path), "<|call|>abc<|end|>")[0] == 0
    assert run(capsys, "check", str(path), "<|call|><|call|>!")[0] == 0, "text that looks like one is text here"
    code, out, _ = run(capsys, "check", str(path), "abc")
    assert code == 1
    assert out.splitlines()[2:6] == ["    abc", "    ^", "allowed there: the token <|call|>", "  start > <|call|>"]


def test_check_starts_where_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "g.lark"
    path.write_text('start: "a"\nother: "b"\n')
    assert run(capsys, "check", str(path), "b", "--start", "other")[0] == 0
    assert run(capsys, "check", str(path), "b")[0] == 1


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"", 0, "line 1, column 1:\n    \n    ^"),
        (b"ab\ncd", 4, "line 2, column 2:\n    cd\n     ^"),
        (b"ab\n", 3, "line 2, column 1:\n    \n    ^"),
        (b"ab\ncd", 2, "line 1, column 3:\n    ab\n      ^"),
        (b"\tx", 1, "line 1, column 2:\n    \tx\n    \t^"),
        ("é!".encode(), 2, "line 1, column 2:\n    é!\n     ^"),
        ("aé!".encode(), 2, "line 1, column 2:\n    aé!\n     ^"),  # between the bytes of é
        (b"a\xff!", 2, "line 1, column 3:\n    a\ufffd!\n      ^"),
        (b"\x80\x80", 1, "line 1, column 1:\n    \ufffd\ufffd\n    ^"),
        (b"a\x1b[31m", 1, "line 1, column 2:\n    a\ufffd[31m\n     ^"),
        (b"x" * 200, 100, "line 1, column 101:\n    …" + "x" * 80 + "…\n" + " " * 65 + "^"),
    ],
)
def test_the_caret_stands_under_the_place(data: bytes, offset: int, expected: str) -> None:
    assert shared.describe_place(data, offset) == expected


def test_check_other_grammars(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good = "The text is a sentence of the grammar.\n"
    path = tmp_path / "list.gbnf"
    path.write_text('root ::= "[" item ("," item)* "]"\nitem ::= [a-z]+\nother ::= "x"\n')
    warned = 'warning: line 3, column 1: rule `other` is not reached from `root`\n    other ::= "x"\n    ^\n'
    assert run(capsys, "check", str(path), "[a,bc]") == (0, warned + good, "")
    assert run(capsys, "check", str(path), "x", "--start", "other")[1].endswith(good)
    other = tmp_path / "list.txt"
    other.write_text('root ::= "a"')
    assert run(capsys, "check", "--gbnf", str(other), "a") == (0, good, "")
    code, out, err = run(capsys, "check", str(other), "a")
    assert (code, out) == (2, "") and "line 1, column 6" in err, "Lark's syntax"
    assert run(capsys, "check", "--regex", "[0-9]+", "123") == (0, good, "")
    assert run(capsys, "check", "--regex", "[0-9]+") == (0, "The grammar is well formed.\n", "")
    assert run(capsys, "check", "--choice", "a", "--choice", "ab", "--", "ab") == (0, good, "")
    code, out, _ = run(capsys, "check", "--regex", "[0-9]+", "12a")
    assert code == 1
    assert out.splitlines()[1:] == [
        "line 1, column 3:",
        "    12a",
        "      ^",
        'allowed there: "0" to "9", the end of the text',
        "  start > /[0-9]+/",
        "nearest: '0' (1 character changed)",
    ]
    code, _, err = run(capsys, "check", "--regex", "[0-9", "12a")
    assert code == 2
    assert err == ("earleymask: line 1, column 1: unterminated character set\n    [0-9\n    ^\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--regex", "a", "--choice", "b"], "give --regex or --choice, not both"),
        (["--regex", "a", "--gbnf"], "--gbnf and --start need a grammar in a file"),
        (["--choice", "a", "--start", "b"], "--gbnf and --start need a grammar in a file"),
    ],
)
def test_grammars_that_do_not_go_together(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(capsys, "check", *arguments) == (2, "", f"earleymask: {message}\n")


# -- errors ---------------------------------------------------------------------------------------------------------


def test_a_malformed_grammar_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.lark"
    path.write_text('start: "a" undefined_rule\n')
    code, out, err = run(capsys, "check", str(path))
    assert (code, out) == (2, "")
    assert (
        err.startswith(f"earleymask: in {path}, line 1, column 12")
        and "undefined_rule" in err
        and "\n" + " " * 15 + "^" in err
    )
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('begin: "a"', "give another start rule, such as --start begin"),
        (
            "start: bar\n%import foo.bar",
            "the libraries are common, unicode, python, lark; to import a text of your own, give import_paths=, "
            "source_path= or loader= (in Python; the command line has no such option)",
        ),
        (
            "start: bar\n%import .foo.bar",
            "to import a text of your own, give import_paths=, source_path= or loader= (in Python; the command line "
            "has no such option)",
        ),
        ('start: %lark { foo: "a" }', None),
        ('start: %lark { starts: "a" }', "did you mean starts?"),
        ("start: @foo", "give it: grammars={'foo': ...} (in Python; the command line has no such option)"),
    ],
)
def test_hints_name_options_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, hint: str | None
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code, _, err = run(capsys, "check", "-")
    assert code == 2
    assert err.rstrip("\n").partition("\nhint: ")[2] == (hint or "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "/nowhere/at/all"], "cannot read the grammar '/nowhere/at/all': No such file"),
        (["check", "{list}", "--file", "/nowhere"], "cannot read the text '/nowhere'"),
        (["check", "{list}", "text", "--file", "x"], "not both"),
        (["check", "-", "--file", "-"], "cannot both come from stdin"),
        (["check", "{latin}"], "is not UTF-8: invalid byte 0xe9 at offset 7"),
        (["demo", "--grammar", "/nowhere"], "cannot read the grammar"),
        (["generate", "--model", "/nowhere", "--grammar", "/nowhere", "--prompt", "x"], "cannot read the grammar"),
        (
            ["generate", "--model", "/nowhere", "--grammar", "{list}", "--prompt", "x"],
            "cannot load the model '/nowhere': there is no such folder",
        ),
        (["generate", "--model", "m", "--grammar", "{list}", "--prompt", "a\udcff"], "character 2 is malformed"),
        (["serve", "--model", "/nowhere"], "cannot load the model '/nowhere': there is no such folder"),
    ],
)
def test_errors_are_one_message_and_code_2(
    capsys: pytest.CaptureFixture[str], grammar_file: str, tmp_path: Path, arguments: list[str], words: str
) -> None:
    latin = tmp_path / "latin.lark"
    latin.write_bytes(b'start: \xe9"a"')
    code, out, err = run(capsys, *(each.format(list=grammar_file, latin=latin) for each in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("earleymask: ") and words in err and "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["check"],
        ["check", "file", "text", "--regex", "a"],
        ["demo", "--max-tokens", "0"],
        ["demo", "--seed", "x"],
        ["generate", "--model", "m", "--prompt", "x"],
        ["generate", "--model", "m", "--prompt", "x", "--grammar", "g", "--regex", "a"],
    ],
)
def test_wrong_usage_is_code_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: earleymask" in capsys.readouterr().err


GENERATE = ["generate", "--model", "m", "--grammar", "g", "--prompt", "x", "--sample"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--seed", "-1"], "must be a whole number from 0 to 9223372036854775807, got '-1'"),
        (["demo", "--seed", "x"], "got 'x'"),
        (["demo", "--max-tokens", "1.5"], "must be a whole number from 1 up, got '1.5'"),
        ([*GENERATE, "--seed", "99999999999999999999999"], "must be a whole number from 0 to"),
        (["serve", "--model", "m", "--port", "65536"], "must be a whole number from 0 to 65535"),
        *(([*GENERATE, "--temperature", value], "must be positive and finite") for value in ("nan", "inf", "0", "x")),
    ],
)
def test_a_number_that_does_not_fit_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    err = capsys.readouterr().err
    assert caught.value.code == 2
    assert f"argument {arguments[-2]}: " in err and words in err
    assert not re.search(r"\b_[a-z]", err), "names of functions are nothing to a user"


def test_an_interrupt_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, grammar_file: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Grammar, "from_lark", interrupted)
    assert run(capsys, "check", grammar_file) == (130, "", "earleymask: interrupted\n")


def test_a_missing_extra_names_the_command_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mistral_common", None)
    code, _, err = run(capsys, "demo")
    assert code == 2 and "pip install 'earleymask[demo]'" in err


# -- demo -----------------------------------------------------------------------------------------------------------


def demo_text(out: str) -> str:
    """Return the finished text, which is between the last step and the summary."""
    steps, _, rest = out.rpartition("(end)\n")
    assert steps
    return rest[: rest.index("\n\n", 1)].strip("\n") + "\n"


@pytest.mark.parametrize("seed", range(3))
def test_the_demo_writes_a_sentence(capsys: pytest.CaptureFixture[str], seed: int) -> None:
    pytest.importorskip("mistral_common")
    import lark

    code, out, err = run(capsys, "demo", "--seed", str(seed))
    assert (code, err) == (0, "")
    assert "131,072 tokens" in out and "The text is a sentence of the grammar." in out
    steps = re.findall(r"^ *(\d+) +([\d,]+) +\d+ µs  ", out, re.M)
    assert [int(step) for step, _ in steps] == list(range(1, len(steps) + 1))
    assert not re.search(r"⏎.+", out), "a step shows the line that is being written"
    assert f"{len(steps)} tokens; masks: median" in out
    assert "\x1b" not in out, "no colours where nobody sees them"
    text = demo_text(out)
    lark.Lark(demo.GRAMMAR, parser="earley", lexer="dynamic_complete").parse(text)
    papers = json.loads(text)
    assert list(papers) == ["ship", "captain", "rig", "course", "cargo", "log"]


def test_the_demo_takes_another_grammar_and_stops_when_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    path = tmp_path / "g.lark"
    path.write_text('start: ("tick " "tock ")~100')
    code, out, _ = run(capsys, "demo", "--grammar", str(path), "--max-tokens", "5")
    assert code == 1
    assert "Stopped after 5 tokens" in out and "5 tokens; masks" in out


# -- generate -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a random Llama and a byte-level tokenizer as `transformers` does."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    fast = tiny_tokenizer()
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(fast) + 27,  # padded, as real ones are
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=256,
            bos_token_id=None,
            eos_token_id=fast.eos_token_id,
        )
    )
    folder = str(tmp_path_factory.mktemp("model"))
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def test_serve_needs_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model_folder: str
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = run(capsys, "serve", "--model", model_folder)
    assert code == 2 and "pip install 'earleymask[serve]'" in err


@pytest.mark.parametrize("options", [[], ["--sample", "--seed", "3", "--temperature", "0.7"], ["--beams", "3"]])
def test_generate_writes_a_sentence(
    capfdbinary: pytest.CaptureFixture[bytes], model_folder: str, grammar_file: str, options: list[str]
) -> None:
    import lark

    code = cli.main(["generate", "--model", model_folder, "--grammar", grammar_file, "--prompt", "write", *options])
    out, err = capfdbinary.readouterr()
    assert code == 0, err
    assert b"Traceback" not in err
    lark.Lark(LIST, parser="earley", lexer="dynamic_complete").parse(out.decode())


def test_generate_says_when_the_text_is_not_finished(
    capfdbinary: pytest.CaptureFixture[bytes], model_folder: str, tmp_path: Path
) -> None:
    path = tmp_path / "g.lark"
    path.write_text('start: "x"~50')
    code = cli.main(
        ["generate", "--model", model_folder, "--grammar", str(path), "--prompt", "hi", "--max-tokens", "5"]
    )
    out, err = capfdbinary.readouterr()
    assert (code, out) == (1, b"xxxxx")
    assert b"stopped after 5 tokens, before the end of a sentence" in err


def test_generate_shows_special_tokens_by_name(
    capfdbinary: pytest.CaptureFixture[bytes], model_folder: str, tmp_path: Path
) -> None:
    path = tmp_path / "g.lark"
    path.write_text('start: "a" <|eot|> "b"')
    assert cli.main(["generate", "--model", model_folder, "--grammar", str(path), "--prompt", "hi"]) == 0
    assert capfdbinary.readouterr().out == b"a<|eot|>b"


def test_generate_takes_other_grammars(
    capfdbinary: pytest.CaptureFixture[bytes], model_folder: str, tmp_path: Path
) -> None:
    path = tmp_path / "g.gbnf"
    path.write_text('root ::= ("ab" | "cd"){2}')
    for given, expected in (
        (["--grammar", str(path)], rb"(ab|cd){2}"),
        (["--regex", "[x-z]{3}"], rb"[x-z]{3}"),
        (["--choice", "yes", "--choice", "no"], rb"yes|no"),
    ):
        assert cli.main(["generate", "--model", model_folder, "--prompt", "hi", *given]) == 0
        assert re.fullmatch(expected, capfdbinary.readouterr().out)


def test_generate_needs_a_prompt_with_tokens(
    capfdbinary: pytest.CaptureFixture[bytes], model_folder: str, grammar_file: str
) -> None:
    code = cli.main(["generate", "--model", model_folder, "--grammar", grammar_file, "--prompt", ""])
    _, err = capfdbinary.readouterr()
    assert code == 2 and b"the prompt has no tokens" in err


# -- as installed ---------------------------------------------------------------------------------------------------


def test_the_module_runs(grammar_file: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "earleymask", "check", grammar_file, "[a"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "ends too early" in done.stdout and done.stderr == ""


def test_the_console_script_runs() -> None:
    script = Path(sys.executable).with_name("earleymask")
    if not script.exists():
        pytest.skip("the console script is not installed beside this Python")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"earleymask {earleymask.__version__}\n"


def test_a_reader_who_leaves_is_no_error(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    command = f"{sys.executable} -m earleymask demo | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("vocabulary: tekken") and done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_message(grammar_file: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "earleymask", "check", grammar_file],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "earleymask: [Errno 28] No space left on device\n"


def test_characters_that_stdout_lacks_are_escaped(grammar_file: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "earleymask", "check", grammar_file, "[é"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"[\xe9" in done.stdout
