"""Math-Verify in a worker process that can be killed.

Math-Verify evaluates what a candidate writes, and some answers never end. The limit is one of work, not of time, so that an answer
has the same verdict on every machine: calls of Python functions, which a profile function counts, and digits of integers, whose
arithmetic calls no function. Counting doubles the time of a comparison. So each answer is compared without counting first, for less
time than any machine needs for the limit (`FASTEST_CALL`); what takes longer is compared again, counted, in a new process, where
the number of calls does not depend on earlier answers. Only what neither limit sees ends with the processor time
`BACKSTOP_SECONDS`. The answer then has no verdict.

Math-Verify's own time limits rely on signals, which need the main thread and are handled only between two steps of Python code.
Here the process that compares ends. The worker imports Math-Verify once, which takes about a second, and forks: the child compares,
and when it dies the next one continues at once. The worker is started with `python -m`, because `multiprocessing` would import the
caller's script a second time.
"""

import ctypes
import json
import multiprocessing as mp
import os
import resource
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NoReturn

from bert_judge.text.math_comparison import MathComparer, MathResult

CHUNK = 64
# Calls of Python functions for one answer. The hardest of Math-Verify's own test cases takes 2.5 million.
MAX_CALLS = 5_000_000
# Bits of an integer: 300,000 digits.
MAX_BITS = 1_000_000
# Seconds of a call of a Python function. sympy's take ten times as long on a processor of 2015 with 2 GHz.
FASTEST_CALL = 5e-8
# Seconds of processor time of a counted comparison, of which five million calls take 2 to 7.
BACKSTOP_SECONDS = 60.0
# Excessive allocations end in a MemoryError of the worker.
MEMORY_BYTES = 4 << 30

# Option of Linux's prctl: the signal that this process gets when its parent ends.
PR_SET_PDEATHSIG = 1

# Exit codes of a process that reached a limit of work, and of one that another process ended.
TOO_MANY_CALLS, TOO_LARGE = 70, 71
KILLED = (-signal.SIGKILL, -signal.SIGTERM)


class MathVerifier:
    """Compares answers with references in a worker process, which `close` ends; `max_calls` of Python functions for one answer."""

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        self.max_calls = max_calls
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._end: weakref.finalize | None = None

    def verify(self, pairs: Sequence[tuple[Sequence[str], str]]) -> list[MathResult]:
        """Return one result per (references, answer), in order."""
        results: list[MathResult] = []
        # Positions of the pair that is compared with counted calls, and of the one that was being compared when something else
        # ended the worker.
        counted = interrupted = -1
        while len(results) < len(pairs):
            is_counted = counted == len(results)
            chunk = pairs[len(results) : len(results) + (1 if is_counted else CHUNK)]
            code = self._compare(chunk, results, is_counted=is_counted)
            if code is None:
                continue
            if code == -signal.SIGPROF and not is_counted:
                counted = len(results)
            elif code in KILLED and interrupted != len(results):
                # Rather the fault of the machine than of this answer, unless it happens again.
                interrupted = len(results)
            else:
                results.append(MathResult(None, f"Math-Verify {self._describe(code)}", is_finished=False))
        return results

    def _compare(self, chunk: Sequence[tuple[Sequence[str], str]], results: list[MathResult], *, is_counted: bool) -> int | None:
        """Append the results of pairs; return the exit code of a process that ended before the last one."""
        end = len(results) + len(chunk)
        connection = self._connection or self._start()
        try:
            connection.send_bytes(json.dumps([is_counted, chunk]).encode())
            while len(results) < end:
                message = json.loads(connection.recv_bytes())
                if isinstance(message, int):
                    return message
                results.append(MathResult(*message))
        except (EOFError, OSError):
            assert self._process is not None
            code = self._process.wait()
            self.close()
            return code
        return None

    def _describe(self, code: int) -> str:
        reasons = {
            TOO_MANY_CALLS: f"did not finish within {self.max_calls:,} calls of functions",
            TOO_LARGE: f"did not finish: a number of more than {MAX_BITS:,} bits",
            -signal.SIGPROF: f"did not finish within {BACKSTOP_SECONDS:g} s of processor time",
        }
        return reasons.get(code, f"crashed (exit code {code})")

    def close(self) -> None:
        """End the worker; the next `verify` starts another."""
        if self._end is not None:
            self._end()
        self._process = self._connection = self._end = None

    def _start(self) -> Connection:
        ours, theirs = mp.Pipe()
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), str(self.max_calls)]
        # sympy takes the members of sets in the order of their hashes.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment
        )
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


