"""`earleymask serve`: what its options become, and the style that a chat template seems to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.tiny_server import TEMPLATE, tiny_llama, tokenizer_with_template

pytest.importorskip("torch")
pytest.importorskip("transformers")

from earleymask import cli, tools
from earleymask.integration.server.style_guess import guessed_style

ALIKE = {"hermes": "qwen_3", "qwen_3_coder": "qwen_3_5"}
"""Styles that write calls as another one does, and differ from it without reasoning alone."""


@pytest.mark.parametrize("name", tools.style_names())
def test_the_style_of_a_template_is_guessed(name: str) -> None:
    style = tools.find_style(name)
    text = tools.render([tools.ToolCall("f", {"a": 1, "b": "x"})], style)
    if name == "llama":
        text += "<|start_header_id|>"
    assert guessed_style(text + style.reasoning) == ALIKE.get(name, name)
    if name in ALIKE:
        assert guessed_style(text) == name


def test_a_template_without_calls_is_taken_for_hermes() -> None:
    assert guessed_style(TEMPLATE) == "hermes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = tokenizer_with_template()
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save_pretrained(folder)
    tiny_llama(tokenizer).cpu().save_pretrained(folder)
    return folder


def test_options_of_the_command(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    template = tmp_path / "template.jinja"
    template.write_text("{{ messages[0].content }}[TOOL_CALLS]")
    runs: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: runs.append((app, options)))
    monkeypatch.setenv("EARLEYMASK_API_KEY", "secret")
    given = ["serve", "--model", str(folder), "--name", "m", "--port", "0", "--slots", "3", "--queue", "4"]
    given += [
        "--chat-template",
        str(template),
        "--max-length",
        "100",
        "--max-body",
        "1000",
        "--timeout",
        "7",
        "--quiet",
    ]
    assert cli.main(given) == 0
    ((app, options),) = runs
    server = app.state.server
    assert (options["host"], options["port"]) == ("127.0.0.1", 0)
    assert (server.options.name, server.options.api_key) == ("m", "secret")
    assert (server.engine.slots, server.options.queue, server.max_length) == (3, 4, 100)
    assert (server.options.body_bytes, server.options.request_seconds) == (1000, 7)
    assert server.style.name == "mistral_v3"


@pytest.mark.parametrize(
    ("options", "warns"),
    [([], False), (["--host", "0.0.0.0"], True), (["--host", "0.0.0.0", "--api-key", "k"], False)],
)
def test_a_server_that_others_reach_without_a_key_is_warned_of(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    options: list[str],
    warns: bool,
) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: None)
    monkeypatch.delenv("EARLEYMASK_API_KEY", raising=False)
    assert cli.main(["serve", "--model", str(folder), "--quiet", *options]) == 0
    assert ("whoever reaches 0.0.0.0:8000 may use the model" in caplog.text) is warns


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tool-style", "qwen3"], "did you mean qwen_3"),
        (["--device", "warp"], "cannot use the device 'warp'"),
        (["--device", "cuda:99"], "cannot use the device 'cuda:99'"),
    ],
)
def test_options_that_cannot_be(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    assert cli.main(["serve", "--model", str(folder), *options]) == 2
    assert words in capsys.readouterr().err
