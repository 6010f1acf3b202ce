"""What a model is asked: the question, and what is wanted of the answer's form. One wording per family, three styles."""

from __future__ import annotations

from bert_judge.runtime.errors import InputError
from bert_judge.tasks.registry import Sample

MARKER = "Final answer:"

# What stands for X in "Final answer: X".
WANTED = {
    "multiple_choice": "the letter of the right option",
    "reading": "a short span taken from the text, a number, or yes or no",
    "math": "a number or a formula",
    "short_answer": "a name, a number or a few words",
}

# Free: nothing is said about the form.
INSTRUCTIONS = {
    "free": "",
    "soft": "\n\nAnswer in your own way, and conclude your response with `{marker} X`, where X is {wanted}.",
    "strict": "\n\nPlease respond only with the exact format `{marker} X`, where X is {wanted}.",
}


def prompt(sample: Sample, family: str, style: str) -> str:
    """The text for the model.

    Args:
        family: one of `config.Family`; it says what X is.
        style: `free`, `soft` or `strict`.

    Raises:
        InputError: no such family or style.
    """
    return sample.question + instruction(family, style)


def instruction(family: str, style: str) -> str:
    """What is said after the question; empty for `free`.

    Raises:
        InputError: no such family or style.
    """
    if style not in INSTRUCTIONS:
        raise InputError(f"prompt_style: {style!r} is none of {', '.join(INSTRUCTIONS)}")
    if family not in WANTED:
        raise InputError(f"family: {family!r} is none of {', '.join(WANTED)}")
    return INSTRUCTIONS[style].format(marker=MARKER, wanted=WANTED[family])


def style_of(prompt: str, question: str) -> str:
    """The style that made a prompt: `free`, `soft` or `strict`."""
    said = prompt.removeprefix(question)
    if MARKER not in said:
        return "free"
    return "strict" if "respond only" in said else "soft"
