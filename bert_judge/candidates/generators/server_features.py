"""What a server that speaks OpenAI's protocol supports: how it restricts a reply to a few words, and fields that it rejects.

Servers ignore restrictions that they do not know without an error (vLLM: `guided_choice` and `grammar`; llama.cpp:
`structured_outputs`), so the only way to find out is to ask: a question whose natural answer is none of the allowed words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bert_judge.candidates.generators.protocol import Request
from bert_judge.tasks import Sample

# Restrictions in the order in which they are tried. The first two allow the bare word, so that its tokens come first; the third
# wraps it in JSON.
CONSTRAINTS = ("structured_outputs", "grammar", "json_schema")
AUTO, UNCONSTRAINED = "auto", "none"
# A reply that is restricted to these words is one of them; any other is not.
PROBE = Request("probe", 0, "Say hello.", Sample("", ()), ("violet", "orange"))
# Enough for the restricted word in JSON with white space. A model that reasons first gets the tokens of an ordinary reply.
PROBE_TOKENS = 64
# Field that some servers reject for some models → its replacement; None: it is left out.
REPLACEMENTS = {
    "max_tokens": "max_completion_tokens",
    **dict.fromkeys(("temperature", "top_p", "seed", "logprobs", "top_logprobs", "chat_template_kwargs")),
}


@dataclass(frozen=True)
class ServerFeatures:
    """Result of a probe.

    Attributes:
        constraint: one of `CONSTRAINTS`, or `UNCONSTRAINED`.
        rejected: fields of `REPLACEMENTS` that the server does not accept for this model.
        has_logprobs: a restricted reply came with log-probabilities.
    """

    constraint: str
    rejected: frozenset[str] = frozenset()
    has_logprobs: bool = False

    def adapt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request body without the rejected fields."""
        named = ((REPLACEMENTS[name] if name in self.rejected else name, value) for name, value in body.items())
        return {name: value for name, value in named if name is not None}

    def reject(self, message: str, body: Mapping[str, Any]) -> "ServerFeatures | None":
        """Return the features after an error message that names a field of the body; None if it names none."""
        # The longest name first: `top_logprobs` contains `logprobs`.
        names = sorted(set(REPLACEMENTS) & set(body) - self.rejected, key=len, reverse=True)
        name = next((name for name in names if name in message), None)
        if name is None:
            return None
        both = {"logprobs", "top_logprobs"}
        return replace(self, rejected=self.rejected | (both if name in both else {name}))

    def describe(self) -> str:
        """Return the features in a few words."""
        fields = f"; without {', '.join(sorted(self.rejected))}" if self.rejected else ""
        if self.constraint == UNCONSTRAINED:
            return f"replies cannot be restricted to a verdict{fields}"
        return f"{self.constraint}; {'log-probabilities' if self.has_logprobs else 'no log-probabilities'}{fields}"


def constrain(method: str, choices: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a request body that restrict a reply to the choices."""
    match method:
        case "structured_outputs":
            return {"structured_outputs": {"choice": list(choices)}}
        case "grammar":
            # GBNF; a choice is a plain word.
            return {"grammar": "root ::= " + " | ".join(f'"{choice}"' for choice in choices)}
        case "json_schema":
            schema = {
                "type": "object",
                "properties": {"answer": {"type": "string", "enum": list(choices)}},
                "required": ["answer"],
                "additionalProperties": False,
            }
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}}
        case _:
            return {}
