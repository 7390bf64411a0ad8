from typing import Any

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool


class StrictModel(OpenAIModel):
    def _prepare_completion_kwargs(self, *given: Any, **options: Any) -> dict[str, Any]:
        completion = super()._prepare_completion_kwargs(*given, **options)
        for definition in completion.get("tools", ()):
            definition["function"]["strict"] = True
            definition["function"]["parameters"]["additionalProperties"] = False
        return completion


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
    model = StrictModel("qwen", parallel_tool_calls=False, max_tokens=300, extra_body={"fit_max_tokens": True})
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
