#!/usr/bin/env bash
# Tool: tokenizers 0.23.3, BertNormalizer with its defaults (as in most English BERT models).
# Behaviour: "lowercase" also strips accents, and an accent is every combining mark: not only that of é, but the voicing marks of
# Japanese, vowels of Thai and Khmer that stand above a letter, and the dot of Bengali letters. With lowercase=False they stay.
# Seen: パリ (Paris) and ハリ (needle) are the same text, and so are กิน (eat) and กน, ড় and ড.
# Why it matters: an encoder that compares an answer with a reference sees two equal texts, although no token is unknown.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile tokenizers==0.23.3 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
from tokenizers.normalizers import BertNormalizer

for words in (("パリ", "ハリ"), ("กิน", "กน"), ("ড়", "ড"), ("résumé", "resume")):
    for lowercase in (True, False):
        first, second = (BertNormalizer(lowercase=lowercase).normalize_str(word) for word in words)
        print(*words, f"lowercase={lowercase}:", "equal" if first == second else "different")
PY
diff - "$folder/seen" <<'EXPECTED'
パリ ハリ lowercase=True: equal
パリ ハリ lowercase=False: different
กิน กน lowercase=True: equal
กิน กน lowercase=False: different
ড় ড lowercase=True: equal
ড় ড lowercase=False: different
résumé resume lowercase=True: equal
résumé resume lowercase=False: different
EXPECTED
echo "as described"
