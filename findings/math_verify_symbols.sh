#!/usr/bin/env bash
# Tool: math-verify 0.9.0 with latex2sympy2_extended 1.11.0.
# Behaviour: parse() returns a value for much that it has not read. Letters lose their case, so R and r are one symbol and R² − r² is 0;
# "0x1F" is 0 times x times F; "\text{kg}" is dropped; a time of day is a ratio; a point above a digit is dropped. verify() then calls
# pairs equal that no reader would, and nothing in its result tells that a part of the source is gone.
# Seen: every pair below is True.
# Why it matters: these are wrong answers that a reward or a score counts as correct.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile 'math-verify[antlr4_13_2]==0.9.0' latex2sympy2_extended==1.11.0 antlr4-python3-runtime==4.13.2 2>"$folder/pip.log" ||
    { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" 2>/dev/null <<'PY'
from math_verify import parse, verify

for gold, answer in (
    (r"$\pi(R^2-r^2)$", "$0$"),
    (r"$\frac{Mm}{M+m}$", r"$\frac{M}{2}$"),
    (r"$\frac{dy}{dx}$", r"$\frac{dx}{dy}$"),
    ("$0x1F$", "$0x2A$"),
    (r"$5 \text{ kg}$", r"$5 \text{ g}$"),
    ("$10:30$", "$11:33$"),
    (r"$0.\dot{3}$", r"$0.\dot{6}$"),
):
    print(gold, answer, verify(parse(gold), parse(answer)))
PY
diff - "$folder/seen" <<'EXPECTED'
$\pi(R^2-r^2)$ $0$ True
$\frac{Mm}{M+m}$ $\frac{M}{2}$ True
$\frac{dy}{dx}$ $\frac{dx}{dy}$ True
$0x1F$ $0x2A$ True
$5 \text{ kg}$ $5 \text{ g}$ True
$10:30$ $11:33$ True
$0.\dot{3}$ $0.\dot{6}$ True
EXPECTED
echo "as described"
