"""Pydantic models and dataclasses: texts that masks allow validate as the model, and what it dumps is accepted."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import uuid
from random import Random
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pytest

pydantic = pytest.importorskip("pydantic")

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError  # noqa: E402

from campaign.schema_checks import BYTES, accepts, walk  # noqa: E402
from earleymask import Grammar  # noqa: E402

ONLY_THESE = ConfigDict(extra="forbid")
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Rank(enum.IntEnum):
    ONE = 1
    TWO = 2


class Inner(BaseModel):
    model_config = ONLY_THESE
    x: int
    y: float | None = None


class Cat(BaseModel):
    model_config = ONLY_THESE
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)
    inner: Inner


class Dog(BaseModel):
    model_config = ONLY_THESE
    kind: Literal["dog"]
    good: bool = True
    tags: list[str] = []


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Household(BaseModel):
    model_config = ONLY_THESE
    pet: Pet
    others: list[Pet] = []
    either: Inner | Dog | str | None = None


class Tree(BaseModel):
    model_config = ONLY_THESE
    value: int
    children: list[Tree] = []
    left: Tree | None = None


class Constrained(BaseModel):
    model_config = ONLY_THESE
    name: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]+$")]
    count: Annotated[int, Field(ge=0, lt=10)]
    fives: Annotated[int, Field(multiple_of=5)]
    most: Annotated[list[int], Field(min_length=1, max_length=3)]


class Collections(BaseModel):
    model_config = ONLY_THESE
    words: frozenset[Literal["a", "b", "c"]]
    pair: tuple[int, str]
    many: tuple[bool, ...]
    by_name: dict[str, int]
    optional: dict[str, list[Inner]] | None = None


class Scalars(BaseModel):
    model_config = ONLY_THESE
    colour: Colour
    rank: Rank
    literal: Literal["a", 1, True, None]
    ident: uuid.UUID
    address: ipaddress.IPv4Address
    day: datetime.date
    anything: Any = None


class Aliased(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    first_name: str = Field(alias="firstName")
    z: int | str | None = None


class Box(BaseModel, Generic[T]):
    model_config = ONLY_THESE
    item: T
    n: int = 0


class Boxes(BaseModel):
    model_config = ONLY_THESE
    a: Box[int]
    b: Box[Box[str]]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    i: int
    f: float
    b: bool


class Pair(NamedTuple):
    p: int
    q: str


@dataclasses.dataclass
class Point:
    x: float
    y: float
    label: str = "p"
    pair: Pair | None = None
    below: Point | None = None


# Instances.


class Instances:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def text(self) -> str:
        return "".join(self.rng.choice('abcé"\\\n😀 /zx') for _ in range(self.rng.randint(0, 5)))

    def whole(self) -> int:
        return self.rng.choice([0, 1, -5, 10**12, self.rng.randint(-100, 100)])

    def real(self) -> float:
        return self.rng.choice([0.0, 1.5, -2.25e-7, 1e22, 3.0, self.rng.random(), 1e-300])

    def some(self, make: Any, most: int = 2) -> list[Any]:
        return [make() for _ in range(self.rng.randint(0, most))]

    def maybe(self, make: Any) -> Any:
        return make() if self.rng.random() < 0.5 else None

    def inner(self) -> Inner:
        return Inner(x=self.whole(), y=self.maybe(self.real))

    def pet(self) -> Any:
        if self.rng.random() < 0.5:
            return Cat(kind="cat", lives=self.rng.randint(0, 9), inner=self.inner())
        return Dog(kind="dog", good=self.rng.random() < 0.5, tags=self.some(self.text))

    def household(self) -> Household:
        either = self.rng.choice([self.inner, self.text, lambda: Dog(kind="dog"), lambda: None])()
        return Household(pet=self.pet(), others=self.some(self.pet), either=either)

    def tree(self, depth: int = 3) -> Tree:
        def below() -> Tree:
            return self.tree(depth - 1)

        return Tree(
            value=self.whole(), children=self.some(below) if depth else [], left=self.maybe(below) if depth else None
        )

    def constrained(self) -> Constrained:
        name = "".join(self.rng.choice("abc") for _ in range(self.rng.randint(1, 5)))
        most = [self.whole(), *self.some(self.whole)]
        return Constrained(name=name, count=self.rng.randint(0, 9), fives=5 * self.whole(), most=most)

    def collections(self) -> Collections:
        return Collections(
            words=frozenset(self.rng.sample(["a", "b", "c"], 2)),  # type: ignore[arg-type]
            pair=(self.whole(), self.text()),
            many=tuple(self.some(lambda: self.rng.random() < 0.5, 3)),
            by_name={self.text(): self.whole() for _ in range(2)},
            optional=self.maybe(lambda: {self.text(): self.some(self.inner)}),
        )

    def scalars(self) -> Scalars:
        return Scalars(
            colour=self.rng.choice(list(Colour)),
            rank=self.rng.choice(list(Rank)),
            literal=self.rng.choice(["a", 1, True, None]),
            ident=uuid.UUID(int=self.rng.getrandbits(128)),
            address=ipaddress.IPv4Address(self.rng.getrandbits(32)),
            day=datetime.date.fromordinal(self.rng.randint(1, 3_000_000)),
            anything=self.rng.choice([None, 1, "x", [1, {"a": None}]]),
        )

    def aliased(self) -> Aliased:
        return Aliased(firstName=self.text(), z=self.rng.choice([None, 1, "x"]))

    def boxes(self) -> Boxes:
        return Boxes(a=Box[int](item=self.whole()), b=Box[Box[str]](item=Box[str](item=self.text()), n=2))

    def strict(self) -> Strict:
        return Strict(i=self.whole(), f=self.real(), b=self.rng.random() < 0.5)

    def point(self, depth: int = 2) -> Point:
        pair = self.maybe(lambda: Pair(self.whole(), self.text()))
        below = self.maybe(lambda: self.point(depth - 1)) if depth else None
        return Point(self.real(), self.real(), self.text(), pair, below)


MODELS: dict[Any, Any] = {
    Household: Instances.household,
    Tree: Instances.tree,
    Constrained: Instances.constrained,
    Collections: Instances.collections,
    Scalars: Instances.scalars,
    Aliased: Instances.aliased,
    Boxes: Instances.boxes,
    Strict: Instances.strict,
    Point: Instances.point,
}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_written_validates(model: Any, order: str) -> None:
    """No exponents are written: pydantic reads 1e400 as infinity, and a strict `int` refuses 1.0."""
    grammar = Grammar.from_json_schema(model, property_order=order, number_plain=True)  # type: ignore[arg-type]
    adapter = TypeAdapter(model)
    rng = Random(f"{model.__name__} {order}")
    n_whole = 0
    for _ in range(25):
        text = walk(rng, grammar, BYTES)
        if text is not None:
            n_whole += 1
            adapter.validate_json(text)
    assert n_whole > 5 or model is Point  # a walk may add keys to a Point without end


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("model", MODELS)
def test_what_a_model_dumps_is_accepted(model: Any, order: str) -> None:
    grammar = Grammar.from_json_schema(model, property_order=order)  # type: ignore[arg-type]
    adapter = TypeAdapter(model)
    instances = Instances(7)
    for _ in range(25):
        made = MODELS[model](instances)
        for indent in (None, 2):
            text = adapter.dump_json(made, by_alias=True, indent=indent).decode()
            assert accepts(grammar, text), text
            # What the model refuses is refused: a member of another type, or one too many.
            for wrong in spoilt(json.loads(text)):
                spoilt_text = json.dumps(wrong)
                try:
                    adapter.validate_json(spoilt_text, strict=True)
                except ValidationError:
                    assert model is Point or not accepts(grammar, spoilt_text), spoilt_text


def spoilt(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**data, "no such": 1}, *[{key: data[key] for key in data if key != name} for name in data]]


class Times(BaseModel):
    model_config = ONLY_THESE
    at: datetime.datetime
    when: datetime.time
    taken: datetime.timedelta


class Prices(BaseModel):
    model_config = ONLY_THESE
    price: decimal.Decimal = Field(gt=0, max_digits=5, decimal_places=2)


def test_what_the_schema_of_a_model_does_not_say() -> None:
    """These differences are listed in docs/json_schema_references.md."""
    times = Grammar.from_json_schema(Times)
    noon = datetime.time(12, tzinfo=datetime.timezone.utc)
    zoned = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
    taken = datetime.timedelta(days=3, seconds=5)
    assert accepts(times, Times(at=zoned, when=noon, taken=taken).model_dump_json())
    naive = Times(at=zoned, when=datetime.time(12), taken=taken).model_dump_json()
    assert not accepts(times, naive)
    assert accepts(Grammar.from_json_schema(Times, format_assertion=False), naive)
    prices = Grammar.from_json_schema(Prices)
    for price in ("0.01", "999.99", "12"):
        assert accepts(prices, Prices(price=decimal.Decimal(price)).model_dump_json())
    assert accepts(prices, '{"price": "no number"}') == ("pattern" not in json.dumps(Prices.model_json_schema()))
