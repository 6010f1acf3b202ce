"""Find the option that an answer chooses: one scan over its letters and the phrases that choose, affirm or reject them."""

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache

from bert_judge.text import extraction
from bert_judge.text.extraction import ANSWER, MARKER, NOT_INSIDE_WORD, phrase_pattern
from bert_judge.text.latex import boxed
from bert_judge.text.normalization import normalize
from bert_judge.text.options import OPTION, SIGNED_LETTER, join_letters, match_option, shorten_repeated_letters

# Characters at the start and at the end of an answer that are searched.
MAX_HEAD, MAX_TAIL = 2_000, 10_000


def extract_choice(text: str, options: Mapping[str, str], is_statement: bool = False) -> str | None:
    """Return the letter of the option that a text chooses; None if it chooses none.

    A text that states several options gives their letters together, "AB". A list of all options is left out; the option that it
    marks counts if the rest chooses none. Tried in this order: the text is an option; the last "the answer is (B)" or box; the
    final answer or box mentions a single option; the options that are affirmed, if all others are rejected; the last "choose B" or
    "B is correct"; the only letter that is marked, or starts a line, and is not rejected; the last or first line; the only option
    mentioned. `is_statement`: the text is an extracted answer, so that its first letter is a statement.
    """
    if not options or SIGNED_LETTER.fullmatch(text):
        return None
    text = shorten_repeated_letters(_ANSWER_INITIAL.sub("", text), options)
    if repeated := find_repeated_options(text, options):
        rest = f"{text[: repeated.start()]}\n{text[repeated.end() :]}"
        return (extract_choice(rest, options) if re.search(r"\w", rest) else None) or _marked_options(repeated, options)
    if len(text) <= MAX_HEAD and (option := match_option(text, options)):
        return option
    if len(text) > MAX_HEAD + MAX_TAIL:
        text = f"{text[:MAX_HEAD]}\n{text[-MAX_TAIL:]}"
    if not text.isascii():
        text = _FOREIGN_LETTER.sub(lambda letter: letter[0].translate(_LETTER_FORMS), text)
    final, box, scan = extraction.extract_final_answer(text), boxed(text), _Scan(text, options, is_statement)
    opening = scan.by_cue["opening"]
    return (
        (final and not scan.is_retracted and match_option(final, options))
        or join_letters(scan.by_cue["statement"], options)
        or _option_in(final, options)
        or _option_in(box, options)
        or (join_letters(scan.affirmed, options) if scan.affirmed ^ scan.rejected == options.keys() else None)
        or join_letters(scan.by_cue["choose"], options)
        or _letter_in_first_line(text, options, scan)
        or _only(scan.marked - scan.rejected)
        or _only(scan.lined - scan.rejected)
        or _option_at_the_edge(text, options)
        or _only_option_in(text, options, scan.rejected)
        or _only(scan.bare - scan.rejected)
        or (join_letters(opening, options) if len(set(opening) - scan.rejected) > 1 else None)
    )


_OPEN = r"(?:[\s*_(\[{（【\"'`“$:：>~]|\\(?:text|textbf|mathrm|mathbf|boxed|fbox)\s?\{|\\[(\[]|<\w{1,8}>)"
_CLOSE = r"[)\]}）】*_.:\"'`”$]"
_FILLERS = re.compile(
    rf"{_OPEN}{{0,8}}(?:(?i:option|choice|letter|the|both|either|probably|clearly|most|likely|indeed|therefore|thus|definitely"
    rf"|answer|to be|that|as|for|number|选项|選項){_OPEN}{{0,6}}){{0,4}}"
)
# Letters of scripts without spaces may follow directly. C++, F# and A- are other answers.
_WORD_CHARACTER = r"[A-Za-z0-9_'’\u00c0-\u052f]"
_NO_WORD = rf"(?!{_WORD_CHARACTER}|\.[A-Za-z0-9]|[+#]|-[\s.]*(?:\n|\Z))"


