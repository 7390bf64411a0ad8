"""What the bodies of requests may hold, and what is refused, with the field that is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from earleymask import Vocabulary
from earleymask.grammar.tools.style import find
from earleymask.integration.server.constraints import Grammars
from earleymask.integration.server.errors import ApiError
from earleymask.integration.server.requests import read_chat, read_response

MESSAGES = [{"role": "user", "content": "hi"}]
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
LARK = {"syntax": "lark", "definition": 'start: "a"+'}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "integer"}}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def chat(**fields: Any) -> Any:
    return read_chat({"model": "m", "messages": MESSAGES, **fields})


def response(**fields: Any) -> Any:
    return read_response({"model": "m", "input": "hi", **fields})


REFUSED_CHATS: list[tuple[dict[str, Any], str]] = [
    ({"model": None}, "model"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content"),
    ({"messages": [{"role": "owner", "content": ""}]}, "messages[0].role"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        "messages[0].content[0].type",
    ),
    ({"messages": [{"role": "user", "content": "", "weight": 1}]}, "messages[0].weight"),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "[1]"}}]}]},
        "messages[0].tool_calls[0].function.arguments",
    ),
    ({"temperature": 2.5}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"top_p": -0.1}, "top_p"),
    ({"seed": 1.5}, "seed"),
    ({"n": 0}, "n"),
    ({"n": 129}, "n"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1, "max_completion_tokens": 2}, "max_completion_tokens"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", 1]}, "stop[1]"),
    ({"stop": ["a"] * 17}, "stop"),
    ({"top_logprobs": 2}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"logit_bias": {"a": 1}}, "logit_bias.a"),
    ({"logit_bias": {"1": 101}}, "logit_bias.1"),
    ({"logit_bias": {"1": 5, "01": 5}}, "logit_bias.01"),
    ({"logit_bias": {"1" * 20: 5}}, "logit_bias." + "1" * 20),
    ({"tool_choice": {"type": "function"}, "tools": [{"type": "function", "function": FUNCTION}]}, "tool_choice"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": {"include_obfuscation": True}}, "stream_options.include_obfuscation"),
    ({"stream": True, "stream_options": {"usage": True}}, "stream_options.usage"),
    ({"store": True}, "store"),
    ({"functions": [FUNCTION]}, "functions"),
    ({"reasoning_effort": "high"}, "reasoning_effort"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {}}, "response_format.type"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": "{}"}}},
        "response_format.json_schema.schema",
    ),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "response_format.json_schema.schema"),
    ({"response_format": {**FORMAT, "regex": "a"}}, "response_format.regex"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": "yes"}}},
        "response_format.json_schema.strict",
    ),
    (
        {
            "tool_choice": {"type": "function", "function": {"name": "f"}, "mode": "auto"},
            "tools": [{"type": "function", "function": FUNCTION}],
        },
        "tool_choice",
    ),
    ({"structured_outputs": {}}, "structured_outputs"),
    ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs.choice"),
    ({"structured_outputs": {"regex": 1}}, "structured_outputs.regex"),
    ({"structured_outputs": {"choice": "a"}}, "structured_outputs.choice"),
    ({"structured_outputs": {"json": {}, "whitespace_pattern": " "}}, "structured_outputs.whitespace_pattern"),
    ({"structured_outputs": {"ebnf": "a"}}, "structured_outputs.ebnf"),
    ({"structured_outputs": {"regex": "a"}, "response_format": FORMAT}, "structured_outputs.regex"),
    ({"guided_json": {}}, "guided_json"),
    ({"grammar": "start: A"}, "grammar"),
    ({"tools": [FUNCTION]}, "tools[0].type"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"tools": [{"type": "function", "function": {"name": "f", "parametres": {}}}]}, "tools"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": "f", "tools": [{"type": "function", "function": FUNCTION}]}, "tool_choice"),
    ({"fit_max_tokens": True, "response_format": FORMAT}, "fit_max_tokens"),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED_CHATS, ids=[json.dumps(each)[:60] for each, _ in REFUSED_CHATS])
def test_chats_that_are_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        chat(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert param.partition("[")[0].rpartition(".")[2] in caught.value.message or param == "tools"


REFUSED_RESPONSES: list[tuple[dict[str, Any], str]] = [
    ({"input": None}, "input"),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
    ({"input": [{"type": "function_call_output", "output": "1"}]}, "input[0].call_id"),
    ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].type"),
    ({"previous_response_id": "r"}, "previous_response_id"),
    ({"background": True}, "background"),
    ({"conversation": "c"}, "conversation"),
    ({"store": True}, "store"),
    ({"truncation": "auto"}, "truncation"),
    ({"reasoning": {"effort": "high"}}, "reasoning"),
    ({"include": ["file_search_call.results"]}, "include[0]"),
    ({"top_logprobs": 1}, "top_logprobs"),
    ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format.schema"),
    ({"text": {"verbosity": "low"}}, "text.verbosity"),
    ({"text": {"format": {}}}, "text.format.type"),
    ({"max_tokens": 5}, "max_tokens"),
    ({"n": 2}, "n"),
    ({"tools": [{"type": "mcp"}]}, "tools[0].type"),
]


@pytest.mark.parametrize(
    ("fields", "param"), REFUSED_RESPONSES, ids=[json.dumps(each)[:60] for each, _ in REFUSED_RESPONSES]
)
def test_responses_that_are_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        response(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    ("read", "fields", "param"),
    [
        (chat, {"model": None}, "model"),
        (chat, {"response_format": {}}, "response_format.type"),
        (chat, {"response_format": {"type": None, "json_schema": {}}}, "response_format.type"),
        (chat, {"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format.json_schema.schema"),
        (chat, {"messages": [{"content": "hi"}]}, "messages[0].role"),
        (response, {"text": {"format": {}}}, "text.format.type"),
        (response, {"text": {"format": {"type": "json_schema", "schema": None}}}, "text.format.schema"),
        (response, {"input": [{"content": "hi"}]}, "input[0].role"),
    ],
)
def test_what_is_missing_is_named(read: Any, fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(**fields)
    error = caught.value
    assert (error.status, error.code, error.param) == (400, "missing_required_parameter", param)
    assert error.message == f"{param} is missing"


def test_null_is_absent_and_what_asks_for_nothing_is_allowed() -> None:
    found = chat(seed=None, tools=None, response_format=None, stop=None, store=False, user="u", modalities=["text"])
    assert found == chat()
    assert (
        response(store=False, background=False, previous_response_id=None, reasoning={}, truncation="disabled").n == 1
    )


def test_members_that_are_null_ask_for_nothing() -> None:
    """The response of a server repeats `reasoning` so, and a client may send it back."""
    assert response(reasoning={"effort": None, "summary": None}).sampling == response().sampling
    with pytest.raises(ApiError, match="reasoning"):
        response(reasoning={"effort": None, "summary": "auto"})


def test_a_member_that_stands_twice_is_refused() -> None:
    """One of two constraints would be dropped."""
    from earleymask.integration.server.preparing import read_json

    for body, name in (
        (b'{"response_format": {"type": "json_object"}, "model": "m", "response_format": null}', "'response_format'"),
        (b'{"structured_outputs": {"json": {"maximum": 3, "maximum": 4}}}', "'maximum'"),
    ):
        with pytest.raises(ApiError, match=f"the member {name} twice") as caught:
            read_json(body)
        assert (caught.value.status, caught.value.code) == (400, "invalid_json")
    assert read_json(b'{"a": [{"b": 1}, {"b": 2}], "b": {"a": {}}}') == {"a": [{"b": 1}, {"b": 2}], "b": {"a": {}}}


def test_calls_or_an_answer_with_allowed_tools_in_both_shapes() -> None:
    """The grammar of calls beside an answer is that of `required`, also where the tools are chosen by a list."""
    vocabulary = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b"</s>"], eos_token_id=256)
    grammars = Grammars(vocabulary, "hermes")
    other = {"type": "function", "function": {**FUNCTION, "name": "g"}}
    tools = [{"type": "function", "function": FUNCTION}, other]
    flat = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}
    nested = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
    }
    for choice in (flat, nested):
        request = chat(tools=tools, tool_choice=choice, response_format=FORMAT)
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None
        for text, is_allowed in (
            ('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', True),
            ('<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>', False),
            ("5", True),
            ("words", False),
        ):
            accepted = matcher.validate(list(text.encode()))
            assert (accepted == len(text)) is is_allowed, (choice, text, accepted)


NESTED = {"type": "function", "function": FUNCTION}
FLAT = {"type": "function", **FUNCTION}
REFERENCE = {"type": "function", "name": "f"}


@pytest.mark.parametrize("read", [chat, response])
@pytest.mark.parametrize("tool", [NESTED, FLAT], ids=["nested tools", "flat tools"])
@pytest.mark.parametrize(
    ("choice", "pointer"),
    [
        ({"type": "allowed_tools", "mode": "auto"}, "#/tool_choice/tools"),
        ({"type": "allowed_tools", "mode": "auto", "tools": None}, "#/tool_choice/tools"),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}, "#/tool_choice/allowed_tools/tools"),
    ],
    ids=["flat", "null", "nested"],
)
def test_allowed_tools_need_their_tools(read: Any, tool: Any, choice: Any, pointer: str) -> None:
    """Without a list, no tool would be allowed: `auto` would become `none`."""
    with pytest.raises(ApiError, match="needs its tools") as caught:
        read(tools=[tool], tool_choice=choice)
    assert (caught.value.status, caught.value.param) == (400, "tool_choice")
    assert pointer in caught.value.message


@pytest.mark.parametrize(
    ("choice", "mode", "echo"),
    [
        ({"type": "function", "function": {"name": "f"}, "mode": None}, "named", REFERENCE),
        ({"type": "function", "name": "f", "function": None}, "named", {**REFERENCE, "function": None}),
        (
            {"type": "allowed_tools", "mode": None, "tools": [REFERENCE]},
            "auto",
            {"type": "allowed_tools", "mode": "auto", "tools": [REFERENCE]},
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"tools": [{"type": "function", "function": {"name": "f"}}]}},
            "auto",
            {"type": "allowed_tools", "mode": "auto", "tools": [REFERENCE]},
        ),
    ],
)
def test_members_of_a_choice_that_are_null_are_absent(choice: Any, mode: str, echo: Any) -> None:
    assert chat(tools=[NESTED], tool_choice=choice).mode == mode
    found = response(tools=[NESTED], tool_choice=choice)
    assert (found.mode, json.loads(found.echo)["tool_choice"]) == (mode, echo)


def test_parameters_that_are_true_are_repeated_as_a_schema() -> None:
    for tool in (
        {"type": "function", "name": "f", "parameters": True},
        {**NESTED, "function": {**FUNCTION, "parameters": True}},
    ):
        found = response(tools=[tool])
        assert json.loads(found.echo)["tools"] == [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
        assert found.tools == [tool]


def test_fields_that_do_not_change_an_answer() -> None:
    cache = {"prompt_cache_key": "k", "prompt_cache_retention": "24h", "prompt_cache_options": {"ttl": "30m"}}
    assert chat(**cache, verbosity="medium", metadata={"a": "b"}).sampling == chat().sampling
    answer = response(**cache, text={"verbosity": "medium"}, include=["reasoning.encrypted_content"])
    assert answer.sampling == response().sampling and answer.answer is None
    with_logprobs = response(include=["reasoning.encrypted_content", "message.output_text.logprobs"])
    assert with_logprobs.sampling.n_alternatives == 0
    for refused in ({"verbosity": "low"}, {"text": {"verbosity": "low"}}, {"include": ["file_search_call.results"]}):
        with pytest.raises(ApiError):
            (chat if "verbosity" in refused else response)(**refused)


def test_fields_of_ours_that_agents_send_with_every_request() -> None:
    ours = {"fit_max_tokens": True, "close_tools": True}
    free = [chat(**ours), response(**ours)]
    assert not any([request.fits for request in free])
    tool = {"type": "function", "function": FUNCTION}
    for request in (
        chat(**ours, max_tokens=99, tools=[tool]),
        response(**ours, max_output_tokens=99, tools=[{"type": "function", **FUNCTION}]),
    ):
        assert request.fits and request.tools_text().closed
    assert not chat(tools=[tool]).tools_text().closed


def test_tools_are_closed_on_demand() -> None:
    """The schema of FUNCTION has no `additionalProperties`."""
    vocabulary = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b"</s>"], eos_token_id=256)
    grammars = Grammars(vocabulary, "hermes")
    tool = {"type": "function", "function": FUNCTION}
    for closed, text, is_allowed in (
        (False, '{"a": 1, "b": 2}', True),
        (True, '{"a": 1, "b": 2}', False),
        (True, '{"a": 1}', True),
    ):
        request = chat(tools=[tool], tool_choice="required", close_tools=closed)
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None
        call = f'<tool_call>\n{{"name": "f", "arguments": {text}}}\n</tool_call>'.encode()
        accepted = matcher.validate(list(call))
        assert (accepted == len(call)) is is_allowed, (closed, text, accepted)


def bytes_vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b"</s>"], eos_token_id=256)


@pytest.mark.parametrize("style", ["llama", "mistral", "harmony"])
def test_calls_or_an_answer_that_reads_as_a_call(style: str) -> None:
    grammars = Grammars(bytes_vocabulary(), style)
    tool = {"type": "function", "function": FUNCTION}
    request = chat(tools=[tool], response_format=FORMAT)
    with pytest.raises(ApiError, match="might read as a call") as caught:
        grammars.matcher(request.tools_text(), request.answer)
    assert (caught.value.param, caught.value.code) == ("response_format.json_schema.schema", "cannot_be_enforced")
    for choice in ("none", "required"):
        request = chat(tools=[tool], response_format=FORMAT, tool_choice=choice)
        assert grammars.matcher(request.tools_text(), request.answer) is not None


def test_calls_or_an_answer_that_is_no_schema() -> None:
    """Its text may begin as a call does."""
    grammars = Grammars(bytes_vocabulary(), "hermes")
    request = chat(tools=[{"type": "function", "function": FUNCTION}], structured_outputs={"regex": "<?[a-z_>]+"})
    with pytest.raises(ApiError, match="might read as a call") as caught:
        grammars.matcher(request.tools_text(), request.answer)
    assert caught.value.param == "structured_outputs.regex"


TEMPLATE = "{% if messages[0].content == 'no' %}{{ raise_exception('it is no question') }}{% endif %}{{ messages }}"


def test_what_the_prompt_refuses_names_the_field_of_its_endpoint() -> None:
    pytest.importorskip("starlette")
    from earleymask.integration.server.options import Options
    from earleymask.integration.server.preparing import Preparer
    from support.tiny_server import tokenizer_with_template

    tokenizer = tokenizer_with_template()
    tokenizer.chat_template = TEMPLATE
    vocabulary = Vocabulary.from_transformers(tokenizer)
    preparer = Preparer(vocabulary, tokenizer, "harmony", Options(name="m"), 300)
    tool = {"name": "f", "parameters": {"type": "object"}}
    with_logprobs = {"chat": {"logprobs": True}, "responses": {"include": ["message.output_text.logprobs"]}}
    for endpoint, prompt, fields in (
        ("chat", "messages", {"tools": [{"type": "function", "function": tool}]}),
        ("responses", "input", {"tools": [{"type": "function", **tool}]}),
    ):
        shown: dict[str, Any] = with_logprobs[endpoint]
        for text, others, param, code, message in (
            ("no", {}, prompt, None, "it is no question"),
            ("a" * 400, {}, prompt, "context_length_exceeded", "300 in all"),
            ("hi", {**fields, **shown}, next(iter(shown)), "unsupported_parameter", "in the style 'harmony'"),
        ):
            messages = text if prompt == "input" else [{"role": "user", "content": text}]
            body = json.dumps({"model": "m", prompt: messages, **others}).encode()
            with pytest.raises(ApiError, match=message) as caught:
                preparer.read(body, endpoint)
            assert (caught.value.status, caught.value.param, caught.value.code) == (400, param, code)


def test_numbers_of_schemas_are_as_they_were_written() -> None:
    pytest.importorskip("starlette")
    from earleymask.integration.server.preparing import read_json

    body = b'{"model": "m", "messages": [{"role": "user", "content": ""}], "temperature": 0.5, "structured_outputs":'
    found = read_chat(read_json(body + b'{"json": {"maximum": 0.10000000000000000000001, "minimum": -1e400}}}'))
    assert found.answer is not None and '"maximum": 0.10000000000000000000001' in found.answer.text
    assert '"minimum": -1E+400' in found.answer.text and found.sampling.temperature == 0.5


def test_the_history_becomes_messages_of_templates() -> None:
    custom = {"id": "d", "type": "custom", "custom": {"name": "run", "input": "x"}}
    given = [
        {"role": "developer", "content": [{"type": "text", "text": "be"}, {"type": "text", "text": " brief"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL, custom]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    calls = [
        {"type": "function", "id": "c", "function": {"name": "f", "arguments": {}}},
        {"type": "function", "id": "d", "function": {"name": "run", "arguments": {"input": "x"}}},
    ]
    expected = [
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    assert chat(messages=given).messages == expected
    items = [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "fc_1", "status": "completed"},
        {"type": "custom_tool_call", "call_id": "d", "name": "run", "input": "x"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
    ]
    assert response(instructions="be brief", input=items).messages == expected


def test_custom_tools_are_read_in_both_shapes() -> None:
    one = chat(tools=[{"type": "custom", "custom": {"name": "run", "format": {"type": "grammar", "grammar": LARK}}}])
    other = response(tools=[{"type": "custom", "name": "run", "format": {"type": "grammar", **LARK}}])
    assert one.tools_text().choice == other.tools_text().choice == '"auto"'
    assert "start" in one.tools_text().definitions and "start" in other.tools_text().definitions


@pytest.mark.parametrize("length", [0, 100_000], ids=["short", "long"])
@pytest.mark.parametrize(
    "style",
    [
        "hermes",
        "llama",
        "gemma",
        "qwen_3_coder",
        "glm_4_7",
        "mimo",
        "minimax",
        "minimax_m3",
        "deepseek_v3_2",
        "kimi_k3",
    ],
)
def test_calls_are_read_back_with_what_is_left_of_the_tools(style: str, length: int) -> None:
    """In some styles, only the schema tells whether 1 is a number."""
    pytest.importorskip("starlette")
    from earleymask.integration.server.engine import Piece
    from earleymask.integration.server.parts import Message
    from earleymask.integration.server.requests import read_back
    from earleymask.tools import ToolCall, render

    schema = {
        "type": "object",
        "description": "x" * length,
        "properties": {
            "text": {"type": "string"},
            "number": {"type": "integer"},
            "list": {"type": "array", "items": {"type": ["string", "integer"]}},
            "inner": {"type": "object", "properties": {"text": {"type": "string"}, "number": {"$ref": "#/$defs/n"}}},
        },
        "$defs": {"n": {"type": "number"}},
    }
    tools = [
        {"type": "function", "function": {"name": "f", "parameters": schema}},
        {"type": "custom", "custom": {"name": "g"}},
    ]
    request = read_chat({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools})
    arguments = {"text": "1", "number": 1, "list": ["a", 1], "inner": {"text": "1", "number": 1.5}}
    for call in (ToolCall("f", arguments), ToolCall("g", input="1")):
        text = render([call], style, tools=tools)
        found = []
        for known in (tools, read_back(tools, find(style))):
            message = Message(replace(request, tools=known), find(style))
            message.add(Piece(text, (), "stop"))
            found.append([(each.name, each.is_custom, each.text) for each in message.calls])
        assert found[0] == found[1] and len(found[0]) == 1
        assert found[0][0][2] == "1" if call.name == "g" else json.loads(found[0][0][2]) == arguments


@pytest.mark.parametrize("style", ["hermes", "qwen_3_coder", "minimax_m3", "deepseek_v3_2"])
def test_what_is_left_of_the_tools_is_small(style: str) -> None:
    """The process of the model gets it: no pass can run while it makes objects of a megabyte."""
    from earleymask.integration.server.requests import read_back

    schema = {"type": "object", "properties": {"a": {"type": "string", "default": [[]] * 100_000}}}
    left = read_back([{"type": "function", "function": {"name": "f", "parameters": schema}}], find(style))
    assert len(json.dumps(left)) < 200
    large = {"type": "object", "properties": {f"a{at}": {"type": "string"} for at in range(30_000)}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": large}}]
    half = {"type": "object", "properties": dict(list(large["properties"].items())[:15_000])}
    both = [{"type": "function", "name": name, "parameters": half} for name in "ab"]
    if style in ("hermes", "deepseek_v3_2"):  # their notations say what is a string
        assert read_back(tools, find(style)) == read_back(both, find(style)) == []
    else:
        assert len(read_back(both[:1], find(style))[0]["parameters"]["properties"]) == 15_000
        with pytest.raises(ApiError, match=r"tools\[1\]: its calls cannot be read .* more than 20,000 members"):
            read_back(both, find(style))
        with pytest.raises(ApiError, match=r"tools\[0\]: its calls cannot be read .* more than 20,000 members"):
            read_back(tools, find(style))


def test_errors_do_not_name_options_of_python() -> None:
    """A client cannot give them. Other hints stay."""
    from earleymask import Grammar, GrammarError, Limits
    from earleymask.integration.server.errors import of_grammar

    def message(load: Any, *given: Any, **options: Any) -> str:
        with pytest.raises(GrammarError) as caught:
            load(*given, **options)
        assert "hint: " in str(caught.value)
        return of_grammar(caught.value, None).message

    schema = {"properties": {name: {"pattern": "(?<x"} for name in "ab"}}
    assert message(Grammar.from_json_schema, schema) == (
        "2 errors in the schema\n"
        "at #/properties/a/pattern: `pattern` cannot be enforced: bad group name at position 0\n"
        "at #/properties/b/pattern: `pattern` cannot be enforced: bad group name at position 0"
    )
    short = {"type": "object", "properties": {"a": {"type": ["string", "null"], "maxLength": 3}}}
    function = {"type": "function", "function": {"name": "f", "parameters": short}}
    told = message(Grammar.from_tools, [function], style="gemma")
    assert told.endswith("the notation of Gemma cannot enforce 'maxLength'")
    told = message(Grammar.from_regex, "a{9}" * 9, limits=Limits(source_characters=9))
    assert told == "the grammar has 36 characters, of at most 9"
    assert message(Grammar.from_lark, "start: a").endswith("hint: define it: `a: ...`")


RECURSIVE = {
    "type": "object",
    "properties": {
        "a": {},
        "b": {
            "properties": {
                "c": {"properties": {"a": {"enum": [[], True]}, "c": {"type": ["object", "number"]}}},
                "b": {
                    "properties": {"a": {"$ref": "#"}, "c": {}},
                    "additionalProperties": False,
                    "patternProperties": {"^a": {"$ref": "#/$defs/x"}},
                    "oneOf": [{"$ref": "#/$defs/x"}, {"$ref": "#"}],
                },
            }
        },
    },
    "$defs": {"x": {"$ref": "#/properties/b"}},
}
"""A schema with very many combinations of types, of which `minimax_m3` shows the deep ones."""


@pytest.mark.parametrize(
    "schema",
    [RECURSIVE, {"type": "object", "properties": {"a": {"type": {}}}}, {"oneOf": []}, {"allOf": [{"type": "string"}]}],
    ids=["recursive", "malformed", "no choice", "no object"],
)
@pytest.mark.parametrize("length", [0, 100_000], ids=["alone", "beside a long one"])
@pytest.mark.parametrize("style", ["qwen_3_coder", "glm_4_7", "minimax", "minimax_m3", "mimo"])
def test_short_schemas_are_read_whatever_they_say(style: str, length: int, schema: Any) -> None:
    """Whether they can be enforced is said when the grammar is loaded, and only if the tool may be called."""
    pytest.importorskip("starlette")
    from earleymask.integration.server.engine import Piece
    from earleymask.integration.server.parts import Message
    from earleymask.integration.server.requests import read_back
    from earleymask.tools import ToolCall, render

    tools = [
        {"type": "function", "function": {"name": "odd", "parameters": schema}},
        {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}},
        {"type": "function", "function": {"name": "long", "parameters": {"title": "x" * length}}},
    ]
    request = read_chat({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools})
    message = Message(replace(request, tools=read_back(tools, find(style))), find(style))
    message.add(Piece(render([ToolCall("f", {"a": "1"})], style, tools=tools[1:]), (), "stop"))
    assert [json.loads(call.text) for call in message.calls] == [{"a": "1"}]


def test_long_schemas_without_an_outline_are_refused() -> None:
    from earleymask.integration.server.requests import WHOLE_CHARACTERS, read_back

    malformed = {"properties": {"a": {"type": {}}}, "title": "x" * (WHOLE_CHARACTERS // 2)}
    tools: list[dict[str, Any]] = [{"type": "function", "name": name, "parameters": malformed} for name in "ab"]
    assert read_back(tools[:1], find("qwen_3_coder"))[0]["parameters"]["title"] == malformed["title"]
    with pytest.raises(ApiError, match=r"tools\[1\]: its calls cannot be read .* malformed"):
        read_back(tools, find("qwen_3_coder"))
    # The shortest come first, wherever they stand.
    tools.insert(0, {"type": "function", "name": "c", "parameters": {"title": "x" * WHOLE_CHARACTERS}})
    with pytest.raises(ApiError, match=r"tools\[2\]: its calls cannot be read .* malformed"):
        read_back(tools, find("qwen_3_coder"))
    left = read_back(tools[:2], find("qwen_3_coder"))
    assert [tool["name"] for tool in left] == ["a", "c"]
    assert left[0]["parameters"]["title"] == malformed["title"] and "title" not in left[1]["parameters"]
