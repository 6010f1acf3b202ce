"""Train an encoder or a language model on labelled answers."""

import json
from pathlib import Path

from bert_judge.config.training import JudgeTuning
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    folder, spec, files = Path(snakemake.output.judge).parent, json.loads(snakemake.params.spec), snakemake.input
    settings = snakemake.config["judges"][spec["judge"]].get("training", {})
    start, work = files.backbone, work_folder(folder)
    if spec["kind"] == "llm":
        from bert_judge.judges.llm.fine_tuned import train_judge

        run_time = {key: settings[key] for key in JudgeTuning.run_time & settings.keys()}
        train_judge(spec, files.train, files.validation, files.summary, start, folder, work, run_time)
    else:
        from bert_judge.judges.bert.train import train_judge

        weak, micro_batch_size = files.validation_weak, settings.get("micro_batch_size")
        train_judge(spec, files.train, files.validation, weak, files.summary, start, folder, work, micro_batch_size)
