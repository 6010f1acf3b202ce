"""Math-Verify in a worker process that can be killed.

Math-Verify evaluates what a candidate writes: `9**9**9**9` never ends, and its own time limits rely on signals, which need the main
thread and are handled only between two steps of Python code. Here the kernel kills the process that compares when an answer takes
too long; the answer becomes invalid. The worker imports Math-Verify once, which takes about a second, and forks: the child
compares, and when it dies the next one continues at once. The worker is started with `python -m`, because `multiprocessing` would
import the caller's script a second time.
"""

import ctypes
import json
import logging
import multiprocessing as mp
import os
import resource
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple, NoReturn

from bert_judge.text.latex_forms import PAIR, differ_in_notation, is_formula, math_verify_forms, read_literal

CHUNK = 64
# Excessive allocations end in a MemoryError of the worker.
MEMORY_BYTES = 4 << 30

# Option of Linux's prctl: the signal that this process gets when its parent ends.
PR_SET_PDEATHSIG = 1

# Exit codes of a process that another one ended.
KILLED = (-signal.SIGKILL, -signal.SIGTERM)

# Math-Verify rounds to six decimals; below this, numbers are compared by their ratio.
SMALL_NUMBER = 1e-3
# In a longer answer a quotation mark may look like a derivative.
MAX_NOTATION = 100


class MathResult(NamedTuple):
    """The result of a comparison: `equal` is None if Math-Verify could not decide; `reason` explains the result."""

    equal: bool | None
    reason: str | None


class MathVerifier:
    """Compares answers with references in a worker process, which `close` ends.

    `seconds` of CPU time for one answer: not wall time, so that a verdict does not depend on the load of the machine.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._end: weakref.finalize | None = None

    def verify(self, pairs: Sequence[tuple[Sequence[str], str]]) -> list[MathResult]:
        """Return one result per (references, answer), in order."""
        results: list[MathResult] = []
        # Position of the pair that was being compared when something else ended the worker.
        interrupted = -1
        while len(results) < len(pairs):
            chunk = pairs[len(results) : len(results) + CHUNK]
            end = len(results) + len(chunk)
            connection = self._connection or self._start()
            code = None
            try:
                connection.send_bytes(json.dumps(chunk).encode())
                while code is None and len(results) < end:
                    message = json.loads(connection.recv_bytes())
                    if isinstance(message, int):
                        code = message
                    else:
                        results.append(MathResult(*message))
            except (EOFError, OSError):
                assert self._process is not None
                code = self._process.wait()
                self.close()
            if code is None:
                continue
            if code in KILLED and interrupted != len(results):
                # Rather the fault of the machine than of this answer, unless it happens again.
                interrupted = len(results)
                continue
            is_late = code == -signal.SIGPROF
            reason = f"did not finish in {self.seconds:g} s" if is_late else f"crashed (exit code {code})"
            results.append(MathResult(None, f"Math-Verify {reason}"))
        return results

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
        # Without `close`, the worker ends with this object or with the interpreter.
        self._end = weakref.finalize(self, _end_worker, self._process, ours)
        try:
            ours.recv_bytes()
        except EOFError as error:
            self.close()
            raise RuntimeError("Math-Verify does not start; see its error above") from error
        return ours


def _end_worker(process: subprocess.Popen[bytes], connection: Connection) -> None:
    # A closed pipe ends the worker only between two answers.
    connection.close()
    process.kill()
    process.wait()


class _ResourceErrorHandler(logging.Handler):
    """Finds resource errors in the debug log of Math-Verify, which returns "not equal" for them."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.error_type: type[BaseException] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], MemoryError | RecursionError):
            self.error_type = type(record.exc_info[1])


class _Comparer:
    def __init__(self) -> None:
        import math_verify

        self._library = math_verify
        self._resource_errors = _ResourceErrorHandler()
        logger = logging.getLogger("math_verify")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(self._resource_errors)

    def compare(self, references: Sequence[str], answer: str) -> MathResult:
        self._resource_errors.error_type = None
        if PAIR.fullmatch(answer) and any("." in reference for reference in references):
            answer = answer.replace(",", ".")
        golds = [(reference, gold) for reference in references if (gold := self._parse(reference))]
        expressions = self._parse(answer) if golds else []
        if expressions and any(self._are_equal(reference, gold, answer, expressions) for reference, gold in golds):
            return MathResult(True, None)
        if error := self._resource_errors.error_type:
            return MathResult(None, f"Math-Verify gave up: {error.__name__}")
        if not golds:
            return MathResult(False, "no reference is a mathematical expression; compared as text")
        # LaTeX that Math-Verify cannot read is another formula.
        is_other = bool(expressions) or ("\\" in answer and is_formula(answer))
        return MathResult(False, None) if is_other else MathResult(None, "no mathematical expression in the answer")

    def _are_equal(self, reference: str, gold: list[object], answer: str, expressions: list[object]) -> bool:
        literals = read_literal(reference), read_literal(answer)
        if None not in literals:
            return literals[0] == literals[1]
        if len(answer) <= MAX_NOTATION and differ_in_notation(reference, answer):
            return False
        # Not symmetric: an equation is simplified on the gold side only, an interval on the side of the answer.
        equal = self._library.verify(gold, expressions, timeout_seconds=None, allow_set_relation_comp=True)
        return bool(equal) and not self._differ_as_small_numbers(gold[0], expressions[0])

    def _differ_as_small_numbers(self, gold: object, expression: object) -> bool:
        values = [self._value(number) for number in (gold, expression)]
        first, second = (value or 0.0 for value in values)
        largest = max(abs(first), abs(second))
        return None not in values and 0 < largest < SMALL_NUMBER and abs(first - second) > 0.01 * largest

    def _value(self, expression: object) -> float | None:
        if not getattr(expression, "is_number", False) or not getattr(expression, "is_real", False):
            return None
        return float(expression.evalf())  # type: ignore[attr-defined]

    def _parse(self, text: str) -> list[object]:
        """Return sympy expressions and their source; empty for a text without mathematics."""
        for form in math_verify_forms(text):
            parsed: list[object] = self._library.parse(form, parsing_timeout=None)
            if any(not isinstance(expression, str) for expression in parsed):
                return parsed
        return []


def _serve(connection: Connection, seconds: float) -> None:
    """Let a child process chunks of pairs until the caller closes the pipe; report the exit code of one that dies, fork again."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    comparer = _Comparer()
    # The parser builds its tables with the first expression, which must not count as time of the first answer.
    comparer.compare(["$\\frac{1}{2}$"], "$0.5$")
    connection.send_bytes(b"ready")
    worker = os.getpid()
    while True:
        child = os.fork()
        if not child:
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != worker:
                # It died before the child asked to die with it.
                os._exit(1)
            _compare_chunks(connection, comparer, seconds)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            connection.send_bytes(json.dumps(code).encode())
        else:
            return


def _compare_chunks(connection: Connection, comparer: _Comparer, seconds: float) -> NoReturn:
    """Answer until the caller closes the pipe. The timer's signal kills this process."""
    while True:
        try:
            chunk = json.loads(connection.recv_bytes())
        except (EOFError, ConnectionResetError):
            os._exit(0)
        for references, answer in chunk:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            result = comparer.compare(references, answer)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send_bytes(json.dumps(result).encode())


if __name__ == "__main__":
    try:
        _serve(Connection(int(sys.argv[1])), float(sys.argv[2]))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The caller closed the pipe.
        sys.exit(0)
