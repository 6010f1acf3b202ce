"""The configuration of the demo without its real model, which tests do not run."""

from pathlib import Path

import yaml

DEFAULT_RUN = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text("utf-8"))
del DEFAULT_RUN["models"]["smollm2-135m"]
del DEFAULT_RUN["imports"], DEFAULT_RUN["judges"]["truth"]["from"]
