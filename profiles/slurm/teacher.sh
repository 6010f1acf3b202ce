#!/bin/bash
# Serve a large teacher with vLLM as a job of the cluster. Once it answers, its address is in teacher.yaml, a configuration that
# overrides the teacher's `base_url` (docs/cluster.md):
#
#     sbatch --partition=gpu --gpus=4 --time=2-0 profiles/slurm/teacher.sh JUDGE MODEL [options of vllm serve]
#
#SBATCH --job-name=teacher --cpus-per-task=8 --mem=64G --output=teacher-%j.log
set -euo pipefail
judge=$1 model=$2
shift 2
url=http://$(hostname -f):$((20000 + SLURM_JOB_ID % 10000))
rm -f teacher.yaml
"${BERT_JUDGE_VLLM_PYTHON:-python}" -m vllm.entrypoints.openai.api_server --model "$model" --port "${url##*:}" "$@" &
trap 'rm -f teacher.yaml' EXIT
until curl --silent --fail --output /dev/null "$url/health"; do
    kill -0 $! || exit 1
    sleep 1
done
echo "judges: {$judge: {model: {base_url: $url/v1}}}" >teacher.yaml
wait $!
