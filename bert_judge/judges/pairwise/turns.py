"""Conversations of several turns as the question of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bert_judge.runtime.errors import InputError

SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}


def conversation(turns: Sequence[Mapping[str, str]]) -> str:
    """The text of a conversation up to its last question, to which two answers are compared.

    Args:
        turns: `{"role": "system" | "user" | "assistant", "content": …}`, the last of them the user's. A single turn of the user is
            the question as it stands.

    Raises:
        InputError: there is no turn, one lacks a part or has an unknown role, or the last is not the user's.
    """
    for number, turn in enumerate(turns, 1):
        if turn.get("role") not in SPEAKERS or not isinstance(turn.get("content"), str):
            raise InputError(f"turn {number}: needs a role ({', '.join(SPEAKERS)}) and a content; got {dict(turn)!r:.80}")
    if not turns or turns[-1]["role"] != "user":
        raise InputError("a conversation ends with a turn of the user, to which both answers reply")
    if len(turns) == 1:
        return turns[0]["content"]
    return "\n\n".join(f"{SPEAKERS[turn['role']]}: {turn['content']}" for turn in turns)
