"""What a row chooses: compared with the probabilities that a slow formula gives."""

from __future__ import annotations

import math
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from earleymask.integration.server.sampling import Sampler, Sampling, _nucleus  # noqa: E402

SCORES = [2.0, -math.inf, 1.0, 0.0, 3.0, -math.inf, -1.0]
N = 4_000


def probabilities(scores: list[float], temperature: float = 1.0, top_p: float = 1.0) -> dict[int, float]:
    weights = {index: math.exp(score / temperature) for index, score in enumerate(scores) if score > -math.inf}
    total = sum(weights.values())
    kept: dict[int, float] = {}
    for index, weight in sorted(weights.items(), key=lambda pair: -pair[1]):
        if sum(kept.values()) / total >= top_p and kept:
            break
        kept[index] = weight
    return {index: weight / sum(kept.values()) for index, weight in kept.items()}


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 0.9), (1.0, 0.6), (1.0, 0.0)])
def test_the_frequencies_are_the_probabilities(temperature: float, top_p: float) -> None:
    sampler = Sampler(Sampling(temperature=temperature, top_p=top_p, seed=7))
    found = Counter(sampler.choose(torch.tensor(SCORES)).token for _ in range(N))
    expected = probabilities(SCORES, temperature, top_p)
    assert set(found) == set(expected)
    for token, probability in expected.items():
        assert abs(found[token] / N - probability) < 4 * math.sqrt(probability * (1 - probability) / N) + 1e-9


@pytest.mark.parametrize("top_p", [0.0, 0.3, 0.9, 0.999])
def test_the_tokens_of_top_p_are_those_of_a_whole_sort(top_p: float) -> None:
    generator = torch.Generator().manual_seed(0)
    for width, spread in ((10, 1.0), (3000, 0.1), (3000, 8.0)):
        probabilities = torch.softmax(torch.randn(width, generator=generator) * spread, dim=-1)
        kept, total = [], 0.0
        for probability, place in sorted(zip(probabilities.tolist(), range(width), strict=True), reverse=True):
            if kept and total >= top_p:
                break
            kept.append(place)
            total += probability
        assert _nucleus(probabilities.double().numpy(), top_p).tolist() == kept


def test_temperature_zero_takes_the_most_probable_token() -> None:
    assert {Sampler(Sampling(temperature=0.0)).choose(torch.tensor(SCORES)).token for _ in range(20)} == {4}


def test_a_seed_gives_each_answer_its_own_stream() -> None:
    def stream(seed: int | None, index: int) -> list[int]:
        sampler = Sampler(Sampling(seed=seed), index)
        return [sampler.choose(torch.zeros(1000)).token for _ in range(20)]

    assert stream(3, 0) == stream(3, 0) != stream(3, 1)
    assert stream(4, 0) != stream(3, 0)
    assert stream(None, 0) != stream(None, 0)


def test_log_probabilities_are_those_at_temperature_one_of_allowed_tokens() -> None:
    chosen = Sampler(Sampling(temperature=0.1, top_p=0.5, n_alternatives=20)).choose(torch.tensor(SCORES))
    expected = probabilities(SCORES)
    assert chosen.token == 4 and chosen.logprob == pytest.approx(math.log(expected[4]), abs=1e-5)
    assert dict(chosen.alternatives) == pytest.approx({t: math.log(p) for t, p in expected.items()}, abs=1e-5)
    assert [token for token, _ in chosen.alternatives] == [4, 0, 2, 3, 6]


def test_biases_and_penalties() -> None:
    sampler = Sampler(
        Sampling(temperature=0.0, frequency_penalty=0.3, presence_penalty=0.5, bias=((0, 0.5), (4, -1.0)))
    )
    found = []
    for _ in range(5):
        scores = torch.tensor(SCORES)
        sampler.adjust(scores)
        found.append(sampler.choose(scores).token)
    # 0 has 2.5, 4 has 2, 2 has 1. Each is 0.8 lower once it was chosen, and 0.3 for each time after that.
    assert found == [0, 4, 0, 0, 4]


def test_no_finite_score_is_an_error() -> None:
    for scores in ([-math.inf] * 3, [math.nan] * 3, [0.0, math.nan]):
        with pytest.raises(ValueError, match="no finite score"):
            Sampler(Sampling()).choose(torch.tensor(scores))
