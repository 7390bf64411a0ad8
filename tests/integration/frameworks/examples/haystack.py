from typing import Any, Literal

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from pydantic import BaseModel, Field


def ask(prompt: str, constraint: dict[str, Any]) -> str | None:
    generator = OpenAIChatGenerator(model="qwen", max_retries=0)
    extra = {"extra_body": {"structured_outputs": constraint}}
    return generator.run([ChatMessage.from_user(prompt)], generation_kwargs=extra)["replies"][0].text


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


def fill(prompt: str) -> Person:
    generator = OpenAIChatGenerator(model="qwen", generation_kwargs={"response_format": Person})
    return Person.model_validate_json(generator.run([ChatMessage.from_user(prompt)])["replies"][0].text)


@tool
def weather(city: Literal["Oslo", "Paris"], days: Literal[1, 3, 7]) -> str:
    """Forecast the weather."""
    return f"{city}: rain for {days} days"


def use_tool(prompt: str) -> list[Any]:
    options = {"tool_choice": "required", "parallel_tool_calls": False}
    generator = OpenAIChatGenerator(model="qwen", generation_kwargs=options, tools_strict=True)
    agent = Agent(chat_generator=generator, tools=[weather], exit_conditions=["weather"])
    messages = agent.run([ChatMessage.from_user(prompt)])["messages"]
    return [result.result for message in messages for result in message.tool_call_results]
