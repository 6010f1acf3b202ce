"""Answers that lie on the Hugging Face hub as a data set: `hf:owner/name` stands for the files of one of its splits.

Only commands that a person gives fetch them. A run reads what `bert-judge import` wrote, and downloads in `prepare` alone.
"""

from __future__ import annotations

from pathlib import Path

from bert_judge.runtime.errors import InputError

PREFIX = "hf:"


def local(name: str, config: str | None = None, split: str | None = None) -> list[Path]:
    """The files that a name stands for: its own path, or those of a data set of the hub, fetched if need be.

    Args:
        name: a path; or `hf:owner/name`, also with `@` and a commit, tag or branch. A copy under LOCAL_DATASETS_DIR comes first.
        config: configuration of the data set; None for its only one.
        split: its name; train when left out, as on the hub.

    Raises:
        InputError: a name that cannot be one of the hub's, a split of a file here, or what `prepare.data_set` refuses.
    """
    if not name.startswith(PREFIX):
        if config or split:
            raise InputError(f"{name}: a file has neither configurations nor splits; leave out --config and --split")
        return [Path(name)]
    repository, _, revision = name.removeprefix(PREFIX).partition("@")
    if repository.count("/") != 1:
        raise InputError(f"{name}: no data set of the hub; write {PREFIX}OWNER/NAME, or {PREFIX}OWNER/NAME@REVISION")
    # Only here, because files on this machine need nothing of the hub's client.
    from bert_judge.assets import prepare

    folder, _, names = prepare.data_set(repository, revision or None, [config] if config else None, split or "train")
    return [folder / file for file in names]
