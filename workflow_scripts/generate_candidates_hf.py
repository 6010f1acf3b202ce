"""Answers of a model that runs here with transformers."""

import json

from bert_judge.candidates import generate_candidates
from bert_judge.logs import job_log
from bert_judge.prepare import load_manifest
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    from bert_judge.generators.hf import HFGenerator

    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]
    manifest = load_manifest(snakemake.input.manifest)
    generate_candidates(
        spec,
        snakemake.input.table,
        output,
        work_folder(output),
        lambda: HFGenerator(spec["model"], spec["settings"], manifest),
        {spec["model"]: manifest.revision},
    )
