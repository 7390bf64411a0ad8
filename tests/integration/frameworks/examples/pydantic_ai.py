from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, RunContext, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.settings import ModelSettings

chat = OpenAIChatModel("qwen")


def ask(prompt: str, constraint: dict[str, Any]) -> str:
    return Agent(chat).run_sync(prompt, model_settings={"extra_body": {"structured_outputs": constraint}}).output


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


def fill(prompt: str) -> Person:
    return Agent(chat, output_type=NativeOutput(Person)).run_sync(prompt).output


def fill_by_a_tool(prompt: str) -> Person:
    agent = Agent(chat, output_type=Person, model_settings={"parallel_tool_calls": False})
    return agent.run_sync(prompt).output


def weather(city: Literal["Oslo", "Paris"], days: Annotated[int, Field(ge=1, le=14)]) -> str:
    """Forecast the weather."""
    return f"{city}: rain for {days} days"


def call_first(context: RunContext[None]) -> ModelSettings:
    return {"tool_choice": "required" if context.run_step == 1 else "auto", "parallel_tool_calls": False}


def use_tool(prompt: str) -> list[Any]:
    result = Agent(chat, tools=[weather], model_settings=call_first).run_sync(prompt)
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]
