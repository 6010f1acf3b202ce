#!/usr/bin/env bash
# Tool: json-repair 0.64.6 (reads the JSON that language models write).
# Behaviour: of a reply with two objects, the last one is returned and the first is dropped without a sign, so a verdict that the model
# quotes in its explanation replaces the verdict that it gave. A rating of "8–9" becomes 8 and "50%" becomes 50, while "7/10" stays a
# text; a reply without JSON is the empty string.
# Seen: see below.
# Why it matters: many LLM judges are read with this library; an answer that was called correct is counted as incorrect.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile json-repair==0.64.6 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
import json_repair

for reply in (
    '{"verdict": "correct"}. I would have written {"verdict": "incorrect"} had the year been missing.',
    '{"score": 8–9}',
    '{"score": 50%}',
    '{"score": 7/10}',
    "The answer is correct.",
):
    print(repr(json_repair.loads(reply)))
PY
diff - "$folder/seen" <<'EXPECTED'
{'verdict': 'incorrect'}
{'score': 8}
{'score': 50}
{'score': '7/10'}
''
EXPECTED
echo "as described"
