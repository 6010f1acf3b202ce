#!/usr/bin/env bash
# Tool: OpenVINO 2026.4.1, CPU plugin, a model quantised to 8 bits, on an x86 CPU with AVX2 or AVX512 but without VNNI.
# Behaviour: two products of 8-bit numbers are added in 16 bits (vpmaddubsw), where they saturate; no warning.
# Seen: 64 products of 1 and 1, quantised to 127 and 127, sum to 0.51 instead of 64. With weights of 12 / 127 the sum, 6.05, is right.
# Why it matters: the same int8 model has other scores on an older CPU, although every number is within its range.
set -euo pipefail
if grep -q -m1 -E 'avx512_vnni|avx_vnni|amx_int8' /proc/cpuinfo; then
    echo "this CPU has 8-bit dot products: nothing overflows"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile openvino==2026.4.1 numpy==2.4.6 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" <<'PY'
import numpy as np
import openvino
from openvino import opset13 as ops

states = ops.parameter([-1, 64], np.float32)
low, high = ops.constant(np.float32(-128 / 127)), ops.constant(np.float32(1))
rounded = ops.fake_quantize(states, low, high, low, high, 256)
for integer in (12, 127):
    weights = ops.convert(ops.constant(np.full((64, 64), integer, np.int8)), "f32")
    product = ops.matmul(rounded, ops.multiply(weights, ops.constant(np.float32(1 / 127))), False, True)
    model = openvino.Core().compile_model(openvino.Model([product], [states], "m"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    [output] = model([np.ones((32, 64), np.float32)]).values()
    print(f"64 x 1 x {integer / 127:.2f} = {output[0, 0]:.2f}")
PY
diff - "$folder/seen" <<'EXPECTED'
64 x 1 x 0.09 = 6.05
64 x 1 x 1.00 = 0.51
EXPECTED
echo "as described"
