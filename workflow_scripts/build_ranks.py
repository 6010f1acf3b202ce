"""Compute the agreement of pairwise judges, model ranks from pairs and their correlation with other rankings; export the ranks."""

import json
from pathlib import Path

from bert_judge.evaluation.pairs.ranks import build_ranks
from bert_judge.report.exports import write_rank_exports
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    # results/pairs/{set}/{part}.parquet and results/labels/{judge}/pairs/{set}.parquet
    pairs = {name: [path for file in snakemake.input.pairs if (path := Path(file)).parent.name == name] for name in spec["sets"]}
    preference_files = {(path.parts[-3], path.stem): path for path in map(Path, snakemake.input.preferences)}
    preferences = {name: {judge: preference_files[judge, name] for judge in judges} for name, judges in spec["sets"].items()}
    ranks = Path(snakemake.output.ranks)
    build_ranks(
        spec, pairs=pairs, preferences=preferences, scores=[Path(path) for path in snakemake.input.scores], folder=ranks.parent
    )
    write_rank_exports(ranks, Path(snakemake.output.csv), Path(snakemake.output.markdown))
