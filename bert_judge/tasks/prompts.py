"""Prompts for the models: the question and an instruction on the form of the answer; one wording per family, three styles."""

from bert_judge.runtime.errors import InputError
from bert_judge.tasks.registry import Sample

MARKER = "Final answer:"

# Stands for X in "Final answer: X".
ANSWER_FORMATS = {
    "multiple_choice": "the letter of the right option",
    "reading": "a short span taken from the text, a number, or yes or no",
    "math": "a number or a formula",
    "short_answer": "a name, a number or a few words",
}

INSTRUCTIONS = {
    "free": "",
    "soft": "\n\nAnswer in your own way, and conclude your response with `{marker} X`, where X is {answer_format}.",
    "strict": "\n\nPlease respond only with the exact format `{marker} X`, where X is {answer_format}.",
}


def prompt(sample: Sample, family: str, style: str) -> str:
    """Return the prompt for a question of a `config.Family`, in the style `free`, `soft` or `strict`."""
    return sample.question + instruction(family, style)


def instruction(family: str, style: str) -> str:
    """Return the instruction after the question; empty for `free`. Raises InputError: unknown family."""
    if family not in ANSWER_FORMATS:
        raise InputError(f"family: unknown value {family!r}; choose one of {', '.join(ANSWER_FORMATS)}")
    return INSTRUCTIONS[style].format(marker=MARKER, answer_format=ANSWER_FORMATS[family])


def style_of(prompt: str, question: str) -> str:
    """Return the style of a prompt: `free`, `soft` or `strict`."""
    text = prompt.removeprefix(question)
    if MARKER not in text:
        return "free"
    return "strict" if "respond only" in text else "soft"
