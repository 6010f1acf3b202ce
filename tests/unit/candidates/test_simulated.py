import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from helpers.default_run import DEFAULT_RUN
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import plan, tables
from bert_judge.candidates.generators import Request
from bert_judge.candidates.generators.simulated import STYLES, SimulatedGenerator, probability, simulate
from bert_judge.config import Family, Style
from bert_judge.judges.imported.judge import SimulatedTruth
from bert_judge.judges.protocol import Row
from bert_judge.perturbations import simulated_answers
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.keyed_random import KeyedRandom, fraction, shuffled
from bert_judge.tasks import Sample, find
from bert_judge.tasks.registry import prompt

ALL_STYLES = get_args(Style)
COMMITTING = ("terse", "wordy", "ignores_format", "hedging", "self_correcting")
FORMATTED = ("terse", "wordy", "hedging", "self_correcting")
NAMES = ("facts_train", "word_problems_train", "multiple_choice_train")


def requests(name: str, asked: str = "soft") -> list[Request]:
    task = find(name)
    return [Request(tables.sample_id(name, s.question, s.references), 0, prompt(s, task.family, asked), s) for s in task.samples()]


def settings(style: object, p_correct: float = 0.5, seed: int = 0) -> dict[str, object]:
    return {"generator": "simulated", "p_correct": p_correct, "style": style, "seed": seed}


def test_every_style_of_the_configuration_is_written() -> None:
    assert set(STYLES) == set(ALL_STYLES)


@pytest.mark.parametrize("style", ALL_STYLES)
def test_answers_depend_on_their_own_request_only(style: str) -> None:
    asked = requests("facts_train")[:50]
    generator = SimulatedGenerator("m", settings(style))
    completions = generator.generate(asked)
    assert generator.generate(asked[::-1])[::-1] == completions
    assert [generator.generate([request])[0] for request in asked] == completions


@pytest.mark.parametrize("change", ["name", "seed", "attempt"])
def test_another_name_seed_or_attempt_gives_other_answers(change: str) -> None:
    asked = requests("facts_train")
    first = [simulate("m", settings("wordy"), r) for r in asked]
    other = [
        simulate(
            "n" if change == "name" else "m",
            settings("wordy", seed=1 if change == "seed" else 0),
            Request(r.sample_id, 1 if change == "attempt" else 0, r.prompt, r.sample),
        )
        for r in asked
    ]
    assert sum(a[1] != b[1] for a, b in zip(first, other, strict=True)) > len(asked) / 5


@pytest.mark.parametrize("asked", ["free", "soft", "strict"])
def test_whether_an_answer_is_right_does_not_depend_on_the_prompt(asked: str) -> None:
    mixed = settings(dict.fromkeys(ALL_STYLES, 1.0))
    truths = {style: [simulate("m", mixed, r)[1] for r in requests("facts_train", style)] for style in ("soft", asked)}
    assert truths["soft"] == truths[asked]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p_correct", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_the_share_of_right_answers_follows_knowledge(name: str, p_correct: float) -> None:
    asked = requests(name)
    share = sum(simulate("m", settings("terse", p_correct), r)[1] for r in asked) / len(asked)
    expected = sum(probability(p_correct, r.sample.question) for r in asked) / len(asked)
    assert share == pytest.approx(expected, abs=0.08)
    assert expected == pytest.approx(p_correct, abs=0.08)


@given(st.floats(0.01, 0.98), st.text())
def test_more_knowledge_is_more_probable(p_correct: float, question: str) -> None:
    assert 0 < probability(p_correct, question) < probability(p_correct + 0.01, question) < 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("style", COMMITTING)
def test_right_answers_contain_the_right_answer(name: str, style: str) -> None:
    for request in requests(name):
        text = simulate("m", settings(style, 1.0), request)[0].text.casefold().replace(",", "")
        accepted = [reference.casefold() for reference in request.sample.references]
        accepted += [simulated_answers.surname(r).casefold() for r in request.sample.references]
        accepted += [simulated_answers.in_words(int(r)) for r in request.sample.references if r.isdigit() and int(r) < 100]
        assert any(form in text for form in accepted), (text, accepted)


