from typing import Annotated, Any, Literal

from agents import (
    Agent,
    CustomTool,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

set_tracing_disabled(True)  # traces go to OpenAI
chat = OpenAIChatCompletionsModel("qwen", AsyncOpenAI())
responses = OpenAIResponsesModel("qwen", AsyncOpenAI())


def ask(prompt: str, constraint: dict[str, Any]) -> str:
    settings = ModelSettings(extra_body={"structured_outputs": constraint})
    agent = Agent("clerk", model=chat, model_settings=settings)
    return Runner.run_sync(agent, prompt).final_output


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


def fill(prompt: str) -> Person:
    return Runner.run_sync(Agent("clerk", model=chat, output_type=Person), prompt).final_output


@function_tool
def weather(city: Literal["Oslo", "Paris"], days: Annotated[int, Field(ge=1, le=14)]) -> str:
    """Forecast the weather."""
    return f"{city}: rain for {days} days"


def use_tool(prompt: str) -> list[str]:
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=False)
    agent = Agent("clerk", model=chat, tools=[weather], model_settings=settings)
    return [item.output for item in Runner.run_sync(agent, prompt).new_items if item.type == "tool_call_output_item"]


GRAMMAR = r"""
start: "SELECT " column ("," column)* " FROM people" [" LIMIT " /[1-9]/]
column: "name" | "age" | "count(" column ")"
"""


async def run_query(context: Any, query: str) -> str:
    return f"ran {query}"


query = CustomTool(
    name="query",
    description="Run a query.",
    on_invoke_tool=run_query,
    format={"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
)


def use_custom_tool(prompt: str) -> list[str]:
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=False)
    agent = Agent("clerk", model=responses, tools=[query], model_settings=settings)
    return [item.output for item in Runner.run_sync(agent, prompt).new_items if item.type == "tool_call_output_item"]
