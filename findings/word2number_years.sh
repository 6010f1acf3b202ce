#!/usr/bin/env bash
# Tool: word2number 1.1 (number words as numbers).
# Behaviour: words that are not part of one number are added up or dropped instead of being refused. A year that is spoken in two parts
# is multiplied and added, a sign and a denominator are ignored, and two numbers become their sum.
# Seen: "nineteen eighty four" is 1524, "minus five" is 5, "two thirds" is 2, "one and two" is 3.
# Why it matters: normalising answers with it turns right years into wrong numbers and makes −5 equal to 5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile setuptools wheel word2number==1.1 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
from word2number import w2n

for words in ("nineteen eighty four", "minus five", "two thirds", "one and two", "one two three"):
    print(words, w2n.word_to_num(words))
PY
diff - "$folder/seen" <<'EXPECTED'
nineteen eighty four 1524
minus five 5
two thirds 2
one and two 3
one two three 5
EXPECTED
echo "as described"
