"""Extract hidden states of a frozen model for a candidate table."""

import json

from bert_judge.runtime import hardware
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    hardware.check_gpus(snakemake.resources)
    from bert_judge.assets.prepare import load_manifest
    from bert_judge.judges.probe.features import extract_features
    from bert_judge.judges.probe.hidden_states import HiddenStateExtractor

    spec, output = json.loads(snakemake.params.spec), snakemake.output[0]
    manifest = load_manifest(snakemake.input.manifest)
    extractor = HiddenStateExtractor(manifest.path, spec)
    extract_features(spec, snakemake.input.candidates, output, extractor, manifest.revision, work_folder(output))
