"""Download and pin a model, checkpoint or data set; the only job with network access."""

import json

from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0], offline=False):
    from bert_judge.assets.prepare import prepare

    prepare(json.loads(snakemake.params.spec), snakemake.output[0])
