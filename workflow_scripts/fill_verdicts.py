"""A prompted language model's verdicts on many tables at once; each table is then written by a job of its own."""

import json

from bert_judge.judges.llm.rubric import prompted_judge
from bert_judge.labels.stage import fill_store
from bert_judge.runtime.batch_manifest import Batch
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import store_folder

with job_log(snakemake.log[0]):
    parts = json.loads(snakemake.params.spec)
    # One judge and one model: what the parts differ in is the task.
    spec = next(iter(parts.values()))["verdicts"]
    entry = snakemake.config["judges"][spec["judge"]]
    folder = store_folder(f"verdicts/{spec['judge']}/{spec['model']}")
    judge = prompted_judge(spec, snakemake.input.manifest, folder, entry)
    answers = {name: path for name, path in snakemake.input.items() if name != "manifest"}
    fill_store(Batch(parts, answers), snakemake.output[0], judge)