@pytest.mark.parametrize("name", NAMES)
def test_terse_wrong_answers_are_wrong_and_of_the_same_kind(name: str) -> None:
    for request in requests(name):
        sample = request.sample
        text = simulate("m", settings("terse", 0.0), request)[0].text.removeprefix("Final answer: ")
        assert text.casefold() not in {reference.casefold() for reference in sample.references}
        if sample.choices is not None:
            assert re.search(r"\b[ABCD]\b", text) or text in sample.choices
        elif sample.answer_kind == "number":
            assert simulated_answers.numbers_in(text) or text.split("-")[0] in (*simulated_answers.UNITS, *simulated_answers.TENS)


@pytest.mark.parametrize("style", ["truncated", "refusing", "lists_all_options"])
def test_styles_that_settle_on_nothing_are_wrong(style: str) -> None:
    for request in requests("multiple_choice_train"):
        completion, correct = simulate("m", settings(style, 1.0), request)
        assert not correct
        assert completion.status == ("truncated" if style == "truncated" else "ok")


def test_a_dump_lists_the_right_answer_among_others() -> None:
    for request in requests("word_problems_train")[:100]:
        text = simulate("m", settings("lists_all_options"), request)[0].text
        assert (
            len(
                {
                    *simulated_answers.numbers_in(text),
                    *re.findall("|".join((*simulated_answers.UNITS, *simulated_answers.TENS[2:])), text),
                }
            )
            >= 2
        )


@pytest.mark.parametrize("asked", ["soft", "strict"])
@pytest.mark.parametrize("style", ALL_STYLES)
def test_styles_follow_the_format_or_do_not(style: str, asked: str) -> None:
    texts = [simulate("m", settings(style), r)[0].text for r in requests("facts_train", asked)]
    marked = [text for text in texts if "Final answer:" in text]
    if style in FORMATTED:
        assert marked == texts
    elif style != "lists_all_options":
        assert marked == []
    if asked == "strict" and style in FORMATTED:
        assert all(text.startswith("Final answer:") for text in texts)


@pytest.mark.parametrize("style", ALL_STYLES)
def test_nothing_is_marked_when_no_format_is_asked_for(style: str) -> None:
    assert not any("Final answer" in simulate("m", settings(style), r)[0].text for r in requests("facts_train", "free"))


@pytest.mark.parametrize("style", ALL_STYLES)
def test_wordings_vary_and_do_not_name_their_style(style: str) -> None:
    same = Sample("What is the capital of France?", ("Paris",), "span")
    texts = [simulate("m", settings(style, 1.0), Request(str(i), 0, same.question, same))[0].text for i in range(400)]
    assert len(set(texts)) >= 6
    # No text gives away what it is.
    name = re.compile("|".join(s.replace("_", "[ _-]") for s in ALL_STYLES) + "|simulated|{|}", re.IGNORECASE)
    assert not any(name.search(text) for text in texts)


def test_self_corrections_go_both_ways() -> None:
    asked = requests("facts_train")
    said = [(r.sample.references[0], *simulate("m", settings("self_correcting"), r)) for r in asked]
    wrong_but_named = [c for reference, c, correct in said if not correct and reference in c.text]
    right_after_another = [c for reference, c, correct in said if correct and reference in c.text]
    assert len(wrong_but_named) > 30
    assert len(right_after_another) > 30


def test_styles_come_in_their_proportions_whatever_the_order_of_keys() -> None:
    asked = requests("facts_train")
    texts = [simulate("m", settings({"terse": 3.0, "refusing": 1.0}), r)[0].text for r in asked]
    swapped = [simulate("m", settings({"refusing": 1.0, "terse": 3.0}), r)[0].text for r in asked]
    assert texts == swapped
    assert sum(t.startswith("Final answer") for t in texts) / len(texts) == pytest.approx(0.75, abs=0.08)


@pytest.mark.parametrize(
    "sample",
    [
        Sample("¿Capital de España?", ("Madrid",), "span"),
        Sample("Ungewöhnlich?", ("Größenwahn im Überfluß",), "text"),
        Sample("Explain it.", ("because the water boils at a lower temperature on a mountain",), "text"),
        Sample("东京在哪个国家?", ("日本",), "span"),
        Sample("How cold?", ("-3.5", "minus 3.5"), "number"),
        Sample("Zero?", ("0",), "number"),
        Sample("Solve.", (r"\frac{1}{2}",), "math"),
        Sample("Pick\n(A) x\n(B) y", ("B",), "choice", ("x", "y")),
        Sample("Pick", ("z",), "choice", ("x", "y")),
        Sample("Only one option", ("A", "x"), "choice", ("x",)),
        Sample("Empty reference", ("",), "text"),
        Sample("Braces {a} {list}", ("{b}", "{0}"), "text"),
    ],
    ids=lambda sample: sample.question[:12],
)
@pytest.mark.parametrize("style", ALL_STYLES)
def test_users_own_questions_work(sample: Sample, style: str) -> None:
    right, _ = simulate("m", settings(style, 1.0), Request("1", 0, prompt(sample, "short_answer", "soft"), sample))
    wrong, correct = simulate("m", settings(style, 0.0), Request("1", 0, prompt(sample, "short_answer", "soft"), sample))
    assert not correct
    assert right.text.strip()
    if style == "terse":
        assert wrong.text != right.text


