"""Write the standings as CSV, Markdown, LaTeX and SVG."""

from pathlib import Path

from bert_judge.report.exports import write_exports
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    output = snakemake.output
    write_exports(Path(snakemake.input[0]), Path(output.csv), Path(output.markdown), Path(output.latex), Path(output.picture))
