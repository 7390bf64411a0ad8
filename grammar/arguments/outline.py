"""The types of arguments, and nothing else that a schema says.

Whoever reads a call in one of the styles asks a schema for types alone (`Views`). An outline answers as the schema
does, and is small, so it can be sent to another process and read there at once: in place of a megabyte of defaults,
say.
"""

from __future__ import annotations

import time
from typing import Any

from .styles import TYPES, ArgumentStyle
from .views import ANYTHING, View, Views

MAX_PLACES = 20_000
"""The most members and items of which outlines speak; more are refused. To read so many takes some 20 ms."""
MAX_SECONDS = 0.5
"""The most processor time that outlines take; what takes longer is refused. Schemas that refer to each other may be
combined in very many ways."""


class Outlines:
    """Makes outlines of schemas for one style. `MAX_PLACES` and `MAX_SECONDS` hold for all of them together."""

    def __init__(self, style: ArgumentStyle) -> None:
        self.style = style
        self.n_places = 0
        self.end = time.thread_time() + MAX_SECONDS

    def outline(self, schema: Any) -> dict[str, Any]:
        """Return a schema with the same types of arguments, and of what is in them if the style writes that with tags,
        too.

        Raises ValueError if there are too many places, if it takes too long, or if the schema is malformed or nested
        too deeply.
        """
        try:
            return _Outline(Views(schema), self).schema()
        except RecursionError:
            raise ValueError("the types of the arguments are nested too deeply") from None
        except (TypeError, AttributeError) as error:  # such as a type that is an object
            raise ValueError(f"a schema is malformed: {error}") from None

    def count(self) -> None:
        """Count a place."""
        self.n_places += 1
        if self.n_places > MAX_PLACES:
            raise ValueError(f"the schemas have more than {MAX_PLACES:,} members, items and other members")
        if time.thread_time() > self.end:
            raise ValueError(f"it takes more than {MAX_SECONDS} s to find the types of the arguments")


class _Outline:
    def __init__(self, views: Views, bounds: Outlines) -> None:
        self.views = views
        self.bounds = bounds
        self.is_deep = bool(bounds.style.item)
        self.numbers: dict[View, int] = {}
        self.queue: list[View] = []

    def schema(self) -> dict[str, Any]:
        found = self.about(self.views.root)
        if "object" not in found["type"]:  # no arguments are possible
            found = {"type": ["object"], "additionalProperties": False}
        if self.queue:
            found["$defs"] = definitions = {}
            for number, view in enumerate(self.queue):  # it grows
                definitions[str(number)] = self.about(view)
        return found

    def about(self, view: View) -> dict[str, Any]:
        """Return what an outline says of a view."""
        views = self.views
        types = views.types(view)
        found: dict[str, Any] = {"type": sorted(types)}
        if "object" in types:
            found["properties"] = {name: self.place(views.member(view, name)) for name in views.names(view)}
            found["additionalProperties"] = self.place(views.member(view, None))
        if "array" in types and self.is_deep:
            found["items"] = self.place(views.item(view))
        return found

    def place(self, view: View) -> Any:
        """Return what an outline says where a view is applied."""
        self.bounds.count()
        if view == ANYTHING:
            return True
        types = self.views.types(view)
        if types == TYPES and not self.is_deep:
            return True
        if not self.is_deep or not types & {"object", "array"}:
            return {"type": sorted(types)}
        if view not in self.numbers:
            self.numbers[view] = len(self.queue)
            self.queue.append(view)
        return {"$ref": f"#/$defs/{self.numbers[view]}"}
