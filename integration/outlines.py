"""Generation under a grammar with `outlines`: its prompts, chats and models, with the masks of this package.

    generate = GrammarGenerator(model, grammar)
    text = generate("Where to?", max_tokens=100)

`outlines` hands a logits processor on to `transformers`, llama-cpp-python or `mlx_lm`. Each of them has an adapter
here; `GrammarProcessor` is the one of the model, begun anew for each prompt. `GrammarGenerator` is a generator of
`outlines` with such a processor that raises what went wrong. `outlines` alone does not: after a text from llama.cpp, no
one looks at the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from outlines.generator import SteerableGenerator

from ..arguments import as_grammar
from ..trie import Vocabulary

if TYPE_CHECKING:
    from ..arguments import GrammarLike

__all__ = ["GrammarGenerator", "GrammarProcessor", "outlines_vocabulary"]


def outlines_vocabulary(model: Any) -> Vocabulary:
    """Make the vocabulary of a model of `outlines`."""
    library = getattr(model, "tensor_library_name", None)
    if library == "torch":
        from .vocabularies import model_vocabulary

        return model_vocabulary(model.model, model.tokenizer.tokenizer)
    if library == "numpy":
        from .llama_cpp import llama_vocabulary

        return llama_vocabulary(model.model)
    if library == "mlx":
        from .mlx_lm import mlx_vocabulary

        return mlx_vocabulary(model.model, model.mlx_tokenizer)
    raise TypeError(
        f"{type(model).__name__} cannot be constrained: it must be a model of outlines for transformers, "
        "llama-cpp-python or mlx_lm"
    )


class GrammarProcessor:
    """The processor of a model: `outlines.Generator(model, processor=GrammarProcessor(model, grammar))`.

    Args:
        model: a model of `outlines` for `transformers`, llama-cpp-python or `mlx_lm`.
        grammar: a `Grammar`, or what `Constraint` makes one of.
        vocabulary: the vocabulary of the model. None: `outlines_vocabulary(model)`, which takes a while.
        max_tokens: how many tokens each request may write, as it is told, too. Then each text is a whole sentence.
    """

    def __init__(
        self, model: Any, grammar: GrammarLike, vocabulary: Vocabulary | None = None, *, max_tokens: int | None = None
    ) -> None:
        self.vocabulary = outlines_vocabulary(model) if vocabulary is None else vocabulary
        self.grammar = as_grammar(grammar, self.vocabulary)
        self._model = model
        self._max_tokens = max_tokens
        self._process: Any = None
        self.reset()

    def reset(self) -> None:
        """Begin a new request. `outlines` calls it before each prompt."""
        self._process = self._new()

    def finish(self) -> None:
        """Raise what has ended the text before its time, where the package below could not."""
        process, self._process = self._process, self._new()
        if self._model.tensor_library_name == "numpy":  # the others have raised it where it happened
            process.__exit__(None, None, None)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return self._process(input_ids, scores)

    def _new(self) -> Any:
        """Return a processor of the model's package."""
        if self._model.tensor_library_name == "torch":
            from .transformers import GrammarLogitsProcessor

            return GrammarLogitsProcessor(self.grammar, self.vocabulary, max_new_tokens=self._max_tokens)
        if self._model.tensor_library_name == "numpy":
            from . import llama_cpp

            made = llama_cpp.GrammarProcessor(
                self._model.model, self.grammar, self.vocabulary, max_tokens=self._max_tokens
            )
            return made.__enter__()
        from . import mlx_lm

        return mlx_lm.GrammarProcessor(self.grammar, self.vocabulary, max_tokens=self._max_tokens)


class GrammarGenerator(SteerableGenerator):
    """A generator of `outlines` whose texts are sentences of a grammar. The arguments are those of `GrammarProcessor`.

    Raises, when it is called: what the adapter of the model raises (`integration/transformers.py`, `llama_cpp.py`,
    `mlx_lm.py`). The next call is as if there had been none.
    """

    def __init__(
        self, model: Any, grammar: GrammarLike, vocabulary: Vocabulary | None = None, *, max_tokens: int | None = None
    ) -> None:
        self.model = model
        self.logits_processor = GrammarProcessor(model, grammar, vocabulary, max_tokens=max_tokens)

    def __call__(self, prompt: Any, **options: Any) -> Any:
        with self._request():
            return super().__call__(prompt, **options)

    def batch(self, prompts: list[Any], **options: Any) -> list[Any]:
        with self._request():
            found: list[Any] = super().batch(prompts, **options)
            return found

    def stream(self, prompt: Any, **options: Any) -> Iterator[Any]:
        with self._request():
            yield from super().stream(prompt, **options)

    @contextmanager
    def _request(self) -> Iterator[None]:
        yield
        self.logits_processor.finish()
