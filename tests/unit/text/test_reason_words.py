"""The words by which a person can check a verdict."""

import pytest

from bert_judge.text.evidence import _find_signs, compare_words, describe_words, format_share, quote


@pytest.mark.parametrize(
    ("question", "references", "candidate", "description"),
    [
        (
            "When did the Titanic sink?",
            ["15 April 1912"],
            "It hit an iceberg. It sank on 15 April 1913, in the early morning.",
            'has 15, april; lacks 1912 of "15 April 1912"; closest sentence "It sank on 15 April 1913, in the early morning."; '
            "adds hit, iceberg, sank, 1913, early, morning",
        ),
        # A full stop after a title or an initial ends no sentence; one before a word that starts sentences does.
        ("Who was blamed?", ["Mr. Flowers"], "I was not there. It was Mr. Flowers, I believe, a man of that time. Then he left.",
         'has all words of "Mr. Flowers"; closest sentence "It was Mr. Flowers, I believe, a man of that time."; '
         "adds not, there, i, believe, man, time and 2 more"),
        ("Who led?", ["J. S. Bach"], "He was there. J. S. Bach led.\nIt was good.",
         'has all words of "J. S. Bach"; closest sentence "J. S. Bach led."; adds there, good'),
        ("Which vitamin?", ["vitamin C"], "It is vitamin C. He was sure!  Lemons have it",
         'has all words of "vitamin C"; closest sentence "It is vitamin C."; adds sure, lemons'),
        ("Who wrote Faust?", ["Schiller", "Johann Wolfgang von Goethe"], "Goethe wrote it.",
         'has goethe; lacks johann, wolfgang, von of "Johann Wolfgang von Goethe"; adds no word'),
        # Inflected forms of a word are the same word.
        ("Why?", ["batteries charging"], "The battery was charged.", 'has all words of "batteries charging"; adds no word'),
        # A number is the same however it is written.
        ("How many?", ["1,000"], "It is 1000.", 'has all words of "1,000"; adds no word'),
        ("How many?", ["five"], "There are 5 of them.", 'has all words of "five"; adds there, them'),
        ("Who?", ["Zürich"], "Zurich", 'has all words of "Zürich"; adds no word'),
        ("Which?", ["Rome"], "Rome or not. Final answer: Paris", 'states "Paris"; has all words of "Rome"; closest sentence '
         '"Rome or not."; adds not, final, answer, paris'),
        ("How far?", ["534 km"], "About 332 miles, as the crow flies.",
         'has no word of "534 km"; adds about, 332, mi, crow, flies'),
        ("Capital?", ["東京"], "東京です", 'has all words of "東京"; adds で, す'),
        # Signs are no words.
        ("Which?", ["U-235"], "It is uranium-235.", 'has 235; lacks u of "U-235"; adds uranium'),
        # A reference of function words alone is compared by these.
        ("Which preposition?", ["of"], "It is of.", 'has all words of "of"; adds it, is'),
        ("?", ["?"], "…", 'has no word of "?"; adds ...'),
        ("?", [""], "", 'has no word of ""; adds no word'),
        # Signs that make another formula, quantity or name are named as words are.
        ("?", ["x + 1"], "x − 1", 'has x, 1; lacks + of "x + 1"; adds -'),
        ("?", ["x+1"], "x-1", 'has x, 1; lacks + of "x+1"; adds no word'),
        ("?", ["b < c"], "b > c", 'has b, c; lacks < of "b < c"; adds >'),
        ("?", ["x ≥ 3"], "It is x ≤ 3.", 'has x, 3; lacks ≥ of "x ≥ 3"; adds ≤'),
        ("?", ["A ∪ B"], "A ∩ B", 'has b; lacks ∪ of "A ∪ B"; adds ∩'),
        ("?", ["x^2"], "x*2", 'has x, 2; lacks ^ of "x^2"; adds *'),
        ("?", ["x × 2"], "x * 2", 'has all words of "x × 2"; adds no word'),
        ("?", ["-x"], "x", 'has x; lacks - of "-x"; adds no word'),
        ("?", ["f'(x)"], "f(x)", """has f, x; lacks ' of "f'(x)"; adds no word"""),
        ("?", ["blood type A+"], "blood type A-", 'has blood, type; lacks + of "blood type A+"; adds -'),
        ("Which language?", ["C"], "C++", 'has all words of "C"; adds +'),
        ("?", ["10%"], "10", 'has 10; lacks % of "10%"; adds no word'),
        ("?", ["[0, 1)"], "(0, 1)", 'has 0, 1; lacks […) of "[0, 1)"; adds (…)'),
        ("Is x = 2?", ["x = 3"], "x = 2", 'has x, =; lacks 3 of "x = 3"; adds no word'),
    ],
)  # fmt: skip
def test_descriptions(question: str, references: list[str], candidate: str, description: str) -> None:
    assert describe_words(question, references, candidate) == description


@pytest.mark.parametrize(
    "text",
    ["well-known", "1914-1918", "5–7", "Paris - the capital", "- one\n- two", "**big** and *small*", "and/or", "U-235",
     "2020-05-01", "I'm", "option 'b'", "It is 5!", "> a quotation", "> quoted",
     "# Heading", "$5x$", "a 5-year-old", "co- and post-war", "(Paris, France)"],
)  # fmt: skip
def test_punctuation_is_no_sign(text: str) -> None:
    assert _find_signs(text) == []


def test_a_long_answer_says_how_much_was_compared() -> None:
    description = describe_words("Capital?", ["Paris"], "word " * 2_000 + "Paris")
    assert description == 'has no word of "Paris"; adds word; only the first 4,000 characters were compared'


def test_long_lists_and_quotations_are_cut() -> None:
    assert compare_words("abcdefgh", "") == "has no word"
    assert compare_words("abcdefgh", "a") == "has a; lacks b, c, d, e, f, g and 1 more"
    assert quote("x\n y" + "z" * 99) == f'"x y{"z" * 77}…"'


def test_shares_have_three_digits() -> None:
    assert [format_share(share) for share in (0.0, 1.0, 0.3, 6 / 19, 0.0001)] == ["0", "1", ".3", ".316", "0"]
