"""The ranks by pairs as CSV and Markdown."""

from pathlib import Path

from bert_judge.logs import job_log
from bert_judge.report.rank_exports import write_rank_exports

with job_log(snakemake.log[0]):
    write_rank_exports(Path(snakemake.input[0]), Path(snakemake.output.csv), Path(snakemake.output.markdown))
