"""Define the HTTP API: judging, health, metrics and the list of judges."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pydantic_core
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import FileResponse, JSONResponse

from bert_judge import __version__
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.runtime.package_data import read_yaml
from bert_judge.serve import bodies, chat, decisions
from bert_judge.serve.batcher import JudgeFailed
from bert_judge.serve.chat import Template, read_templates
from bert_judge.serve.guard import error_response
from bert_judge.serve.judge_pool import JudgePool
from bert_judge.serve.limits import Limits, Metrics, RequestRejected

Answer = TypeVar("Answer")
# The web page: static files that call the API.
PAGE = Path(__file__).with_name("page")
JudgeResponse = bodies.Judged | bodies.JudgedBatch | bodies.JudgedPair | bodies.JudgedPairs
# Status → description, of all requests and of those with a body.
REFUSALS = read_yaml(Path(__file__).with_name("refusals.yaml"))
# Schemas of the requests that `decisions` and `chat` validate, because their errors say what can be answered.
DECISION_SCHEMAS = read_yaml(Path(__file__).with_name("decision_schemas.yaml"))
# Status for a request whose client disconnected before the answer, as in nginx.
CLIENT_CLOSED_REQUEST = 499


def _describe(refusals: Mapping[int, str], model: type[BaseModel] = bodies.ErrorBody) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": model, "description": text} for status, text in refusals.items()}


class _StrictRequest(Request):
    """Parse standard JSON only: UTF-8 without lone surrogates, no NaN, limited nesting and number of values."""

    async def json(self) -> Any:
        return await _run_in_parser(self, _parse_json, await self.body(), self.app.state.limits)


def _parse_json(body: bytes, limits: Limits) -> Any:
    try:
        bodies.check_json(body, limits)
        content = pydantic_core.from_json(body, allow_inf_nan=False)
        bodies.check_counts(content, limits)
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON in UTF-8: {error}") from error
    except RequestRejected as rejection:
        # FastAPI takes other errors for those of a parser.
        raise HTTPException(rejection.status, str(rejection)) from rejection
    return content


async def _run_in_parser(request: Request, function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Call a function on the content of a request in the thread for this, so that the largest requests do not delay others."""
    return await asyncio.get_running_loop().run_in_executor(request.app.state.parser, function, *arguments)


class _StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle_strictly


def make_app(pool: JudgePool, limits: Limits, metrics: Metrics, templates: Mapping[str, Template] | None = None) -> FastAPI:
    """Return the application; its judges run between startup and shutdown.

    Args:
        templates: of the prompts of chat clients; None for those that come with bert-judge.
    """
    known_templates = read_templates() if templates is None else templates

    @asynccontextmanager
    async def run_judges(_: FastAPI) -> AsyncIterator[None]:
        for batcher in pool.all:
            batcher.start()
        yield
        for batcher in pool.all:
            await batcher.stop()
        app.state.parser.shutdown()

    # The default documentation pages load scripts from a CDN.
    app = FastAPI(
        title="bert-judge",
        version=__version__,
        lifespan=run_judges,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=_describe(REFUSALS["all"]),
    )
    app.state.limits = limits
    app.state.parser = ThreadPoolExecutor(1, "parser")
    app.router.route_class = _StrictRoute
    app.exception_handler(RequestRejected)(_handle_rejection)
    app.exception_handler(InputError)(_handle_input_error)
    app.exception_handler(StarletteHTTPException)(_handle_http_error)
    app.exception_handler(RequestValidationError)(_handle_validation_error)
    app.exception_handler(JudgeFailed)(_handle_judge_failure)

    _add_status_routes(app, pool, metrics)
    for path, file in (("/", "index.html"), ("/page.js", "page.js"), ("/page.css", "page.css")):
        app.add_route(path, partial(_send_page, file))

    @app.post("/v1/judge", responses=_describe(REFUSALS["body"]))
    async def judge(body: bodies.JudgeRequest, request: Request) -> JudgeResponse:
        """Judge one answer (`candidate`) or several (`rows`), or compare two answers (`answer_a`, `answer_b`; `pairs`)."""
        return await _cancel_on_disconnect(request, _answer(pool, limits, body, _client(request)), limits.answer_seconds)

    add_protocol = partial(_add_protocol, app, pool, limits)
    add_protocol("decisions", decisions.PATHS[0], parse=partial(decisions.parse, limits), answer=decisions.decide)
    add_protocol(
        "systemone", decisions.PATHS[1], parse=partial(decisions.parse_system_one, limits), answer=decisions.decide_system_one
    )
    add_protocol("chat", chat.PATH, parse=partial(chat.parse, known_templates, limits), answer=chat.complete)
    return app


def _add_protocol(
    app: FastAPI, pool: JudgePool, limits: Limits, name: str, path: str, *, parse: Callable[..., Any], answer: Callable[..., Any]
) -> None:
    """Add the route of a protocol of decision or chat models, whose `DECISION_SCHEMAS` have its name."""
    refusals = _describe(REFUSALS["all"] | REFUSALS["body"], bodies.DecisionErrorBody)
    schema = DECISION_SCHEMAS[name]
    body_schema = {"requestBody": {"content": {"application/json": {"schema": schema}}}}

    @app.post(path, responses=refusals, openapi_extra=body_schema, description=schema["description"])
    async def answer_protocol(body: dict[str, Any], request: Request) -> dict[str, Any]:
        question = await _run_in_parser(request, parse, body)
        return await _cancel_on_disconnect(request, answer(pool, limits, question, _client(request)), limits.answer_seconds)


