from typing import Any, Literal

import instructor
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel, ConfigDict, Field

client = instructor.from_openai(OpenAI(), mode=instructor.Mode.JSON_SCHEMA)
by_tools = instructor.from_openai(OpenAI(), mode=instructor.Mode.TOOLS)


def messages(prompt: str) -> list[Any]:
    return [{"role": "user", "content": prompt}]


def ask(prompt: str, constraint: dict[str, Any]) -> str | None:
    completion = client.chat.completions.create(
        model="qwen", messages=messages(prompt), response_model=None, extra_body={"structured_outputs": constraint}
    )
    return completion.choices[0].message.content


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


def fill(prompt: str) -> Person:
    return client.chat.completions.create(model="qwen", messages=messages(prompt), response_model=Person)


class Weather(BaseModel):
    """Forecast the weather."""

    city: Literal["Oslo", "Paris"]
    days: int = Field(ge=1, le=14)


def use_tool(prompt: str) -> list[str]:
    call = by_tools.chat.completions.create(
        model="qwen",
        messages=messages(prompt),
        response_model=Weather,
        parallel_tool_calls=False,
        extra_body={"tools": [pydantic_function_tool(Weather)]},  # with `strict: true`, which instructor leaves out
    )
    return [f"{call.city}: rain for {call.days} days"]
