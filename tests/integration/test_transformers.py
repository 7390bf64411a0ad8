"""Generation with real `transformers` models: small random Llamas, over bytes and over a real vocabulary."""

from __future__ import annotations

import json
import re
from typing import Any

import lark
import numpy as np
import pytest

from support import vocabularies
from support.effort import effort
from support.tiny_model import make_model, tiny_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from earleymask import BatchError, Constraint, EmptyMaskError, Grammar, RejectedTokenError, Vocabulary, VocabularyError  # noqa: E402
from earleymask.integration.transformers import GrammarLogitsProcessor, model_vocabulary  # noqa: E402

# Several threads do not help with models so small, and other test processes need them.
torch.set_num_threads(1)

EOS = 256
LIST = r"""
start: "[" (ITEM ("," ITEM)~0..2)? "]"
ITEM: /[a-z]{1,3}/
"""
ONE_SENTENCE = 'start: "abc"'
# Every text ends soon, although the model is random and finds all allowed tokens about equally likely.
RECORD = r"""
start: "{" pair ("," pair)~0..2 "}"
pair: KEY ":" value
value: NUMBER | STRING | list | "true" | "null"
list: "[" (value ("," value)?)? "]"
KEY: "\"" /[a-zé]{1,6}/ "\""
STRING: "\"" /[^"\\\x00-\x1f]{0,8}/ "\""
NUMBER: /-?(0|[1-9][0-9]{0,2})(\.[0-9]{1,2})?/
"""
CALL = r"""
start: NAME "(" (argument (", " argument)~0..1)? ")"
argument: NAME "=" (NAME | /[0-9]{1,4}/ | "(" argument ")")
NAME: /[A-Za-z_][A-Za-z_0-9]{0,7}/
"""


@pytest.fixture(scope="module")
def byte_model() -> transformers.LlamaForCausalLM:
    return make_model(257)


@pytest.fixture(scope="module")
def tekken() -> Vocabulary:
    return vocabularies.load("tekken")


@pytest.fixture(scope="module")
def tekken_model(tekken: Vocabulary) -> transformers.LlamaForCausalLM:
    return make_model(tekken.size, eos_token_id=tekken.eos_token_ids[0])


def left_padded(prompts: list[list[int]], pad: int = 0) -> dict[str, torch.Tensor]:
    longest = max(map(len, prompts))
    return {
        "input_ids": torch.tensor([[pad] * (longest - len(each)) + each for each in prompts]),
        "attention_mask": torch.tensor([[0] * (longest - len(each)) + [1] * len(each) for each in prompts]),
    }


def write(
    model: transformers.LlamaForCausalLM,
    processor: GrammarLogitsProcessor,
    prompts: list[list[int]],
    *,
    seed: int = 0,
    **options: Any,
) -> list[list[int]]:
    """Return what the model writes after the prompts, padding included."""
    options = {"do_sample": True, "max_new_tokens": 40, **options}
    if options["do_sample"]:
        options["top_k"] = 0
    inputs = left_padded(prompts)
    torch.manual_seed(seed)
    output = model.generate(**inputs, **options, logits_processor=[processor])
    rows: list[list[int]] = output[:, inputs["input_ids"].shape[1] :].tolist()
    return rows


def text_of(vocabulary: Vocabulary, row: list[int]) -> str | None:
    """Return the text of a row up to its first EOS, or None if there is none."""
    ends = [at for at, token_id in enumerate(row) if token_id in vocabulary.eos_token_ids]
    if not ends:
        return None
    return b"".join(vocabulary.token_bytes(token_id) for token_id in row[: ends[0]]).decode("utf-8")


def oracle(grammar: str) -> lark.Lark:
    return lark.Lark(grammar, parser="earley", lexer="dynamic_complete")


# -- every finished text parses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("grammar", [RECORD, CALL], ids=["record", "call"])
@pytest.mark.parametrize("block", range(effort(1, 4)))
def test_every_finished_text_parses_over_hundreds_of_seeds(
    grammar: str, block: int, tekken: Vocabulary, tekken_model: transformers.LlamaForCausalLM
) -> None:
    parser = oracle(grammar)
    processor = GrammarLogitsProcessor(Grammar.from_lark(grammar), tekken)
    prompts = [[1, 1000 + block], [1, 5, 9, 50_000]]
    n_finished = n_rows = 0
    distinct = set()
    for seed in range(block * 30, block * 30 + effort(15, 30)):
        for row in write(tekken_model, processor, prompts, seed=seed, max_new_tokens=48):
            n_rows += 1
            text = text_of(tekken, row)
            if text is not None:
                n_finished += 1
                distinct.add(text)
                parser.parse(text)
            else:
                assert len(row) == 48
    print(f"{n_finished} of {n_rows} texts finished, {len(distinct)} distinct")
    assert n_finished > 0.8 * n_rows
    assert len(distinct) > 0.8 * n_finished


