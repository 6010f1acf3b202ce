#!/usr/bin/env bash
# Tool: mlflow 3.17.2, mlflow.genai.evaluate.
# Behaviour: an expected_response may be a list of correct answers, and a scorer of one's own receives that list. In the table of
# results the same cell is NaN, without a warning, while texts are kept.
# Seen: expected_response/value is "Paris" in the first row and nan in the second; both scores are True.
# Why it matters: who exports result_df, to judge the answers again with another judge, loses all references but the single ones.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile mlflow==3.17.2 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
export MLFLOW_TRACKING_URI="sqlite:///$folder/mlflow.db" MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true
cd "$folder"
"$folder/env/bin/python" - >"$folder/output" 2>/dev/null <<'PY'
import mlflow
from mlflow.genai.scorers import scorer


@scorer
def is_correct(outputs, expectations):
    references = expectations["expected_response"]
    return outputs in (references if isinstance(references, list) else [references])


rows = [
    {"inputs": {"question": "Capital of France?"}, "outputs": "Paris", "expectations": {"expected_response": "Paris"}},
    {"inputs": {"question": "A prime below 4?"}, "outputs": "3", "expectations": {"expected_response": ["2", "3"]}},
]
table = mlflow.genai.evaluate(data=rows, scorers=[is_correct]).result_df
for _, row in table.iterrows():
    print("RESULT", row["is_correct/value"], row["expected_response/value"])
PY
grep ^RESULT "$folder/output" | sort >"$folder/seen"
diff - "$folder/seen" <<'EXPECTED'
RESULT True Paris
RESULT True nan
EXPECTED
echo "as described"
