"""Generate the answers of a model to a task, reusing cached completions."""

import json

from bert_judge.candidates.stage import generate_candidates, load_model
from bert_judge.runtime import hardware
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import store_folder

with job_log(snakemake.log[0]):
    hardware.check_gpus(snakemake.resources)
    spec = json.loads(snakemake.params.spec)
    block = snakemake.config["models"].get(spec["model"])
    model = load_model(spec, store_folder(spec["model"]), block, snakemake.input.get("manifest"))
    generate_candidates(spec, snakemake.input.table, snakemake.output[0], model)
