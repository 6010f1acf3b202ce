"""How fast an encoder is fitted, beside transformers' Trainer as its documentation shows it, on the same rows.

    BERT_JUDGE_DATA=… python benchmarks/train_speed.py [--rows 320] [--rounds 2]

Both take one epoch over the same encoded rows in steps of the same number of rows, in the format that suits this machine. The plain
Trainer pads batches of random rows and trains everything, with the backbone's dropout. Tokens are those of the rows, padding not
counted. This program also writes the checkpoint from which a killed run would go on; the plain Trainer writes none.
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

from bert_judge.config import Training
from bert_judge.encoder import checkpoint, fitting
from bert_judge.encoder.encoding import Encoded
from bert_judge.encoder.hardware import best_dtype
from bert_judge.encoder.inference import collate
from bert_judge.prepare import load_manifest, prepare


def ours(backbone: Path, examples: fitting.Examples, settings: Training, folder: Path) -> Callable[[], Mapping[str, float]]:
    """`fitting.fit`, from the beginning each time."""

    def run() -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(dir=folder) as work:
            return fitting.fit(checkpoint.load(backbone), examples, settings, work)

    return run


def plain(backbone: Path, examples: fitting.Examples, settings: Training, folder: Path) -> Callable[[], object]:
    """The Trainer with padded batches of random rows."""
    bf16 = best_dtype(torch.device("cpu")) == torch.bfloat16

    def run() -> object:
        loaded = checkpoint.load(backbone)
        arguments = TrainingArguments(
            output_dir=str(folder / "plain"),
            per_device_train_batch_size=settings.batch_size,
            num_train_epochs=1,
            learning_rate=settings.learning_rate,
            bf16=bf16,
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
            report_to="none",
            remove_unused_columns=False,
        )
        pad_id = loaded.tokenizer.pad_token_id

        def padded(batch: Sequence[tuple[Encoded, float]]) -> dict[str, torch.Tensor]:
            rows, labels = zip(*batch, strict=True)
            return {**collate(rows, pad_id, loaded.model.config), "labels": torch.tensor([round(label) for label in labels])}

        data: Any = list(zip(examples.rows, examples.labels, strict=True))
        trainer = Trainer(model=loaded.model, args=arguments, train_dataset=data, data_collator=padded)
        trainer.remove_callback(PrinterCallback)
        return trainer.train()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=320)
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
        examples = fitting.Examples(encoded, rows.labels, [1.0] * len(encoded))
        settings = Training(epochs=1, batch_size=options.batch_size)
        print(f"{timing.machine()}\n{options.backbone}, {len(encoded)} rows, {options.batch_size} a step\n", flush=True)
        ways = {"this program": ours(backbone, examples, settings, folder), "Trainer": plain(backbone, examples, settings, folder)}
        times, _ = timing.alternate(ways, options.rounds)
    tokens = sum(len(row.ids) for row in encoded)
    slow = getattr(times["Trainer"], options.clock)
    lines = [
        [way, f"{tokens / time.wall:.0f}", f"{tokens / time.cpu:.0f}", f"{slow / getattr(time, options.clock):.2f}×"]
        for way, time in times.items()
    ]
    print(timing.table(("way", "tokens/s", "tokens per core second", "against the Trainer"), lines))


if __name__ == "__main__":
    main()