def test_greedy_texts_parse(tekken: Vocabulary) -> None:
    parser = oracle(LIST)
    for seed in range(5):
        model = make_model(tekken.size, seed, eos_token_id=tekken.eos_token_ids[0])
        processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), tekken)
        (row,) = write(model, processor, [[1, 2, 3]], do_sample=False)
        text = text_of(tekken, row)
        assert text is not None
        parser.parse(text)


@pytest.mark.parametrize("do_sample", [False, True])
@pytest.mark.parametrize("grammar", [LIST, 'start: ("a"|"ab"|"b")~1..3', ONE_SENTENCE])
def test_beam_search(grammar: str, do_sample: bool, byte_model: transformers.LlamaForCausalLM) -> None:
    """Beams branch and reorder. If a grammar allows fewer tokens than there are beams, `transformers` also continues
    with forbidden ones at -inf: these must neither stop the search nor be in its result."""
    parser = oracle(grammar)
    vocabulary = Vocabulary.bytes()
    processor = GrammarLogitsProcessor(Grammar.from_lark(grammar), vocabulary)
    n_finished = 0
    for seed in range(10):
        inputs = left_padded([[5, 6 + seed], [7]])
        torch.manual_seed(seed)
        output = byte_model.generate(
            **inputs,
            do_sample=do_sample,
            top_k=0,
            num_beams=4,
            num_return_sequences=3,
            max_new_tokens=20,
            logits_processor=[processor],
            return_dict_in_generate=True,
            output_scores=True,
        )
        assert not torch.isnan(output.sequences_scores).any()
        for row, score in zip(output.sequences[:, 2:].tolist(), output.sequences_scores.tolist(), strict=True):
            text = text_of(vocabulary, row)
            # The search marks results with scores below -1e8 if there are not enough sentences.
            if score > -1e8:
                assert text is not None
                parser.parse(text)
                n_finished += 1
    assert n_finished >= 20


def test_beam_search_finds_the_likeliest_sentence(byte_model: transformers.LlamaForCausalLM) -> None:
    """With enough beams the search is exhaustive, and finds the sentence with the best score of all."""
    grammar = 'start: ("a"|"b") ("c"|"d"|"ee")'
    sentences = [first + second for first in "ab" for second in ("c", "d", "ee")]
    prompt = [5, 6]

    def score(sentence: str) -> float:
        """Return the search's score: log probabilities of the full softmax, summed, divided by the length."""
        ids = [*prompt, *sentence.encode(), EOS]
        logits = byte_model(torch.tensor([ids])).logits[0].log_softmax(-1)
        total = sum(float(logits[at - 1, ids[at]]) for at in range(len(prompt), len(ids)))
        return total / (len(ids) - len(prompt))

    processor = GrammarLogitsProcessor(Grammar.from_lark(grammar), Vocabulary.bytes())
    with torch.no_grad():
        expected = sorted(sentences, key=score, reverse=True)
    rows = write(
        byte_model, processor, [prompt], do_sample=False, num_beams=6, num_return_sequences=6, max_new_tokens=8
    )
    assert [text_of(Vocabulary.bytes(), row) for row in rows] == expected


# -- rows: padding, ends, returned sequences, several grammars ------------------------------------------------------


def test_padded_prompts_write_what_they_write_alone(byte_model: transformers.LlamaForCausalLM) -> None:
    prompts = [[65, 66, 67, 68, 69], [70], [71, 72, 73]]
    grammar = Grammar.from_lark(LIST)
    together = write(byte_model, GrammarLogitsProcessor(grammar, Vocabulary.bytes()), prompts, do_sample=False)
    for prompt, row in zip(prompts, together, strict=True):
        (alone,) = write(byte_model, GrammarLogitsProcessor(grammar, Vocabulary.bytes()), [prompt], do_sample=False)
        assert text_of(Vocabulary.bytes(), row) == text_of(Vocabulary.bytes(), alone)