@cache
def _token_pattern() -> re.Pattern[str]:

    def phrases(name: str) -> str:
        return phrase_pattern(name, f"{name}_without_spaces", by_initial=True)

    return re.compile(
        rf"{NOT_INSIDE_WORD}(?:(?P<statement>(?i:{MARKER})|\\(?:boxed|fbox)\s?\{{|(?i:{OPTION})\s?[:：=]"
        rf"|(?i:{ANSWER})\s?(?=[*_(\[]{{0,2}}[A-Z]{_NO_WORD}))"
        rf"|(?P<labelled>(?i:{OPTION})\s?[*_(\[\"'`]{{0,3}}(?P<l>[A-Za-z]){_NO_WORD}{_CLOSE}{{0,4}})"
        rf"|(?P<wrapped>\((?P<w1>[A-Za-z])\)|\[(?P<w2>[A-Z])\]|\*\*\(?(?P<w3>[A-Z])[).:]?\*\*|（(?P<w4>[A-Z])）|<(?P<w5>[A-Z])>(?![^<\n]{{0,80}}</))"
        rf"|(?P<lined>^[^\S\n]{{0,4}}[*_#>-]{{0,4}}[^\S\n]?(?P<i>[A-Za-z])[*_]{{0,2}}[).:、．：](?=[\s*]|$|[^\x00-\x7f]))"
        rf"|(?P<rejected>(?i:{phrases('rejected')}))"
        rf"|(?P<affirmed>(?i:{phrases('affirmed')}))"
        rf"|(?P<reject>(?i:{phrases('reject')}))"
        rf"|(?P<retract>(?i:{phrase_pattern('retract')}))"
        rf"|(?P<choose>(?i:{phrases('choose')}))"
        rf"|(?P<several>(?<!{_WORD_CHARACTER})(?P<s>[A-Z]{{2,6}}){_NO_WORD})"
        rf"|(?P<bare>(?<!{_WORD_CHARACTER})(?<![\\-])(?P<b>[A-Za-z]){_NO_WORD}))",
        re.MULTILINE,
    )


_MENTION_GROUPS = {"labelled": ("l",), "wrapped": ("w1", "w2", "w3", "w4", "w5"), "lined": ("i",), "bare": ("b",)}
_AND_WORD = phrase_pattern("and", "or", "and_without_spaces", "or_without_spaces")
_AND = re.compile(rf"{_CLOSE}{{0,4}}\s?(?:[,/&;、+]\s?|(?P<word>(?i:{_AND_WORD})\s?)){{1,2}}{_OPEN}{{0,6}}")
# What may follow a letter that is a whole answer.
_TERMINAL = re.compile(
    rf"{_CLOSE}{{0,4}}\s*(?:\Z|\n|[.,;!?(—–。，；！：:-]|[^\x00-\x7f]|<|(?i:because|since|as|and|or|over|is|which|rather|instead|to)\b)"
)
_END_OF_LOWERCASE = re.compile(r"[)\]}.,;:*\"'$\n]|\s*\Z")
# "a", "A" and "I" are words before another word: "A cat".
_WORD_AFTER = {
    "A": re.compile(r"\s+(?!(?:because|since|as|and|or|over|which|is|was|isn|seems|not)\b)\w", re.IGNORECASE),
    "I": re.compile(r"\s+(?!(?:is|or|and)\b)\w|['’]", re.IGNORECASE),
}
_PREVIOUS_WORD, _NEXT_WORD = re.compile(r"(\w+)[ -]\Z"), re.compile(r"[ -](\w+)")
_PREDICATE_GAP = re.compile(rf"{_CLOSE}{{0,4}}\s?(?:\([^()\n]{{0,80}}\))?[\s,]?\s?")
# "A: B", where A is short for "answer".
_ANSWER_INITIAL = re.compile(r"\A\s*A:\s*(?=\(?[A-Z]\)?[\s.]*\Z)")
# Full-width letters, and the letters of translated tests.
_LETTER_FORMS = {0xFF21 + i: 0x41 + i for i in range(26)} | dict(zip(map(ord, "أبجدঅবডঢকখগঘ"), map(ord, "ABCD" * 3), strict=True))
_FOREIGN_LETTER = re.compile(r"(?<!\w)[Ａ-Ｚأبجدঅবডঢকখগঘ](?!\w)")
_LAST_SENTENCE_CHARACTERS = 200

