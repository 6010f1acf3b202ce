"""Made-up answers in which the right answer meets a wrong one: what counts is the one that is settled on.

The same words say both: "X. Hmm, that can't be. Y." is wrong with the right answer first and right with it last.
"""

from __future__ import annotations

from bert_judge.draws import Dice
from bert_judge.training.augmentation.rows import Made, Others, Row, said, shares_words

# "Perhaps yes, perhaps Rome" is nothing that anybody says.
BINARY = frozenset({"yes", "no", "true", "false"})
# {0} is given up for {1}.
CHANGES_OF_MIND = (
    "{0}. Hmm, that can't be. {1}.",
    "I'd say {0}. No: {1}.",
    "First guess: {0}. Second look: it has to be {1}.",
    "{0}, I mean {1}.",
    "Scratch that, not {0}; {1} is what I settle on.",
    "{1}. I had {0} before, but that was an error.",
    "It used to be thought that it is {0}. In fact it is {1}.",
    "{1}; people mix it up with {0}.",
    "{1} is right, {0} is wrong.",
    "Rather than {0}, it is {1}.",
    "It isn't {0}. It is {1}.",
    "One might answer {0}, yet that is a myth, and {1} is the fact.",
    "**{0}**\n\nSorry, I misread the question. **{1}**",
    "Let me see: {0}? That does not fit. {1}? Yes, {1}.",
    "{1}, instead of {0}.",
    "{1} (never {0})",
)
GIVEN_UP = (
    "{0}. Forget what I just said.",
    "Maybe {0}, though actually that does not work, and nothing else comes to mind.",
    "{0}, or so I believed; it turns out to be untrue.",
    "I considered {0} and ruled it out.",
    "{0} has to be excluded.",
    "It would be wrong to say {0}.",
    "{0} is what most would answer, incorrectly.",
    "{0}. Hmm, no. I don't know.",
    "**{0}**\n\nSorry, that was a slip. I have no answer.",
    "It isn't {0}.",
    "That it is {0} is a myth.",
    "{0} does not fit.",
)
# Of several answers; the names are put in one after the other.
BETWEEN = (" or maybe ", " or ", ", perhaps ", "; ", " | ", "\n", ", ", " and/or ", " / ")
UNDECIDED = (
    "Perhaps {}.",
    "I hesitate between these: {}.",
    "Probably one of {}.",
    "My guesses, in no order: {}",
    "{}, hard to say.",
    "{}? I would have to look it up.",
    "Both could be meant: {}.",
    "It might be {}.",
    "{}",
    "Opinions differ: {}.",
    "Depending on what is meant, {}.",
    "I am looking at {} and cannot rule any of them out yet, so",
)
DECISIONS = ("I decide: {}.", "In the end, {}.", "Final answer: {}", "All in all it is {}.", "So: {}", "My pick is {}.")


def taken_back(row: Row, dice: Dice, others: Others) -> Made | None:
    """A reference, given up: for another answer or for none."""
    if not (pair := _pair(row, dice, others)):
        return None
    reference, other = pair
    if dice.happens(0.35, "nothing instead"):
        return Made(row.references, dice.choose(GIVEN_UP, "form").format(reference), False)
    return Made(row.references, dice.choose(CHANGES_OF_MIND, "form").format(reference, other), False)


def undecided(row: Row, dice: Dice, others: Others) -> Made | None:
    """A reference among other answers, and no decision, or one for another answer."""
    if not (pair := _pair(row, dice, others)):
        return None
    text = _listed(*pair, row, dice, others)
    if dice.happens(0.25, "other decided"):
        text = f"{text} {dice.choose(DECISIONS, 'decision').format(pair[1])}"
    return Made(row.references, text, False)


def settled(row: Row, dice: Dice, others: Others) -> Made | None:
    """Another answer, given up for a reference; or several, of which a reference is chosen."""
    if not (pair := _pair(row, dice, others)):
        return None
    reference, other = pair
    if dice.happens(0.3, "several"):
        text = f"{_listed(reference, other, row, dice, others)} {dice.choose(DECISIONS, 'decision').format(reference)}"
    elif dice.happens(0.2, "denied first"):
        text = f"{dice.choose(GIVEN_UP, 'denial').format(other)} {said(reference, dice)}"
    else:
        text = dice.choose(CHANGES_OF_MIND, "form").format(other, reference)
    return Made(row.references, text, True)


def _pair(row: Row, dice: Dice, others: Others) -> tuple[str, str] | None:
    """A reference and a wrong answer that resembles it."""
    short = [text for text in row.short_references if text.strip(" .").casefold() not in BINARY]
    if row.options or not short:
        return None
    reference = dice.choose(short, "reference")
    borrowed = others.like(reference, dice)
    if not borrowed or shares_words(borrowed[0], row.references):
        return None
    return reference, borrowed[0]


def _listed(reference: str, other: str, row: Row, dice: Dice, others: Others) -> str:
    """Two to four answers, the reference among them."""
    more = [texts[0] for n in range(dice.whole(0, 2, "more")) if (texts := others.like(reference, Dice((*dice.parts, n))))]
    names = dict.fromkeys([reference, other, *(text for text in more if not shares_words(text, row.references))])
    listed = dice.choose(BETWEEN, "between").join(dice.shuffled(list(names), "order"))
    return dice.choose(UNDECIDED, "frame").format(listed)
