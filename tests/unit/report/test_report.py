"""Test the HTML page of the report."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.score_files import VERDICT, write_scores

from bert_judge import tables
from bert_judge.evaluation.score_tables import MODEL, TASK
from bert_judge.evaluation.standings import build_standings
from bert_judge.report import build, charts, leaderboard, sections
from bert_judge.report.build import build_report
from bert_judge.report.exports import save_standings_plot
from bert_judge.report.format import max_text_length
from bert_judge.runtime.errors import InputError

ATTACK = "<script>alert('x')</script><img src=http://evil.example/x.png onerror=alert(1)></div></main>"
HEBREW = "בירת צרפת היא פריז"
VOID = {"meta", "link", "input", "wbr"}
KINDS = {"strict": "lexical", "gold": "imported", "bert": "bert"}


class Page(HTMLParser):
    """Parse a page, check that tags nest, and store tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data

    def attributes(self, name: str) -> list[str]:
        return [found[name] or "" for _, found in self.tags if name in found]


def run(folder: Path, scores: list[Path], gold: str | None = "gold", metrics: object = None, pairs=None, **spec) -> Path:
    models_tasks = [(path.parent.name, path.stem) for path in scores]
    spec = {
        "judges": ["strict", "gold", "bert"],
        "gold": gold,
        "trained": ["bert"],
        "families": {task: "math" for _, task in models_tasks},
        "tables": sorted(map(list, models_tasks)),
        **spec,
    }
    build_standings(spec, scores, folder)
    judges = {}
    if metrics is not None:
        judges["bert"] = folder / "judges" / "bert"
        judges["bert"].mkdir(parents=True, exist_ok=True)
        (judges["bert"] / "metrics.json").write_text(metrics if isinstance(metrics, str) else json.dumps(metrics))
    kinds = {"strict": "lexical", "gold": "imported", "bert": "bert"}
    report = {"kinds": kinds, **spec, "simulated_models": spec.get("simulated_models", [])}
    build_report(report, folder=folder, scores=scores, judges=judges, output=folder / "report.html", pairs=pairs)
    return folder / "report.html"


@pytest.fixture
def scores(tmp_path):
    texts = [ATTACK, HEBREW, "x" * 1_000_000, "a\x00b\x1b[31m", "", "plain"]
    return [
        write_scores(tmp_path, "ada", "sums", {"gold": "ccccci", "strict": "iiiiic", "bert": "ccciii"}, candidates=texts),
        write_scores(tmp_path, "bob", "sums", {"gold": "ciiiic", "strict": "cciicc", "bert": "ciicic"}, status="truncated"),
        write_scores(tmp_path, "ada", "proofs", {"gold": "ci", "strict": "ic", "bert": "ci"}),
        write_scores(tmp_path, "bob", "proofs", {"gold": "ci", "strict": "ic", "bert": "ci"}),
    ]


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def element(path: Path, name: str) -> str:
    """Return the content of a script element with data."""
    return re.search(rf'<script type="[^"]+" id="{name}">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1]


def packed(path: Path) -> dict[str, Any]:
    """Return the embedded answers of a page."""
    return json.loads(gzip.decompress(base64.b64decode(element(path, "packed-answers"))))


def test_page_contains_all_sections(tmp_path, scores):
    page = read(run(tmp_path, scores, metrics={"accuracy": 0.9712, "n": 412.0, "by": {"task": 0.5}, "teacher": "noisy"}))
    for text in (
        "ada has the highest accuracy",
        "bob",
        "sums",
        "proofs",
        "strict has a mean accuracy error of",
        "Task: sums",
        "(majority class)",
    ):
        assert text in page.text
    for text in ("0.971", "412", "by: task", "noisy", "bert-judge", "p = ", "Significantly better than", "too high"):
        assert text in page.text
    assert "Simulated data" not in page.text


def test_identical_groups_are_shown_once(tmp_path, scores):
    families = {"sums": "math", "proofs": "reading"}
    page = read(run(tmp_path, scores, families=families))
    headings = re.findall(r"(All tasks|Family: \w+ \(\w+\)|Task: \w+) \d+ answers to", page.text)
    assert headings == ["All tasks", "Family: math (sums)", "Family: reading (proofs)"]
    page = read(run(tmp_path, scores))
    headings = re.findall(r"(All tasks|Family: \w+|Task: \w+) \d+ answers to", page.text)
    assert headings == ["All tasks", "Task: proofs", "Task: sums"]


def test_candidates_are_escaped(tmp_path, scores):
    path = run(tmp_path, scores)
    page = read(path)
    assert ATTACK in packed(path)["answer"]
    assert "evil.example" not in path.read_text(encoding="utf-8")
    assert {tag for tag, _ in page.tags if tag in ("script", "img", "iframe", "object", "embed")} == {"script"}
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]
    # The page's own scripts are the only ones that its policy lets run.
    policy = next(c for c in page.attributes("content") if "default-src" in c)
    assert "default-src 'none'" in policy
    allowed = re.findall(r"sha256-([A-Za-z0-9+/]{43}=)", policy)
    own = re.findall(r"<script>(.*?)</script>", path.read_text(encoding="utf-8"), re.DOTALL)
    assert [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in own] == allowed


