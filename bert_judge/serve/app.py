"""The HTTP interface: judge one answer or many, see how the server fares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, TypeVar

import pydantic_core
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException as StarletteHTTPException

from bert_judge import __version__
from bert_judge.judges.protocol import Label
from bert_judge.runtime.errors import InputError
from bert_judge.serve import bodies
from bert_judge.serve.batcher import JudgeFailed
from bert_judge.serve.bodies import (
    Asked,
    Batch,
    Fault,
    Judged,
    JudgedBatch,
    JudgedPair,
    JudgedPairs,
    LabelBody,
    PairBatch,
    PreferenceBody,
    Single,
    SinglePair,
)
from bert_judge.serve.guard import fault_headers
from bert_judge.serve.judge_pool import Roster
from bert_judge.serve.limits import Limits, Refused
from bert_judge.serve.metrics import Metrics

Answer = TypeVar("Answer")
Answered = Judged | JudgedBatch | JudgedPair | JudgedPairs
# What a log calls a request whose client went away before its answer.
GONE = 499
FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"model": Fault, "description": "The body is no JSON, no UTF-8, or nested too deeply."},
    401: {"model": Fault, "description": "The token is missing or wrong."},
    404: {"model": Fault, "description": "There is no such judge."},
    408: {"model": Fault, "description": "The body did not arrive in time."},
    413: {"model": Fault, "description": "The body, a text or the number of rows is too large."},
    415: {"model": Fault, "description": "The body is of another type than JSON."},
    422: {"model": Fault, "description": "The body is JSON, but not what is asked for."},
    429: {"model": Fault, "description": "The client sends too many requests; Retry-After says how long to wait."},
    503: {"model": Fault, "description": "The queue is full; Retry-After says how long to wait."},
    504: {"model": Fault, "description": "The answer took too long."},
}


class _StrictRequest(Request):
    """Reads JSON as the standard has it: UTF-8 without half characters, no NaN, nested a bounded number of times."""

    async def json(self) -> Any:
        try:
            return pydantic_core.from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON in UTF-8: {error}") from error


class _StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


def make_app(roster: Roster, limits: Limits, metrics: Metrics) -> FastAPI:
    """The application; its judges are at work between start-up and shutdown."""

    @asynccontextmanager
    async def at_work(_: FastAPI) -> AsyncIterator[None]:
        for batcher in roster.all:
            batcher.start()
        yield
        for batcher in roster.all:
            await batcher.stop()

    # The usual pages of the documentation load their scripts from elsewhere.
    app = FastAPI(title="bert-judge", version=__version__, lifespan=at_work, docs_url=None, redoc_url=None)
    app.router.route_class = _StrictRoute
    app.exception_handler(Refused)(_refused)
    app.exception_handler(InputError)(_input_error)
    app.exception_handler(StarletteHTTPException)(_http_error)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(JudgeFailed)(_broken)

    _add_looking(app, roster, metrics)

    @app.post("/v1/judge", responses=FAULTS)
    async def judge(asked: Asked, request: Request) -> Answered:
        """Judge one answer (`candidate`) or several (`rows`), or say which of two is better (`answer_a`, `answer_b`; `pairs`)."""
        return await _unless_gone(request, _answer(roster, limits, asked), limits.answer_seconds)

    return app


def _add_looking(app: FastAPI, roster: Roster, metrics: Metrics) -> None:
    """The places that say how the server fares."""

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Whether the server is there and its judges at work."""
        if dead := [batcher.name for batcher in roster.all if not batcher.alive]:
            raise Refused(503, f"not at work: {', '.join(dead)}; start the server again")
        return {"status": "ok", "version": __version__}

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def figures() -> Response:
        """Figures in Prometheus' text format."""
        return Response(metrics.text(), media_type=metrics.content_type)

    @app.get("/v1/judges")
    async def judges() -> dict[str, list[str]]:
        """Names of the judges; the first of a kind is the default one."""
        return {"pointwise": list(roster.pointwise), "pairwise": list(roster.pairwise)}


async def _answer(roster: Roster, limits: Limits, asked: Asked) -> Answered:
    match asked:
        case Batch():
            bodies.check_rows(asked.rows, limits)
            batcher = roster.judge(asked.judge)
            labels = await batcher.submit([bodies.row_of(row) for row in asked.rows])
            return JudgedBatch(judge=batcher.name, labels=[_body(label) for label in labels])
        case Single():
            bodies.check_rows([asked], limits)
            batcher = roster.judge(asked.judge)
            [label] = await batcher.submit([bodies.row_of(asked)])
            return Judged(judge=batcher.name, **asdict(label))
        case _:
            return await _compared(roster, limits, asked)


async def _compared(roster: Roster, limits: Limits, asked: SinglePair | PairBatch) -> JudgedPair | JudgedPairs:
    pairs = asked.pairs if isinstance(asked, PairBatch) else [asked]
    bodies.check_pairs([*pairs], limits)
    batcher = roster.pair_judge(asked.judge)
    found = [bodies.described(said) for said in await batcher.submit([bodies.pair_of(pair) for pair in pairs])]
    if isinstance(asked, PairBatch):
        return JudgedPairs(judge=batcher.name, preferences=[PreferenceBody.model_validate(said) for said in found])
    return JudgedPair(judge=batcher.name, **found[0])


def _body(label: Label) -> LabelBody:
    return LabelBody.model_validate(asdict(label))


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Answer], seconds: float) -> Answer:
    """The work's result; the work ends early when its client goes away or its time is over.

    Raises:
        Refused: it went away, or it took too long.
    """
    task, gone = asyncio.create_task(work), asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait([task, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise Refused(GONE, "the client went away")
        raise Refused(504, f"no answer within {seconds:g} seconds; send fewer rows, or try again later", 1)
    finally:
        task.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _fault(refused: Refused) -> Response:
    return JSONResponse({"error": str(refused)}, refused.status, fault_headers(refused))


async def _refused(_: Request, error: Refused) -> Response:
    return _fault(error)


async def _input_error(_: Request, error: InputError) -> Response:
    return _fault(Refused(422, " ".join(str(error).split())))


async def _http_error(request: Request, error: StarletteHTTPException) -> Response:
    what = {404: f"{request.url.path}: there is nothing here", 405: f"{request.method} is not for {request.url.path}"}
    return _fault(Refused(error.status_code, what.get(error.status_code, str(error.detail))))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    """The first fault, with the place in the body."""
    kind = request.headers.get("content-type", "")
    if not kind.lower().partition(";")[0].strip().endswith("json"):
        return _fault(Refused(415, f"content-type {kind!r}: send application/json"))
    fault, *others = error.errors()
    # The form of the body stands second, after "body".
    where = ".".join(str(part) for part in fault["loc"][2:]) or "the body"
    more = f" (and {len(others)} more)" if others else ""
    return _fault(Refused(422, f"{where}: {fault['msg']}{more}"))


async def _broken(_: Request, error: JudgeFailed) -> Response:
    return _fault(Refused(500, f"{error}: the judge failed on this request; the server's log says why"))
