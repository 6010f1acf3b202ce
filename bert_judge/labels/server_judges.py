"""Names of language models as judges: `http://HOST/v1`, `http://HOST/v1#MODEL`, or `openai:MODEL`."""

import logging
import re
from collections.abc import Mapping
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import log_once

log = logging.getLogger(__name__)

OPENAI = "openai:"
_NAME = re.compile(r"(?P<scheme>https?):/{1,2}(?P<address>[^#\s/][^#\s]*)(?:#(?P<model>.*))?", re.IGNORECASE)


def is_server_name(name: str) -> bool:
    """Return whether a judge's name is that of a language model behind a server."""
    return name.startswith(OPENAI) or _NAME.fullmatch(name) is not None


def find_server_block(name: str) -> tuple[str, Mapping[str, Any]]:
    """Return a name for the judge and its block of kind `llm`, after asking the server for its models.

    The model replies with its verdict only, from which a server with log-probabilities gives a probability.

    Raises:
        InputError: the server does not respond, rejects the key, or does not have the model; the name contains a password.
    """
    # Imported lazily: they load the client, which other judges do not need.
    from bert_judge.candidates.generators.model_names import short_model_name
    from bert_judge.candidates.generators.openai import find_model
    from bert_judge.config import OpenAIModel
    from bert_judge.judges.probe import short_name

    model: dict[str, Any] = {"generator": "openai", "logprobs": True}
    if name.startswith(OPENAI):
        # Newer models of OpenAI reject `max_tokens`; its older ones know both.
        model |= {"model": name.removeprefix(OPENAI), "max_tokens_field": "max_completion_tokens"}
    elif match := _NAME.fullmatch(name):
        model |= {"model": match["model"] or "", "base_url": f"{match['scheme'].lower()}://{match['address']}"}
    if name == OPENAI:
        raise InputError(f"--judge {name}: add the name of a model, such as openai:gpt-4o-mini")
    try:
        block = OpenAIModel.model_validate(model)
    except ValueError:
        raise InputError(f"--judge {name}: not the address of a server, such as http://localhost:8080/v1#MODEL") from None
    found = find_model(block.base_url, block.api_key_env, block.model)
    plain = short_name(short_model_name(found))
    if plain != short_model_name(found):
        log_once(log, f"the model {found!r} is called {plain!r} here, since its name becomes that of columns and a folder")
    return plain, {"kind": "llm", "reasoning": False, "model": {**model, "model": found}}