@pytest.mark.parametrize("pad", [0, ord("a"), ord("["), EOS])
def test_finished_rows_receive_padding(pad: int, byte_model: transformers.LlamaForCausalLM) -> None:
    """This holds for any padding: a token that the grammar does not allow, one that it allows, or EOS itself."""
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), Vocabulary.bytes())
    parser = oracle(LIST)
    lengths = set()
    for seed in range(20):
        rows = write(byte_model, processor, [[1], [2], [3], [4]], seed=seed, pad_token_id=pad)
        for row in rows:
            end = row.index(EOS)
            lengths.add(len(row) - end)
            assert set(row[end + 1 :]) <= {pad}
            parser.parse(bytes(row[:end]).decode())
    assert len(lengths) > 3, "rows finished at different times"


def test_several_returned_sequences(byte_model: transformers.LlamaForCausalLM) -> None:
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), Vocabulary.bytes(), threads=2)
    rows = write(byte_model, processor, [[1, 2], [3]], num_return_sequences=50)
    texts = [text_of(Vocabulary.bytes(), row) for row in rows]
    assert len(texts) == 100 and len(set(texts)) > 60
    for text in texts:
        oracle(LIST).parse(text)


@pytest.mark.parametrize("options", [{}, {"num_return_sequences": 4}, {"num_beams": 4, "num_return_sequences": 2}])
def test_a_grammar_for_each_prompt(options: dict[str, int], byte_model: transformers.LlamaForCausalLM) -> None:
    texts = [LIST, 'start: /[0-9]{2,4}/ "!"', LIST, 'start: "yes" | "no"']
    processor = GrammarLogitsProcessor([Grammar.from_lark(text) for text in texts], Vocabulary.bytes())
    rows = write(byte_model, processor, [[1], [2], [3], [4]], **options)
    per_prompt = options.get("num_return_sequences", 1)
    assert len(rows) == 4 * per_prompt
    for at, row in enumerate(rows):
        text = text_of(Vocabulary.bytes(), row)
        assert text is not None
        oracle(texts[at // per_prompt]).parse(text)
    with pytest.raises(ValueError, match="5 rows cannot be divided among 4 grammars"):
        write(byte_model, processor, [[1]] * 5)


def test_grammars_that_are_listed_twice_share_what_is_remembered() -> None:
    processor = GrammarLogitsProcessor([Grammar.from_lark(LIST), Grammar.from_lark(LIST)], Vocabulary.bytes())
    assert len(processor._histories) == 1


# -- ends -----------------------------------------------------------------------------------------------------------


def test_several_ids_end_a_row() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>", b"<eot>", b"<other>"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=[256, 257], special_token_ids=[258])
    model = make_model(259, eos_token_id=[256, 257])
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), vocabulary)
    ends = set()
    for seed in range(30):
        for row in write(model, processor, [[1], [2]], seed=seed):
            assert text_of(vocabulary, row) is not None
            ends |= set(row) & {256, 257, 258}
    assert ends == {256, 257}


def test_the_generation_configs_ends_replace_the_vocabularys() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>", b"<eot>", b"<end>"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=256)
    model = make_model(259, eos_token_id=EOS)
    model.generation_config.eos_token_id = [257, 258]
    grammar = Grammar.from_lark(LIST)
    processor = GrammarLogitsProcessor(grammar, vocabulary, eos_token_id=model.generation_config.eos_token_id)
    assert processor.eos_token_ids == (257, 258)
    # An id that has a text needs another vocabulary, which is made once.
    ends = [GrammarLogitsProcessor(grammar, vocabulary, eos_token_id=[257, ord("z")]).vocabulary for _ in range(2)]
    assert ends[0] is ends[1] and ends[0].token_bytes(ord("z")) == b"" and ends[0].eos_token_ids == (ord("z"), 257)
    plain = Vocabulary.from_tokens([*tokens[:257], b"", b""], eos_token_id=256)
    assert GrammarLogitsProcessor(grammar, plain, eos_token_id=257).vocabulary is plain
    assert 256 in processor.vocabulary.special_token_ids
    ends = set()
    for seed in range(30):
        for row in write(model, processor, [[1], [2]], seed=seed):
            assert text_of(processor.vocabulary, row) is not None
            ends |= {token_id for token_id in row if token_id >= 256}
    assert ends == {257, 258}
    assert GrammarLogitsProcessor(grammar, vocabulary, eos_token_id=256).vocabulary is vocabulary
    assert GrammarLogitsProcessor(grammar, vocabulary, eos_token_id=[256]).vocabulary is vocabulary


