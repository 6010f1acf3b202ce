"""Compute accuracies, model comparisons, judge agreement and cost, and export the standings."""

import json
from pathlib import Path

from bert_judge.evaluation.standings import build_standings
from bert_judge.report.exports import write_exports
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    output = snakemake.output
    standings = Path(output.standings)
    build_standings(json.loads(snakemake.params.spec), [Path(path) for path in snakemake.input.scores], standings.parent)
    write_exports(standings, csv=Path(output.csv), markdown=Path(output.markdown), latex=Path(output.latex), plot=Path(output.plot))
