"""The phrases of simulated models.

Blanks: `{a}` what the model settles on, `{b}` an answer that it rejects, `{c}` another one, `{f}` and `{first}` are `{a}` and `{b}`
in the form that follows the marker, `{list}` several answers in a row.
"""

from __future__ import annotations

TERSE = (
    "{a}",
    "{a}",
    "{a}.",
    "it is {a}.",
    "answer: {a}",
    "the answer is {a}.",
    "{a}, of course.",
    "that is {a}.",
    "A: {a}",
)

OPENERS = (
    "Let me think about this.",
    "Let's go through it step by step.",
    "Good question!",
    "I will look at what is asked first.",
    "This can be worked out quickly.",
    "Sure, here is how I see it.",
    "We should read the question carefully.",
    "There is a common trap here.",
    "To answer this, some background helps.",
    "Here is my reasoning.",
)

NUMBERS = (
    "The question gives {given}.",
    "We start from {given}.",
    "What is known: {given}.",
    "The numbers to combine are {given}.",
    "With {given} in the text, only a short calculation is needed.",
    "I write down {given} and go on from there.",
)

CONSIDERED = (
    "Some people would say {b}, but that does not fit.",
    "One might think of {b} or {c} at first.",
    "It is easily mixed up with {b}.",
    "At first sight {b} looks possible.",
    "Unlike {b}, the right answer fits every part of the question.",
    "{c} comes to mind, and so does {b}; neither holds up.",
    "A frequent mistake is {b}.",
    "I ruled out {b} first.",
    "Do not confuse this with {b}.",
    "It is neither {b} nor {c}.",
)

STATEMENTS = (
    "The answer is {a}.",
    "So the answer must be {a}.",
    "That leaves {a}.",
    "Therefore it is {a}.",
    "This gives {a}.",
    "In short, {a} is what is asked for.",
    "All of this points to {a}.",
    "Hence {a} is right.",
    "It comes out as {a}.",
    "Putting it together, we arrive at {a}.",
)

CLOSERS = (
    "",
    "",
    "I hope this helps!",
    "Let me know if you want more detail.",
    "{b} would be wrong.",
    "Had the question been another one, {b} might have been right.",
    "Feel free to ask again.",
    "Anything like {c} is far off.",
)

FREELY = (
    "So we get **{a}**.",
    "**{a}**",
    "### Answer\n{a}",
    "My answer: **{a}** (not {b}).",
    "It's {a}!",
    "You are looking for *{a}*, rather than {b}.",
    "> {a}",
    "I'd go with {a}, since {b} does not work.",
    "- {a}",
    "Result → {a}",
    "We end up with {a}, which settles it.",
    "The correct one here is {a} and not {b}.",
)

MARKED = (
    "Final answer: {f}",
    "Final answer: {f}",
    "Final answer: {f}",
    "Final answer: {f}",
    "Final answer: {f}.",
    "Final answer: **{f}**",
    "Final answer: it is {a}.",
    "Final answer: the answer is {a}",
)

UNSURE = (
    "I'm not certain, but probably {a}.",
    "It could be {b}, though I would say {a}.",
    "If I remember correctly, it is {a}.",
    "I think it's {a}, but please check.",
    "Hard to say. My best guess is {a} rather than {b}.",
    "Maybe {a}? I am fairly sure that it is not {b}.",
    "I considered {b}, but I lean towards {a}.",
    "As far as I know, {a}.",
    "Not {b}, I believe; more likely {a}.",
    "I would bet on {a}, even if {b} cannot be excluded.",
)

MARKED_UNSURE = (
    "Final answer: {f}",
    "Final answer: {f}",
    "Final answer: probably {f}",
    "Final answer: {f}, I think",
    "Final answer: {f} (not certain)",
    "Final answer: most likely {f}",
    "Final answer: {f}, unless I am mistaken",
    "Final answer: {f} rather than {first}",
)

TURNED = (
    "It is {b}. No, wait: it is {a}.",
    "{b}. Sorry, I meant {a}.",
    "The answer is {b}. Let me check that again. Actually, it is {a}.",
    "First I had {b}, but that was a slip; the answer is {a}.",
    "I would say {b}... hmm, no, {a}.",
    "{b}? That cannot be right. It is {a}.",
    "My first thought was {b}. On reflection, {a} is right.",
    "So it is {b}. Correction: {a}.",
    "That makes {b}. Oh, I made a mistake, it should be {a}.",
    "Obviously {b}. Or rather not: {a} it is.",
)

MARKED_TURNED = (
    "Final answer: {first}\nWait, that is wrong.\nFinal answer: {f}",
    "Final answer: {first}. No, wait: it is {a}.",
    "Final answer: {first}\nCorrection: {a}.",
    "Final answer: {first} – sorry, I meant {f}",
    "Final answer: {first}\nOn second thoughts, this must be {a}.",
    "Final answer: {first}\nI take that back.\nFinal answer: {f}",
    "Final answer: {first}\nHmm, I mixed something up. It should be {a}.",
    "Final answer: {first}. Actually, {a}.",
)

# Here {x} and {y} are any two of the listed answers, so that a mention says nothing.
BROKEN = (
    "To decide between {x} and {y}, we first have to",
    "Some sources mention {x}, others {y}, and the",
    "If it were {x}, then the question would",
    "Let us begin with {x}. Comparing that with {y}, one",
    "Step 1: list what is known. Step 2: check whether {x}",
    "So is it {x}? We can test this by",
    "One possibility is {x}. Another possibility is {y}. To find out",
    "Now, before we come to the answer, note that",
    "The first thing to settle is whether {y} or {x} fits, and for",
    "Starting from what is given, we get to the point where the",
)

REFUSALS = (
    "I cannot help with that.",
    "I'm sorry, but I can't answer this question.",
    "As a language model, I am not able to answer this.",
    "I do not know.",
    "Unfortunately, I have no information about this.",
    "I would rather not answer that.",
    "Sorry, this is outside of what I can help with.",
    "I don't have enough information to say.",
    "Please consult a reliable source for this question.",
    "I'm unable to provide an answer.",
)

DUMPS = (
    "Possible answers: {list}.",
    "It could be any of these: {list}.",
    "The candidates are {list}.",
    "{list}.",
    "I see several options here: {list}. Each has something in its favour.",
    "Depending on how one reads the question: {list}.",
    "Either of {list}.",
    "Here are all answers that fit: {list}.",
    "One of {list}, that much is sure.",
    "There is more than one way to answer: {list}.",
)
