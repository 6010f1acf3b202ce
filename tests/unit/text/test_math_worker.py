"""Math-Verify in its worker process."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection

import pytest

from bert_judge.text.latex_forms import math_verify_forms
from bert_judge.text.math_worker import MAX_CALLS, MathResult, MathVerifier


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerifier]:
    with closing(MathVerifier()) as shared:
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
    results = verifier.verify([(["3", "north", "5"], "$5$"), (["3", "4"], "$5$")])
    assert [result.equal for result in results] == [True, False]


@pytest.mark.parametrize("bomb", ["9**9**9**9", "$9^{9^{9^{9}}}$"])
def test_an_endless_computation_is_invalid_and_other_rows_are_judged(bomb: str) -> None:
    with closing(MathVerifier()) as verifier:
        [before] = verifier.verify([(["5"], "5")])
        process = verifier._process
        bombed, after = verifier.verify([(["5"], bomb), (["5"], "6")])
        # It forks again; another one would import Math-Verify again.
        assert process is not None and verifier._process is process
    assert (before.equal, bombed.equal, after.equal) == (True, None, False)
    assert bombed == MathResult(None, "Math-Verify did not finish: a number of more than 1,000,000 bits", is_finished=False)


@pytest.mark.parametrize("answer", ["$10^{99999}$", "$1000!$", "$\\binom{400}{200}$", "$(\\frac{2}{3})^{999}$"])
def test_large_numbers_are_computed(verifier: MathVerifier, answer: str) -> None:
    assert verifier.verify([(["5"], answer)]) == [MathResult(False, is_whole=True)]


HARD = (["$F_n = \\sum_{k=0}^{n-1} F_k F_{n-k-1}$"], "$F_n = \\sum_{k=0}^{n-1} F_{n-k-1} F_k$")
EASY = [(["5"], "5"), (["$x > 5$"], "$x < 5$"), (["\\frac{1}{2}"], "0.5"), (["x^2+1"], "1+x^2")]


def test_a_tenth_of_the_work_leaves_a_hard_row_without_verdict_and_the_others_as_they_are(verifier: MathVerifier) -> None:
    rows = [*EASY, HARD, *EASY]
    with closing(MathVerifier(MAX_CALLS // 10)) as limited:
        results, easy = limited.verify(rows), verifier.verify(EASY)
    stopped = MathResult(None, "Math-Verify did not finish within 500,000 calls of functions", is_finished=False)
    assert [result.equal for result in easy] == [True, False, True, True]
    assert results == [*easy, stopped, *easy]


def test_the_limit_of_calls_does_not_depend_on_the_rows_before() -> None:
    alone, last = [], []
    for limit in (100_000, 300_000, 600_000):
        with closing(MathVerifier(limit)) as verifier:
            alone += verifier.verify([EASY[1]])
            last += verifier.verify([EASY[0], EASY[2], EASY[1]])[2:]
    assert alone == last
    assert [result.equal for result in alone] == [None, None, False]


def test_time_ends_what_makes_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison that is counted has `BACKSTOP_SECONDS` of processor time; the worker reads its own copy of the constant."""
    verifier = MathVerifier()
    codes = iter([-signal.SIGPROF, -signal.SIGPROF])
    counted: list[bool] = []

    def compare(chunk: object, results: list[MathResult], *, is_counted: bool) -> int | None:
        counted.append(is_counted)
        return next(codes)

    monkeypatch.setattr(verifier, "_compare", compare)
    reason = "Math-Verify did not finish within 60 s of processor time"
    assert verifier.verify([(["5"], "5")]) == [MathResult(None, reason, is_finished=False)]
    assert counted == [False, True]


def end_worker(verifier: MathVerifier, number: int) -> None:
    verifier.verify([(["5"], "5")])
    assert verifier._process is not None
    verifier._process.send_signal(number)
    verifier._process.wait()


def test_a_crash_makes_one_row_invalid() -> None:
    with closing(MathVerifier()) as verifier:
        end_worker(verifier, signal.SIGSEGV)
        crashed, after = verifier.verify([(["5"], "5"), (["5"], "5")])
    assert crashed == MathResult(None, "Math-Verify crashed (exit code -11)", is_finished=False)
    assert after.equal is True


def test_a_worker_killed_by_another_process_costs_no_row_unless_it_happens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(MathVerifier()) as verifier:
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
        assert verifier.verify([(["5"], "5")]) == [MathResult(None, "Math-Verify crashed (exit code -9)", is_finished=False)]


def test_close_ends_the_worker() -> None:
    with closing(MathVerifier()) as verifier:
        verifier.verify([(["5"], "5")])
        process = verifier._process
        assert process is not None
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_the_worker_ends_with_the_verifier() -> None:
    verifier = MathVerifier()
    verifier.verify([(["5"], "5")])
    assert verifier._process is not None
    pid = verifier._process.pid
    del verifier
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nothing_to_verify_starts_nothing() -> None:
    with closing(MathVerifier()) as verifier:
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
