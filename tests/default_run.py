"""The configuration of the demo."""

from pathlib import Path

import yaml

DEFAULT_RUN = yaml.safe_load((Path(__file__).parents[1] / "config.yaml").read_text("utf-8"))
