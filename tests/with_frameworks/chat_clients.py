"""Programs that ask a chat model to judge, each with a right and a wrong answer: prints both verdicts.

The model is at OPENAI_BASE_URL. Usage: python chat_clients.py PROGRAM
"""

import asyncio
import os
import sys

QUESTION, REFERENCE, ANSWERS = "What is the capital of France?", "Paris", ("Paris", "Lyon")
MODEL = "gpt-4o-mini"


def verifiers() -> list[object]:
    from verifiers.v1.judges.reference import ReferenceJudge, ReferenceJudgeConfig

    judge = ReferenceJudge(ReferenceJudgeConfig(model=MODEL, base_url=os.environ["OPENAI_BASE_URL"]))
    words = {"positive": "yes", "negative": "no"}
    calls = (judge.evaluate(question=QUESTION, answer=REFERENCE, response=answer, **words) for answer in ANSWERS)
    return [asyncio.run(call).parsed for call in calls]


def inspect() -> list[object]:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import model_graded_fact, model_graded_qa
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    @solver
    def give_answer() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("none", str(state.metadata["answer"]))
            return state

        return solve

    samples = [Sample(QUESTION, target=REFERENCE, metadata={"answer": answer}) for answer in ANSWERS]
    # The provider `openai` counts tokens with a file that it downloads.
    grader = "openai-api/bert-judge/exact"
    task = Task(samples, solver=give_answer(), scorer=[model_graded_qa(model=grader), model_graded_fact(model=grader)])
    [log] = eval(task, model="none", log_dir="logs", display="none")
    return [sample.scores[name].value for name in ("model_graded_qa", "model_graded_fact") for sample in log.samples]


def lm_eval() -> list[object]:
    from lm_eval.tasks.pisa.utils import judge_mcq

    return [judge_mcq(answer, ["A) Lyon", "B) Paris"], REFERENCE) for answer in ANSWERS]


def langchain() -> list[object]:
    from langchain_classic.evaluation import load_evaluator
    from langchain_openai import ChatOpenAI

    evaluator = load_evaluator("qa", llm=ChatOpenAI(model=MODEL))
    scores = (evaluator.evaluate_strings(prediction=answer, reference=REFERENCE, input=QUESTION) for answer in ANSWERS)
    return [score["score"] for score in scores]


def llama_index() -> list[object]:
    from llama_index.core.evaluation import CorrectnessEvaluator
    from llama_index.llms.openai import OpenAI

    evaluator = CorrectnessEvaluator(llm=OpenAI(model=MODEL, api_base=os.environ["OPENAI_BASE_URL"]))
    return [evaluator.evaluate(query=QUESTION, response=answer, reference=REFERENCE).passing for answer in ANSWERS]


def ragas() -> list[object]:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import AnswerCorrectness

    metric = AnswerCorrectness(llm=llm_factory(MODEL, client=AsyncOpenAI()), weights=[1.0, 0.0])
    calls = (metric.ascore(user_input=QUESTION, response=answer, reference=REFERENCE) for answer in ANSWERS)
    return [asyncio.run(call).value for call in calls]


def deepeval() -> list[object]:
    from deepeval.metrics import GEval
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    params = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT]
    scores = []
    for options in ({"evaluation_params": params}, {"evaluation_params": params[1:], "strict_mode": True}):
        metric = GEval(name="Correctness", criteria="The actual output is correct.", model=MODEL, async_mode=False, **options)
        for answer in ANSWERS:
            scores.append(metric.measure(LLMTestCase(input=QUESTION, actual_output=answer, expected_output=REFERENCE), False))
    return scores


if __name__ == "__main__":
    print(*globals()[sys.argv[1]]())
