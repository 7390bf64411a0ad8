"""The three tasks of `examples/`, with tiny models: what must hold whatever a model has learned."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from support.paths import ROOT

torch = pytest.importorskip("torch")
for package in ("transformers", "tokenizers", "tqdm", "pydantic"):
    pytest.importorskip(package)
sys.path.append(str(ROOT))  # `examples` removes it again, for the root would hide the installed package

import earleymask  # noqa: E402
from earleymask.integration.transformers import generate  # noqa: E402
from examples import agent, extraction, measuring, reports, shop, text_to_sql, writing  # noqa: E402
from examples.small_model import END, SmallModel, Training, train  # noqa: E402

torch.set_num_threads(1)
MAKERS = {"extraction": extraction.task, "text_to_sql": text_to_sql.task, "agent": agent.task}


@pytest.fixture(scope="module", params=list(MAKERS))
def trained(request: pytest.FixtureRequest) -> tuple[measuring.Task[Any], SmallModel]:
    task = MAKERS[request.param](300, 2, 0)
    return task, train(task.dialogues, replace(measuring.QUICK, steps=15))


def answers_of(row: measuring.Row) -> list[writing.Answer]:
    assert row.answers
    return row.answers


def test_what_is_finished_under_masks_is_valid(trained: tuple[measuring.Task[Any], SmallModel]) -> None:
    """A model that has learned next to nothing writes nothing valid alone, and nothing invalid under the masks."""
    task, small = trained
    rows = measuring.measure(replace(task, max_tokens=min(task.max_tokens, 90)), small)
    found = measuring.same(rows, small)
    assert found["same_tokens"] == found["own_tokens"]
    for row in rows:
        figures = row.record()
        assert row.n_invalid == 0, row
        if row.way is writing.FREE:
            assert figures["valid"] < 1
        if row.way is writing.BUDGETED:
            assert figures["finished"] == figures["valid"] == 1
        for answer in answers_of(row):
            assert 0 < len(answer.tokens) == answer.n_forced + answer.n_passes <= task.max_tokens
            assert set(answer.seconds) <= set(writing.PARTS)
            assert answer.n_forced == 0 or row.way is writing.FORCED
        if row.way is writing.FORCED:
            assert figures["forced"] > 0 and figures["passes"] < figures["tokens"]


def test_the_loop_writes_what_the_others_write(trained: tuple[measuring.Task[Any], SmallModel]) -> None:
    """`generate` of this package, and that of transformers with a logits processor, give the same tokens."""
    task, small = trained
    grammar = task.grammar(small.vocabulary)
    prompt = small.prompt([task.dialogues[0][0]])
    options = {"max_tokens": 40, "temperature": 0.0, "seed": 0}
    for way in (writing.MASKED, writing.FORCED):
        ours = writing.write(small, prompt, grammar, way, **options)
        if way.forced:
            found = generate(small.model, small.vocabulary, [prompt], grammar, max_new_tokens=40)
            assert (ours.tokens, ours.n_forced) == (found.tokens[0], found.n_forced[0])
        else:
            processor = earleymask.GrammarLogitsProcessor(grammar, small.vocabulary)
            ids = torch.tensor([prompt])
            output = small.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=40,
                do_sample=False,
                logits_processor=[processor],
            )
            assert ours.tokens == output[0, len(prompt) :].tolist()


class Reciter:
    """Stands for a model that has learned one answer by heart: each time, its next token is the most probable one."""

    def __init__(self, n_prompt: int, tokens: list[int], n_logits: int) -> None:
        self.n_read = -n_prompt
        self.tokens = tokens
        self.n_logits = n_logits

    def __call__(self, input_ids: Any, **_: Any) -> SimpleNamespace:
        self.n_read += input_ids.shape[1]
        logits = torch.zeros(1, 1, self.n_logits)
        logits[0, 0, self.tokens[self.n_read]] = 1.0
        return SimpleNamespace(logits=logits, **{writing.CACHE: None})


def test_forced_text_changes_no_answer_that_a_model_knows(trained: tuple[measuring.Task[Any], SmallModel]) -> None:
    """A mask allows every way to cut a text into tokens, and forced text has the tokenizer's own. A model that has
    learned from the tokenizer's texts writes these tokens. So it writes the same with forced text, in fewer passes."""
    task, small = trained
    grammar = task.grammar(small.vocabulary)
    n_forced = 0
    for dialogue in task.dialogues[:25]:
        for turn in range(1, len(dialogue), 2):
            prompt = small.prompt(dialogue[:turn])
            body = small.tokenizer.encode(dialogue[turn], add_special_tokens=False)
            tokens = [*body, small.tokenizer.convert_tokens_to_ids(END)]
            assert len(tokens) < 2 * task.max_tokens
            for way in (writing.FREE, writing.MASKED, writing.FORCED):
                reciter: Any = Reciter(len(prompt), tokens, small.vocabulary.size)
                reciting = SmallModel(reciter, small.tokenizer, small.vocabulary)
                options = {"max_tokens": len(tokens), "temperature": 0.0, "seed": 0}
                answer = writing.write(reciting, prompt, grammar, way, **options)
                assert answer.tokens == tokens and answer.is_finished
                assert answer.text.decode() == dialogue[turn]
                n_forced += answer.n_forced
                assert answer.n_passes == len(tokens) - answer.n_forced
    assert n_forced > 25


