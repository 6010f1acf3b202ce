"""Write the model ranks as CSV and Markdown."""

from pathlib import Path

from bert_judge.report.exports import write_rank_exports
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    write_rank_exports(Path(snakemake.input[0]), Path(snakemake.output.csv), Path(snakemake.output.markdown))
