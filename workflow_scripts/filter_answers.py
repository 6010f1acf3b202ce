"""Select the answers that students are trained on."""

import json

from bert_judge.runtime.logs import job_log
from bert_judge.students.filtering import build_filtered

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    build_filtered(spec, snakemake.input.candidates, snakemake.input.labels, snakemake.output[0])