def test_names_cannot_close_the_chart_data(tmp_path):
    names = ["</script><script>alert(1)</script>", "bob"]
    table = pd.DataFrame({"level": "all", "judge": "strict", "model": names, "rank_reference": [1, 2], "rank": [2, 1]})
    judges, shifts = leaderboard.rank_shifts(table.assign(rank_shift=[-1, 1], low=0, high=0), ["strict"])
    text = charts.embed({"ranks": charts.rank_shifts(judges, shifts, "gold")})
    assert "<" not in text
    assert [trace["name"] for trace in json.loads(text)["ranks"]["data"]] == names


def test_page_is_self_contained(tmp_path, scores):
    path = run(tmp_path, scores)
    page = read(path)
    for name in ("src", "href", "srcset", "data", "action"):
        assert all(value.startswith(("#", "data:")) for value in page.attributes(name))
    style = path.read_text(encoding="utf-8").partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_long_and_unusual_texts_are_readable(tmp_path, scores):
    path = run(tmp_path, scores)
    answers = packed(path)["answer"]
    assert HEBREW in answers
    assert "a␀b␛[31m" in answers
    assert "" in answers
    assert max(map(len, answers)) < 5000
    assert any("characters omitted" in text for text in answers)
    assert "\x00" not in path.read_text(encoding="utf-8")


def test_all_answers_and_verdicts_are_embedded(tmp_path, scores):
    found = packed(run(tmp_path, scores))
    judges = found["judges"]
    assert judges == ["gold", "bert", "strict"]
    assert len(found["answer"]) == len(found["verdicts"][0]) == 16
    assert len(found["questions"]) == 8
    assert found["names"] == {"task": ["proofs", "sums"], "model": ["ada", "bob"], "status": ["ok", "truncated"]}
    at = found["answer"].index(ATTACK)
    assert [found["names"][name][found[name][at]] for name in ("task", "model", "status")] == ["sums", "ada", "ok"]
    assert found["questions"][found["question"][at]] == ["question 0 of sums", ["reference 0"]]
    assert [said[at] for said in found["verdicts"]] == ["0", "0", "1"]
    assert [scores_[at] for scores_ in found["scores"]] == [900, 900, 100]


def test_texts_are_truncated_to_the_budget(tmp_path, scores, monkeypatch):
    assert max_text_length([10, 20, 3000], 3030) == 4500
    assert max_text_length([10, 20, 3000, 5000], 430) == 200
    assert max_text_length([], 5) == 4500
    monkeypatch.setattr(build, "MAX_ANSWERS", 7)
    monkeypatch.setattr(build, "MAX_CHARACTERS", 700)
    path = run(tmp_path, scores)
    found = packed(path)
    assert len(found["answer"]) == 7
    assert "7 answers of 16" in read(path).text
    left_out = re.compile(r"\n\[… [\d,]+ characters omitted …\]\n")
    assert sum(len(left_out.sub("", text)) for text in found["answer"]) <= 700