# Characters from a letter to its option: mark, decoration, spaces.
_MAX_LABEL = 9
# A list of all options with nothing but these beside them. An empty box is no sign.
_SELECTED = rf"[✓✔✅☑🗹√☒◉●→➡⇒►▶👉⭐←⬅⇐]|\[[xX✓✔*]\]|[-=]+>|<[-=]+|(?i:{phrase_pattern('chosen', 'chosen_without_spaces')})"
_REJECTED = rf"[✗✘❌✖×]|(?i:{phrase_pattern('dismissed', 'dismissed_without_spaces')})"
_ADJACENT = rf"(?:{_REJECTED}|{_SELECTED}|[^\w\n]|_){{0,12}}?"
_SIGN = re.compile(rf"(?P<rejected>{_REJECTED})|(?P<chosen>{_SELECTED})|(?P<bold>\*\*|__)")


def find_repeated_options(text: str, options: Mapping[str, str]) -> re.Match[str] | None:
    """Return the list of all options in a text that repeats it without a comment."""
    if not all(option and _is_labelled(text, letter, option) for letter, option in options.items()):
        return None
    return _list_pattern(tuple(options.items())).search(text)


def _is_labelled(text: str, letter: str, option: str) -> bool:
    """Return whether an option stands somewhere behind its letter; the pattern of a whole list takes longer to compile."""
    start = -1
    while (start := text.find(option, start + 1)) >= 0:
        if letter in text[max(0, start - _MAX_LABEL) : start]:
            return True
    return False


def marks_all_options(text: str, options: Mapping[str, str]) -> bool:
    """Return whether a text has the marked letters of all of three or more options, in any order, and rejects none."""
    scan = _Scan(text[-MAX_TAIL:], options, is_statement=False)
    return len(options) > 2 and scan.marked == options.keys() and not scan.rejected


