"""Data augmentation: synthetic rows with a certain label, of kinds that labelled answers seldom show.

Each kind is a function from a labelled answer to a synthetic row, or to None if the kind does not fit the answer. Draws depend on
the seed and on the content of the row only; borrowed answers also depend on the other rows.

Some kinds are longer texts. Of a correct and an incorrect answer, the one that is settled on counts: "X. Hmm, that can't be. Y." is
incorrect if X is the reference, and correct if Y is. Text that carries no information is correct around a reference only. A
sentence in the words of the question ("who built it?": "The king built it.") has a correct or an incorrect answer: models answer
like this, but files of bare answers do not contain such sentences, and a judge trained on these files alone rejects them
(docs/log.md).
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from bert_judge.perturbations.edited_answers import edited, reworded
from bert_judge.perturbations.labelled_answers import (
    MONTHS,
    PHRASES,
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    contains_reference,
    vary_phrasing,
)
from bert_judge.perturbations.synthetic_answers import (
    contradicted,
    denied,
    misspelled,
    near_miss,
    no_answer,
    other_answer,
    paraphrased,
    reformatted,
    restated,
    shorten,
    shortened,
    swapped_reference,
    truncated,
)
from bert_judge.runtime.keyed_random import KeyedRandom

# Not in phrases such as "Perhaps yes, perhaps Rome".
BINARY_ANSWERS = frozenset({"yes", "no", "true", "false"})
# Numbers of padding sentences to draw from.
PADDING_SENTENCES = (0, 0, 1, 1, 2, 4, 12, 30)
MAX_ECHO_CHARACTERS = 400
# Longer questions contain a story, which no answer repeats.
MAX_QUESTION_WORDS = 30
# Longer answers are sentences themselves.
MAX_ANSWER_WORDS = 7
# Probability of a shorter form of the reference. With whole references only, the trees would learn that sentences contain these.
SHORTEN_RATE = 0.5
_BE = r"(?:is|are|was|were)"
_DO = r"(?:do|does|did|can|could|will|would|has|have|had)"
_PREPOSITION = re.compile(r"^(?:in|on|at|near|by|from|between|before|after|since|during|around|under|over|behind)\b", re.IGNORECASE)
_DAY = re.compile(rf"(?:\d{{1,2}} (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}\b)")
_WHO_IS = re.compile(rf"^(?:who|what) (?P<be>{_BE}) (?P<subject>(?:the|a|an|his|her|its|their) .+)$", re.IGNORECASE)
_WHO_DID = re.compile(rf"^who (?!{_BE}\b|{_DO}\b)(?P<predicate>\w+ .+)$", re.IGNORECASE)
_WHICH_DID = re.compile(rf"^(?:which|what) (?!{_BE}\b|{_DO}\b)\w+ (?!{_DO}\b|of\b|for\b)(?P<predicate>\w+ .+)$", re.IGNORECASE)
_WHERE_IS = re.compile(
    rf"^(?:where|when) (?P<be>{_BE}) (?P<subject>.+?)(?: (?P<verb>located|found|born|held|founded|made|used))?$",
    re.IGNORECASE,
)
_WHEN_DID = re.compile(r"^(?:where|when) (?:do|does|did|will|can) (?P<clause>.+)$", re.IGNORECASE)
_HOW_MANY = re.compile(rf"^how many (?P<noun>\w+) (?:{_BE} there|{_BE}|{_DO}) (?P<rest>.+)$", re.IGNORECASE)


def retracted(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, retracted in favour of another answer or of none."""
    if not (pair := _draw_pair(answer, rng, pool)):
        return None
    reference, distractor = pair
    if rng.bernoulli(0.35, "nothing instead"):
        text = rng.choose(PHRASES["retractions"], "form").format(reference)
    else:
        text = rng.choose(PHRASES["corrections"], "form").format(reference, distractor)
    return AugmentedRow(answer.references, text, False)


