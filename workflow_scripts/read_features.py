"""Hidden states of a frozen model on a table of answers."""

import json

from bert_judge import gpus
from bert_judge.logs import job_log
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    gpus.check(snakemake.resources)
    from bert_judge.prepare import load_manifest
    from bert_judge.probes.extraction import Reader
    from bert_judge.probes.features import feature_table

    spec, output = json.loads(snakemake.params.spec), snakemake.output[0]
    manifest = load_manifest(snakemake.input.manifest)
    reader = Reader(manifest.path, spec)
    feature_table(spec, snakemake.input.candidates, output, reader, manifest.revision, work_folder(output))