def test_an_end_that_the_grammar_goes_on_after_ends_the_row_all_the_same() -> None:
    """`generate` stops at every EOS id, also at one that the grammar has as a symbol in the middle of a text."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>", b"<|turn|>"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=[256, 257], special_tokens={"<eos>": 256, "<|turn|>": 257})
    grammar = Grammar.from_lark('start: ("a" <|turn|> "b" | "c")')
    model = make_model(258, eos_token_id=[256, 257])
    texts = set()
    for seed in range(30):
        rows = write(model, GrammarLogitsProcessor(grammar, vocabulary), [[1], [2], [3]], seed=seed, pad_token_id=7)
        texts |= {tuple(token_id for token_id in row if token_id != 7) for row in rows}
    assert texts <= {(ord("a"), 257), (ord("c"), 256), (ord("c"), 257)}
    assert len(texts) > 1


def test_the_vocabulary_of_a_model() -> None:
    """It has all EOS ids of the generation config, and as many ids as there are logits."""
    tokenizer = tiny_tokenizer()
    model = make_model(len(tokenizer) + 30, eos_token_id=tokenizer.eos_token_id)
    assert model_vocabulary(model, tokenizer).eos_token_ids == (tokenizer.eos_token_id,)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|eot|>")]
    vocabulary = model_vocabulary(model, tokenizer)
    assert vocabulary.eos_token_ids == tuple(sorted(model.generation_config.eos_token_id))
    assert vocabulary.size == len(tokenizer) + 30
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), vocabulary)
    for row in write(model, processor, [tokenizer("hello")["input_ids"]], num_return_sequences=20):
        oracle(LIST).parse(text_of(vocabulary, row))
    model.generation_config.eos_token_id = None
    assert model_vocabulary(model, tokenizer).eos_token_ids == (tokenizer.eos_token_id,), "of the model's config"


def test_a_vocabulary_without_an_end_is_refused() -> None:
    vocabulary = Vocabulary.from_tokens([bytes([byte]) for byte in range(256)], eos_token_id=None)
    with pytest.raises(VocabularyError):
        GrammarLogitsProcessor(Grammar.from_lark(LIST), vocabulary)


# -- scores ---------------------------------------------------------------------------------------------------------


TEMPERATURES = 'start: "x" cold warm "."\ncold[temperature=0]: /[a-c]/\nwarm[temperature=0.5]: /[d-f]/'


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_temperatures_of_the_grammar(dtype: torch.dtype) -> None:
    processor = GrammarLogitsProcessor(TEMPERATURES, Vocabulary.bytes(), prompt_length=1, temperatures=True)
    plain = GrammarLogitsProcessor(TEMPERATURES, Vocabulary.bytes(), prompt_length=1)
    generator = torch.Generator().manual_seed(5)
    for written, temperature in (b"", None), (b"x", 0.0), (b"xb", 0.5), (b"xbd", None):
        ids = torch.tensor([[7, *written]])
        scores = (4 * torch.randn((1, 257), generator=generator)).to(dtype)
        found, masked = processor(ids, scores).float(), plain(ids, scores).float()
        assert found.softmax(-1).isfinite().all()
        if temperature is None:
            assert torch.equal(found, masked)
        elif temperature == 0.0:
            assert found.softmax(-1).max() == 1.0
            assert found.argmax() == masked.argmax()
        else:
            tolerance = 0.05 if dtype == torch.bfloat16 else 1e-2
            assert torch.allclose(found.softmax(-1), (masked / temperature).softmax(-1), atol=tolerance)
            assert not torch.allclose(found.softmax(-1), masked.softmax(-1), atol=tolerance)


def test_a_low_temperature_in_half_precision_stays_finite() -> None:
    grammar = "start: x\nx[temperature=0.0001]: /[ab]/"
    processor = GrammarLogitsProcessor(grammar, Vocabulary.bytes(), prompt_length=1, temperatures=True)
    scores = torch.full((1, 257), 60000.0, dtype=torch.float16)
    scores[0, ord("b")] = 50000.0
    assert processor(torch.tensor([[7]]), scores).softmax(-1).argmax() == ord("a")


def test_generation_at_the_grammars_temperature(byte_model: transformers.LlamaForCausalLM) -> None:
    """At 0 the most likely token is certain; two sequences of a batch may be in different rules."""
    grammar = "start: x\nx[temperature=0]: /[a-z]{1,8}/"
    texts = set()
    for seed in range(3):
        torch.manual_seed(seed)
        processor = GrammarLogitsProcessor(grammar, Vocabulary.bytes(), temperatures=True)
        output = byte_model.generate(
            torch.tensor([[65], [65]]), do_sample=True, max_new_tokens=12, logits_processor=[processor]
        )
        texts |= {tuple(token for token in row if token) for row in output.tolist()}
    greedy = byte_model.generate(
        torch.tensor([[65]]),
        do_sample=False,
        max_new_tokens=12,
        logits_processor=[GrammarLogitsProcessor(grammar, Vocabulary.bytes())],
    )
    assert texts == {tuple(token for token in greedy[0].tolist() if token)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_allowed_scores_stay_as_they_are(dtype: torch.dtype) -> None:
    constraint = Constraint(LIST)
    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary, prompt_length=2)
    scores = torch.randn(3, 300, generator=torch.Generator().manual_seed(4)).to(dtype)
    before = scores.clone()
    ids = torch.tensor([[9, 9, *b"[a"], [0, 9, *b"[,"[:1], ord("z")], [0, 0, *b"[]"]])
    masked = processor(ids, scores)
    assert masked.dtype == dtype and torch.equal(scores, before), "a new tensor; the one given is left alone"
    for row, history in enumerate(ids[:, 2:].tolist()):
        allowed = torch.from_numpy(np.pad(constraint.mask(history), (0, 43)))
        assert torch.equal(masked[row, allowed], scores[row, allowed])
        assert (masked[row, ~allowed] == -torch.inf).all()
        ratios = torch.softmax(masked[row].double(), -1)[allowed] / torch.softmax(scores[row].double(), -1)[allowed]
        assert torch.allclose(ratios, ratios[0], rtol=1e-9)


def test_ratios_on_a_real_vocabulary(tekken: Vocabulary) -> None:
    constraint = Constraint(RECORD, tekken)
    processor = GrammarLogitsProcessor(constraint.grammar, tekken, prompt_length=0)
    scores = torch.randn(1, tekken.size, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    masked = processor(torch.zeros((1, 0), dtype=torch.int64), scores)
    allowed = torch.from_numpy(constraint.mask())
    assert 1 < allowed.sum() < 1000
    before, after = torch.softmax(scores, -1)[0], torch.softmax(masked, -1)[0]
    assert after[~allowed].sum() == 0
    assert torch.allclose(after[allowed], before[allowed] / before[allowed].sum(), rtol=1e-12)


def test_logits_wider_than_the_vocabulary() -> None:
    model = make_model(320, eos_token_id=EOS)
    with torch.no_grad():
        model.lm_head.weight[257:] *= 50  # makes the padding likelier than anything else
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), Vocabulary.bytes())
    for row in write(model, processor, [[1], [2]], num_return_sequences=20):
        assert max(row) <= EOS
        oracle(LIST).parse(text_of(Vocabulary.bytes(), row))


def test_a_mask_of_all_tokens_allows_none_beyond_the_vocabulary() -> None:
    vocabulary = Vocabulary.from_tokens([bytes([65 + i]) for i in range(31)] + [b""], eos_token_id=31)
    processor = GrammarLogitsProcessor(Grammar.from_lark("start: /.*/"), vocabulary)
    scores = processor(torch.tensor([[1, 2]]), torch.zeros(1, 64))
    assert torch.isneginf(scores).tolist() == [[False] * 32 + [True] * 32]


# -- empty masks ----------------------------------------------------------------------------------------------------


def test_a_vocabulary_that_cannot_spell_the_grammar_is_a_typed_error() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"<eos>"], eos_token_id=2)
    model = make_model(3, eos_token_id=2)
    # Row 0 ends before row 1 has no token.
    grammars = [Grammar.from_lark('start: "a"'), Grammar.from_lark('start: "abc"')]
    processor = GrammarLogitsProcessor(grammars, vocabulary)
    with pytest.raises(EmptyMaskError, match=r"row 1, after 2 tokens: the vocabulary has no token") as caught:
        write(model, processor, [[0], [1]])
    assert caught.value.needed == b"c" and "one of the bytes b'c'" in str(caught.value)


def test_tokens_excluded_by_others_are_a_typed_error(byte_model: transformers.LlamaForCausalLM) -> None:
    """`min_new_tokens` forbids EOS when the grammar allows nothing else; then no token is left."""
    processor = GrammarLogitsProcessor(Grammar.from_lark(ONE_SENTENCE), Vocabulary.bytes())
    with pytest.raises(EmptyMaskError, match=r"row 0, after 3 tokens: .*what has changed the scores before"):
        write(byte_model, processor, [[1]], min_new_tokens=10)


def test_logits_that_end_before_the_allowed_tokens_are_a_typed_error() -> None:
    model = make_model(100, eos_token_id=99)
    processor = GrammarLogitsProcessor(Grammar.from_lark('start: "xyz"'), Vocabulary.bytes())
    with pytest.raises(EmptyMaskError, match="row 0, after 0 tokens"):
        write(model, processor, [[1]])


def test_finished_rows_are_no_reason_for_nan(byte_model: transformers.LlamaForCausalLM) -> None:
    """A row that has ended keeps a proper distribution, even if something else forbids EOS to it."""
    processor = GrammarLogitsProcessor(Grammar.from_lark('start: "a"'), Vocabulary.bytes(), prompt_length=0)
    scores = torch.zeros(2, 300)
    scores[:, EOS] = -torch.inf
    masked = processor(torch.tensor([[ord("a"), EOS, 0], [ord("a"), EOS, EOS]]), scores)
    assert torch.softmax(masked, -1)[:, EOS].tolist() == [1.0, 1.0]
    with pytest.raises(VocabularyError, match="all EOS ids of the vocabulary are beyond"):
        processor(torch.tensor([[ord("a"), EOS, 0]]), torch.zeros(1, 200))


def test_rows_that_branch_and_reorder_at_random() -> None:
    """Without `generate`, each step continues random rows of the last one, as a search could; some are finished."""
    constraint = Constraint(LIST)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary)
        rows = [[3, 1, 4]] * int(rng.integers(1, 12))
        for _ in range(14):
            masked = processor(torch.tensor(rows), torch.zeros(len(rows), 260)).numpy()
            following = []
            for row, scores in zip(rows, masked, strict=True):
                written = row[3:]
                finished = EOS in written
                expected = [EOS] if finished else np.flatnonzero(constraint.mask(written)).tolist()
                assert np.flatnonzero(np.isfinite(scores)).tolist() == expected, (seed, row)
                following.append([*row, int(rng.choice([0, 91, EOS])) if finished else int(rng.choice(expected))])
            # A row that continues may do so twice: two branches of one parent.
            parent = rows[0]
            choices = [0] if EOS in parent[3:] else np.flatnonzero(constraint.mask(parent[3:])).tolist()
            following.append([*parent, int(rng.choice(choices))])
            rows = [following[at] for at in rng.integers(0, len(following), len(rows))]


# -- which part is the prompt ---------------------------------------------------------------------------------------


def test_one_processor_serves_one_generation_after_another(byte_model: transformers.LlamaForCausalLM) -> None:
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), Vocabulary.bytes())
    parser = oracle(LIST)
    first = write(byte_model, processor, [[65, 66, 67]])
    for prompts in (
        [[65, 66, 67]],  # the same prompt again
        [[65, 66, 67, *first[0], 68]],  # a conversation continues
        [[66]],
        [[1, 2, 3], [4]],  # another number of rows
        [[91] * 20],  # the grammar does not apply to a prompt
    ):
        for row in write(byte_model, processor, prompts, seed=len(prompts[0])):
            parser.parse(text_of(Vocabulary.bytes(), row))


def test_a_prompt_that_goes_on_by_one_token_needs_a_word() -> None:
    """One case is ambiguous: the next prompt is the last call's row with one more token."""
    constraint = Constraint(LIST)
    start, scores = constraint.mask(), torch.zeros(1, 257)
    taken_for_generated = torch.tensor([[1, 2, 3]])

    def allowed(processor: GrammarLogitsProcessor, ids: torch.Tensor) -> np.ndarray:
        return np.isfinite(processor(ids, scores)[0].numpy())

    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary)
    assert np.array_equal(allowed(processor, taken_for_generated[:, :2]), start)
    with pytest.raises(RejectedTokenError, match=r"prompt_length or call reset"):
        processor(taken_for_generated, scores)
    processor.reset()
    assert np.array_equal(allowed(processor, taken_for_generated), start)
    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary, prompt_length=3)
    assert np.array_equal(allowed(processor, taken_for_generated), start)
    assert np.array_equal(allowed(processor, torch.tensor([[1, 2, 4]])), start)
    with pytest.raises(ValueError, match="shorter than the prompt_length"):
        processor(torch.tensor([[1, 2]]), scores)


