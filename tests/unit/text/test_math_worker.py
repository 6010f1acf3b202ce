"""Math-Verify in its worker process."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection

import pytest

from bert_judge.text.latex_forms import math_verify_forms
from bert_judge.text.math_worker import MathResult, MathVerifier

SECONDS = 2.0


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerifier]:
    with closing(MathVerifier(SECONDS)) as shared:
        yield shared


@pytest.mark.parametrize(
    ("reference", "answer", "equal"),
    [
        ("\\{1,2\\}", "\\boxed{(1,2)}", False),
        ("f''(x)", "f'(x)", False),
        ("\\sqrt{2}", "$\\sqrt{2}$", True),
        ("\\sqrt{2}", "2^{1/2}", True),
        ("\\frac{1}{2}", "0.5", True),
        ("\\frac{1}{2}", "1/3", False),
        ("$\\frac{1}{2}$", "\\dfrac12", True),
        ("\\boxed{\\frac{3}{4}}", "3/4", True),
        ("1,000", "1000", True),
        ("$18", "The total is $18.00", True),
        ("18\\%", "18", True),
        ("72", "72 km/h", True),
        ("72", "72 mL", True),
        ("1024", "2^10", True),
        ("1024", "2**10", True),
        ("x^2+1", "1+x^2", True),
        ("x^2+1", "x^2-1", False),
        ("(1,2)", "(1,2)", True),
        ("(1,2)", "(2,1)", False),
        ("5", "x=5", True),
        ("\\{1,2\\}", "\\{2,1\\}", True),
        ("\\pi", "3.15", False),
        ("5", "north", None),
        ("0.\\overline{3}", "1/3", True),
        ("0.1\\overline{6}", "$\\frac16$", True),
        ("0.\\overline{3}", "0.\\overline{4}", False),
        ("0.\\overline{3}", "0.3", False),
        ("2516_8", "2516_{8}", True),
        ("2516_8", "2516", True),
        ("2516_8", "2516_9", False),
        ("3,5,7", "7,5,3", True),
        ("3,5,7", "3,5,8", False),
        ("1,234,567", "1234567", True),
        ("(-\\infty,3)", "x<3", True),
        ("(-\\infty,3)", "[-\\infty,3)", False),
        ("[2,\\infty)", "$\\left[2,\\infty\\right]$", False),
        ("60^\\circ", "60°", True),
        ("60^\\circ", "60\\circ", False),
        ("north", "5", False),
        ("5", "", None),
        ("5", "五", None),
    ],
)
def test_verdicts(verifier: MathVerifier, reference: str, answer: str, equal: bool | None) -> None:
    outcome = verifier.verify([([reference], answer)])[0]
    assert outcome.equal is equal, outcome
    assert (outcome.reason is not None) == (equal is None or reference == "north")


def test_the_best_reference_counts(verifier: MathVerifier) -> None:
    assert verifier.verify([(["3", "north", "5"], "$5$"), (["3", "4"], "$5$")]) == [MathResult(True, None), MathResult(False, None)]


@pytest.mark.parametrize("bomb", ["9**9**9**9", "$9^{9^{9^{9}}}$"])
def test_an_endless_computation_is_invalid_and_other_rows_are_judged(bomb: str) -> None:
    with closing(MathVerifier(1.0)) as verifier:
        [before] = verifier.verify([(["5"], "5")])
        process = verifier._process
        bombed, after = verifier.verify([(["5"], bomb), (["5"], "6")])
        # It forks again; another one would import Math-Verify again.
        assert process is not None and verifier._process is process
    assert (before.equal, bombed.equal, after.equal) == (True, None, False)
    assert bombed.reason == "Math-Verify did not finish in 1 s"


def end_worker(verifier: MathVerifier, number: int) -> None:
    verifier.verify([(["5"], "5")])
    assert verifier._process is not None
    verifier._process.send_signal(number)
    verifier._process.wait()


def test_a_crash_makes_one_row_invalid() -> None:
    with closing(MathVerifier(SECONDS)) as verifier:
        end_worker(verifier, signal.SIGSEGV)
        crashed, after = verifier.verify([(["5"], "5"), (["5"], "5")])
    assert crashed == MathResult(None, "Math-Verify crashed (exit code -11)")
    assert after.equal is True


def test_a_worker_killed_by_another_process_costs_no_row_unless_it_happens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(MathVerifier(SECONDS)) as verifier:
        end_worker(verifier, signal.SIGKILL)
        assert [result.equal for result in verifier.verify([(["5"], "5"), (["5"], "5")])] == [True, True]
        start = verifier._start

        def start_and_kill() -> Connection:
            connection = start()
            assert verifier._process is not None
            verifier._process.kill()
            verifier._process.wait()
            # The child that compares dies with it, and then the pipe is closed.
            assert connection.poll(10)
            return connection

        end_worker(verifier, signal.SIGKILL)
        monkeypatch.setattr(verifier, "_start", start_and_kill)
        assert verifier.verify([(["5"], "5")]) == [MathResult(None, "Math-Verify crashed (exit code -9)")]


def test_close_ends_the_worker() -> None:
    with closing(MathVerifier(SECONDS)) as verifier:
        verifier.verify([(["5"], "5")])
        process = verifier._process
        assert process is not None
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_the_worker_ends_with_the_verifier() -> None:
    verifier = MathVerifier(SECONDS)
    verifier.verify([(["5"], "5")])
    assert verifier._process is not None
    pid = verifier._process.pid
    del verifier
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nothing_to_verify_starts_nothing() -> None:
    with closing(MathVerifier(SECONDS)) as verifier:
        assert verifier.verify([]) == []
        assert verifier._process is None


def test_more_rows_than_a_chunk_keep_their_order(verifier: MathVerifier) -> None:
    outcomes = verifier.verify([([str(i % 3)], str(i % 2)) for i in range(150)])
    assert [outcome.equal for outcome in outcomes] == [i % 3 == i % 2 for i in range(150)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("\\sqrt{2}", "$\\sqrt{2}$"),
        ("$x$", "$x$"),
        ("1,000", "1,000"),
        ("$18", "18"),
        ("5 apples", "5 apples"),
        ("\\sin x", "$\\sin x$"),
        ("sin(x)", "$\\sin (x)$"),
        ("\\boxed{5}", "\\boxed{5}"),
    ],
)
def test_math_verify_forms(text: str, first: str) -> None:
    assert math_verify_forms(text)[0] == first
