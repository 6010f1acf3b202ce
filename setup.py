"""Ship the workflow inside the wheel: what is at the top of the repository goes to `bert_judge/workflow/`."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

WORKFLOW = ("Snakefile", "config.yaml", "rules", "workflow_scripts", "envs", "profiles", "report", "configs")


def workflow_files() -> Iterator[Path]:
    for name in WORKFLOW:
        yield from (path for path in [Path(name), *Path(name).rglob("*")] if path.is_file() and "__pycache__" not in path.parts)


class BuildWithWorkflow(build_py):
    """Copy the workflow next to the modules. An editable install uses the files in the clone."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for path in workflow_files():
                target = Path(self.build_lib, "bert_judge", "workflow", path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *map(str, workflow_files())]


setup(cmdclass={"build_py": BuildWithWorkflow})
