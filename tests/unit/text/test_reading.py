import gc
import pickle

from bert_judge.text.extraction import unwrap
from bert_judge.text.normalization import normalize_words
from bert_judge.text.reading import MAX_SHARED_CHARACTERS, Text, read_task, view

CALLS = []
LONG = "Paris " * MAX_SHARED_CHARACTERS


@view
def halve(text: str) -> str:
    CALLS.append(text)
    return text[: (len(text) + 1) // 2]


def test_a_view_is_computed_once_per_text_and_every_time_of_a_long_string() -> None:
    CALLS.clear()
    text = Text(LONG)
    assert halve(text) == halve(text) == halve(Text(LONG)) == halve(LONG) == LONG[: len(LONG) // 2]
    assert len(CALLS) == 3


def test_short_texts_share_their_views() -> None:
    CALLS.clear()
    assert halve(Text("abcd")) is halve("abcd") is halve("abcd")
    assert CALLS == ["abcd"]


def test_a_text_that_a_view_returns_has_views_and_is_the_text_itself_if_equal() -> None:
    text, letter = Text(LONG), Text("a")
    assert type(halve(text)) is Text
    assert halve(text) is halve(text)
    assert halve(letter) is letter
    assert type(halve(LONG)) is str


def test_views_make_no_reference_cycles() -> None:
    gc.collect()
    text = Text(LONG.strip())
    assert unwrap(text) is text
    assert normalize_words(text) == ["paris"] * MAX_SHARED_CHARACTERS
    del text
    assert gc.collect() == 0


def test_a_text_goes_to_other_processes_as_a_plain_string() -> None:
    text = Text("Paris")
    normalize_words(text)
    assert type(pickle.loads(pickle.dumps(text))) is str


def test_rows_with_the_same_question_and_references_share_their_task() -> None:
    task = read_task("Which?\n(A) Rome\n(B) Oslo", ("B",))
    assert read_task("Which?\n(A) Rome\n(B) Oslo", ("B",)) is task
    assert task.options == {"A": "Rome", "B": "Oslo"}
    assert task.choice is not None
    assert task.choice.correct == {"B"}
