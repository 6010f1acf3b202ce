"""Rule modules that judge an answer where they are sure and abstain otherwise.

A module looks at the type of the reference first (a number, a date, an option, a list …) and abstains at once from any other.
`decide` asks the modules in the order of `MODULES`; the first that does not abstain decides about a reference.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from bert_judge.text.answer_text import read_answer, read_references
from bert_judge.text.extraction import QUOTATION, extract_final_answer
from bert_judge.text.latex import boxed
from bert_judge.text.normalization import normalize_words, word_list
from bert_judge.text.reading import Text, view
from bert_judge.text.rules.alternatives import decide_alternatives
from bert_judge.text.rules.code import decide_code
from bert_judge.text.rules.commitment import decide_commitment
from bert_judge.text.rules.date import decide_date, decide_part_of_date
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.formula import decide_formula
from bert_judge.text.rules.identifier import decide_identifier
from bert_judge.text.rules.members import decide_members
from bert_judge.text.rules.number import decide_number
from bert_judge.text.rules.number import is_open as is_open_number
from bert_judge.text.rules.qualifier import decide_qualifier
from bert_judge.text.rules.roles import decide_roles
from bert_judge.text.rules.structure import decide_structure
from bert_judge.text.rules.whole_answer import decide_mention, decide_no_answer, decide_option, is_option, stops_early
from bert_judge.text.rules.wording import decide_identical, decide_name, decide_opposite, decide_part
from bert_judge.text.rules.yes_no import decide_yes_no
from bert_judge.text.task import Task, read_task

__all__ = ["MODULES", "Decision", "Module", "decide", "is_open"]


# Characters behind a stated answer; what precedes a longer text is no answer: "Here is the answer: **Step 1** …".
_MAX_AFTER_ANSWER = 400
# Modules whose value may stand in an answer that is corrected behind it.
_MAY_BE_TAKEN_BACK = frozenset({"number", "option", "date"})
_MAY_BE_LEFT_OPEN = frozenset({"number", "date"})
_CORRECTION_CHARACTERS = 150
# Words behind a stated answer, of which one may begin a correction: "Paris. Wait, no".
_CORRECTING_WORDS = 2
_PLUS_MINUS = re.compile(r"\bplus(?: or |[ /-]*)minus\b|\+\s?/?\s?[-−](?=\s?\.?\d)", re.IGNORECASE)
_STEP = re.compile(r"\W*step \d", re.IGNORECASE)


class Module(NamedTuple):
    """A rule module.

    `decide(question, reference, answer)` compares with one reference, and `answer` is the answer that the candidate states, or the
    whole candidate if it states none. With `reads_all`, it is `decide(question, references, candidate)`.
    """

    name: str
    decide: Callable[..., Decision | None]
    reads_all: bool = False


# Modules that read all references come first in effect: they decide for all of them.
MODULES: tuple[Module, ...] = (
    Module("no_answer", decide_no_answer, reads_all=True),
    Module("json", decide_structure, reads_all=True),
    Module("option", decide_option, reads_all=True),
    Module("mention", decide_mention, reads_all=True),
    Module("alternatives", decide_alternatives, reads_all=True),
    Module("commitment", decide_commitment, reads_all=True),
    Module("code", decide_code),
    Module("identical", decide_identical),
    Module("date", decide_date),
    Module("part_of_date", decide_part_of_date),
    Module("list", decide_members),
    Module("qualifier", decide_qualifier),
    Module("number", decide_number),
    Module("formula", decide_formula),
    Module("identifier", decide_identifier),
    Module("part", decide_part),
    Module("name", decide_name),
    Module("yes_no", decide_yes_no),
    Module("opposite", decide_opposite),
    Module("roles", decide_roles),
)


def decide(
    question: str, references: Sequence[str], candidate: str, *, allowed: Mapping[str, Collection[str]] | None = None
) -> Decision | None:
    """Return correct if a module says so for any reference, incorrect if modules say so for all of them, else None.

    A comparison that reached a limit is returned if no reference is correct; of the modules `allowed`, it counts as an abstention.

    `allowed` maps the names of the modules that may decide to the verdicts that they may give; None: all. A module that may not
    give its verdict leaves the row to the modules behind it.

    A number, date or option decides nothing where the answer ends with a word of correction or contrast: it may be the one that is
    taken back ("Final answer: 43. Correction: 45."). The words of an option are no correction: "Not attempted". Nor does a number
    or date decide where it is one of several and none is chosen, or a step of a calculation that is cut off. Only `commitment`
    decides about an answer that ends with a word that withdraws it.
    """
    task = read_task(question, tuple(references))
    text = read_answer(question, task.references, candidate)
    if not references or text is None:
        return None
    text = Text(_write_plus_minus(QUOTATION.sub("", text)))
    signed = tuple(map(_write_plus_minus, task.references))
    task = task if signed == task.references else read_task(question, signed)
    decision = _decide(task, text, allowed)
    if decision is None or decision.correct is None or decision.module == "commitment":
        return decision
    if decision.correct and decision.module in _MAY_BE_LEFT_OPEN and _is_left_open(task, text):
        return None
    if decision.module == "option" and is_option(task, text):
        return decision
    return None if _may_be_corrected(decision.module, text) else decision


@view
def _write_plus_minus(text: str) -> str:
    return _PLUS_MINUS.sub("±", text)


def is_open(question: str, references: Sequence[str], candidate: str) -> bool:
    """Return whether an answer has a number or a date that may be a reference's: 18.02 of 18.015, July 1948 of 5 July 1948."""
    task = read_task(question, tuple(references))
    text = Text(read_answer(question, task.references, candidate) or "")
    stated = _state_answer(text)
    answer = text if stated is None else stated
    return any(
        is_open_number(task.question, reference, answer) or decide_part_of_date(task, reference, answer) is not None
        for reference in read_references(task.references, text)
    )


