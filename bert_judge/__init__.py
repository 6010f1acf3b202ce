"""Scores language models' answers with a small trained judge."""

import os
from importlib.metadata import version

__version__ = version("bert-judge")

# Threads of OpenMP that wait for each other in a loop take the cores from the thread that they wait for, where another process is
# running: training is then a third slower (measured: docs/log.md). OpenMP reads this when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
