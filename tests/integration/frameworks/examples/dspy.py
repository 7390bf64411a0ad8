import os
from typing import Any, Literal

import dspy
import litellm
from pydantic import BaseModel, Field

litellm.register_model({"openai/qwen": {"supports_response_schema": True, "supports_function_calling": True}})
address = os.environ["OPENAI_BASE_URL"]
lm = dspy.LM("openai/qwen", engine="litellm", api_base=address, api_key="none", cache=False)
dspy.configure(lm=lm, adapter=dspy.JSONAdapter(parallel_tool_calls=False))


def ask(prompt: str, constraint: dict[str, Any]) -> str:
    return lm(prompt, extra_body={"structured_outputs": constraint})[0]


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


class WhoIs(dspy.Signature):
    question: str = dspy.InputField()
    person: Person = dspy.OutputField()


def fill(prompt: str) -> Person:
    return dspy.Predict(WhoIs)(question=prompt).person


def weather(city: Literal["Oslo", "Paris"], days: Literal[1, 3, 7]) -> str:
    """Forecast the weather."""
    return f"{city}: rain for {days} days"


class Call(dspy.Signature):
    question: str = dspy.InputField()
    tools: list[dspy.Tool] = dspy.InputField()
    calls: dspy.ToolCalls = dspy.OutputField()


def use_tool(prompt: str) -> list[str]:
    tool = dspy.Tool(weather)
    definition = tool.format_as_litellm_function_call()
    definition["function"]["strict"] = True
    definition["function"]["parameters"]["additionalProperties"] = False
    config = {"tool_choice": "required", "extra_body": {"tools": [definition]}}
    calls = dspy.Predict(Call)(question=prompt, tools=[tool], config=config).calls
    return [tool(**call.args) for call in calls.tool_calls]
