#!/usr/bin/env bash
# Tool: pint 0.25.3 (quantities with units).
# Behaviour: a space is a multiplication and commas are removed before anything is read, so ordinary spellings are parsed to another
# quantity instead of being refused: "3 1/2 m" is 3 · 1/2 m, "5 ft 3 in" is an area, "6'2"" is 12, "1,5 m" (German, French) is 15 m and
# "0,5 m" is 0 m.
# Seen: see below; no error and no warning.
# Why it matters: a grader that compares quantities through pint accepts 1.5 m for 3 1/2 m, and refuses 3.5 m.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile pint==0.25.3 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
import pint

registry = pint.UnitRegistry()
for text in ("3 1/2 m", "5 ft 3 in", "6'2\"", "1,5 m", "0,5 m", "1.000,5 m"):
    print(f"{text} = {registry.parse_expression(text)}")
PY
diff - "$folder/seen" <<'EXPECTED'
3 1/2 m = 1.5 meter
5 ft 3 in = 15 foot * inch
6'2" = 12 dimensionless
1,5 m = 15 meter
0,5 m = 0 meter
1.000,5 m = 1.0005 meter
EXPECTED
echo "as described"
