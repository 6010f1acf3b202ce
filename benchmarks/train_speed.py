"""Training speed of an encoder, next to transformers' Trainer as documented, on the same rows.

    BERT_JUDGE_DATA=… python benchmarks/train_speed.py [--rows 320] [--rounds 2]

Both train one epoch on the same encoded rows with the same number of rows per step, on the GPU if there is one, in the best
precision. The plain Trainer pads batches of random rows and trains all weights with the backbone's dropout. Tokens are counted
without padding. This program also writes checkpoints and logs hardware statistics; the plain Trainer does neither. On a GPU both
have a few untimed steps first.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import timing
import torch
from transformers import PrinterCallback, Trainer, TrainingArguments

from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.config import Training
from bert_judge.encoder import checkpoint, trainer
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.encoder.torch_model import collate
from bert_judge.runtime.hardware import best_device, best_dtype

# Default rows, and the steps that are not timed.
CPU_ROWS, CUDA_ROWS, FIRST_STEPS = 320, 8_000, 20


def ours(backbone: Path, examples: trainer.Examples, settings: Training, folder: Path) -> Callable[[], Mapping[str, float]]:
    """`fitting.fit`, from the beginning each time."""

    def run() -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(dir=folder) as work:
            return trainer.fit(checkpoint.load(backbone), examples, settings, work)

    return run


def plain(backbone: Path, examples: trainer.Examples, settings: Training, folder: Path) -> Callable[[], object]:
    """The Trainer with padded batches of random rows."""
    device = best_device()

    def run() -> object:
        loaded = checkpoint.load(backbone)
        arguments = TrainingArguments(
            output_dir=str(folder / "plain"),
            per_device_train_batch_size=settings.batch_size,
            num_train_epochs=1,
            learning_rate=settings.learning_rate,
            bf16=best_dtype(device) == "bfloat16",
            use_cpu=device == "cpu",
            save_strategy="no",
            disable_tqdm=True,
            report_to="none",
            remove_unused_columns=False,
        )
        pad_id = loaded.tokenizer.pad_token_id

        def padded(batch: Sequence[tuple[EncodedRow, float]]) -> dict[str, torch.Tensor]:
            rows, labels = zip(*batch, strict=True)
            return {**collate(rows, pad_id, loaded.model.config), "labels": torch.tensor([round(label) for label in labels])}

        data: Any = list(zip(examples.rows, examples.labels, strict=True))
        hf_trainer = Trainer(model=loaded.model, args=arguments, train_dataset=data, data_collator=padded)
        hf_trainer.remove_callback(PrinterCallback)
        return hf_trainer.train()

    return run


def first_steps(backbone: Path, examples: trainer.Examples, settings: Training, folder: Path) -> None:
    """What starts a GPU's libraries: a few steps either way."""
    few = FIRST_STEPS * settings.batch_size
    part = trainer.Examples(examples.rows[:few], examples.labels[:few], examples.weights[:few])
    for way in (ours, plain):
        way(backbone, part, settings, folder)()


def main() -> None:
    cuda = best_device() == "cuda"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=CUDA_ROWS if cuda else CPU_ROWS)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--backbone", default="minilm", help="as in a judge's configuration")
    parser.add_argument("--batch-size", type=int, default=Training().batch_size)
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="what the ratio is made of; cpu: on a busy machine"
    )
    options = parser.parse_args()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="train-speed-") as name:
        folder = Path(name)
        prepare({"repository": options.backbone, "revision": None, "remote_code": False}, folder / "backbone.json")
        backbone = load_manifest(folder / "backbone.json").path
        rows = timing.mixed(options.rows)
        encoded = checkpoint.load(backbone).encoder.encode(rows.questions, rows.candidates, rows.references)
        examples = trainer.Examples(encoded, rows.labels, [1.0] * len(encoded))
        settings = Training(epochs=1, batch_size=options.batch_size)
        print(f"{timing.machine()}\n{options.backbone}, {len(encoded)} rows, {options.batch_size} a step\n", flush=True)
        if cuda:
            first_steps(backbone, examples, settings, folder)
        ways: dict[str, Callable[[], Any]] = {
            "this program": ours(backbone, examples, settings, folder),
            "Trainer": plain(backbone, examples, settings, folder),
        }
        times, results = timing.alternate(ways, options.rounds)
    tokens = sum(len(row.ids) for row in encoded)
    slow = getattr(times["Trainer"], options.clock)
    lines = [
        [way, f"{tokens / time.wall:.0f}", f"{tokens / time.cpu:.0f}", f"{slow / getattr(time, options.clock):.2f}×"]
        for way, time in times.items()
    ]
    print(timing.table(("way", "tokens/s", "tokens per core second", "against the Trainer"), lines))
    figures: Any = results["this program"]
    print(f"\nthis program, last round: {figures['tokens_per_second']:.0f} tokens/s without start and end")


if __name__ == "__main__":
    main()
