"""Math-Verify in a process of its own that can be killed.

Math-Verify computes what a candidate writes: `9**9**9**9` never ends, and its own time limits work with signals, only in the main
thread and only between two steps of Python code. Here the kernel ends the worker when an answer takes too long, whatever it is
doing; the answer becomes invalid and a new worker goes on with the next. The worker is started as a module of its own and not
through `multiprocessing`, which would import the caller's script a second time.
"""

from __future__ import annotations

import json
import logging
import multiprocessing as mp
import re
import resource
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

CHUNK = 64
# A memory bomb ends in a MemoryError of the worker before it hurts the machine.
MEMORY_BYTES = 4 << 30

_DELIMITED = re.compile(r"\$[^$]+\$|\\\(|\\\[|\\boxed|\\fbox|\\begin")
_NUMBER = re.compile(r"[-+−]?\s?[$€£¥]?\s?[-−]?(?:\d[\d,]*)?\.?\d+(?:/\d+)?\s?\\?%?")
_ARITHMETIC = re.compile(r"[\d\s.+*/^()-]+")
# Prose, not variables: a word that is no function's name, or a unit after a number ("72 km").
_WORD = re.compile(
    r"(?<![\\A-Za-z])(?!(?:sin|cos|tan|cot|sec|csc|log|exp|sqrt|arcsin|arccos|arctan|sinh|cosh|tanh)\b)[A-Za-z]{3,}"
    r"|(?<=\d\s)[A-Za-z]{2,}"
)


class Outcome(NamedTuple):
    """equal: None when Math-Verify could not decide; reason: why, or what decided."""

    equal: bool | None
    reason: str | None


class MathVerifier:
    """Compares answers with references in a worker process. A context manager; `close` ends the worker.

    Args:
        seconds: longest processor time for one answer with all its references; not wall time, so that a verdict does not depend
            on what else the machine does.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._end: weakref.finalize | None = None

    def __enter__(self) -> MathVerifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def verify(self, pairs: Sequence[tuple[Sequence[str], str]]) -> list[Outcome]:
        """One outcome per (references, answer), in their order.

        Raises:
            RuntimeError: the worker does not start.
        """
        outcomes: list[Outcome] = []
        while len(outcomes) < len(pairs):
            chunk = pairs[len(outcomes) : len(outcomes) + CHUNK]
            connection = self._connection or self._start()
            try:
                connection.send_bytes(json.dumps(chunk).encode())
                for _ in chunk:
                    outcomes.append(Outcome(*json.loads(connection.recv_bytes())))
            except (EOFError, OSError):
                outcomes.append(Outcome(None, self._cause_of_death()))
        return outcomes

    def close(self) -> None:
        """End the worker; the next `verify` starts another."""
        if self._end is not None:
            self._end()
        self._process = self._connection = self._end = None

    def _start(self) -> Connection:
        ours, theirs = mp.Pipe()
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), str(self.seconds)]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        theirs.close()
        self._connection = ours
        # Also when nobody calls `close`: with the last reference, or with the interpreter.
        self._end = weakref.finalize(self, _end_worker, self._process, ours)
        try:
            ours.recv_bytes()
        except EOFError as error:
            self.close()
            raise RuntimeError("Math-Verify does not start; its error stands above") from error
        return ours

    def _cause_of_death(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self.close()
        if code == -signal.SIGPROF:
            return f"Math-Verify did not finish in {self.seconds:g} s"
        return f"Math-Verify crashed (exit code {code})"


def _end_worker(process: subprocess.Popen[bytes], connection: Connection) -> None:
    # It leaves by itself when the pipe is closed, but not in the middle of an answer.
    connection.close()
    process.kill()
    process.wait()


def delimited(text: str) -> list[str]:
    """How a text is shown to Math-Verify, best form first: it sees LaTeX only between delimiters, numbers in prose also without."""
    text = text.strip()
    if _DELIMITED.search(text):
        return [text]
    text = text.strip("$").strip() if _NUMBER.fullmatch(text) else text
    formula = f"${text}$"
    # LaTeX reads 9**9 as a product and 2^10 as 2¹0.
    if _NUMBER.fullmatch(text) or _ARITHMETIC.fullmatch(text):
        return [text, formula]
    if not _WORD.search(text):
        return [formula, text]
    return [formula, text] if "\\" in text and len(text) <= 200 else [text]


class _Exhausted(logging.Handler):
    """Math-Verify swallows every error and says "not equal"; its debug log tells of the errors that mean "could not decide"."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.kind: type[BaseException] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], MemoryError | RecursionError):
            self.kind = type(record.exc_info[1])


class _Comparer:
    """The worker's side: parses and compares."""

    def __init__(self) -> None:
        import math_verify

        self._library = math_verify
        self._exhausted = _Exhausted()
        logger = logging.getLogger("math_verify")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(self._exhausted)

    def compare(self, references: Sequence[str], answer: str) -> Outcome:
        self._exhausted.kind = None
        golds = [gold for reference in references if (gold := self._parse(reference))]
        found = self._parse(answer) if golds else []
        # The order matters: an equation or interval is simplified on the gold side only.
        if any(self._library.verify(gold, found, timeout_seconds=None) for gold in golds if found):
            return Outcome(True, None)
        if excuse := self._excuse():
            return Outcome(None, excuse)
        if not golds:
            return Outcome(False, "no reference is a mathematical expression; compared as text")
        return Outcome(False, None) if found else Outcome(None, "no mathematical expression in the answer")

    def _parse(self, text: str) -> list[object]:
        """What a text means: sympy expressions and their source; empty when it holds no mathematics."""
        for form in delimited(text):
            parsed: list[object] = self._library.parse(form, parsing_timeout=None)
            if any(not isinstance(part, str) for part in parsed):
                return parsed
        return []

    def _excuse(self) -> str | None:
        return f"Math-Verify gave up: {self._exhausted.kind.__name__}" if self._exhausted.kind else None


def _serve(connection: Connection, seconds: float) -> None:
    """Answer chunks of pairs until the caller closes the pipe. The default action of the timer is the end of this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    comparer = _Comparer()
    connection.send_bytes(b"ready")
    while True:
        for references, answer in json.loads(connection.recv_bytes()):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            outcome = comparer.compare(references, answer)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send_bytes(json.dumps(outcome).encode())


if __name__ == "__main__":
    try:
        _serve(Connection(int(sys.argv[1])), float(sys.argv[2]))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The caller is done, or gone.
        sys.exit(0)
