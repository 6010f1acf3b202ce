"""Verdicts of a probe, from hidden states that are there already."""

import json
from pathlib import Path

from bert_judge.judges.probe.judge import Probe, Stored
from bert_judge.labels.stage import label_table
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    eyes = Stored({Path(path).parents[1].name: path for path in snakemake.input.features})
    probe = Probe(Path(snakemake.input.probe).parent, spec["settings"]["threshold"], eyes)
    label_table(spec, snakemake.input.candidates, snakemake.output[0], probe)
