"""Verdicts of a prompted language model."""

import json

from bert_judge.judges.llm.rubric import prompted_judge
from bert_judge.labels.stage import label_table
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import store_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    # vLLM may run in another Python environment, which has its own torch.
    if spec["settings"]["model"]["generator"] == "hf":
        gpus.check_gpus(snakemake.resources)
    entry = snakemake.config["judges"][spec["judge"]]
    folder = store_folder(f"verdicts/{spec['judge']}/{spec['model']}")
    judge = prompted_judge(spec, snakemake.input.get("manifest"), folder, entry)
    label_table(spec, snakemake.input.candidates, snakemake.output[0], judge)