OWN = {
    "distance": [f"{n}.5 km" for n in range(12, 18)],
    "weight": [f"{n}.1 kg" for n in range(1, 5)],
    "person": ["Ada Berger", "Ines Koch", "Olu Adeyemi", "Mei Lin"],
    "reason": [
        "because the valve was closed all day",
        "because the pump had no power at all",
        "because the tank was empty by noon",
        "because the fuse had burnt two days before",
    ],
}


def test_wrong_answers_to_own_questions_are_of_the_same_kind() -> None:
    samples = {
        f"{kind}{number}": Sample(f"What is {kind} {number}?", (answer,), "text")
        for kind, answers in OWN.items()
        for number, answer in enumerate(answers)
    }
    similar = simulated_answers.find_similar_answers(samples)
    for sample_id, sample in samples.items():
        answers = OWN[sample_id.rstrip("0123456789")]
        assert set(similar[sample_id][: len(answers) - 1]) == set(answers) - {sample.references[0]}
        _, wrong = simulated_answers.propose_answers(sample, KeyedRandom((sample_id,)), similar[sample_id])
        for text in (answer.text for answer in wrong):
            is_edit = [*text.split()[1:]] == [*sample.references[0].split()[1:]] and text[0].isdigit()
            assert text in answers or is_edit or ("reason" in sample_id and text.startswith("because the")), text
            assert not set(text.split()) & set(simulated_answers.WRONG_WORDS), text


def test_a_further_question_changes_few_answers() -> None:
    samples = {f"{n:02x}": Sample(f"Question {n}?", (f"Name Number{n}x",), "text") for n in range(0, 80, 2)}
    before = simulated_answers.find_similar_answers(samples)
    after = simulated_answers.find_similar_answers({**samples, "29": Sample("New?", ("Name Else",), "text")})
    assert sum(before[sample_id] != after[sample_id] for sample_id in samples) <= simulated_answers.SIMILAR


def test_no_references_is_an_error_row_and_not_a_crash() -> None:
    sample = Sample("?", ())
    [completion] = SimulatedGenerator("m", settings("terse")).generate([Request("1", 0, "?", sample)])
    assert (completion.status, completion.text) == ("error", "")


@given(st.lists(st.text(), min_size=1, max_size=3).filter(any), st.integers(0, 20))
def test_wrong_answers_are_never_a_reference(references: list[str], turn: int) -> None:
    _, wrong = simulated_answers.propose_answers(Sample("q", tuple(references)), KeyedRandom(("t", turn)))
    plain = {" ".join(r.casefold().split()) for r in references}
    assert len(wrong) == 3
    assert not plain & {" ".join(w.text.casefold().split()) for w in wrong}


@pytest.mark.parametrize(
    ("number", "words"), [(0, "zero"), (13, "thirteen"), (20, "twenty"), (21, "twenty-one"), (40, "forty"), (99, "ninety-nine")]
)
def test_numbers_in_words(number: int, words: str) -> None:
    assert simulated_answers.in_words(number) == words


@pytest.mark.parametrize(
    ("person", "surname"),
    [
        ("Leo Tolstoy", "Tolstoy"),
        ("Leonardo da Vinci", "da Vinci"),
        ("Johann Wolfgang von Goethe", "von Goethe"),
        ("Johann Strauss II", "Strauss"),
        ("Michelangelo", "Michelangelo"),
    ],
)
def test_surnames(person: str, surname: str) -> None:
    assert simulated_answers.surname(person) == surname


@given(st.lists(st.integers()), st.text())
def test_draws_repeat_and_lose_nothing(items: list[int], key: str) -> None:
    assert sorted(shuffled(items, key)) == sorted(items)
    assert shuffled(items, key) == shuffled(items, key)
    assert 0 <= fraction(key, *items) < 1


