"""Train an encoder on labelled pairs of answers."""

import json
from pathlib import Path

from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.pairwise.train import train_pair_judge

    folder, spec = Path(snakemake.output.judge).parent, json.loads(snakemake.params.spec)
    settings = snakemake.config["judges"][spec["judge"]].get("training", {})
    pairs, backbone = list(snakemake.input.pairs), snakemake.input.backbone
    train_pair_judge(spec, pairs, backbone, folder, work_folder(folder), settings.get("micro_batch_size"))
