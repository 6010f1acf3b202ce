"""Answers that break off before they answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bert_judge.evaluation.attacks.families import Subject, attack
from bert_judge.runtime.keyed_random import KeyedRandom

BROKEN_OFF = "arXiv 2604.09497"
_NUMBER = re.compile(r"\d+")
PLANS = (
    "To find this, I would first look up the facts that the question names, then compare them, and then",
    "We proceed in three steps. Step 1: collect what is known. Step 2: set up the relation. Step 3:",
    "Let me think about what is being asked here. There are several things to consider. To begin with,",
    "Okay, so I need to figure this out. Let me recall what I know about the subject. I remember that",
)
ENDINGS = (
    "Therefore, the answer is",
    "Putting it all together, we get",
    "Hence the final result is:",
    "So, to answer the question, it is",
)
CONSIDERED = (
    "Let me check whether {0} could be it. Suppose that it were {0}; then I would have to see whether",
    "Candidates that come to mind are {0} and {1}. Looking at {0} first, I notice that",
    "Is it {0}? I would need to verify this. Is it {1}? The same holds. Let me look at both again, because",
)


@attack(BROKEN_OFF)
def plan(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A plan, broken off."""
    yield rng.choose(PLANS, "plan")


@attack(BROKEN_OFF)
def broken_off_before_the_answer(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Reasoning that ends where the answer would stand."""
    yield f"{rng.choose(PLANS, 'plan').rsplit('. ', 1)[0]}. {rng.choose(ENDINGS, 'ending')}"


@attack("arXiv 2505.22203")
def numbers_in_unfinished_reasoning(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Numbers that resemble the right one, in a computation without a result."""
    if subject.name is None or subject.options or not (found := _NUMBER.search(subject.name)):
        return
    value, rest = int(found[0][:12]), rng.integers(2, 9, "rest")
    near, half = value + rng.integers(2, 9, "beside"), value // 2
    yield f"We start from the numbers given. First, {near - rest} + {rest} = {near}, and {near} - {half} = {near - half}. Next, we"


@attack("arXiv 2411.04368", quotes=True)
def considered(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer among those to be checked, and no decision."""
    if subject.name and subject.other:
        yield rng.choose(CONSIDERED, "form").format(*rng.shuffled((subject.name, subject.other), "order"))