def _add_status_routes(app: FastAPI, pool: JudgePool, metrics: Metrics) -> None:
    """Add the routes for health, metrics and the list of judges."""

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Report whether the server and its judges are running."""
        if stopped := [batcher.name for batcher in pool.all if not batcher.alive]:
            raise RequestRejected(503, f"not running: {', '.join(stopped)}; restart the server")
        return {"status": "ok", "version": __version__}

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def prometheus_metrics() -> Response:
        """Return metrics in the Prometheus text format."""
        return Response(metrics.text(), media_type=metrics.content_type)

    @app.get("/v1/judges")
    async def judges() -> bodies.JudgeList:
        """List the judges; the first of each kind is the default."""
        return bodies.JudgeList(pointwise=list(pool.pointwise), pairwise=list(pool.pairwise), scores=dict(pool.scores))

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        """List the names that a client may give as `model`, in the form of OpenAI's Models API."""
        model = {"object": "model", "created": 0, "owned_by": "bert-judge"}
        return {"object": "list", "data": [{"id": name, **model} for name in dict.fromkeys((*pool.pointwise, *pool.aliases))]}


async def _send_page(file: str, _: Request) -> FileResponse:
    return FileResponse(PAGE / file)


def _client(request: Request) -> str:
    return request.client.host if request.client else "?"


async def _answer(pool: JudgePool, limits: Limits, body: bodies.JudgeRequest, client: str) -> JudgeResponse:
    if isinstance(body, bodies.Single | bodies.Batch):
        rows = body.rows if isinstance(body, bodies.Batch) else [body]
        bodies.check_items("rows", rows, limits)
        judge = pool.judge(body.judge)
        labels = [bodies.LabelBody.model_validate(label) for label in await judge.submit(rows, client)]
        return (
            bodies.JudgedBatch(judge=judge.name, labels=labels)
            if isinstance(body, bodies.Batch)
            else bodies.Judged(judge=judge.name, **dict(labels[0]))
        )
    pairs = body.pairs if isinstance(body, bodies.PairBatch) else [body]
    bodies.check_items("pairs", pairs, limits)
    pair_judge = pool.pair_judge(body.judge)
    answers = await pair_judge.submit(pairs, client)
    preferences = [bodies.PreferenceBody.model_validate(preference) for preference in answers]
    if isinstance(body, bodies.PairBatch):
        return bodies.JudgedPairs(judge=pair_judge.name, preferences=preferences)
    return bodies.JudgedPair(judge=pair_judge.name, **dict(preferences[0]))


async def _cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, Answer], seconds: float) -> Answer:
    """Return the result of `work`; cancel it if the client disconnects or the time limit is reached.

    Raises:
        RequestRejected: the client disconnected, or the time limit was reached.
    """
    task, disconnected = asyncio.create_task(work), asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait([task, disconnected], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if disconnected.done():
            raise RequestRejected(CLIENT_CLOSED_REQUEST, "the client disconnected")
        raise RequestRejected(504, f"no answer within {seconds:g} seconds; send fewer rows, or try again later", 1)
    finally:
        task.cancel()
        disconnected.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _handle_rejection(request: Request, error: RequestRejected) -> Response:
    response = error_response(error)
    if request.url.path in (*decisions.PATHS, chat.PATH):
        # The form in which clients of these protocols show a message.
        nested = bodies.DecisionErrorBody(error=bodies.DecisionError(message=str(error)))
        headers = {name: value for name, value in response.headers.items() if name == "retry-after"}
        return JSONResponse(nested.model_dump(), error.status, headers)
    return response


async def _handle_input_error(_: Request, error: InputError) -> Response:
    return error_response(RequestRejected(422, " ".join(str(error).split())))


async def _handle_http_error(request: Request, error: StarletteHTTPException) -> Response:
    path = request.scope["path"]
    messages = {404: f"{path}: not found", 405: f"{path}: {request.method} is not allowed"}
    response = error_response(RequestRejected(error.status_code, messages.get(error.status_code, str(error.detail))))
    # Allow, of a method that is not.
    response.headers.update(error.headers or {})
    return response


async def _handle_validation_error(request: Request, error: RequestValidationError) -> Response:
    """Report the first error with its location in the body."""
    content_type = request.headers.get("content-type", "")
    if not content_type.lower().partition(";")[0].strip().endswith("json"):
        return error_response(RequestRejected(415, f"content-type {content_type!r}: send application/json"))
    return error_response(RequestRejected(422, _describe_invalid_body(error.errors())))


def _describe_invalid_body(errors: Sequence[Mapping[str, Any]]) -> str:
    """Describe the first error, with its location in the body; a key that replaces a missing one is a typing error."""
    first = next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])
    # The location starts with "body" and the name of the union member.
    location = ".".join(str(key) for key in first["loc"][2:]) or "the body"
    missing = [str(error["loc"][-1]) for error in errors if error["type"] == "missing" and error["loc"][:-1] == first["loc"][:-1]]
    if first["type"] == "extra_forbidden" and missing:
        return f"{location}: unknown key; {suggest(str(first['loc'][-1]), missing)}"
    return f"{location}: {first['msg']}"


async def _handle_judge_failure(_: Request, error: JudgeFailed) -> Response:
    return error_response(RequestRejected(500, f"{error}: the judge failed on this request; see the server log"))
