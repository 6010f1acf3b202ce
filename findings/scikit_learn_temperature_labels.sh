#!/usr/bin/env bash
# Tool: scikit-learn 1.9.1, CalibratedClassifierCV(method="temperature").
# Behaviour: the temperature is fitted as if the classes were the integers from 0 on. Grades from 1 to 3 give an inverse temperature
# near 0, so all classes become about equally likely; the same rows with classes named by text, or from 0 on, are fitted well. Predicted
# classes and accuracy stay the same, so nothing looks wrong.
# Seen: mean probability of the predicted class above .6 for 0 to 2 and for texts, below .4 (chance is .33) for 1 to 3.
# Why it matters: judges and probes grade from 1 to 5 or 1 to 10; their calibrated probabilities are then noise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile scikit-learn==1.9.1 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" 2>/dev/null <<'PY'
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
features = rng.normal(size=(600, 4))
grade = (features[:, 0] + features[:, 1] + 0.3 * rng.normal(size=600) > 0).astype(int) + (features[:, 0] - features[:, 1] > 1)
for name, labels in (("0 to 2", grade), ("1 to 3", grade + 1), ("texts", np.array(["a", "b", "c"])[grade])):
    model = CalibratedClassifierCV(LogisticRegression(), method="temperature", cv=3).fit(features, labels)
    confidence = model.predict_proba(features).max(axis=1).mean()
    print(name, "accuracy above .75:", (model.predict(features) == labels).mean() > 0.75, end="; ")
    print("confidence", "above .6" if confidence > 0.6 else "below .4" if confidence < 0.4 else confidence)
PY
diff - "$folder/seen" <<'EXPECTED'
0 to 2 accuracy above .75: True; confidence above .6
1 to 3 accuracy above .75: True; confidence below .4
texts accuracy above .75: True; confidence above .6
EXPECTED
echo "as described"
