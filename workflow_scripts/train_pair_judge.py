"""Train an encoder or a language model on labelled pairs of answers."""

import json
from pathlib import Path

from bert_judge.config.training import JudgeTuning
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    folder, spec = Path(snakemake.output.judge).parent, json.loads(snakemake.params.spec)
    settings = snakemake.config["judges"][spec["judge"]].get("training", {})
    pairs, backbone, work = list(snakemake.input.pairs), snakemake.input.backbone, work_folder(folder)
    if "base" in spec:
        from bert_judge.judges.pairwise.fine_tuned import train_judge

        run_time = {key: settings[key] for key in JudgeTuning.run_time & settings.keys()}
        train_judge(spec, pairs, backbone, folder, work, run_time)
    else:
        from bert_judge.judges.pairwise.train import train_pair_judge

        train_pair_judge(spec, pairs, backbone, folder, work, settings.get("micro_batch_size"))
