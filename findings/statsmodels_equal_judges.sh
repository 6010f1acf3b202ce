#!/usr/bin/env bash
# Tool: statsmodels 0.15.0, mcnemar and multipletests.
# Behaviour: for two judges that agree on every row, the asymptotic McNemar test, which is what exact=False asks for, returns a p value
# of 0: the continuity correction turns 0 into 1, which is then divided by 0. Without the correction the p value is NaN, and one NaN
# among several p values makes all adjusted ones NaN with fdr_bh, while Holm's method keeps the others.
# Seen: p = 0.0 and statistic = inf; fdr_bh: four NaN, of which two are marked as rejected.
# Why it matters: "identical" is reported as the most significant difference of a table of models.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile statsmodels==0.15.0 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" 2>/dev/null <<'PY'
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

agreement = [[40, 0], [0, 10]]
for correction in (True, False):
    test = mcnemar(agreement, exact=False, correction=correction)
    print("correction", correction, "statistic", test.statistic, "p", test.pvalue)
for method in ("fdr_bh", "holm"):
    rejected, adjusted, _, _ = multipletests([0.001, 0.02, float("nan"), 0.9], method=method)
    print(method, rejected.tolist(), adjusted.tolist())
PY
diff - "$folder/seen" <<'EXPECTED'
correction True statistic inf p 0.0
correction False statistic nan p nan
fdr_bh [True, True, False, False] [nan, nan, nan, nan]
holm [True, False, False, False] [0.004, 0.06, nan, 1.0]
EXPECTED
echo "as described"
