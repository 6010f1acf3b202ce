"""Units after numbers have one spelling, and different units stay different."""

import pytest

from bert_judge.text.normalization import normalize_words

EQUAL = [
    ("100 °C", "100°C", "100C", "100 degrees Celsius", "100 degrees C", "one hundred degrees centigrade"),
    ("451 °F", "451F", "451 degrees Fahrenheit"),
    ("373 K", "373 kelvin", "373 kelvins"),
    ("90°", "90 degrees", "ninety degrees"),
    ("5 km", "5km", "5 kilometers", "5 kilometres", "five kilometers"),
    ("1 km", "1 kilometer", "one kilometre"),
    ("6 ft", "6 feet", "six feet"),
    ("3 hours", "3 hrs", "3h", "3 h", "three hours"),
    ("45 minutes", "45 min", "45mins", "45 mins."),
    ("20 years", "20 yrs", "twenty years", "20 " + "\u200b".join("years")),
    ("60 mph", "60 miles per hour", "60 mi/h"),
    ("90 km/h", "90 kph", "90 kilometers per hour", "90 kilometres per hour"),
    ("10 m/s", "10 meters per second", "10 metres per second"),
    ("10 m²", "10 m2", "10 sq m", "10 sq. m", "10 square meters", "10 m^2"),
    ("5 cm³", "5 cubic centimeters"),
    ("16 GB", "16GB", "16 gigabytes"),
    ("2 L", "2L", "2 liters", "2 litres"),
    ("12 V", "12V", "12 volts"),
]
DIFFERENT = [
    ("100 °C", "100 °F"),
    ("100 degrees Celsius", "100 degrees Fahrenheit"),
    ("5 km", "5 miles"),
    ("5 km", "5 m"),
    ("5 m", "5 ms"),
    ("5 g", "5 Gs"),
    ("3 hours", "3 minutes"),
    ("10 m²", "10 m"),
    ("10 square meters", "10 cubic meters"),
    ("16 GB", "16 megabytes"),
    ("60 miles per hour", "60 km per hour"),
    ("60 miles per hour", "60 miles per minute"),
    ("5 kilometers", "6 km"),
]
# Without a number before it, a word is no unit; in B2C, the letter is none.
UNCHANGED = {
    "hours": ["hours"],
    "a pound of flesh": ["pound", "of", "flesh"],
    "Meters and feet": ["meters", "and", "feet"],
    "square mile": ["square", "mile"],
    "the second": ["2nd"],
    "Chapter 5, second edition": ["chapter", "5", "2nd", "edition"],
    "min": ["min"],
    "degrees of freedom": ["degrees", "of", "freedom"],
    "B2C": ["b2c"],
    "C12H": ["c12h"],
}


@pytest.mark.parametrize("spellings", EQUAL, ids=lambda spellings: spellings[0])
def test_spellings_of_a_unit_are_equal(spellings: tuple[str, ...]) -> None:
    assert {text: normalize_words(text) for text in spellings} == dict.fromkeys(spellings, normalize_words(spellings[0]))


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_units_differ(first: str, second: str) -> None:
    assert normalize_words(first) != normalize_words(second)


@pytest.mark.parametrize("text", UNCHANGED)
def test_other_words_stay(text: str) -> None:
    assert normalize_words(text) == UNCHANGED[text]