def test_page_is_deterministic(tmp_path, scores):
    path = run(tmp_path, scores)
    first = path.read_bytes()
    spec = json.loads(tables.provenance(tmp_path / "standings.parquet")["spec"])
    build_report({**spec, "kinds": KINDS, "simulated_models": []}, folder=tmp_path, scores=scores[::-1], judges={}, output=path)
    assert path.read_bytes() == first


def test_page_without_gold(tmp_path, scores):
    page = read(run(tmp_path, scores, gold=None))
    assert "these verdicts are not validated" in page.text
    assert "Agreement with" not in page.text


@pytest.mark.parametrize("letters", ["", "x", "c"])
def test_few_or_no_verdicts(tmp_path, letters):
    files = [write_scores(tmp_path, "ada", "sums", dict.fromkeys(("gold", "strict", "bert"), letters))]
    page = read(run(tmp_path, files))
    expected = "It is the only model" if letters == "c" else "No answer has a verdict yet"
    assert expected in page.text
    assert ("There are no answers yet" in page.text) == (not letters)


@pytest.mark.parametrize(("invalid", "judge"), [((0.0, 0.1), "gold"), ((0.0, 0.2), "bert"), ((), "bert")])
def test_gold_ranks_the_models_whose_answers_it_decided(invalid, judge):
    gold = pd.DataFrame({"judge": "gold", "level": "all", "invalid": list(invalid)})
    rows = pd.concat([gold, pd.DataFrame({"judge": ["bert"], "level": ["all"], "invalid": [0.9]})])
    assert sections.ranking_judge(rows, "gold" if invalid else None, "bert") == judge


def test_headline_is_that_of_the_better_trained_judge(tmp_path):
    # Gold has decided too few answers to rank the models itself.
    files = [
        write_scores(tmp_path, "large", "sums", {"gold": "ccccx", "first": "iiiii", "second": "cccci"}),
        write_scores(tmp_path, "small", "sums", {"gold": "iiiix", "first": "ccccc", "second": "iiiic"}),
    ]
    spec = {"judges": ["gold", "first", "second"], "trained": ["first", "second"], "kinds": {}}
    assert "judged by second" in read(run(tmp_path, files, **spec)).text
    assert "judged by first" in read(run(tmp_path / "no_gold", files, gold=None, **spec)).text


def test_forty_models(tmp_path):
    names = [f"lab.{i}__Model+{i}-Instruct" for i in range(40)]
    files = [
        write_scores(tmp_path, name, "sums", {"gold": "ci", "strict": "ix", "bert": "cc" if i % 2 else "ci"})
        for i, name in enumerate(names)
    ]
    path = run(tmp_path, files, simulated_models=names[1:])
    page = read(path)
    assert all(name in page.text for name in names)
    assert f"Simulated data. The answers of {names[1]}, {names[2]}" in page.text
    assert "Significantly better than" in page.text


@pytest.mark.parametrize(("metrics", "fault"), [("{", "not JSON"), ("[1]", "holds list")])
def test_invalid_metrics_leave_no_page(tmp_path, scores, metrics, fault):
    with pytest.raises(InputError, match=rf"metrics\.json.*{fault}"):
        run(tmp_path, scores, metrics=metrics)
    assert not (tmp_path / "report.html").exists()


def test_standings_without_provenance_are_rejected(tmp_path, scores):
    run(tmp_path, scores)
    path = tmp_path / "standings.parquet"
    tables.read(path, tables.STANDINGS).to_parquet(path)
    spec = {
        "judges": ["bert"],
        "gold": None,
        "trained": [],
        "families": {"sums": "math", "proofs": "math"},
        "kinds": {},
        "simulated_models": [],
    }
    with pytest.raises(InputError, match=r"standings\.parquet: no provenance metadata"):
        build_report(spec, folder=tmp_path, scores=scores, judges={}, output=tmp_path / "report.html")


