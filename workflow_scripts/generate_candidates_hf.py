"""Answers of a model that runs here with transformers."""

import json
from pathlib import Path

from bert_judge.candidates import generate_candidates
from bert_judge.generators.factory import make_generator
from bert_judge.logs import job_log
from bert_judge.prepare import load_manifest
from bert_judge.shards import store_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    manifest = Path(snakemake.input.manifest)
    generate_candidates(
        spec,
        snakemake.input.table,
        snakemake.output[0],
        store_folder(spec["model"]),
        lambda: make_generator(spec["model"], spec["settings"], manifest),
        {spec["model"]: load_manifest(manifest).revision},
        keep=True,
    )