# --- the judge that knows the truth ---


def judge_spec(style: object = "wordy", label_noise: float = 0.0, seed: int = 0) -> dict[str, object]:
    return {
        "judge": "truth",
        "model": "m",
        "task": "facts_train",
        "settings": {"kind": "imported", "label_noise": label_noise, "seed": seed},
        "source": {
            "model": "m",
            "task": "facts_train",
            "family": "short_answer",
            "settings": settings(style),
            "prompt_style": "soft",
        },
    }


@pytest.fixture
def task_table(tmp_path: Path) -> Path:
    path = tmp_path / "task.parquet"
    records = [
        {
            "sample_id": r.sample_id,
            "question": r.sample.question,
            "references": list(r.sample.references),
            "choices": None if r.sample.choices is None else list(r.sample.choices),
            "answer_kind": r.sample.answer_kind,
        }
        for r in requests("facts_train")
    ]
    tables.write(pd.DataFrame(records), path, tables.TASK, {"task": "facts_train"})
    return path


def answered(style: object = "wordy") -> tuple[list[Row], list[bool]]:
    rows, truths = [], []
    for r in requests("facts_train"):
        completion, truth = simulate("m", settings(style), r)
        rows.append(Row(r.sample_id, 0, "m", r.sample.question, r.sample.references, completion.text))
        truths.append(truth)
    return rows, truths


@pytest.mark.parametrize("style", [*ALL_STYLES, dict.fromkeys(ALL_STYLES, 1.0)], ids=str)
def test_the_truth_is_found_again(style: object, task_table: Path) -> None:
    rows, truths = answered(style)
    labels = SimulatedTruth(judge_spec(style), task_table).judge(rows)
    assert [label.verdict == "correct" for label in labels] == truths
    assert [label.score for label in labels] == [float(truth) for truth in truths]
    assert {label.reason for label in labels} == {"simulated truth"}


def test_the_stated_share_is_flipped_and_no_order_matters(task_table: Path) -> None:
    rows, truths = answered()
    judge = SimulatedTruth(judge_spec(label_noise=0.2), task_table)
    labels = judge.judge(rows)
    assert judge.judge(rows[::-1])[::-1] == labels
    flipped = [(label.verdict == "correct") != truth for label, truth in zip(labels, truths, strict=True)]
    assert sum(flipped) / len(flipped) == pytest.approx(0.2, abs=0.06)
    assert [label.reason == "simulated truth, flipped" for label in labels] == flipped
    other = SimulatedTruth(judge_spec(label_noise=0.2, seed=1), task_table).judge(rows)
    assert [a.verdict for a in other] != [a.verdict for a in labels]


def test_a_stale_answer_is_a_clear_error(task_table: Path) -> None:
    rows, _ = answered("terse")
    with pytest.raises(InputError, match=r"^candidates of m: .*delete this candidates table and run again$"):
        SimulatedTruth(judge_spec("wordy"), task_table).judge(rows)


def test_an_unknown_question_is_a_clear_error(task_table: Path) -> None:
    row = Row("f" * 16, 0, "m", "?", ("x",), "x")
    with pytest.raises(InputError, match=r"task\.parquet: has no question ffff[^\n]*$"):
        SimulatedTruth(judge_spec(), task_table).judge([row])


# --- the default run ---


def test_the_default_run_is_a_valid_configuration() -> None:
    run = plan.build_plan(DEFAULT_RUN)
    assert all(name.startswith("simulated-") for name in run.models)
    assert len(run.score_tables) == len(run.models) * 3
    assert {run.family(task) for task in run.tasks} <= set(get_args(Family))
    assert run.dataset_tables("demo")


def test_the_default_runs_truth_has_an_order_that_the_format_does_not_have() -> None:
    run = plan.build_plan(DEFAULT_RUN)
    right: Counter[str] = Counter()
    marked: Counter[str] = Counter()
    for model, task in run.score_tables:
        spec = run.candidates_spec(model, task)
        for request in requests(task):
            completion, truth = simulate(model, spec["settings"], request)
            right[model] += truth
            marked[model] += "Final answer:" in completion.text
    best = max(right, key=right.__getitem__)
    worst_form = min(marked, key=marked.__getitem__)
    assert best == worst_form
    assert len(set(right.values())) == len(right)