def test_extraction_checks_answers() -> None:
    made = extraction.texts(random.Random(1), 60)
    assert {each.record.kind for each in made} == {"order", "complaint", "failure"}
    assert all(extraction.is_valid(each.answer.encode()) for each in made)
    assert not extraction.is_valid(b'{"kind": "failure"}') and not extraction.is_valid(b"{")
    (order,) = [each for each in made if each.record.kind == "order"][:1]
    for change in ({"due": "2026-02-30"}, {"items": []}, {"express": "yes"}, {"more": 1}, {"customer": "ada"}):
        assert not extraction.is_valid(json.dumps({**json.loads(order.answer), **change}).encode())


CONNECTION = shop.database(0)
SCHEMA = shop.Schema(CONNECTION)


def test_the_schema_is_read_from_the_database() -> None:
    assert {table: [column.name for column in columns] for table, columns in SCHEMA.columns.items()} == {
        "customers": ["id", "name", "city", "country"],
        "orders": ["id", "quantity", "day", "status"],
        "products": ["id", "product", "category", "price"],
        "reviews": ["id", "stars"],
    }
    assert [set(join.tables) for join in SCHEMA.joins()] == [
        {"customers"},
        {"orders"},
        {"products"},
        {"reviews"},
        {"customers", "orders"},
        {"customers", "reviews"},
        {"orders", "products"},
        {"products", "reviews"},
        {"customers", "orders", "products"},
        {"customers", "orders", "reviews"},
        {"customers", "products", "reviews"},
        {"orders", "products", "reviews"},
    ]
    assert SCHEMA.join(["customers", "products"]) is None


def allowed(matcher: earleymask.Matcher, remaining: int | None = None) -> list[int]:
    row = earleymask.allocate_bitmask(1, matcher.vocabulary)[0]
    matcher.fill_bitmask(row, remaining=remaining)
    return [int(token) for token in np.unpackbits(row.view(np.uint8), bitorder="little").nonzero()[0]]