@lru_cache(maxsize=1024)
def _list_pattern(options: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """Return a pattern for the options in order, with groups for what stands before and after each: `before_A`, `after_A`, …"""
    items = (
        rf"(?P<before_{letter}>{_ADJACENT})(?:(?i:{OPTION})\s?)?{letter}(?:[)\]）】.:：、．]{{1,2}}|\s[-–—])[*_]{{0,2}}\s{{0,4}}"
        rf"{re.escape(option)}(?P<after_{letter}>{_ADJACENT})"
        for letter, option in options
    )
    return re.compile(r"\s*".join(items) + r"\s*$", re.MULTILINE)


def _marked_options(repeated: re.Match[str], options: Mapping[str, str]) -> str | None:
    """Return the letters that a list of all options marks as chosen, in bold, or by rejecting all others; None if it marks none."""
    signs = {letter: [*_SIGN.finditer(repeated[f"before_{letter}"] + repeated[f"after_{letter}"])] for letter in options}
    kinds = {letter: {sign.lastgroup for sign in matches} for letter, matches in signs.items()}
    selected = [letter for letter, kind in kinds.items() if "chosen" in kind and "rejected" not in kind]
    bold = [letter for letter, kind in kinds.items() if "bold" in kind]
    remaining = [letter for letter, kind in kinds.items() if "rejected" not in kind]
    if not selected:
        selected = bold if len(bold) < len(options) else []
        selected = selected or (remaining if len(remaining) == 1 else [])
    return join_letters(selected, options)


class _Scan:
    def __init__(self, text: str, options: Mapping[str, str], is_statement: bool) -> None:
        self.text, self.options = text, options
        self.option_words = f" {' '.join(options.values())} ".casefold()
        # The last letters that follow a phrase of each kind: the stated, the selected and the first ones.
        self.by_cue: dict[str, list[str]] = {"statement": [], "choose": [], "opening": []}
        self.marked: set[str] = set()
        self.lined: set[str] = set()
        self.rejected: set[str] = set()
        self.affirmed: set[str] = set()
        self.bare: set[str] = set()
        # The last phrase before a letter, with its end; the last letters, joined by "and", with their end.
        self._cue, self._cue_end = "statement" if is_statement else "opening", 0
        self._group: list[str] = []
        self._group_end = 0
        # "The answer is A. Wait, it is B."
        self.is_retracted = False
        last_sentence = max(_last_sentence_start(text), len(text) - _LAST_SENTENCE_CHARACTERS)
        for token in _token_pattern().finditer(text):
            kind = token.lastgroup or ""
            if kind == "several":
                self._add_several(token)
            elif kind in _MENTION_GROUPS:
                self._add_mention(token, kind, last_sentence)
            elif kind in ("affirmed", "rejected"):
                self._add_predicate(token, kind)
            elif kind == "retract":
                self.is_retracted = True
            elif kind != "statement" or token["hashes"] is not None or not extraction.is_talk(text, token):
                self._cue, self._cue_end = kind, token.end()

    def _add_mention(self, token: re.Match[str], kind: str, last_sentence: int) -> None:
        text, start, end = self.text, token.start(), token.end()
        group = next(name for name in _MENTION_GROUPS[kind] if token[name])
        letter, letter_end = token[group].upper(), token.end(group)
        is_word = letter in _WORD_AFTER and _WORD_AFTER[letter].match(text, letter_end)
        if letter not in self.options or (is_word and kind in ("bare", "labelled")):
            return
        follows_cue = bool(self._cue) and bool(_FILLERS.fullmatch(text, self._cue_end, start))
        if not self._is_letter(token, kind, letter_end, follows_statement=follows_cue and self._cue == "statement"):
            return
        if kind == "bare":
            if start >= last_sentence:
                self.bare.add(letter)
        else:
            self.marked.add(letter)
            self.lined |= {letter} if kind == "lined" else set()
        is_whole = kind in ("labelled", "wrapped") or bool(_TERMINAL.match(text, letter_end))
        if self._group and letter not in self._group and self._joins_group(start, is_whole):
            self._group.append(letter)
        else:
            self._group = [letter]
            if follows_cue and self._cue in self.by_cue and (is_whole or self._cue != "choose"):
                self.by_cue["statement" if self._cue == "choose" and self.is_retracted else self._cue] = self._group
        if (follows_cue and self._cue == "reject") or (len(self._group) > 1 and self._group[0] in self.rejected):
            self.rejected.add(letter)
        if follows_cue:
            self._cue = ""
        self._group_end = end

    def _add_several(self, token: re.Match[str]) -> None:
        """Add letters without a space, "AC", where they follow a phrase that states or chooses an option."""
        letters = list(token["s"])
        if letters != sorted(set(letters)) or any(letter not in self.options for letter in letters):
            return
        if self._cue and _FILLERS.fullmatch(self.text, self._cue_end, token.start()) and _TERMINAL.match(self.text, token.end()):
            if self._cue in self.by_cue:
                self.by_cue[self._cue] = letters
            self._cue = ""

    def _is_letter(self, token: re.Match[str], kind: str, letter_end: int, *, follows_statement: bool) -> bool:
        """Return whether a letter stands for an option and not for a name or a small word."""
        is_lower = self.text[letter_end - 1].islower()
        if kind == "bare" and follows_statement:
            return not is_lower or bool(_END_OF_LOWERCASE.match(self.text, letter_end))
        if kind == "bare":
            return not is_lower and not self._is_part_of_option(token.start(), letter_end)
        if kind == "lined" and is_lower:
            return self._starts_with_option(self.text[letter_end - 1].upper(), token.end())
        return True

    def _add_predicate(self, token: re.Match[str], kind: str) -> None:
        """Apply "is correct" or "is wrong" to the letters before it; without such letters, "not" rejects the next."""
        if not self._group or not self._is_subject(token.start()):
            if kind == "rejected":
                self._cue, self._cue_end = "reject", token.end()
        elif kind == "affirmed":
            # "Neither A nor B is correct."
            if not self.rejected.issuperset(self._group):
                self.by_cue["choose"] = self._group
                self.affirmed.update(self._group)
        elif len(self._group) > 1 and any(self._group is self.by_cue[cue] for cue in ("statement", "choose")):
            # "The answer is A, and B is wrong."
            self.rejected.add(self._group.pop())
        else:
            self.rejected.update(self._group)
        self._group = [] if kind == "rejected" else self._group

    def _joins_group(self, start: int, is_whole: bool) -> bool:
        """Return whether only "and", or the text of the last option and "and", stands between the group and a letter."""
        position = self._group_end
        if start - position > 300:
            return False
        option = self.options[self._group[-1]]
        between = self.text[position:start].lstrip(" ).:*-")
        if option and between.startswith(option):
            position = start - len(between) + len(option)
        match = _AND.fullmatch(self.text, position, start)
        return match is not None and (is_whole or bool(match["word"]))

    def _is_subject(self, start: int) -> bool:
        """Return whether nothing but brackets or the text of its option stands between the group and a predicate."""
        if _PREDICATE_GAP.fullmatch(self.text, self._group_end, start):
            return True
        option, gap = self.options[self._group[-1]], self.text[self._group_end : start]
        return bool(option) and len(gap) < len(option) + 20 and normalize(gap) == normalize(option)

    def _is_part_of_option(self, start: int, end: int) -> bool:
        """Return whether a bare letter belongs to a name in an option: "vitamin C"."""
        letter = self.text[start:end].casefold()
        previous = _PREVIOUS_WORD.search(self.text[max(0, start - 20) : start])
        following = _NEXT_WORD.match(self.text, end)
        return bool(
            (previous and f" {previous[1].casefold()} {letter} " in self.option_words)
            or (following and f" {letter} {following[1].casefold()} " in self.option_words)
        )

    def _starts_with_option(self, letter: str, end: int) -> bool:
        option = self.options[letter][:20].casefold()
        return bool(option) and self.text[end : end + 30].strip(" *").casefold().startswith(option)


def _only(letters: Collection[str]) -> str | None:
    return next(iter(letters)) if len(letters) == 1 else None


def _option_in(text: str | None, options: Mapping[str, str]) -> str | None:
    return (match_option(text, options) or _only_option_in(text, options)) if text else None


def _last_sentence_start(text: str) -> int:
    position = 0
    for match in re.finditer(r"[.!?。！？]\s*(?=\S)|\n+(?=\S)", text[-1000:]):
        position = match.end()
    return max(0, len(text) - 1000) + position


def _letter_in_first_line(text: str, options: Mapping[str, str], scan: _Scan) -> str | None:
    """Return the letter that is the first line, before an explanation."""
    first, _, explanation = text.strip().partition("\n")
    letter = match_option(first, options) if explanation and len(first) <= 6 and not scan.is_retracted else None
    return letter if letter and letter not in scan.rejected and scan.lined <= {letter} else None


def _option_at_the_edge(text: str, options: Mapping[str, str]) -> str | None:
    lines = text.strip().split("\n")
    for excerpt in (lines[-1], text[_last_sentence_start(text) :], lines[0]):
        if len(excerpt) < _LAST_SENTENCE_CHARACTERS and (option := match_option(excerpt, options)):
            return option
    return None


def _only_option_in(text: str, options: Mapping[str, str], excluded: Collection[str] = ()) -> str | None:
    """Return the only option whose text occurs, ignoring options inside longer ones that occur too."""
    padded = f" {normalize(text)} "
    occurring = {
        letter: f" {words} " for letter, option in options.items() if (words := normalize(option)) and f" {words} " in padded
    }
    texts = occurring.values()
    longest = [letter for letter, text in occurring.items() if not any(text in longer and text != longer for longer in texts)]
    return _only([letter for letter in longest if letter not in excluded])
