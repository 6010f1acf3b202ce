"""Extract the hidden states of a frozen model for a table of answers."""

import json

from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.assets.prepare import load_manifest
    from bert_judge.judges.probe.extraction import Reader
    from bert_judge.judges.probe.features import feature_table

    spec, output = json.loads(snakemake.params.spec), snakemake.output[0]
    manifest = load_manifest(snakemake.input.manifest)
    reader = Reader(manifest.path, spec)
    feature_table(spec, snakemake.input.candidates, output, reader, manifest.revision, work_folder(output))