def test_columns_are_those_of_the_tables() -> None:
    grammar = earleymask.Grammar.from_lark(shop.grammar_text(SCHEMA))
    letters = earleymask.Vocabulary.bytes()
    join = "orders JOIN customers ON orders.customer_id = customers.id"
    for query, accepted in (
        (f"SELECT customers.city FROM {join}", True),
        (f"SELECT customers.city FROM {join} WHERE customers.city = 'Oslo' AND orders.quantity > 3", True),
        (f"SELECT customers.city, COUNT(*) FROM {join} GROUP BY customers.city ORDER BY COUNT(*) DESC LIMIT 3", True),
        (f"SELECT customers.city, COUNT(*) FROM {join} GROUP BY customers.country", False),
        (f"SELECT products.price FROM {join}", False),
        (f"SELECT customers.city FROM {join} WHERE reviews.stars = 1", False),
        (f"SELECT customers.city FROM {join} WHERE customers.city = 'Paris'", False),
        (f"SELECT customers.city FROM {join} WHERE orders.quantity = 'many'", False),
        ("SELECT city FROM customers WHERE name = 'it''s'", True),
        ("SELECT stars FROM customers", False),
    ):
        text = query.encode()
        assert (earleymask.Matcher(grammar, letters).validate([*text, 256]) == len(text) + 1) is accepted, query
    matcher = earleymask.Matcher(grammar, letters)
    matcher.accept_tokens(b"SELECT reviews.stars, customers.city")
    assert bytes(allowed(matcher)) == b" ,"
    matcher.accept_tokens(b" FROM ")
    # These two tables are joined alone, with orders, and with products: each begins with `orders` or `reviews`.
    assert bytes(allowed(matcher)) == b"or"


def test_every_query_runs() -> None:
    """Random walks through the masks end in queries that SQLite runs, and each question's own query is among them."""
    connection = shop.database(0)
    grammar = earleymask.Grammar.from_lark(shop.grammar_text(SCHEMA))
    letters = earleymask.Vocabulary.bytes()
    rng = random.Random(0)
    kinds = set()
    for _ in range(60):
        matcher = earleymask.Matcher(grammar, letters)
        while not matcher.is_finished():
            matcher.accept(rng.choice(allowed(matcher, 400 - matcher.n_tokens)))
        query = bytes(matcher.tokens[:-1]).decode()
        connection.execute(query).fetchall()
        kinds |= set(re.findall(r"JOIN|WHERE|GROUP BY|ORDER BY|DISTINCT|LIMIT|SUM|COUNT", query))
    assert kinds >= {"JOIN", "WHERE", "GROUP BY", "ORDER BY", "DISTINCT", "LIMIT"}
    for asked in text_to_sql.questions(random.Random(0), connection, 200):
        text = asked.query.encode()
        assert earleymask.Matcher(grammar, letters).validate([*text, 256]) == len(text) + 1, asked


def test_rows_of_queries() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (3), (1), (2)")
    assert text_to_sql.rows(connection, "SELECT a FROM t") == [(1,), (2,), (3,)]
    assert text_to_sql.rows(connection, "SELECT a FROM t ORDER BY a DESC") == [(3,), (2,), (1,)]
    for wrong in ("SELECT b FROM t", "SELECT a FROM", "SELECT 1; SELECT 2", "SELECT '\0", "", "DROP TABLE t"):
        assert text_to_sql.rows(connection, wrong) is None
    before = text_to_sql.rows(CONNECTION, "SELECT * FROM orders")
    assert before and text_to_sql.rows(CONNECTION, "DELETE FROM orders") is None
    assert text_to_sql.rows(CONNECTION, "SELECT * FROM orders") == before


def test_tools_check_what_they_are_given() -> None:
    assert agent.run("look_up", {"table": "price", "key": "lamp"}, None) == "40"
    assert agent.run("add_days", {"date": "2026-02-27", "days": 3}, None) == "2026-03-02"
    assert agent.run("calculate", {}, "3*(40+2)-6") == "120"
    assert agent.run("answer", {"text": "120"}, None) == "120"
    for name, arguments, given in (
        ("look_up", {"table": "price", "key": "Oslo"}, None),
        ("add_days", {"date": "2026-02-30", "days": 3}, None),
        ("add_days", {"date": "2026-02-27", "days": 61}, None),
        ("answer", {}, None),
        ("calculate", {}, None),
        ("calculate", {}, "3*"),
        ("calculate", {}, "2**9"),
        ("calculate", {}, "open('x')"),
        ("fly", {}, None),
    ):
        with pytest.raises(agent.CallError):
            agent.run(name, arguments, given)