def verdict_frame(rows: list[str], judges: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame({"sample_id": [f"s{i}" for i in range(len(rows))], "attempt": 0, TASK: "sums", MODEL: "ada"})
    for place, judge in enumerate(judges):
        frame[judge] = 0.5
        frame[f"{judge}_verdict"] = [VERDICT[row[place]] for row in rows]
    return frame


def test_each_verdict_combination_appears_once_before_repeats():
    judges = ["gold", "strict", "rouge", "bert"]
    frame = verdict_frame(["cccc", "ciic", "ciic", "ciic", "ccci", "xxxc", "xcic", "cicc"], judges)
    chosen = build.order_answers(frame, judges, "gold", ["bert"])
    letter_of = {verdict: letter for letter, verdict in reversed(VERDICT.items())}
    said = chosen[[f"{judge}_verdict" for judge in judges]].map(letter_of.__getitem__)
    letters = ["".join(row) for row in said.values]
    # The trained judge's error first, then the most divided; unanimous rows and lone verdicts last.
    assert letters[:2] == ["ccci", "ciic"]
    assert sorted(letters[:4]) == ["ccci", "cicc", "ciic", "xcic"]
    assert letters[4:6] == ["ciic", "ciic"]
    assert sorted(letters[6:]) == ["cccc", "xxxc"]
    assert chosen["errs"].tolist() == [True] + [False] * 7
    shuffled = frame.sample(frac=1, random_state=1)
    assert build.order_answers(shuffled, judges, "gold", ["bert"])["sample_id"].tolist() == chosen["sample_id"].tolist()


def test_rankings_take_significance_from_the_table():
    columns = ("model", "other", "difference", "low", "high", "significant", "min_detectable_effect")
    rows = [
        ("ada", "bob", 0.2, 0.1, 0.3, True, 0.1),
        ("ada", "cyd", 0.2, 0.05, 0.3, False, 0.2),
        # On the answers of both, cyd is better.
        ("bob", "cyd", -0.1, -0.2, -0.05, True, 0.3),
    ]
    pairs = pd.DataFrame(rows, columns=columns).assign(level="task", task="sums", judge="bert")
    ranked = pd.DataFrame({"level": "task", "task": "sums", "judge": "bert", "model": ["ada", "bob", "cyd"]})
    [ranking] = leaderboard.rankings(ranked.assign(rank=[1, 2, None], rank_low=1, rank_high=3), pairs, "bert")
    better_than = [(model["model"], model["better_than"]) for model in ranking["models"]]
    assert better_than == [("ada", ["bob"]), ("bob", []), ("cyd", ["bob"])]
    assert [model["row"]["rank"] for model in ranking["models"]] == [1, 2, None]
    assert ranking["min_detectable"] == pytest.approx(0.2)
    reversed_ = leaderboard.compare_models(ranking["comparisons"], "bob", "ada")
    assert (reversed_["difference"], reversed_["low"], reversed_["high"]) == (-0.2, -0.3, -0.1)
    assert leaderboard.compare_models(ranking["comparisons"], "ada", "ada") is None


@pytest.mark.parametrize(
    ("comparison", "sentence"),
    [
        ((9, 0.05, 0.01, 0.09, 0.01, True), "The lead is significant: +5.0 points over bob"),
        ((9, 1.0, 1.0, 1.0, 0.25, False), "The lead is not significant: +100.0 points over bob"),
        ((9, 0.05, 0.01, 0.11, 0.06, False), "The lead is not significant: +5.0 points over bob"),
        ((0, None, None, None, None, False), "bob is second; the two share no question"),
    ],
)
def test_headline_describes_the_lead(comparison, sentence):
    rows = [{"accuracy": share, "low": share - 0.02, "high": share + 0.02, "invalid": 0.0, "n": 1} for share in (0.9, 0.85)]
    models = [{"model": model, "row": row} for model, row in zip(("ada", "bob"), rows, strict=True)]
    columns = dict(zip(("n", "difference", "low", "high", "p_holm", "significant"), comparison, strict=True))
    sentences = leaderboard.headline([{"judge": "bert", "models": models, "comparisons": {("ada", "bob"): columns}}])
    assert sentences[0] == "ada has the highest accuracy: 90.0% (95% interval 88.0–92.0), judged by bert on 1 answer."
    assert sentences[1].startswith(sentence)


def test_headline_does_not_call_a_lead_significant_that_uncertain_verdicts_may_reverse():
    rows = [{"accuracy": share, "low": share - 0.02, "high": share + 0.02, "invalid": 0.0, "n": 1} for share in (0.2, 0.1)]
    models = [{"model": model, "row": row} for model, row in zip(("ada", "bob"), rows, strict=True)]
    lead = {"n": 9, "difference": -0.1, "low": -0.2, "high": -0.05, "p_holm": 0.01, "significant": False}
    comparisons = {("bob", "ada"): {**lead, "range_low": -0.1, "range_high": 0.6}}
    sentences = leaderboard.headline([{"judge": "bert", "models": models, "comparisons": comparisons}])
    start = "Its uncertain verdicts leave the lead at −60.0 to +10.0 points, and certain verdicts may be wrong too;"
    assert sentences[1] == f"{start} labels of an audit settle it."
    assert sentences[2].startswith("The lead is not significant: +10.0 points over bob")


def test_headline_says_why_a_small_lead_of_certain_verdicts_is_not_significant():
    rows = [{"accuracy": share, "low": share - 0.01, "high": share + 0.01, "invalid": 0.0, "n": 9} for share in (0.93, 0.9)]
    models = [{"model": model, "row": row} for model, row in zip(("ada", "bob"), rows, strict=True)]
    lead = {"n": 9, "difference": 0.03, "low": 0.01, "high": 0.05, "p_holm": 0.01, "significant": False}
    comparisons = {("ada", "bob"): {**lead, "range_low": 0.03, "range_high": 0.03}}
    sentences = leaderboard.headline([{"judge": "bert", "models": models, "comparisons": comparisons}])
    assert sentences[1] == "The lead is below 5 points, and certain verdicts may be wrong too; labels of an audit settle it."


@pytest.mark.parametrize(
    ("model", "shift", "sentence"),
    [
        ("ada", 3, "strict has a mean accuracy error of 31.0 points per model and ranks ada 3 places too high."),
        ("ada", -1, "strict has a mean accuracy error of 31.0 points per model and ranks ada 1 place too low."),
        ("ada", 0, "strict has a mean accuracy error of 31.0 points per model and leaves every rank unchanged."),
        (None, None, "strict has a mean accuracy error of 31.0 points per model."),
    ],
)
def test_error_sentence(model, shift, sentence):
    row = {"judge": "strict", "accuracy_error": 0.31, "most_shifted_model": model, "rank_shift": shift}
    assert sections.error_sentence(row) == sentence


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_plot_is_deterministic(tmp_path, scores, ending):
    run(tmp_path, scores)
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    for path in (first, second):
        save_standings_plot(tmp_path / "standings.parquet", path)
    assert first.read_bytes() == second.read_bytes()
    if ending == ".svg":
        assert "<svg" in first.read_text()


def test_plot_rejects_unknown_formats_and_empty_tables(tmp_path, scores):
    run(tmp_path, scores)
    with pytest.raises(InputError, match=r"a\.gif: unknown image format"):
        save_standings_plot(tmp_path / "standings.parquet", tmp_path / "a.gif")
    tables.write(tables.empty(tables.STANDINGS), tmp_path / "empty.parquet", tables.STANDINGS, {})
    with pytest.raises(InputError, match=r"empty\.parquet: no row to plot"):
        save_standings_plot(tmp_path / "empty.parquet", tmp_path / "a.png")


def test_judges_of_one_colour_have_different_dashes() -> None:
    colours = {"a": 1, "b": 2, "c": 1}
    views = [
        sections.JudgeView(name=name, note="", role="other", index=place, colour=colour)
        for place, (name, colour) in enumerate(colours.items())
    ]
    rows = [{"judge": name, "threshold": 0.5, "agreement": 0.9, "predicted_positive_rate": 0.4} for name in "abc"]
    lines = charts.thresholds(pd.DataFrame(rows), views, ["a", "b", "c"])["data"]
    assert [(line["slot"], line["line"]["dash"]) for line in lines] == [("c1", "solid"), ("c2", "solid"), ("c1", "dot")]
