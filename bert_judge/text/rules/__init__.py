"""Rule modules that judge an answer where they are sure and abstain otherwise.

A module looks at the type of the reference first (a number, a date, an option, a list …) and abstains at once from any other.
`decide` asks the modules in the order of `MODULES`; the first that does not abstain decides about a reference.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from bert_judge.text.answer_text import read_answer, read_references
from bert_judge.text.extraction import QUOTATION, extract_final_answer
from bert_judge.text.latex import boxed
from bert_judge.text.normalization import normalize_words, word_list
from bert_judge.text.reading import Task, Text, read_task, view
from bert_judge.text.rules.alternatives import decide_alternatives
from bert_judge.text.rules.code import decide_code
from bert_judge.text.rules.commitment import decide_commitment
from bert_judge.text.rules.date import decide_date, read_date
from bert_judge.text.rules.date import is_open as is_open_date
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.formula import decide_formula
from bert_judge.text.rules.identifier import decide_identifier, is_identifier
from bert_judge.text.rules.members import decide_members
from bert_judge.text.rules.number import decide_number, is_number
from bert_judge.text.rules.number import is_open as is_open_number
from bert_judge.text.rules.qualifier import decide_qualifier, has_qualifier
from bert_judge.text.rules.roles import decide_roles
from bert_judge.text.rules.structure import decide_structure
from bert_judge.text.rules.whole_answer import decide_mention, decide_no_answer, decide_option, is_option, stops_early
from bert_judge.text.rules.wording import decide_identical, decide_name, decide_opposite, decide_part
from bert_judge.text.rules.yes_no import decide_yes_no, is_yes_or_no

__all__ = ["MODULES", "Decision", "Module", "decide", "is_open"]


# Characters behind a stated answer; what precedes a longer text is no answer: "Here is the answer: **Step 1** …".
_MAX_AFTER_ANSWER = 400
_CORRECTION_CHARACTERS = 150
# Words behind a stated answer, of which one may begin a correction: "Paris. Wait, no".
_CORRECTING_WORDS = 2
_PLUS_MINUS = re.compile(r"\bplus(?: or |[ /-]*)minus\b|\+\s?/?\s?[-−](?=\s?\.?\d)", re.IGNORECASE)
_STEP = re.compile(r"\W*step \d", re.IGNORECASE)


def is_withdrawn(task: Task, text: str) -> bool:
    """Return whether a correction begins directly behind the stated answer, or a word that withdraws it stands at the end."""
    stated = _state_answer(text)
    behind = _behind(text, stated) if _is_followed(text, stated) else ""
    starts = normalize_words(behind[:_CORRECTION_CHARACTERS])[:_CORRECTING_WORDS]
    ends = normalize_words(text[-_CORRECTION_CHARACTERS:])
    return not (word_list("corrections").isdisjoint(starts) and word_list("withdrawals").isdisjoint(ends))


def is_other_option(task: Task, text: str) -> bool:
    """Return whether a word of correction stands at the end: a model that goes on with further questions states several letters."""
    return not is_option(task, text) and _corrects(text)


def is_corrected(task: Task, text: str) -> bool:
    """Return whether a word of correction stands behind the stated answer, or at the end of a text that states none."""
    return _corrects(_behind(text, _state_answer(text)))


def _corrects(text: str) -> bool:
    words = normalize_words(text[-_CORRECTION_CHARACTERS:])
    return not all(word_list(name).isdisjoint(words) for name in ("corrections", "rejections", "withdrawals"))


class Module(NamedTuple):
    """A rule module.

    Attributes:
        decide: `decide(task, reference, answer)` compares with one reference, and `answer` is the answer that the candidate
            states, or the whole candidate if it states none. With `reads_all`, it is `decide(task, candidate)`.
        expects: whether a reference is of the kind that the module can decide about; it is asked for no other.
        is_taken_back: whether the candidate takes back what the module decides about.
        may_be_open: a match decides nothing where the candidate leaves open which of several values it means.
        may_go_on: an incorrect answer may go on below the one that is stated.
        has_other_names: a reference that shares no word with an incorrect answer may be another name of the same thing.
    """

    name: str
    decide: Callable[..., Decision | None]
    reads_all: bool = False
    expects: Callable[[str], object] = lambda reference: True
    is_taken_back: Callable[[Task, str], bool] = is_withdrawn
    may_be_open: bool = False
    may_go_on: bool = False
    has_other_names: bool = False


# Modules that read all references come first in effect: they decide for all of them.
MODULES: tuple[Module, ...] = (
    Module("no_answer", decide_no_answer, reads_all=True),
    Module("json", decide_structure, reads_all=True),
    Module("option", decide_option, reads_all=True, is_taken_back=is_other_option),
    Module("mention", decide_mention, reads_all=True),
    Module("alternatives", decide_alternatives, reads_all=True),
    Module("commitment", decide_commitment, reads_all=True, is_taken_back=lambda task, text: False),
    Module("code", decide_code),
    Module("identical", decide_identical),
    Module("date", decide_date, expects=read_date, is_taken_back=is_corrected, may_be_open=True),
    Module("part_of_date", decide_date, expects=read_date),
    Module("list", decide_members, may_go_on=True),
    Module("qualifier", decide_qualifier, expects=has_qualifier),
    Module("number", decide_number, expects=is_number, is_taken_back=is_corrected, may_be_open=True),
    Module("formula", decide_formula),
    Module("identifier", decide_identifier, expects=is_identifier),
    Module("part", decide_part),
    Module("name", decide_name, has_other_names=True),
    Module("yes_no", decide_yes_no, expects=is_yes_or_no),
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
    if decision is None or decision.correct is None:
        return decision
    module = _module_of(decision)
    is_unclear = decision.correct and module.may_be_open and _is_left_open(task, text)
    return None if is_unclear or module.is_taken_back(task, text) else decision


def _module_of(decision: Decision) -> Module:
    return next(module for module in MODULES if module.name == decision.module)


_write_plus_minus = view(lambda text: _PLUS_MINUS.sub("±", text))


def is_open(question: str, references: Sequence[str], candidate: str) -> bool:
    """Return whether an answer has a number or a date that may be a reference's: 18.02 of 18.015, July 1948 of 5 July 1948."""
    task = read_task(question, tuple(references))
    text = Text(read_answer(question, task.references, candidate) or "")
    stated = _state_answer(text)
    answer = text if stated is None else stated
    return any(
        is_open_number(task.question, reference, answer) or is_open_date(task, reference, answer)
        for reference in read_references(task.references, text)
    )


