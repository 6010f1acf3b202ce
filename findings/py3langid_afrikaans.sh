#!/usr/bin/env bash
# Tool: py3langid 0.4.0 (language identification).
# Behaviour: a text without any of the model's features is not reported as unknown. All languages then have the same score, and the
# first one of the alphabet is returned: Afrikaans. One-word answers in English have no features; the score, -3.4e38, is the only sign.
# Seen: "Paris", "no", "42" are af; "London" is eo, "Lyon" is ht.
# Why it matters: answers to short-answer benchmarks are mostly of this length, so a table by language is wrong for most of its rows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile py3langid==0.4.0 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
import py3langid

for answer in ("Paris", "no", "42", "London", "Lyon", "The capital of France is Paris."):
    language, score = py3langid.classify(answer)
    print(answer, language, "without features" if score < -1e38 else "with features")
PY
diff - "$folder/seen" <<'EXPECTED'
Paris af without features
no af without features
42 af without features
London eo with features
Lyon ht with features
The capital of France is Paris. en with features
EXPECTED
echo "as described"
