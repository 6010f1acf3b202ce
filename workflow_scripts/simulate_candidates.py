"""Generate the answers of a simulated model."""

import json

from bert_judge.candidates.generators.simulated import SimulatedGenerator
from bert_judge.candidates.stage import answer_cache, generate_candidates
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]
    model = answer_cache(spec, work_folder(output), lambda: SimulatedGenerator(spec["model"], spec["settings"]))
    generate_candidates(spec, snakemake.input.table, output, model, keep=False)
