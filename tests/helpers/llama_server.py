"""llama.cpp's own server, from the wheel `xllamacpp`, as a program: prints its address and serves until SIGTERM.

    python llama_server.py MODEL.gguf CONTEXT PORT [KEY]

It runs in an environment that has nothing else, so this file imports nothing of the tests.
"""

from __future__ import annotations

import signal
import sys

import xllamacpp

model, context, port, *keys = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = model, ["127.0.0.1"], int(port)
params.api_keys = keys
# Two requests at once share the context.
params.n_parallel, params.n_ctx = 2, 2 * int(context)
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.sigwait([signal.SIGTERM])