def test_a_prompt_that_begins_like_the_one_before_is_a_new_one() -> None:
    constraint = Constraint(LIST)
    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary)
    for text in (b"", b"[", b"[a", b"[ab", b"[abc"):
        processor(torch.tensor([[1, 2, *text]]), torch.zeros(1, 257))
    # A shorter answer to the same prompt stands in the next one.
    scores = processor(torch.tensor([[1, 2, *b"[]", EOS, 3]]), torch.zeros(1, 257))
    assert np.array_equal(np.isfinite(scores[0].numpy()), constraint.mask())


def test_prompt_lookup_decoding_writes_the_same(byte_model: transformers.LlamaForCausalLM) -> None:
    """Several guesses are checked at once and may be dropped, so rows get longer and shorter."""
    grammar = Grammar.from_lark('start: "ab"~3..6 "c"')
    prompt = list(b"ababab")
    plain = write(byte_model, GrammarLogitsProcessor(grammar, Vocabulary.bytes()), [prompt], do_sample=False)
    guessed = write(
        byte_model,
        GrammarLogitsProcessor(grammar, Vocabulary.bytes()),
        [prompt],
        do_sample=False,
        prompt_lookup_num_tokens=3,
    )
    assert guessed == plain


# -- misuse ---------------------------------------------------------------------------------------------------------


