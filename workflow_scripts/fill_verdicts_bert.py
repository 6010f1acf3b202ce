"""A trained encoder's verdicts on many tables at once; each table is then written by a job of its own."""

import json

from bert_judge.labels.stage import fill_store
from bert_judge.runtime import gpus
from bert_judge.runtime.batch_manifest import Batch
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.bert.judge import BERTJudge

    parts = json.loads(snakemake.params.spec)
    # One judge and one model: what the parts differ in is the task.
    spec = next(iter(parts.values()))["verdicts"]
    name, model = spec["judge"], snakemake.wildcards.model
    judge = BERTJudge.from_run(snakemake.input.checkpoint, spec["settings"], name, work_folder(f"results/encoders/{name}"))
    answers = {key: path for key, path in snakemake.input.items() if key.startswith("answers ")}
    fill_store(
        Batch(parts, answers),
        snakemake.output[0],
        judge,
        # Where the jobs of the tables look.
        lambda task: work_folder(f"results/labels/{name}/{model}/{task}.parquet"),
    )
