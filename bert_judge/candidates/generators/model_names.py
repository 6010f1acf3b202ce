"""Names of one model: the file or repository that a server has it from, and the snapshots that a vendor's alias stands for."""

import re

# A date or number: gpt-4o-mini-2024-07-18, claude-sonnet-4-20250514, gpt-4-0613, gemini-1.5-pro-002.
_SNAPSHOT = re.compile(r"[-@:](?:latest|\d{4}-\d\d-\d\d|\d{3,8})$")


def short_model_name(model: str) -> str:
    """Return the last part of a model's name, without the suffix of its file."""
    return model.rstrip("/").rpartition("/")[2].removesuffix(".gguf")


def model_family(model: str) -> str:
    """Return a name without folders and snapshot, in lower case."""
    return _SNAPSHOT.sub("", short_model_name(model).casefold())


def is_alias(name: str, served: str) -> bool:
    """Return whether a server that was asked for a model may call it `served`: the same name, or a snapshot of it."""
    requested = short_model_name(name).casefold()
    return requested == short_model_name(served).casefold() or requested.removesuffix("-latest") == model_family(served)