def undecided(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference among other answers without a decision, or with a decision for another answer."""
    if not (pair := _draw_pair(answer, rng, pool)):
        return None
    if rng.bernoulli(0.25, "broken off"):
        text = rng.choose(PHRASES["unfinished"], "stop").format(*rng.shuffled(pair, "order"))
    elif rng.bernoulli(0.35, "side by side"):
        text = rng.choose(PHRASES["alternatives"], "sides").format(*rng.shuffled(pair, "order"))
    else:
        text = _list_answers(*pair, answer, rng, pool)
        if rng.bernoulli(0.25, "other decided"):
            text = f"{text} {rng.choose(PHRASES['decisions'], 'decision').format(pair[1])}"
    return AugmentedRow(answer.references, text, False)


def self_corrected(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """Another answer, retracted in favour of a reference; or several answers and a decision for the reference."""
    if not (pair := _draw_pair(answer, rng, pool)):
        return None
    reference, distractor = pair
    if rng.bernoulli(0.3, "several"):
        decision = rng.choose(PHRASES["decisions"], "decision").format(reference)
        text = f"{_list_answers(reference, distractor, answer, rng, pool)} {decision}"
    elif rng.bernoulli(0.2, "denied first"):
        text = f"{rng.choose(PHRASES['retractions'], 'denial').format(distractor)} {vary_phrasing(reference, rng)}"
    else:
        text = rng.choose(PHRASES["corrections"], "form").format(distractor, reference)
    return AugmentedRow(answer.references, text, True)


def _draw_pair(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> tuple[str, str] | None:
    references = [text for text in answer.short_references if text.strip(" .").casefold() not in BINARY_ANSWERS]
    if answer.options or not references:
        return None
    reference = rng.choose(references, "reference")
    distractor = pool.draw_incorrect(reference, answer.references, rng)
    return (reference, distractor) if distractor else None


def _list_answers(reference: str, distractor: str, answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> str:
    numbers = range(rng.integers(0, 4, "more"))
    more = [pool.draw_incorrect(reference, answer.references, KeyedRandom((*rng.key, n))) for n in numbers]
    distinct = dict.fromkeys([reference, distractor, *filter(None, more)])
    text = rng.choose(PHRASES["list_separators"], "between").join(rng.shuffled(list(distinct), "order"))
    return rng.choose(PHRASES["undecided_frames"], "frame").format(text)


def padded(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference in a phrase with padding, with or without a claim to be correct."""
    references = answer.short_references
    if not references or answer.options:
        return None
    text = rng.choose(PHRASES["verbose_answer_frames"], "answer").format(rng.choose(references, "reference"))
    if answer.question and rng.bernoulli(0.2, "echo"):
        text = f"{answer.question[:MAX_ECHO_CHARACTERS]} {text}"
    if rng.bernoulli(0.15, "claim"):
        text = f"{text} {rng.choose(PHRASES['claims'], 'which claim')}"
    return AugmentedRow(answer.references, _pad(text, rng), True)


def verbose(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """Padding without the reference: around another answer, the question or a claim to be correct, or alone."""
    text = ""
    if rng.bernoulli(0.35, "other") and answer.short_references and not answer.options:
        other = pool.draw_incorrect(answer.short_references[0], answer.references, rng)
        if not other:
            return None
        text = rng.choose(PHRASES["verbose_answer_frames"], "answer").format(other)
    elif rng.bernoulli(0.5, "echo") and not answer.options:
        text = _echo(answer.question.strip()[:MAX_ECHO_CHARACTERS], rng)
    if rng.bernoulli(0.35, "claim"):
        text = f"{text} {rng.choose(PHRASES['claims'], 'which claim')}".strip()
    text = _pad(text, rng) or rng.choose(PHRASES["openings"], "opening")
    return None if contains_reference(text, answer.references) else AugmentedRow(answer.references, text, False)


def _echo(question: str, rng: KeyedRandom) -> str:
    """Repeat the question as it is, in a frame, backwards, its second half only, or with words left out."""
    tokens = question.split()
    if rng.bernoulli(0.3, "some words"):
        return " ".join(word for position, word in enumerate(tokens) if rng.bernoulli(0.7, f"keep {position}"))
    if rng.bernoulli(0.2, "backwards"):
        return " ".join(reversed(tokens))
    if rng.bernoulli(0.3, "its end"):
        return " ".join(tokens[len(tokens) // 2 :])
    return rng.choose((*PHRASES["question_echoes"], "{}", "{}"), "frame").format(question)


def _pad(text: str, rng: KeyedRandom) -> str:
    openings, asides = PHRASES["openings"], PHRASES["asides"]
    before = [rng.choose((*openings, *asides), f"before {n}") for n in range(rng.choose(PADDING_SENTENCES, "before"))]
    after = [rng.choose(asides, f"behind {n}") for n in range(rng.choose(PADDING_SENTENCES, "behind"))]
    return " ".join(sentence for sentence in (*before, text, *after) if sentence)


def stated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, or a shorter form of it, in a sentence made from the question."""
    references = _usable_references(answer)
    if not references:
        return None
    text = rng.choose(references, "reference")
    if (forms := shorten(text, answer.question)) and rng.bernoulli(SHORTEN_RATE, "shorter"):
        text = rng.choose(forms, "form")
    sentence = _make_sentence(answer.question, text, rng) + _continuation(references[0], rng, pool)
    return AugmentedRow(answer.references, sentence, True)


def misstated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """Another question's answer in the same sentence."""
    references = _usable_references(answer)
    if not references or not (other := pool.draw_incorrect(references[0], answer.references, rng)):
        return None
    sentence = _make_sentence(answer.question, other, rng) + _continuation(references[0], rng, pool)
    # The question may contain the reference.
    return None if contains_reference(sentence, answer.references) else AugmentedRow(answer.references, sentence, False)


def _usable_references(answer: LabelledAnswer) -> list[str]:
    if answer.options or not 2 < len(answer.question.split()) <= MAX_QUESTION_WORDS:
        return []
    return [text for text in answer.short_references if len(text.split()) <= MAX_ANSWER_WORDS]


def _make_sentence(question: str, answer: str, rng: KeyedRandom) -> str:
    question = " ".join(question.split()).rstrip(" ?.:")
    answer = answer.rstrip(" .")
    sentence = None if rng.bernoulli(0.2, "frame") else _to_statement(question, answer)
    sentence = sentence or rng.choose(PHRASES["question_frames"], "which frame").format(question=question, answer=answer)
    return sentence[:1].upper() + sentence[1:]


def _continuation(reference: str, rng: KeyedRandom, pool: AnswerPool) -> str:
    """Draw a text to append, with answers of other questions in it; empty if there are none."""
    second, third = (pool.similar_references(reference, KeyedRandom((*rng.key, name))) for name in ("second", "third"))
    frame = rng.choose(PHRASES["continuations"], "behind")
    return frame.format(other=second[0], third=third[0]) if second and third else ""


def _to_statement(question: str, answer: str) -> str | None:
    if match := _HOW_MANY.match(question):
        return f"{answer} {match['noun']} {match['rest']}."
    if match := _WHERE_IS.match(question):
        verb = f" {match['verb']}" if match["verb"] else ""
        return f"{match['subject']} {match['be']}{verb} {_add_preposition(answer)}."
    if match := _WHEN_DID.match(question):
        return f"{match['clause']} {_add_preposition(answer)}."
    if match := _WHO_IS.match(question):
        return f"{match['subject']} {match['be']} {answer}."
    if match := _WHO_DID.match(question) or _WHICH_DID.match(question):
        return f"{answer} {match['predicate']}."
    return None


def _add_preposition(answer: str) -> str:
    if _PREPOSITION.match(answer):
        return answer
    return f"on {answer}" if _DAY.match(answer) else f"in {answer}"


# --- kinds ---

AugmentationKind = Callable[[LabelledAnswer, KeyedRandom, AnswerPool], AugmentedRow | None]

KINDS: Mapping[str, AugmentationKind] = {
    kind.__name__: kind
    for kind in (
        *(
            restated,
            reformatted,
            shortened,
            stated,
            misstated,
            paraphrased,
            contradicted,
            other_answer,
            near_miss,
            swapped_reference,
        ),
        *(denied, no_answer, truncated, undecided, retracted, self_corrected, padded, verbose, misspelled, edited, reworded),
    )
}
# Start of the model's name in synthetic rows.
SYNTHETIC = "synthetic-"


def augment(rows: pd.DataFrame, augmentations: Sequence[Mapping[str, Any]], seed: int) -> pd.DataFrame:
    """Make synthetic rows from labelled ones.

    Args:
        rows: of the schema `dataset`, without `weight`.
        augmentations: dumped `config.Augmentation` entries: a kind, and the share of rows to apply it to, in [0, 1].

    Returns:
        Only the synthetic rows, with the columns of `rows`; `model` names the kind, such as `synthetic-near_miss`.
    """
    records = rows.to_dict("records")
    answers = [LabelledAnswer(r["question"], tuple(r["references"]), r["candidate"], r["label"] >= 0.5) for r in records]
    pool = AnswerPool(rows["references"], answers)
    synthetic_records: list[dict[Hashable, Any]] = []
    for record, answer in zip(records, answers, strict=True):
        for augmentation in augmentations:
            kind = augmentation["kind"]
            rng = KeyedRandom((seed, kind, answer))
            if rng.bernoulli(augmentation["share"], "take") and (row := KINDS[kind](answer, rng, pool)):
                changes: dict[Hashable, Any] = {
                    "references": list(row.references),
                    "candidate": row.candidate,
                    "label": float(row.correct),
                    "model": f"{SYNTHETIC}{kind}",
                    # They are about another text.
                    "aspects": None,
                    "rationale": None,
                }
                synthetic_records.append(record | changes)
    synthetic = pd.DataFrame(synthetic_records, columns=rows.columns)
    # A kind may apply to several answers to one question.
    return synthetic.assign(attempt=synthetic.groupby(["sample_id", "model"]).cumcount().astype("int32"))
