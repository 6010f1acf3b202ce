#!/usr/bin/env bash
# Tool: quantulum3 0.10.0 (quantities in texts), without its optional classifier.
# Behaviour: a range is returned as one quantity, its middle: value 4 for "3-5 km", with half of its width as the uncertainty. "5 ± 1
# km" is returned in the same way, and only the surface tells them apart. "half a mile" has the unit "per mile".
# Seen: see below.
# Why it matters: an answer of 4 km is counted as equal to a reference of 3 to 5 km, and half a mile is not a length.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile quantulum3==0.10.0 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" 2>/dev/null <<'PY'
import quantulum3.parser

for text in ("3-5 km", "5 ± 1 km", "about 3 to 5 km", "half a mile"):
    print(text, [(quantity.value, quantity.uncertainty, quantity.unit.name) for quantity in quantulum3.parser.parse(text)])
PY
diff - "$folder/seen" <<'EXPECTED'
3-5 km [(4.0, 1.0, 'kilometre')]
5 ± 1 km [(5.0, 1.0, 'kilometre')]
about 3 to 5 km [(4.0, 1.0, 'kilometre')]
half a mile [(0.5, None, 'per mile')]
EXPECTED
echo "as described"