def test_tokens_that_were_not_allowed_are_an_error() -> None:
    constraint = Constraint(LIST)
    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary)
    scores = torch.zeros(1, 257)
    processor(torch.tensor([[7]]), scores)
    processor(torch.tensor([[7, ord("[")]]), scores)
    with pytest.raises(RejectedTokenError, match=r"row 0: .* token 33 at index 1") as caught:
        processor(torch.tensor([[7, ord("["), ord("!")]]), scores)
    assert (caught.value.index, caught.value.token_id) == (1, 33)
    explanation = caught.value.explanation
    assert explanation is not None and (explanation.text, explanation.offset, explanation.refused) == (b"[!", 1, "!")
    masked = processor(torch.tensor([[7, ord("["), ord("]")]]), scores)
    assert torch.isfinite(masked).nonzero().tolist() == [[0, EOS]], "still usable"


def test_a_forbidden_token_is_forgiven_only_where_a_beam_search_can_have_taken_it() -> None:
    constraint = Constraint(LIST)
    scores = torch.zeros(2, 257)
    # Only "[" is allowed: fewer tokens than a search with two beams continues with.
    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary)
    processor(torch.tensor([[7], [7]]), scores)
    masked = processor(torch.tensor([[7, ord("[")], [7, 0]]), scores)
    assert torch.isfinite(masked[1]).nonzero().tolist() == [[EOS]]
    masked = processor(torch.tensor([[7, ord("["), ord("]")], [7, 0, 0]]), scores)
    assert torch.isfinite(masked[1]).nonzero().tolist() == [[EOS]]
    # 27 tokens are allowed after "[".
    processor = GrammarLogitsProcessor(constraint.grammar, constraint.vocabulary)
    processor(torch.tensor([[7], [7]]), scores)
    processor(torch.tensor([[7, ord("[")], [7, ord("[")]]), scores)
    with pytest.raises(RejectedTokenError, match="row 1"):
        processor(torch.tensor([[7, ord("["), ord("a")], [7, ord("["), 0]]), scores)


