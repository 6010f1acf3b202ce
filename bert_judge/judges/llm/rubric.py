"""A prompted language model that grades several aspects at once: one call per answer, one grade per aspect.

References are shown on request, as answers with the highest grades (Zhu et al. 2023, "JudgeLM", grades single answers so).

The label's score is the mean of the grades, each scaled to [0, 1], so that a sum of aspects orders answers as the score does.

A single grade is a constrained choice, which any model can make; with reasoning only when it is asked for once more. Parsing of an
object is strict: anything but exactly the requested object is no grade, because a grade guessed from prose looks like any other in
the table. The last JSON object of the judge's own text counts, with or without a code fence.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bert_judge.candidates.generators.protocol import Completion, Generator
from bert_judge.judges import prompted
from bert_judge.judges.llm import judge
from bert_judge.judges.llm.judge import LLMJudge, RowCase
from bert_judge.judges.prompted import Reading, Reply, ReplyFormat, candidate_section, references_section, section
from bert_judge.judges.protocol import Label, Row, empty_answer

PROMPTS = judge.PROMPTS["rubric"]

GRADED, LIKELIEST = "grades in JSON", "the likeliest grade"
NO_GRADES = "no JSON object with grades in the judge's reply"
# Length of an object in characters, and number of closing braces tried; a text with more of them repeats itself.
MAX_OBJECT_LENGTH, MAX_OBJECTS = 4000, 200
# Grades from which a model chooses, instead of writing an object; each takes a forward pass.
MAX_CHOICES = 11

# Lowest and highest grade.
Range = tuple[int, int]


class RubricJudge(LLMJudge):
    """Implements `judges.protocol.Judge` on any generator.

    A reply without grades is requested once more; after that the row is invalid. An empty candidate gets the lowest grades without
    calling the model. Uses the settings aspects, show_references, reasoning, threshold, seed and max_candidate_chars.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], generator: Generator) -> None:
        super().__init__(name, settings, generator)
        self.ranges: dict[str, Range] = {aspect: tuple(entry["range"]) for aspect, entry in settings["aspects"].items()}

    def _label_without_model(self, row: Row) -> Label | None:
        lowest = {aspect: float(low) for aspect, (low, _) in self.ranges.items()}
        return None if row.candidate.strip() else empty_answer(aspects=lowest)

    def _label(self, case: RowCase, reply: Reply) -> Label:
        label, words = super()._label(case, reply), _words(reply.completions[0])
        # A model that explained and forgot the grade was asked for the grade alone.
        is_explained = len(reply.completions) > 1 and len(self.ranges) == 1 and label.score is not None and words
        return replace(label, reason=words) if is_explained else label

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        form = "{" + ", ".join(f'"{aspect}": …' for aspect in self.ranges) + "}"
        retry = ReplyFormat(PROMPTS["retry"].format(form=form))
        [(low, high), *rest] = self.ranges.values()
        if not rest and high - low < MAX_CHOICES:
            # Not the number alone: 1 is a prefix of 10.
            choices = tuple(f"{grade}/{high}" for grade in range(low, high + 1))
            retry = ReplyFormat(PROMPTS["one_grade"].format(low=low, high=high, example=choices[len(choices) // 2]), choices)
        if self.settings["reasoning"]:
            return ReplyFormat(PROMPTS["reasoned"].format(form=form)), retry
        return retry if retry.choices else ReplyFormat(PROMPTS["grades_only"].format(form=form)), retry

    def _prompt(self, case: RowCase, instructions: str) -> str:
        row, lines = case.row, []
        for aspect, entry in self.settings["aspects"].items():
            low, high = self.ranges[aspect]
            description = f": {entry['description']}" if entry.get("description") else ""
            lines.append(f"- {aspect} ({low} to {high}){description}")
        shows_references = self.settings["show_references"] and row.references
        standard = PROMPTS["with_references" if shows_references else "without_references"]
        return "\n\n".join(
            [
                PROMPTS["instructions"].format(standard=standard),
                section("Aspects", "\n".join(lines)),
                section("Question", row.question),
                *([references_section(row.references)] if shows_references else []),
                candidate_section(case.candidate),
                section("Your grades", instructions),
            ]
        )

    def _parse_completion(self, case: RowCase, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        code, text = case.candidate.code, case.candidate.text
        if choices and (choice := completion.text.strip()) in choices:
            reading = Reading(LIKELIEST, grades=dict.fromkeys(self.ranges, float(choice.partition("/")[0])))
        else:
            reading = parse_grades(completion.text, self.ranges, code, text, completion.status != "truncated")
        if reading.grades is None:
            return reading
        scaled = [(reading.grades[aspect] - low) / (high - low) for aspect, (low, high) in self.ranges.items()]
        words = "" if choices else _words(completion)
        return replace(reading, score=sum(scaled) / len(scaled), reason=words or reading.reason)


def _words(completion: Completion) -> str:
    """Return the judge's words before the object; empty if there are none."""
    return completion.text.partition("{")[0].removesuffix("```json\n").strip("` \n")


def parse_grades(reply: str, ranges: Mapping[str, Range], code: str = "", candidate: str = "", finished: bool = True) -> Reading:
    """Parse a judge's reply: its grades, or why there are none.

    Args:
        code: signature of the fence around the candidate; repeated fenced text is removed.
        candidate: as shown to the judge; one that contains a JSON object is removed where it is repeated without its fence.
    """
    text = prompted.strip_quotes(prompted.normalize_characters(reply), (code,) if code else ())
    if text is None:
        return _unreadable(prompted.REASONING_TRUNCATED)
    normalized = prompted.normalize_characters(candidate).strip()
    if next(_json_objects(normalized), None) is not None:
        text = text.replace(normalized, "\n")
    if not text.strip():
        return _unreadable(prompted.EMPTY_REPLY)
    last = next(_json_objects(text), None)
    if last is None:
        return _unreadable(NO_GRADES if finished else prompted.TRUNCATED)
    return _validate_grades(last, ranges)


def _unreadable(reason: str) -> Reading:
    return Reading(reason, retry=True)


def _validate_grades(members: list[tuple[str, Any]], ranges: Mapping[str, Range]) -> Reading:
    names = [name for name, _ in members]
    if duplicates := [name for name in names if names.count(name) > 1]:
        return _unreadable(f"the grade of {duplicates[0][:80]!r} occurs twice")
    if missing := [name for name in ranges if name not in names]:
        return _unreadable(f"no grade for {missing[0]!r}")
    if unknown := [name for name in names if name not in ranges]:
        return _unreadable(f"a grade for the unknown aspect {unknown[0][:80]!r}")
    for name, value in members:
        low, high = ranges[name]
        # True and 4.0 are integers to Python, but not valid grades.
        if type(value) is not int or not low <= value <= high:
            return _unreadable(f"the grade of {name!r} is {str(value)[:40]!r}, not a whole number from {low} to {high}")
    grades = dict(members)
    return Reading(GRADED, grades={name: float(grades[name]) for name in ranges})


def _json_objects(text: str) -> Iterator[list[tuple[str, Any]]]:
    """Yield the innermost JSON objects of a text, from the end, as (key, value) pairs."""
    end = text.rfind("}")
    for _ in range(MAX_OBJECTS):
        start = text.rfind("{", max(0, end - MAX_OBJECT_LENGTH), end)
        if end < 0 or start < 0:
            return
        try:
            yield json.loads(text[start : end + 1], object_pairs_hook=list)
            end = text.rfind("}", 0, start)
        except (ValueError, RecursionError):
            end = text.rfind("}", 0, end)
