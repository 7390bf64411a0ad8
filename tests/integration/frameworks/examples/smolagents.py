from typing import Any

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool


def ask(prompt: str, constraint: dict[str, Any]) -> str:
    model = OpenAIModel("qwen")
    return model.generate([{"role": "user", "content": prompt}], extra_body={"structured_outputs": constraint}).content


@tool
def weather(city: str, days: int) -> str:
    """Forecast the weather.

    Args:
        city: the city.
        days: how many days.
    """
    return f"{city}: rain for {days} days"


weather.inputs["city"]["enum"] = ["Oslo", "Paris"]
weather.inputs["days"] |= {"minimum": 1, "maximum": 14}


def use_tool(prompt: str) -> list[str]:
    extra = {"fit_max_tokens": True, "close_tools": True}
    model = OpenAIModel("qwen", max_tokens=300, parallel_tool_calls=False, extra_body=extra)
    agent = ToolCallingAgent([weather], model, max_steps=4)
    agent.run(prompt)
    steps = [step for step in agent.memory.steps if getattr(step, "tool_calls", None)]
    return [step.observations for step in steps if step.tool_calls[0].name == "weather"]


CODE = r"""
start: "Thought: " /[a-z ]{1,40}/ "\n<code>\nfinal_answer(weather(" city ", " /[1-9]/ "))\n</code>"
city: "\"Oslo\"" | "\"Paris\""
"""


def write_code(prompt: str) -> str:
    model = OpenAIModel("qwen", extra_body={"structured_outputs": {"grammar": CODE}})
    return CodeAgent([weather], model, max_steps=1).run(prompt)
