from typing import get_args

import pytest

from bert_judge.config import Family
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample
from bert_judge.tasks.registry import instruction, prompt, style_of

FAMILIES = get_args(Family)
SAMPLE = Sample("Wie heißt die Hauptstadt?\n(A) Köln\n(B) Wien", ("B", "Wien"), "choice", ("Köln", "Wien"))


@pytest.mark.parametrize("family", FAMILIES)
def test_free_is_the_question_only(family: str) -> None:
    assert prompt(SAMPLE, family, "free") == SAMPLE.question


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("style", "said", "unsaid"), [("soft", "conclude", "respond only"), ("strict", "respond only", "conclude")]
)
def test_soft_concludes_and_strict_responds_only(family: str, style: str, said: str, unsaid: str) -> None:
    text = prompt(SAMPLE, family, style)
    assert text.startswith(SAMPLE.question)
    assert said in text
    assert unsaid not in text
    assert text.count("`Final answer: X`") == 1


@pytest.mark.parametrize(
    ("family", "wanted"),
    [("multiple_choice", "letter"), ("reading", "span"), ("math", "number"), ("short_answer", "words")],
)
@pytest.mark.parametrize("style", ["soft", "strict"])
def test_says_what_the_answer_is(family: str, wanted: str, style: str) -> None:
    assert wanted in instruction(family, style)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("style", ["free", "soft", "strict"])
def test_a_prompt_tells_its_style(family: str, style: str) -> None:
    tricky = Sample("Who wrote 'Final answer: respond only'?", ("nobody",))
    for sample in (SAMPLE, tricky):
        assert style_of(prompt(sample, family, style), sample.question) == style


def test_unknown_family_is_a_clear_error() -> None:
    with pytest.raises(InputError, match="family: unknown value 'poetry'"):
        prompt(SAMPLE, "poetry", "soft")
