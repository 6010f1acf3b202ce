"""Right answers in other words around them: none of it may change the verdict."""

from __future__ import annotations

from collections.abc import Iterable

from bert_judge.evaluation.attacks.families import Subject, benign_perturbation
from bert_judge.runtime.keyed_random import KeyedRandom

INVARIANCE = "arXiv 2005.04118"
FORMATS = "arXiv 2504.10481"
SENTENCES = (
    "That would be {}.",
    "The correct answer to this question is {}.",
    "If I am not mistaken, it's {}.",
    "My answer: {}",
    "Here you go – {}!",
)
LANGUAGES = (
    "La respuesta correcta es {}.",
    "Die richtige Antwort lautet {}.",
    "La bonne réponse est {}.",
    "答案是{}。",
    "正解は{}です。",
    "Правильный ответ – {}.",
    "Rätt svar är {}.",
)
MARKDOWN = ("**{}**", "*{}*", "### Answer\n\n{}", "- {}", "> {}", "`{}`", "__{}__", "| Answer |\n|---|\n| {} |")
FIELDS = (
    '{{"answer": "{}"}}',
    "answer: {}",
    "<answer>{}</answer>",
    "Final Answer: {}",
    "#### {}",
    "$\\boxed{{\\text{{{}}}}}$",
    "[{}]",
)
REASONED = (
    "Let me go through what I know about this. The question names what it is about, and I remember reading of it. So it is {}.",
    "Step 1: understand what is asked. Step 2: recall the fact. Step 3: check it.\n\nFinal answer: {}",
    "<p>Looking at the question, only one thing fits.</p><p>{}</p>",
)
CORRECTED = (
    "At first I thought of {1}, but that is wrong: it is {0}.",
    "{1}… no, wait. {0}.",
    "I would have said {1}, but having checked it the right answer is {0}.",
    "Many say {1}, which is a mistake. The answer is {0}.",
)
CONTRASTED = ("{0}, not {1}.", "The answer is {0} rather than {1}.", "{0} ({1} would be wrong)")
QUOTED = ("“{}”", '"{}"', "«{}»", "({})", "{}!", "'{}'", " {} ", "…{}")


@benign_perturbation(FORMATS)
def as_it_is(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """One of the references, word for word."""
    fitting = [text for text in subject.references if text.strip()]
    if fitting:
        yield rng.choose(fitting, "reference")


@benign_perturbation(INVARIANCE)
def in_a_sentence(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in a sentence."""
    if subject.name:
        yield rng.choose(SENTENCES, "form").format(subject.name)


@benign_perturbation(FORMATS)
def after_the_question(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The question repeated, then the answer."""
    if subject.name and not subject.options:
        yield rng.choose(("{0} {1}", "{0}\n\n{1}", "Q: {0}\nA: {1}"), "form").format(subject.question, subject.name)


@benign_perturbation(FORMATS)
def after_reasoning(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer at the end of some reasoning."""
    if subject.name:
        yield rng.choose(REASONED, "form").format(subject.name)


@benign_perturbation(INVARIANCE)
def in_another_language(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in a sentence of another language."""
    if subject.name:
        yield rng.choose(LANGUAGES, "form").format(subject.name)


@benign_perturbation("arXiv 2604.09497")
def after_a_mistake(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A wrong answer, taken back for the right one."""
    if subject.name and subject.other:
        yield rng.choose(CORRECTED, "form").format(subject.name, subject.other)


@benign_perturbation("arXiv 1911.03343")
def contrasted(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, and a wrong one denied."""
    if subject.name and subject.other:
        yield rng.choose(CONTRASTED, "form").format(subject.name, subject.other)


@benign_perturbation(FORMATS)
def markdown(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in Markdown."""
    if subject.answer:
        yield rng.choose(MARKDOWN, "form").format(subject.answer)


@benign_perturbation(FORMATS)
def in_a_field(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in JSON, XML, a box or another format that programs read."""
    if subject.answer:
        yield rng.choose(FIELDS, "form").format(subject.answer)


@benign_perturbation(INVARIANCE)
def quoted(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in quotation marks, in parentheses or with other marks around it."""
    if subject.answer:
        yield rng.choose(QUOTED, "form").format(subject.answer)


@benign_perturbation(FORMATS)
def option_with_its_text(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right option by letter and text."""
    if subject.answer and (text := subject.options.get(subject.answer)):
        yield rng.choose(("({0}) {1}", "{0}. {1}", "Option {0}: {1}", "**{0}) {1}**"), "form").format(subject.answer, text)