def test_calls_of_the_agent() -> None:
    grammar = agent.grammar(earleymask.Vocabulary.bytes())
    call = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
    for name, arguments, accepted in (
        ("look_up", '{"table": "stock", "key": "lamp"}', True),
        ("look_up", '{"table": "stock", "key": "Oslo"}', False),
        ("calculate", '{"input": "2*(3+40)"}', True),
        ("calculate", '{"input": "2*(3+40"}', False),
        ("add_days", '{"date": "2026-02-28", "days": -60}', True),
        ("add_days", '{"date": "2026-02-29", "days": 1}', False),
        ("fly", "{}", False),
    ):
        text = (call % (name, arguments)).encode()
        matcher = earleymask.Matcher(grammar, earleymask.Vocabulary.bytes())
        assert (matcher.validate([*text, 256]) == len(text) + 1) is accepted, text
    with pytest.raises(agent.CallError):
        agent.read_call("I do not know.")
    with pytest.raises(agent.CallError):
        agent.read_call("Let me see. " + call % ("answer", '{"text": "1"}'))
    for made in agent.sessions(random.Random(0), 20, 5)[1]:
        called = [agent.read_call(text) for text in made.calls]
        assert [agent.run(each.name, each.arguments, each.input) for each in called] == made.results
        assert called[-1].name == "answer" and made.dialogue[0] == made.question


def test_models_are_kept_in_the_folder_alone(tmp_path: Path) -> None:
    training = Training(steps=2, rows=2, vocabulary=300, width=32, layers=1)
    dialogues = [("a b", "b a"), ("c d", "d c"), ("e", "e")]
    made, again = (train(dialogues, training, folder) for folder in (None, tmp_path))
    (kept,) = tmp_path.iterdir()
    written = (kept / "config.json").stat().st_mtime_ns
    read = train(dialogues, training, tmp_path)
    assert (kept / "config.json").stat().st_mtime_ns == written and list(tmp_path.iterdir()) == [kept]
    ids = torch.tensor([made.prompt(["a b"])])
    with torch.inference_mode():
        scores = [small.model(input_ids=ids).logits for small in (made, again, read)]
    assert torch.equal(scores[0], scores[1]) and torch.equal(scores[1], scores[2])


@pytest.mark.parametrize("into_docs", [True, False])
def test_the_command_writes_tables_and_pictures(
    into_docs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    results, page, elsewhere = tmp_path / "results", tmp_path / "page.md", tmp_path / "elsewhere"
    page.write_text("before\n<!-- agent -->\nold\n<!-- /agent -->\nafter\n")
    monkeypatch.setattr(reports, "RESULTS", results)
    monkeypatch.setattr(reports, "PAGE", page)
    arguments = ["--quick", "--steps", "1", "--questions", "1", "--threads", "1"]
    if not into_docs:
        arguments += ["--output", str(elsewhere)]
    measuring.run_all([agent.task], arguments, into_docs=True)
    folder = results if into_docs else elsewhere
    record = json.loads((folder / "agent.json").read_text())
    table = reports.markdown(record)
    assert table in capsys.readouterr().out and table in (folder / "agent.md").read_text()
    assert (folder / "agent.png").read_bytes().startswith(b"\x89PNG")
    assert [row["way"] for row in record["rows"]] == [way.name for way in writing.WAYS] * 2
    assert len(list(folder.iterdir())) == 3 and results.exists() is into_docs
    shown = table if into_docs else "old\n"
    assert page.read_text() == f"before\n<!-- agent -->\n{shown}<!-- /agent -->\nafter\n"


@pytest.mark.parametrize("name", MAKERS)
def test_the_page_shows_the_recorded_results(name: str) -> None:
    record = json.loads((reports.RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    page = reports.PAGE.read_text(encoding="utf-8")
    assert reports.put_into_page(record, page) == page, "run python -m examples"
    for row in record["rows"]:
        if row["way"] != writing.FREE.name:
            assert row["valid"] >= row["finished"], "a finished answer is valid"


def test_the_validator_of_extraction_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(extraction.SCHEMA)
