"""Fine-tune a language model on chosen answers."""

import json
from pathlib import Path

from bert_judge import gpus
from bert_judge.config import Tuning
from bert_judge.logs import job_log
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    gpus.check(snakemake.resources)
    from bert_judge.students.train import train_student
    from bert_judge.tuning import launching

    folder, spec = Path(snakemake.output.manifest).parent, json.loads(snakemake.params.spec)
    settings = snakemake.config["models"][spec["recipe"]].get("training", {})
    asked = {
        "spec": spec,
        "filtered": snakemake.input.filtered,
        "base": snakemake.input.base,
        "folder": folder,
        "work_folder": work_folder(folder),
        "run_time": {key: value for key, value in settings.items() if key in Tuning.run_time},
    }
    launching.run(train_student, asked, settings.get("accelerate"))
