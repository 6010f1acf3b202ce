"""What single rule modules decide, beside the rows of `test_field_rows.py`: the module and its verdict, or that all abstain."""

import pytest

from bert_judge.text.rules import decide

GRADES = "Grade the answer.\nA: CORRECT\nB: INCORRECT\nC: NOT_ATTEMPTED"
CONTINENT = "On which continent is Haiti?\n(A) Europe\n(B) Oceania\n(C) Asia\n(D) North America"
VOTERS = "Citizens who are at least 18 years old."


@pytest.mark.parametrize(
    ("question", "reference", "answer", "module", "correct"),
    [
        # An option whose words would take another answer back.
        (GRADES, "C", "NOT_ATTEMPTED", "option", True),
        (GRADES, "C", "CORRECT", "option", False),
        ("Which?\nA. Not Paris\nB. Not Rome", "A", "Not Paris", "option", True),
        # All options and no choice.
        (CONTINENT, "D", "Possible answers: (C) Asia; (A) Europe; (D) North America; (B) Oceania.", "option", False),
        (CONTINENT, "D", "(A) Europe and (B) Oceania are far away, and (C) Asia too. The answer is (D).", "option", True),
        # What is stated last counts, and no correction before it.
        ("How many?", "57", "Final answer: 59\nCorrection: 57.", "identical", True),
        ("How many?", "57", "Final answer: 57\nCorrection: 59.", "number", False),
        ("How many?", "57", "Wait, that was wrong. The answer is 57 apples.", "number", True),
        ("Capital?", "Paris", "Answer: Paris\nSorry, no: Lyon", "commitment", False),
        ("Capital?", "Paris", "Answer: Paris\n\nIt is not Lyon, as many think.", "identical", True),
        ("How many?", "24", "twenty-four Anything like 42 is far off", None, None),
        # The letter of an option is no formula, unless an element is asked for.
        ("Which gas causes it?\nA) oxygen\nB) carbon dioxide\nC) argon", "B", "CO2", None, None),
        ("Which element is it?", "B", "CO2", "code", False),
        # A name in lower case.
        ("Who gave the leading speech?", "Lord Atkin", "lord denning", "name", False),
        ("Who gave the leading speech?", "Lord Atkin", "mr atkin", None, None),
        ("What did he have?", "Heart Attack", "cardiac attack", None, None),
        ("What is it?", "29.5 Earth years", "29.5 Saturn years", "qualifier", False),
        # People say "over 18" for 18 and more.
        ("How old must one be?", "over 18", "minimum 18", None, None),
        ("How many are needed?", "over 18", "minimum 18", "opposite", False),
        # Bounds of another number or unit.
        ("How cold must it be?", "below -18 °C", "under 18 °C", "qualifier", False),
        ("How strong must it be?", "at least 5 MW", "at least 5 mW", "qualifier", False),
        # The number of a name in words.
        ("Which?", "Vitamin B12", "vitamin b-12", "identifier", True),
        ("Which?", "Vitamin B12", "Vitamin B twelve", "identifier", True),
        ("Which?", "Vitamin B12", "Vitamin B six", "identifier", False),
        ("Which?", "Boeing 747", "Boeing seven forty-seven", None, None),
        ("Which?", "M25", "M twenty-five", None, None),
        ("Which?", "John 3:16", "John 316", "identifier", False),
        ("Which?", "Lot 4 Block 12", "Lot 41 Block 2", "identifier", False),
        # Cut off within a calculation.
        ("How much is left?", "42", "First we multiply: 6 * 7 = 42. Next we have to subtract the", "mention", False),
        ("How much is left?", "42", "6 * 7 = 42. Now subtract the", "mention", False),
        ("How much is left?", "3", "The total is 42. From this we subtract the", "mention", False),
        ("When was he born?", "1949", "He was born in 1949. After that he moved to the", "date", True),
        ("How long?", "42", "6*7 = 42 in", "number", True),
        ("How much?", "42", "The answer is 42. Now we have to check whether the", "identical", True),
        # Bold text is no multiplication.
        ("How many?", "4", "**Answer:** There are **four** possible numbers.\n\nMathGPT", "number", True),
        ("How many?", "5", "There are **four** possible numbers.", "number", False),
        ("How many?", "8", "It is 2**3, I think", None, None),
        # A part of a whole.
        ("How many?", "5", "The answer is 5 out of 7.", "number", True),
        ("How many?", "7", "The answer is 5 out of 7.", "number", False),
        ("Which share?", "5/7", "5 out of 7", "number", True),
        ("Which share?", "0.714", "5 out of 7", "number", True),
        ("How many?", "7", "5 out of 7 apples were red", None, None),
        # Formulas of variables.
        ("?", "n!", "\\boxed{n}", "formula", False),
        ("?", "p ∧ q", "p ∨ q", "formula", False),
        ("?", "p ∧ q", "$p \\land q$", "formula", True),
        ("?", "p", "~p", "formula", False),
        ("?", "(p ∧ q) → r", "p ∧ (q → r)", None, None),
        ("?", "(p ∧ q) → r", "p → (q → r)", None, None),
        ("?", "B", "B!", None, None),
        # Bounds in other words.
        ("Who?", VOTERS, "Every citizen aged eighteen or over.", "opposite", True),
        ("Who?", VOTERS, "Citizens aged 18 and above", "opposite", True),
        ("Who?", VOTERS, "Citizens under 18", "opposite", False),
        ("Who?", VOTERS, "Citizens over 18", None, None),
        ("Who?", VOTERS, "Residents aged 18 or over", None, None),
        ("How many?", "over 100 people", "more than 100", "opposite", True),
        ("How far?", "more than 100 miles", "over 100 km", None, None),
        # First names, and what stands in their place.
        ("Who?", "Jessica Simpson", "Egerton Simpson", "name", False),
        ("Who?", "Abraham Lincoln", "President Lincoln", None, None),
        ("Who?", "William Gates", "Bill Gates", None, None),
    ],
)
def test_a_module_decides(question: str, reference: str, answer: str, module: str | None, correct: bool | None) -> None:
    decision = decide(question, [reference], answer)
    assert (decision and decision.module, decision and decision.correct) == (module, correct)


def test_no_module_accepts_a_step_of_a_calculation_that_is_cut_off() -> None:
    answer = "First we multiply: 6 * 7 = 42. Next we have to subtract the"
    assert decide("How much is left?", ["42"], answer, allowed={"number": {"correct", "incorrect"}}) is None


@pytest.mark.parametrize(("other", "correct"), [("Alex Skuby", False), ("Alex DuPort", None), ("Doug DuPort", True)])
def test_another_name_of_a_person_has_no_word_of_the_answer(other: str, correct: bool | None) -> None:
    decision = decide("Who?", ["Doug Pruzan", other], "Doug DuPort")
    assert (decision and decision.correct) == correct