def test_wrong_arguments_are_refused() -> None:
    grammar, vocabulary = Grammar.from_lark(LIST), Vocabulary.bytes()
    with pytest.raises(ValueError, match="no grammar"):
        GrammarLogitsProcessor([], vocabulary)
    with pytest.raises(ValueError, match="prompt_length"):
        GrammarLogitsProcessor(grammar, vocabulary, prompt_length=-1)
    with pytest.raises(ValueError, match="2 rows of ids and 3 rows of scores"):
        GrammarLogitsProcessor(grammar, vocabulary)(torch.zeros((2, 1), dtype=torch.int64), torch.zeros(3, 257))


def test_wrong_objects_are_refused() -> None:
    grammar = Grammar.from_lark(LIST)
    with pytest.raises(TypeError, match="must be a Vocabulary, not object"):
        GrammarLogitsProcessor(grammar, object())
    with pytest.raises(TypeError, match=r"not \w*Token\w*; make one with Vocabulary.from_transformers\(tokenizer\)"):
        GrammarLogitsProcessor(grammar, tiny_tokenizer())
    for wrong in (b"start: ", None, [grammar, 1]):
        with pytest.raises(TypeError, match="grammar must be a Grammar"):
            GrammarLogitsProcessor(wrong, Vocabulary.bytes())


