"""Fine-tune a language model on labelled pairs of answers."""

import json
from pathlib import Path

from bert_judge.config import Tuning
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.pairwise.train import tune_pair_judge

    folder, spec = Path(snakemake.output.judge).parent, json.loads(snakemake.params.spec)
    settings = snakemake.config["judges"][spec["judge"]].get("tuning", {})
    run_time = {key: value for key, value in settings.items() if key in Tuning.run_time}
    tune_pair_judge(spec, list(snakemake.input.pairs), snakemake.input.base, folder, work_folder(folder), run_time)
