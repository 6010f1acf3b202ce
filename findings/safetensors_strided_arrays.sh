#!/usr/bin/env bash
# Tool: safetensors 0.8.0, safetensors.numpy.save_file, with numpy.
# Behaviour: an array that is not contiguous, such as a transposed matrix or every second element, is written as the bytes of the
# underlying memory. The file is valid and has the right shape, and other numbers. Version 0.7.0 writes the right ones.
# Seen: a transposed 2 × 3 matrix comes back as 0 … 5 in the order of memory; [0, 2, 4] comes back as [0, 1, 2].
# Why it matters: exported weights of a judge (numpy transposes without copying) are silently wrong; only predictions show it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 0.7.0 0.8.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet --no-compile "safetensors==$version" numpy==2.4.6 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
    "$folder/$version/bin/python" - "$version" "$folder/weights.safetensors" >>"$folder/seen" <<'PY'
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

version, path = sys.argv[1:]
matrix = np.arange(6, dtype=np.float32).reshape(2, 3).T
strided = np.arange(6, dtype=np.float32)[::2]
save_file({"matrix": matrix, "strided": strided}, path)
stored = load_file(path)
print(version, matrix.tolist(), "is stored as", stored["matrix"].tolist())
print(version, strided.tolist(), "is stored as", stored["strided"].tolist())
PY
done
diff - "$folder/seen" <<'EXPECTED'
0.7.0 [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] is stored as [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
0.7.0 [0.0, 2.0, 4.0] is stored as [0.0, 2.0, 4.0]
0.8.0 [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] is stored as [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
0.8.0 [0.0, 2.0, 4.0] is stored as [0.0, 1.0, 2.0]
EXPECTED
echo "as described"
