"""Answers of a student to a task: those in its store, and the others generated."""

import json
from pathlib import Path

from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.generators.factory import make_generator
from bert_judge.candidates.stage import generate_candidates
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import store_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    spec, manifest = json.loads(snakemake.params.spec), Path(snakemake.input.manifest)
    model = spec["model"]
    generate_candidates(
        spec,
        snakemake.input.table,
        snakemake.output[0],
        store_folder(model),
        lambda: make_generator(model, spec["settings"], manifest),
        {model: load_manifest(manifest).revision},
        keep=True,
    )
