from typing import Annotated, Any, Literal

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI, custom_tool
from pydantic import BaseModel, Field

chat = ChatOpenAI(model="qwen")
responses = ChatOpenAI(model="qwen", output_version="responses/v1")


def ask(prompt: str, constraint: dict[str, Any]) -> str:
    return chat.invoke(prompt, extra_body={"structured_outputs": constraint}).text


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


def fill(prompt: str) -> Person:
    return chat.with_structured_output(Person).invoke(prompt)


@tool
def weather(city: Literal["Oslo", "Paris"], days: Annotated[int, Field(ge=1, le=14)]) -> str:
    """Forecast the weather."""
    return f"{city}: rain for {days} days"


def use(model: ChatOpenAI, tool: BaseTool, prompt: str) -> list[Any]:
    tools = model.bind_tools([tool], strict=True, parallel_tool_calls=False)
    question = HumanMessage(prompt)
    called = tools.invoke([question], tool_choice="required")
    results = [tool.invoke(call) for call in called.tool_calls]
    tools.invoke([question, called, *results])
    return [result.content for result in results]


def use_tool(prompt: str) -> list[str]:
    return use(chat, weather, prompt)


GRAMMAR = r"""
start: "SELECT " column ("," column)* " FROM people" [" LIMIT " /[1-9]/]
column: "name" | "age" | "count(" column ")"
"""


@custom_tool(format={"type": "grammar", "syntax": "lark", "definition": GRAMMAR})
def query(text: str) -> str:
    """Run a query."""
    return f"ran {text}"


def use_custom_tool(prompt: str) -> list[str]:
    return [output["output"] for (output,) in use(responses, query, prompt)]
