"""Fine-tune a language model on selected answers."""

import json
from pathlib import Path

from bert_judge.config import Tuning
from bert_judge.runtime import hardware
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    hardware.check_gpus(snakemake.resources)
    from bert_judge.students.train import train_student

    folder, spec = Path(snakemake.output.manifest).parent, json.loads(snakemake.params.spec)
    settings = snakemake.config["models"][spec["recipe"]].get("training", {})
    run_time = {key: value for key, value in settings.items() if key in Tuning.run_time}
    train_student(spec, snakemake.input.filtered, snakemake.input.base, folder, work_folder=work_folder(folder), run_time=run_time)
