"""Quantities with a unit below the line on one side: per day, a month, /h."""

import pytest

from bert_judge.text.reading import Task
from bert_judge.text.rules.number import decide_number, is_open
from bert_judge.text.rules.quantity_phrase import asked_units, units_below


@pytest.mark.parametrize(
    ("question", "reference", "answer", "is_same"),
    [
        # The question asks for it.
        ("What is the maximum daily dose of paracetamol?", "4 g", "4000 mg per day", True),
        ("How much water should one drink a day?", "2 litres", "2 litres per day", True),
        ("How much energy does a litre of petrol hold?", "10 kWh", "roughly ten kilowatt-hours per litre", True),
        ("What is the flow, in litres per minute?", "6 L/min", "6 litres", True),
        ("What is the maximum daily dose of paracetamol?", "4 g", "5000 mg per day", False),
        # It does not.
        ("How far does it go in 2 hours at 60 km/h?", "120 km", "120 km/h", False),
        ("How far is it?", "120 km", "120 km/h", False),
        ("What is the acceleration?", "9.8 m/s²", "9.8 m/s", False),
        ("What is the data rate?", "54 Mbit/s", "54 Mbps", True),
        ("What is the temperature?", "37 °C", "37 ºC", True),
        # An amount of money in another span of time.
        ("How much does it cost per month?", "$3000", "$3000 per year", False),
        ("What is the monthly rent?", "3000 euros", "3000 euros a year", False),
        ("How much does it cost per month?", "$3000", "$3000 a month", True),
        ("How much does it cost?", "$3000", "$3000 a month", True),
        ("How much does a kilo cost?", "$4", "$4 per kilogram", True),
        ("Tom works 8 hours a day and earns $160 a day. How much is he paid for every hour?", "$20", "$20 per hour", True),
        ("How much is it per year? It costs $10 per month.", "$120", "$120 per month", False),
        ("What is the data rate?", "100 Mbps", "100 mbps", True),
        # The unit stands in the question only.
        ("How long is it in metres?", "1500", "1500 km", False),
        ("How long is it in metres?", "1500", "1.5 km", True),
        ("How long is it in metres?", "1500", "1500", True),
        ("How long is it in metres?", "5", "It is about 5,5 m.", False),
        ("How many grams of sugar are in it?", "5", "5 kg", False),
        ("How long does it take in minutes?", "120", "2 hours", True),
        ("How long does it take in minutes?", "30", "30 hours", False),
        ("How many cents does it cost?", "50", "50 cents", True),
        ("How many cents does it cost?", "50", "$0.50", True),
        ("What is its speed in km/h?", "100", "100 mph", False),
        ("What is the temperature in Celsius?", "25", "25 °F", False),
        ("What is the temperature in Celsius?", "25", "25 °C", True),
        ("How many dollars does he pay?", "5", "$5", True),
        # Ranges have units too.
        ("How wide is it?", "45 to 60 cm", "45 to 60 inches", False),
        ("How wide is it?", "45 to 60 cm", "0.45 to 0.6 m", True),
        ("How much is it?", "$3-4 million", "€3-4 million", False),
        ("How many?", "71%", "71 per mille", False),
        # Numbers with a half, in words and half in words; years in words.
        ("How much?", "3.5%", "3 and a half percent", True),
        ("How much?", "2%", "3 and a half percent", False),
        ("How much?", "3.5", "3 And A Half", True),
        ("How concentrated is it?", "0.9%", "9 g/L", True),
        ("How concentrated is it?", "9 g per litre", "0.9%", True),
        ("How concentrated is it?", "0.9%", "0.9 g/dL", True),
        ("How concentrated is it?", "9 g/L", "9%", False),
        ("How cold is it?", "-18 °C", "18 °C", False),
        ("When?", "1889", "In eighteen eighty-nine.", True),
    ],
)
def test_a_unit_below_the_line(question: str, reference: str, answer: str, is_same: bool) -> None:
    decision = decide_number(Task(question, [reference]), reference, answer)
    assert decision is not None and decision.correct is is_same
    assert not is_open(question, reference, answer)


@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        ("What is the dose?", "4 g", "4 g per day"),
        ("What is the transfer speed of SATA 1?", "1.5 Gbit", "1.5 Gbit/s"),
        ("What is the data rate?", "54 Mbit", "54 Mbps"),
        # Megabits or megabases; no unit is left out.
        ("What size is it?", "5 MB", "5 Mb"),
        ("How much does he earn a year?", "$60,000", "$5,000 per month"),
        ("What is the molar mass of water?", "18.015", "18.02"),
        ("How far is the Moon?", "384,400 km", "about 384000 km"),
        ("How large is it?", "64 KB", "65,536 bytes"),
        ("How hot is it?", "1,100 to 1,200 °C", "~1150 °C"),
        ("How many dollars does he pay?", "5", "€5"),
        # One amount of several, or below another line than the one that is asked for.
        ("What is the maximum daily dose?", "4 g", "4 g twice a day"),
        ("What is the dose per hour?", "5 mg", "120 mg per day"),
        ("How many hours does she work per week?", "40 hours", "8 hours a day"),
        ("What is the annual fee?", "$95", "$95 per transaction"),
        ("How much does it cost per 100 g?", "$4", "$4 per kg"),
        ("What is the heart rate?", "60 bpm", "60 beats per second"),
        ("How much salt does a litre have?", "35 g", "3.5%"),
        ("How salty is the sea?", "3.5%", "36 g/L"),
        # Years of which planet?
        ("How long is a Martian year?", "687 days", "1.88 Earth years"),
        ("What is the volume?", "5 mL", "5 ML"),
        # Numbers in words that are not read, or read in part.
        ("Combien ?", "20", "cent vingt"),
        ("¿Cuántos?", "500", "quinientos"),
        ("¿Cuántos?", "11", "once"),
    ],
)
def test_what_may_be_the_same_is_open(question: str, reference: str, answer: str) -> None:
    assert decide_number(Task(question, [reference]), reference, answer) is None
    assert is_open(question, reference, answer)


def test_two_quantities_of_equal_digits_are_two() -> None:
    assert decide_number(Task("How much adrenaline?", ["500 µg"]), "500 µg", "0.5 mg (0.5 mL of 1:1000)") is None


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("How much does it cost per month?", {"mo"}),
        ("What is the daily dose?", {"d"}),
        ("How much is in a litre?", {"L"}),
        ("How far in 2 hours at 60 km/h?", set()),
        ("Tom earns $160 a day. How much is he paid for every working hour?", set()),
        ("If he earns $160 a day, what is that per hour?", {"h"}),
        ("What is a dose?", set()),
        ("What is the annual fee?", {"yr"}),
        ("How much does one pound cost?", {"lb"}),
        ("How much iron is in 1 kg?", {"kg"}),
        ("What is the GDP per capita?", {"capita"}),
    ],
)
def test_units_that_a_question_divides_by(text: str, units: set[str]) -> None:
    assert asked_units(text) == units


@pytest.mark.parametrize(
    ("text", "amount", "units", "is_repeated"),
    [
        ("$240 per person per year", "$240", {"person", "yr"}, False),
        ("1 million visitors a month", "1 million", {"mo"}, False),
        ("60 km/h", "60 km/h", {"h"}, False),
        ("4 g twice a day", "4 g", set(), True),
        # Not of the amount.
        ("70 minutes by running each day", "70 minutes", set(), False),
    ],
)
def test_units_that_an_answer_divides_an_amount_by(text: str, amount: str, units: set[str], is_repeated: bool) -> None:
    assert units_below(text, amount) == (units, is_repeated)