def _limit_integers() -> None:
    """Let this process end where sympy or mpmath would compute with integers of more than `MAX_BITS`, which takes few calls."""
    from mpmath.libmp import libelefun
    from sympy import Float, Integer, Rational, binomial, factorial

    def power_bits(base: Any, exponent: Any) -> int:
        return max(abs(base.p), base.q).bit_length() * abs(exponent.p) if exponent.is_Integer else 0

    def exponent_bits(base: Any, exponent: Any) -> int:
        # mpmath 1.3.0 works out 9.0 ** n in as many steps as n has bits, and writes n as an integer first.
        return exponent._mpf_[2] if exponent.is_Float else exponent.p.bit_length() if exponent.is_Integer else 0

    def factorial_bits(n: Any) -> int:
        return abs(n.p) * n.p.bit_length() if n.is_Integer else 0

    def binomial_bits(n: Any, k: Any) -> int:
        return min(abs(k.p), abs(n.p - k.p)) * n.p.bit_length() if n.is_Integer and k.is_Integer else 0

    for number in (Integer, Rational):
        number._eval_power = _limited(number._eval_power, power_bits)
    Float._eval_power = _limited(Float._eval_power, exponent_bits)
    # The sine of 1e1000 takes 1000 digits of pi.
    libelefun.mod_pi2 = _limited(libelefun.mod_pi2, lambda mantissa, exponent, bits, precision: bits)
    factorial.eval = classmethod(_limited(factorial.eval.__func__, lambda cls, n: factorial_bits(n)))
    binomial._eval = classmethod(_limited(binomial._eval.__func__, lambda cls, n, k: binomial_bits(n, k)))


def _limited(compute: Callable[..., Any], bits: Callable[..., int]) -> Callable[..., Any]:
    @wraps(compute)
    def compute_small(*numbers: Any) -> Any:
        if bits(*numbers) > MAX_BITS:
            os._exit(TOO_LARGE)
        return compute(*numbers)

    return compute_small


def _count_calls(max_calls: int) -> None:
    """Let this process end with its call number `max_calls` of a Python function."""
    remaining = max_calls

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal remaining
        if event == "call":
            remaining -= 1
            if not remaining:
                os._exit(TOO_MANY_CALLS)

    sys.setprofile(count)


def _serve(connection: Connection, max_calls: int) -> None:
    """Let a child process chunks of pairs until the caller closes the pipe; report the exit code of one that dies, fork again."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    comparer = MathComparer()
    _limit_integers()
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
            _compare_chunks(connection, comparer, max_calls)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            connection.send_bytes(json.dumps(code).encode())
        else:
            return


def _compare_chunks(connection: Connection, comparer: MathComparer, max_calls: int) -> NoReturn:
    """Answer until the caller closes the pipe. The timer's signal kills this process."""
    while True:
        try:
            is_counted, chunk = json.loads(connection.recv_bytes())
        except (EOFError, ConnectionResetError):
            os._exit(0)
        for references, answer in chunk:
            signal.setitimer(signal.ITIMER_PROF, BACKSTOP_SECONDS if is_counted else max_calls * FASTEST_CALL)
            if is_counted:
                _count_calls(max_calls)
            result = comparer.compare(references, answer)
            sys.setprofile(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send_bytes(json.dumps(result).encode())


if __name__ == "__main__":
    try:
        _serve(Connection(int(sys.argv[1])), int(sys.argv[2]))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The caller closed the pipe.
        sys.exit(0)
