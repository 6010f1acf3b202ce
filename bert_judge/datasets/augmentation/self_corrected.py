"""Made-up answers in which the right answer meets a wrong one: what counts is the one that is settled on.

The same words say both: "X. Hmm, that can't be. Y." is wrong with the right answer first and right with it last.
"""

from __future__ import annotations

from bert_judge.datasets.augmentation.rows import Made, Others, Row, said, shares_words
from bert_judge.runtime.keyed_random import KeyedRandom

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
    "{0}, oops, {1}.",
    "I had {0} in mind, then I looked closer: {1}.",
    "Draft answer: {0}. Final version: {1}.",
    "{0}\n\nUpdate: this does not hold. It should read {1}.",
    "What looks like {0} is really {1}.",
    "Many think of {0}; the truth is {1}.",
    "{1} beats {0} here.",
    "Had it been about something else, {0}; as it is, {1}.",
    "{0} would be a good guess, if it weren't for {1}, which is the answer.",
    "{1}. Do not confuse with {0}.",
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
    "{0}? No, that is not it. I pass.",
    "Answer: {0}\n\nUpdate: this answer does not hold, ignore it.",
    "My answer was {0}; I withdraw it.",
    "I almost wrote {0}, which cannot be, and I have nothing better.",
    "{0}, well, no. Leave it blank.",
    "Anybody who answers {0} is wrong.",
    "Everything speaks against {0}.",
    "Under no circumstances {0}.",
    "{0}: false.",
    "Let me rule out {0} right away.",
    "Is it {0}? Hardly.",
    "Contrary to what one reads, {0} has nothing to do with it.",
)
# Of several answers; the names are put in one after the other.
BETWEEN = (" or maybe ", " or ", ", perhaps ", "; ", " | ", "\n", ", ", ", ", ", ", " and/or ", " / ", "/", " vs. ", "\n- ")
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
    "{}",
    "Opinions differ: {}.",
    "Depending on what is meant, {}.",
    "A few names: {}",
    "Any of {} would do.",
    "What I found: {}.",
    "Take your pick: {}.",
)
# {0} and {1} stand side by side; nothing says which.
SIDE_BY_SIDE = (
    "In one sense {0}, in another {1}.",
    "{0} by one count, {1} by another.",
    "Some say {0} and some say {1}.",
    "One book gives {0}; a second one {1}. Both look sound.",
    "For the older one {0}, for the newer one {1}.",
    "Strictly speaking {0}, loosely {1}.",
    "Maybe {0}. Maybe {1}.",
    "{0}? {1}? Could be both.",
    "If this is about the former: {0}. If it is about the latter: {1}.",
    "Unless {0} is meant, {1}.",
    "It is {0}, it is {1}, who knows.",
    "There are two schools: {0} for one of them, {1} for the other.",
    "I remember {0}, a friend remembers {1}, and neither of us is sure.",
    "Whether {0} or {1} is right cannot be told.",
    "The answer is {0}. The answer is {1}.",
)
# Where somebody who thinks aloud stops before there is an answer.
BROKEN_OFF = (
    "What if it were {0}? There would have to be",
    "{0} comes to mind. Before I commit to it, I should verify",
    "One possibility is {0}. Another one is {1}. The next step is to",
    "I will first examine {0}. It was",
    "Step 1: what could fit? {0}, {1}. Step 2: compare them with the",
    "Could {0} be meant? This can be tested by",
    "Thinking of {0}, it seems that the",
    "{0} was mentioned somewhere, and so was {1}. To find out which, I",
    "Assume for a moment it is {0}. It would follow that",
    "I am looking at {0} and {1} and cannot rule any of them out yet, so",
    "We know of {0}, of {1}, and of a third. Of these, the one that",
    "If {0}, then the rest would have to",
    "To begin with, consider {0}: what is known about it is that",
    "My notes say {0}, with a question mark. What I need is",
    "Between {0} and {1}, the difference is that",
)
DECISIONS = ("I decide: {}.", "In the end, {}.", "Final answer: {}", "All in all it is {}.", "So: {}", "My pick is {}.")


def taken_back(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference, given up: for another answer or for none."""
    if not (pair := _pair(row, rng, others)):
        return None
    reference, other = pair
    if rng.bernoulli(0.35, "nothing instead"):
        return Made(row.references, rng.choose(GIVEN_UP, "form").format(reference), False)
    return Made(row.references, rng.choose(CHANGES_OF_MIND, "form").format(reference, other), False)


def undecided(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference among other answers, and no decision, or one for another answer."""
    if not (pair := _pair(row, rng, others)):
        return None
    if rng.bernoulli(0.25, "broken off"):
        return Made(row.references, rng.choose(BROKEN_OFF, "stop").format(*rng.shuffled(pair, "order")), False)
    if rng.bernoulli(0.35, "side by side"):
        return Made(row.references, rng.choose(SIDE_BY_SIDE, "sides").format(*rng.shuffled(pair, "order")), False)
    text = _listed(*pair, row, rng, others)
    if rng.bernoulli(0.25, "other decided"):
        text = f"{text} {rng.choose(DECISIONS, 'decision').format(pair[1])}"
    return Made(row.references, text, False)


def settled(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """Another answer, given up for a reference; or several, of which a reference is chosen."""
    if not (pair := _pair(row, rng, others)):
        return None
    reference, other = pair
    if rng.bernoulli(0.3, "several"):
        text = f"{_listed(reference, other, row, rng, others)} {rng.choose(DECISIONS, 'decision').format(reference)}"
    elif rng.bernoulli(0.2, "denied first"):
        text = f"{rng.choose(GIVEN_UP, 'denial').format(other)} {said(reference, rng)}"
    else:
        text = rng.choose(CHANGES_OF_MIND, "form").format(other, reference)
    return Made(row.references, text, True)


def _pair(row: Row, rng: KeyedRandom, others: Others) -> tuple[str, str] | None:
    """A reference and a wrong answer that resembles it."""
    short = [text for text in row.short_references if text.strip(" .").casefold() not in BINARY]
    if row.options or not short:
        return None
    reference = rng.choose(short, "reference")
    borrowed = others.like(reference, rng)
    if not borrowed or shares_words(borrowed[0], row.references):
        return None
    return reference, borrowed[0]


def _listed(reference: str, other: str, row: Row, rng: KeyedRandom, others: Others) -> str:
    """Two to six answers, the reference among them."""
    more = [texts[0] for n in range(rng.integers(0, 4, "more")) if (texts := others.like(reference, KeyedRandom((*rng.key, n))))]
    names = dict.fromkeys([reference, other, *(text for text in more if not shares_words(text, row.references))])
    listed = rng.choose(BETWEEN, "between").join(rng.shuffled(list(names), "order"))
    return rng.choose(UNDECIDED, "frame").format(listed)
