"""Scores language models' answers with a small trained judge."""

import os

# Not from the metadata of the installation, which a checkout leaves behind.
__version__ = "0.2.0"

# Threads of OpenMP that wait for each other in a loop take the cores from the thread that they wait for, where another process is
# running: training is then a third slower (measured: docs/log.md). OpenMP reads this when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
