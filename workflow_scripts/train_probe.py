"""Train a probe on the hidden states of labelled answers."""

import json
from pathlib import Path

from bert_judge.assets.prepare import load_manifest
from bert_judge.judges.probe.train import train_probe
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    paths, each = list(snakemake.input.features), len(spec["tables"])
    manifest = load_manifest(snakemake.input.backbone)
    train_probe(
        spec,
        snakemake.input.train,
        snakemake.input.validation,
        {name: paths[n * each : (n + 1) * each] for n, name in enumerate(spec["features"])},
        {manifest.repository: manifest.revision},
        Path(snakemake.output.probe).parent,
    )
