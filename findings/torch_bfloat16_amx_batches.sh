#!/usr/bin/env bash
# Tool: torch 2.13.0 on a CPU with AMX (amx_bf16), torch.nn.functional.linear in bfloat16, which oneDNN computes.
# Behaviour: the output for a row depends on how many other rows are in the batch, because sums of 1,536 products are divided
# differently. Without AMX (ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16) it does not.
# Seen: of a batch of 512 rows, the first 256 have other outputs than the same 256 rows alone. Sums of 384 products are equal.
# Why it matters: an encoder's score of an answer changes, by up to 0.016 of a logit, with the answers that share its batch, so a
# resumed or differently batched evaluation is not the same to the last digit; on most other CPUs it is.
set -euo pipefail
if ! grep -q -m1 amx_bf16 /proc/cpuinfo; then
    echo "this CPU has no AMX: rows do not depend on each other"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile torch==2.13.0 numpy==2.4.6 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
cat >"$folder/batches.py" <<'PY'
import sys

import torch

torch.manual_seed(0)
for length in (384, 1536):
    rows, weights = torch.randn(512, length).bfloat16(), torch.randn(384, length).bfloat16()
    together = torch.nn.functional.linear(rows, weights)[:256]
    alone = torch.nn.functional.linear(rows[:256], weights)
    print(f"{sys.argv[1]}, sums of {length} products: {'equal' if torch.equal(together, alone) else 'different'}")
PY
"$folder/env/bin/python" "$folder/batches.py" AMX >"$folder/seen"
ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 "$folder/env/bin/python" "$folder/batches.py" "without AMX" >>"$folder/seen"
diff - "$folder/seen" <<'EXPECTED'
AMX, sums of 384 products: equal
AMX, sums of 1536 products: different
without AMX, sums of 384 products: equal
without AMX, sums of 1536 products: equal
EXPECTED
echo "as described"