def _is_left_open(task: Task, text: str) -> bool:
    modules = (decide_commitment, decide_alternatives)
    return stops_early(text) or any(decide_module(task, text) is not None for decide_module in modules)


def _decide(task: Task, text: str, allowed: Mapping[str, Collection[str]] | None) -> Decision | None:
    modules = [module for module in MODULES if allowed is None or module.name in allowed]

    def ask(*texts: str, reads_all: bool = False) -> Decision | None:
        for module in modules:
            if module.reads_all is not reads_all or not (reads_all or module.expects(texts[0])):
                continue
            decision = module.decide(task, *texts)
            # A function may decide for several modules.
            if decision and decision.module == module.name and (allowed is None or decision.verdict in allowed[module.name]):
                return decision
        return None

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
    if any(decision and _module_of(decision).has_other_names for decision in decisions):
        # References that share no word with the answer are other names of the same person, about which no module decides.
        words = set(normalize_words(answer))
        decisions = [
            decision
            for decision, reference in zip(decisions, task.references, strict=True)
            if decision or not words.isdisjoint(normalize_words(reference))
        ]
    # The other members of a list may stand below the first.
    is_whole = not _is_followed(text, stated) or not any(decision and _module_of(decision).may_go_on for decision in decisions)
    return decisions[0] if all(decisions) and is_whole else None


@view
def _state_answer(text: str) -> str | None:
    """Return the answer that a text states at its end; None if there is none."""
    answer = extract_final_answer(text) or boxed(text)
    if answer is None or _STEP.match(answer) or len(text) - text.rfind(answer) - len(answer) > _MAX_AFTER_ANSWER:
        return None
    return answer


def _behind(text: str, stated: str | None) -> str:
    return text if stated is None else text[text.rfind(stated) + len(stated) :]


def _is_followed(text: str, stated: str | None) -> bool:
    """Return whether words follow the answer that a text states."""
    return stated is not None and any(map(str.isalnum, _behind(text, stated)))