def _may_be_corrected(module: str, text: str) -> bool:
    """Return whether words of correction stand behind the stated answer, or at the end of a text that states none.

    For options, the end of the text always counts: a model that goes on with further questions states several letters.
    """
    stated = _state_answer(text)
    behind = text if stated is None or module == "option" else text[text.rfind(stated) + len(stated) :]
    if module in _MAY_BE_TAKEN_BACK:
        return not _corrections().isdisjoint(normalize_words(behind[-_CORRECTION_CHARACTERS:]))
    starts = normalize_words(behind[:_CORRECTION_CHARACTERS])[:_CORRECTING_WORDS] if _is_followed(text, stated) else ()
    ends = normalize_words(text[-_CORRECTION_CHARACTERS:])
    return not (word_list("corrections").isdisjoint(starts) and word_list("withdrawals").isdisjoint(ends))


def _is_left_open(task: Task, text: str) -> bool:
    modules = (decide_commitment, decide_alternatives)
    return stops_early(text) or any(decide_module(task, text) is not None for decide_module in modules)


@cache
def _corrections() -> frozenset[str]:
    return word_list("corrections") | word_list("rejections") | word_list("withdrawals")


def _decide(task: Task, text: str, allowed: Mapping[str, Collection[str]] | None) -> Decision | None:
    modules = [module for module in MODULES if allowed is None or module.name in allowed]

    def ask(*texts: str, reads_all: bool = False) -> Decision | None:
        decisions = (module.decide(task, *texts) for module in modules if module.reads_all is reads_all)
        is_allowed = (lambda decision: decision.verdict in allowed[decision.module]) if allowed is not None else bool
        return next((decision for decision in decisions if decision and is_allowed(decision)), None)

    if decision := ask(text, reads_all=True):
        return decision
    if len(task.references) > 1 and task.choice and task.choice.by_letter:
        # Letter and text of one option; another option's text may be a mention.
        return None
    stated = _state_answer(text)
    answer = text if stated is None else stated
    decisions = [ask(reference, answer) for reference in read_references(task.references, text)]
    if correct := next((decision for decision in decisions if decision and decision.correct), None):
        return correct
    if unfinished := next((decision for decision in decisions if decision and decision.correct is None), None):
        return unfinished
    if any(decision and decision.module == "name" for decision in decisions):
        # References that share no word with the answer are other names of the same person, about which no module decides.
        words = set(normalize_words(answer))
        decisions = [
            decision
            for decision, reference in zip(decisions, task.references, strict=True)
            if decision or not words.isdisjoint(normalize_words(reference))
        ]
    # The other members of a list may stand below the first.
    is_whole = not _is_followed(text, stated) or not any(decision and decision.module == "list" for decision in decisions)
    return decisions[0] if all(decisions) and is_whole else None


@view
def _state_answer(text: str) -> str | None:
    """Return the answer that a text states at its end; None if there is none."""
    answer = extract_final_answer(text) or boxed(text)
    if answer is None or _STEP.match(answer) or len(text) - text.rfind(answer) - len(answer) > _MAX_AFTER_ANSWER:
        return None
    return answer


def _is_followed(text: str, stated: str | None) -> bool:
    """Return whether words follow the answer that a text states."""
    return stated is not None and any(map(str.isalnum, text[text.rfind(stated) + len(stated) :]))
