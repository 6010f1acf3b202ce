"""Score text pairs with vLLM's classification, in the Python of an environment that has vLLM.

    PYTHON benchmarks/vllm_process.py FOLDER MAX_LENGTH DTYPE… < requests

`peers.CrossEncoders` starts it, with requests and answers as in `cross_encoder_process.py`; vLLM chooses the batches, and the last
DTYPE counts. It imports nothing of this project, because vLLM pins its own torch.
"""

from __future__ import annotations

import json
import os
import sys

# Before vLLM is imported. A single process, so that its memory is that of this one.
os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING"}

import torch
import vllm

# Of the GPU's memory: an encoder has no cache, and others are on this GPU.
MEMORY_SHARE = 0.3


def score(model: vllm.LLM, longest: int, pairs: list[list[str]]) -> list[float]:
    encoded = model.get_tokenizer()([tuple(pair) for pair in pairs], truncation=True, max_length=longest)
    rows = list(zip(encoded["input_ids"], encoded["token_type_ids"], strict=True))
    # vLLM takes the segments as the place of the first token of the second text.
    segments = [{"compressed_token_type_ids": types.index(1)} for _, types in rows]
    params = [vllm.PoolingParams(task="classify", extra_kwargs=segment) for segment in segments]
    outputs = model.classify([{"prompt_token_ids": ids} for ids, _ in rows], pooling_params=params, use_tqdm=False)
    return [output.outputs.probs[1] for output in outputs]


def main() -> None:
    # Libraries print; only answers may reach the standard output.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder, longest, *_, dtype = sys.argv[1:]
    pairs = json.loads(sys.stdin.readline())
    model = vllm.LLM(
        model=folder,
        runner="pooling",
        dtype=dtype,
        max_model_len=int(longest),
        gpu_memory_utilization=MEMORY_SHARE,
        # Compiling takes minutes on a CPU.
        enforce_eager=not torch.cuda.is_available(),
    )
    print(json.dumps([f"vLLM {vllm.__version__}", [dtype]]), file=output, flush=True)
    for line in sys.stdin:
        _, _, n = json.loads(line)
        print(json.dumps(score(model, int(longest), pairs[:n])), file=output, flush=True)


if __name__ == "__main__":
    main()
