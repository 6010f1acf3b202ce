#!/usr/bin/env bash
# Tool: evalica 0.4.2 (Bradley-Terry and Newman rankings of pairwise comparisons).
# Behaviour: if one model has won all of its comparisons, the maximum-likelihood strength of that model is infinite. evalica neither
# warns nor ranks it first: every model gets the same strength, the winner of all comparisons included, and the differences among the
# other models are lost too. One single loss of the best model brings sensible strengths back.
# Seen: {a: 1e-06, b: 1e-06, c: 1e-06} although a beat b three times and c drew level with b, by both methods.
# Why it matters: the clear winner of a small arena, which is the usual reason for running one, is reported as tied with the worst.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile evalica==0.4.2 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
from evalica import Winner, bradley_terry, newman

first = ["a"] * 3 + ["b"] * 2 + ["c"] * 2
second = ["b"] * 3 + ["c"] * 2 + ["b"] * 2


def show(name, result):
    print(name, {model: round(float(score), 6) for model, score in sorted(result.scores.items())})


show("unbeaten, Bradley-Terry:", bradley_terry(first, second, [Winner.X] * 7))
show("unbeaten, Newman:", newman(first, second, [Winner.X] * 7))
show("with one loss, Bradley-Terry:", bradley_terry([*first, "b"], [*second, "a"], [Winner.X] * 8))
PY
diff - "$folder/seen" <<'EXPECTED'
unbeaten, Bradley-Terry: {'a': 1e-06, 'b': 1e-06, 'c': 1e-06}
unbeaten, Newman: {'a': 1e-06, 'b': 1e-06, 'c': 1e-06}
with one loss, Bradley-Terry: {'a': 2.080084, 'b': 0.693361, 'c': 0.693361}
EXPECTED
echo "as described"
