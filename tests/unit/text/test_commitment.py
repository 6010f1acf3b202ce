"""Answers that name the reference and do not stand by it."""

import pytest

from bert_judge.text.rules import decide

UNCOMMITTED = [
    ("Who wrote it?", "Harper Lee", "Harper Lee. Scratch that, it was Truman Capote."),
    ("Who wrote it?", "Harper Lee", "My initial guess was Harper Lee, however the style is that of Capote."),
    ("Which year?", "1912", "1912? That can't be right."),
    ("Which city?", "Lyon", "I almost said Lyon, but it is Marseille."),
    ("Which city?", "Lyon", "The answer is certainly not Lyon."),
    ("Which city?", "Lyon", "Lyon is definitely wrong."),
    ("Which city?", "Lyon", "That it was Lyon is a myth."),
    ("Which city?", "Lyon", "Lyon, or so I believed; it turns out to be untrue."),
    ("Which city?", "Lyon", "That depends: one map says Lyon, another says Nice."),
    ("Which city?", "Lyon", "Historians disagree. Some say Lyon, others Nice, and it is impossible to say which."),
    ("Which city?", "Lyon", "If you mean the old capital, Lyon; otherwise Paris."),
    ("Which city?", "Lyon", "Could it be Lyon? Could it be Nice? Let me think about the"),
    ("Which city?", "Lyon", "Suppose the city is Lyon, and then we have to look at"),
]
COMMITTED = [
    ("Who wrote it?", "Harper Lee", "It was not Truman Capote, it was Harper Lee."),
    ("Who wrote it?", "Harper Lee", "I thought of Capote, but it was Harper Lee"),
    ("Which city?", "Lyon", "Nice. Hmm, that can't be. Lyon."),
    ("Which city?", "Lyon", "Nice, oops, Lyon."),
    ("Which city?", "Lyon", "Lyon. Many people believe that it is Nice, but that is incorrect."),
    ("Which city?", "Lyon", "I first thought of Nice, but Lyon is older, although smaller."),
    ("Which city?", "Lyon", "Looking at the map, the city is Lyon"),
    ("Which city?", "Lyon", "Considering all candidates, Lyon"),
    ("Is the Earth flat?", "no", "No, that is wrong."),
    ("Which option is it?", "A", "A. It is a mistake to say that a city was it."),
    ("Which city?", "Lyon", "Lyon. I had Nice before, but that was an error."),
    ("Which city?", "Lyon", "Let me check whether it is Lyon. Yes, it is Lyon."),
    ("Which city?", "Lyon", "Suppose it is Nice. No. It is Lyon, because"),
    ("Which city cannot be reached by ship?", "Lyon", "It cannot be Lyon."),
    ("How old?", "18", "It depends on the state or the county. In most of them, 18."),
    ("Which city?", "It depends on the map", "It depends on the map, another may differ."),
    ("Which city?", "Lyon", "Historians disagree about others, but the answer is Lyon."),
    ("Was it right?", "that was wrong", "that was wrong"),
]


@pytest.mark.parametrize(("question", "reference", "answer"), UNCOMMITTED)
def test_an_answer_without_commitment_is_incorrect(question: str, reference: str, answer: str) -> None:
    decision = decide(question, [reference], answer)
    assert decision is not None and (decision.module, decision.correct) == ("commitment", False)


@pytest.mark.parametrize(("question", "reference", "answer"), COMMITTED)
def test_an_answer_that_commits_itself_is_left_to_others(question: str, reference: str, answer: str) -> None:
    decision = decide(question, [reference], answer)
    assert decision is None or decision.module != "commitment"


@pytest.mark.parametrize("answer", ["It depends: one census says 42, another 57.", "42 or 57", "Could be 42, could be 57."])
def test_a_number_that_is_left_open_is_not_accepted(answer: str) -> None:
    decision = decide("How many?", ["42"], answer)
    assert decision is None or not decision.correct


@pytest.mark.parametrize("answer", ["Here you go – 18!", "The answer - 18", "Правильный ответ – 18.", "Result — $18"])
def test_a_dash_behind_a_word_is_no_minus_sign(answer: str) -> None:
    decision = decide("How many?", ["18"], answer)
    assert decision is not None and decision.correct


@pytest.mark.parametrize(("reference", "correct"), [("-18", True), ("18", False)])
def test_a_dash_behind_a_verb_may_be_a_minus_sign(reference: str, correct: bool) -> None:
    decision = decide("What is x?", [reference], "x is - 18")
    assert decision is not None and decision.correct is correct


@pytest.mark.parametrize(
    ("reference", "answer", "correct"),
    [
        ("Jack Barry", "Jack Hughes", False),
        ("Harper Ann Lee", "Harper Ann Doe", False),
        ("Kentucky", "Kentcuky", True),
        ("Elizabeth Dean Lail", "Elizbaeth Dean Lail", True),
        ("William Clinton", "Bill Clinton", None),
        ("Elizabeth Taylor", "Liz Taylor", None),
        ("Jack Barry", "J. Barry", None),
        ("cavalry", "calvary", None),
        ("Jon Smith", "John Smith", None),
        ("Jack Barry", "It was Jack Hughes", None),
        ("two years", "two months", None),
        ("Abraham Lincoln", "President Lincoln", None),
        ("Apple Inc", "Apple Corporation", None),
        ("Columbia University", "Columbia College", None),
    ],
)
def test_a_name_with_another_word_and_a_name_with_exchanged_letters(reference: str, answer: str, correct: bool | None) -> None:
    decision = decide("Who?", [reference], answer)
    is_name = decision is not None and decision.module == "name"
    assert (decision.correct if decision and is_name else None) is correct