def test_what_constraint_takes_will_do_for_a_grammar() -> None:
    ids, scores = torch.tensor([[7], [7]]), torch.zeros(2, 257)
    schema = {"properties": {}, "type": "object"}
    assert len(GrammarLogitsProcessor(schema, Vocabulary.bytes()).grammars) == 1  # and not one for each key
    for given in ('start: "a"', ['start: "a"', Grammar.from_lark('start: "a"')], 'root ::= "a"', re.compile("a")):
        masked = GrammarLogitsProcessor(given, Vocabulary.bytes())(ids, scores)
        assert torch.isfinite(masked).nonzero().tolist() == [[0, ord("a")], [1, ord("a")]]


@pytest.mark.parametrize("token_id", [-1, ord("[") - 2**32, 2**32 + ord("["), 2**40])
def test_ids_that_no_key_holds_are_rejected_as_they_are(token_id: int) -> None:
    processor = GrammarLogitsProcessor(LIST, Vocabulary.bytes(), prompt_length=1)
    with pytest.raises(RejectedTokenError, match=f"row 1: .* token {token_id} at index 0") as caught:
        processor(torch.tensor([[7, ord("[")], [7, token_id]]), torch.zeros(2, 257))
    assert (caught.value.index, caught.value.token_id) == (0, token_id)
    # After the end of a row there is padding, of any id.
    processor(torch.tensor([[7, ord("["), ord("]"), EOS, token_id]]), torch.zeros(1, 257))


def test_what_is_remembered_is_bounded(byte_model: transformers.LlamaForCausalLM) -> None:
    processor = GrammarLogitsProcessor(Grammar.from_lark(LIST), Vocabulary.bytes())
    for seed in range(10):
        write(byte_model, processor, [[1], [2]], seed=seed, num_return_sequences=50)
    assert len(processor._histories[0]) <= 200


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_generation_on_a_gpu(dtype: torch.dtype, tekken: Vocabulary) -> None:
    model = make_model(tekken.size, eos_token_id=tekken.eos_token_ids[0]).to("cuda", dtype)
    processor = GrammarLogitsProcessor(Grammar.from_lark(RECORD), tekken)
    torch.manual_seed(0)
    output = model.generate(
        input_ids=torch.tensor([[1, 2]], device="cuda"),
        attention_mask=torch.ones(1, 2, device="cuda"),
        logits_processor=[processor],
        do_sample=True,
        top_k=0,
        num_return_sequences=50,
        max_new_tokens=48,
    )
    texts = [text_of(tekken, row) for row in output[:, 2:].tolist()]
    assert sum(text is not None for text in texts) > 40
    for text in filter(None, texts):
        oracle(RECORD).parse(text)


@pytest.mark.parametrize("options", [{}, {"do_sample": False, "num_beams": 3}])
def test_every_answer_is_complete_within_max_new_tokens(
    tekken: Vocabulary, tekken_model: transformers.LlamaForCausalLM, options: dict[str, Any]
) -> None:
    """Names and notes may have any length: without a budget, hardly any text of a random model ends in time."""
    grammar = Grammar.from_json_schema({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}})
    for n in (9, 12, 20):
        processor = GrammarLogitsProcessor(grammar, tekken, max_new_tokens=n)
        for row in write(tekken_model, processor, [[5], [6, 7]], max_new_tokens=n, **options):
            text = text_of(tekken, row)
            assert text is not None and "a" in json.loads(text)


def test_too_few_new_tokens_are_an_error(byte_model: transformers.LlamaForCausalLM) -> None:
    with pytest.raises(BatchError, match="3 tokens may still come, and the sentence needs 4"):
        write(byte_model, GrammarLogitsProcessor(ONE_SENTENCE, Vocabulary.bytes(), max_new_tokens=3), [[1]])
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1, got 0"):
        GrammarLogitsProcessor(ONE_SENTENCE, Vocabulary.bytes(), max_new_tokens=0)
