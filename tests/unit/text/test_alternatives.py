"""Answers that list candidates, of which the reference is one."""

import pytest

from bert_judge.text.rules import decide

LISTS = [
    ("Who painted it?", ["Jane Austen"], "Either of George Eliot; Jane Austen; Mary Shelley."),
    ("Who painted it?", ["Jane Austen"], "My guess: Jane Austen, George Eliot, Mary Shelley or Emily Brontë"),
    ("How many legs has a spider?", ["8"], "4, 6, 8 or 10"),
    ("How many legs has a spider?", ["8", "eight"], "It could be 6, 8 or 10."),
    ("What is a young dog called?", ["puppy", "pup"], "kitten / puppy / foal / calf"),
    ("What is a young dog called?", ["puppy"], "Final answer: kitten, puppy, foal and calf"),
    ("Which metal?", ["iron"], "zinc\niron\nlead"),
    ("Which year?", ["1912"], "1910, 1911, 1912"),
    ("Which city?", ["Lyon"], "Paris | Lyon | Nice"),
    ("Who wrote it?", ["Harper Lee"], "Here are all that fit: Oscar Wilde / George Eliot / Harper Lee."),
    ("Where is it?\n(A) Asia\n(B) Africa", ["B", "Africa"], "Oceania, Africa, South America or Asia"),
    ("Capital of Australia?", ["Canberra"], "One of: Sydney, Canberra, Melbourne, Perth"),
    ("Capital of Australia?", ["Canberra"], "It is either Sydney or Canberra."),
    ("Who wrote it?", ["Harper Lee"], "It could be Harper Lee or Truman Capote"),
    ("Which year?", ["1912"], "1912 or 1913"),
    ("Which day?", ["April 15, 1912"], "Could be April 15, 1912, could be May 7, 1915."),
    ("Which metal?", ["iron"], "My guesses: iron, in 1912, a large ship, two."),
    ("Which month?", ["May 2014"], "May 2013 or May 2014"),
    ("How far?", ["5 km"], "5 km or 7 km"),
    ("What was it?", ["two years"], "John Watson, two years, revenge and karma, NBC, 3"),
    ("Who wrote it?", ["Emily Brontë"], "Either of Goya; Emily Brontë; Stravinsky.\nFinal answer: Goya; Emily Brontë; Stravinsky"),
    ("Name the metal that it is made of.", ["iron"], "One of these: the sea, NBC, iron."),
]
ANSWERS = [
    ("Where was he born?", ["Springfield"], "Springfield, Illinois, USA"),
    ("Where was he born?", ["Springfield"], "123 Main Street, Springfield, Sangamon County, Illinois, USA"),
    ("Where is it?", ["Lyon"], "Lyon, Rhône, Auvergne-Rhône-Alpes, France, Europe"),
    ("When was it?", ["5 April 2011"], "Tuesday, April 5, 2011"),
    ("Which countries border it?", ["Peru"], "Peru, Chile, Bolivia and Brazil"),
    ("What does water consist of?", ["hydrogen, oxygen"], "hydrogen, oxygen, carbon or iron"),
    ("Who is it?", ["Labour"], "In 1945, the Labour Party, led by Attlee, won."),
    ("How often?", ["every week"], "You see your therapist, Dr. Smith, every week."),
    ("What is a young dog called?", ["puppy"], "puppy or pup"),
    ("What is it?", ["water"], "water, H2O"),
    ("Where do they fly?", ["Florida"], "In the film: the family flies to Miami, Florida."),
    ("How far?", ["5 km"], "5 km or 3.1 miles"),
    ("Which share?", ["5%"], "5%, or 0.05."),
    ("How many?", ["4"], "values = [1, 2, 3, 4, 5]; print(max(values))"),
    ("Which river?", ["Nile"], "Danube, Rhine or Elbe"),
    ("Who wrote it?", ["Mark Twain"], "Mark Twain or Samuel Clemens"),
    ("Which country?", ["Iran"], "Iran or Persia"),
    ("Which city?", ["Nice"], "It might be Rome/Nice/Pisa. In the end, Nice."),
    ("How fast?", ["5 km/h"], "5 km/h"),
    ("What does it mean?", ["resembling a star"], "Of, pertaining to, or resembling a star"),
    ("Which colour?", ["red", "blue"], "It could be red or blue"),
]


@pytest.mark.parametrize(("question", "references", "answer"), LISTS)
def test_a_list_of_candidates_is_incorrect(question, references, answer):
    decision = decide(question, references, answer)
    assert decision is not None and (decision.module, decision.correct) == ("alternatives", False)


@pytest.mark.parametrize(("question", "references", "answer"), ANSWERS)
def test_parts_of_one_answer_are_no_candidates(question, references, answer):
    decision = decide(question, references, answer)
    assert decision is None or decision.module != "alternatives"
