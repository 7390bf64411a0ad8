import json
from typing import Any

import litellm
from pydantic import BaseModel, Field


def ask(prompt: str, constraint: dict[str, Any]) -> str | None:
    messages = [{"role": "user", "content": prompt}]
    answer = litellm.completion("openai/qwen", messages, extra_body={"structured_outputs": constraint})
    return answer.choices[0].message.content


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


def fill(prompt: str) -> Person:
    answer = litellm.completion("openai/qwen", [{"role": "user", "content": prompt}], response_format=Person)
    return Person.model_validate_json(answer.choices[0].message.content)


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Forecast the weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"enum": ["Oslo", "Paris"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


def use_tool(prompt: str) -> list[str]:
    messages: list[Any] = [{"role": "user", "content": prompt}]
    tools = {"tools": [WEATHER], "parallel_tool_calls": False}
    called = litellm.completion("openai/qwen", messages, **tools, tool_choice="required").choices[0].message
    messages.append(called)
    results = []
    for call in called.tool_calls:
        given = json.loads(call.function.arguments)
        results.append(f"{given['city']}: rain for {given['days']} days")
        messages.append({"role": "tool", "tool_call_id": call.id, "content": results[-1]})
    litellm.completion("openai/qwen", messages, **tools)
    return results


GRAMMAR = r"""
start: "SELECT " column ("," column)* " FROM people" [" LIMIT " /[1-9]/]
column: "name" | "age" | "count(" column ")"
"""
QUERY = {
    "type": "custom",
    "name": "query",
    "description": "Run a query.",
    "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
}


def use_custom_tool(prompt: str) -> list[str]:
    items: list[Any] = [{"role": "user", "content": prompt}]
    tools = {"tools": [QUERY], "parallel_tool_calls": False}
    called = litellm.responses(items, "openai/qwen", **tools, tool_choice="required").output
    results = []
    for call in called:
        results.append(f"ran {call.input}")
        items += [call, {"type": "custom_tool_call_output", "call_id": call.call_id, "output": results[-1]}]
    litellm.responses(items, "openai/qwen", **tools)
    return results
