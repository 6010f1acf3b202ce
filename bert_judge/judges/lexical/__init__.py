"""The judge kind `lexical`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from bert_judge.config.base import JudgeConfig, Share, as_list
from bert_judge.judges.registry import JudgeKind, LoadContext, ScoreDescription, Spec

# Metric without a threshold → the kind of answers that it is for; the others are for sentences.
SUITS = {"exact_match": "names and short facts", "contains": "names and short facts", "math_verify": "numbers and formulas"}
SENTENCES = "sentences and longer answers"

Extraction = Literal["final_answer", "boxed", "choice", "last_number", "full_text"]
ExtractionList = Annotated[list[Extraction], Field(min_length=1)]
Extractions = Annotated[ExtractionList, BeforeValidator(as_list, json_schema_input_type=Extraction | ExtractionList)]


class LexicalJudgeConfig(JudgeConfig):
    """A metric on the words of the answer."""

    kind: Literal["lexical"]
    metric: Literal["exact_match", "contains", "token_f1", "rouge_l_recall", "rouge_l_f", "math_verify"]
    """the metric"""
    extract: Extractions = ["full_text"]
    """where to look for the answer; of a list, the first extraction that matches. No match: invalid"""
    normalize: bool = True
    """ignore case, punctuation, articles and white space (SQuAD's normalisation)"""
    stem: bool = True
    """compare stems of English words in ROUGE-L and token F1"""
    threshold: Share = 0.5
    """lowest ROUGE-L or token F1 of a correct answer"""

    @property
    def is_lenient(self) -> bool:
        """Whether the extraction finds something in any answer; the others require a format."""
        return not {"full_text", "last_number"}.isdisjoint(self.extract)


class LexicalKind(JudgeKind):
    name = "lexical"
    config = LexicalJudgeConfig
    stage_version = 5
    reads_text = True

    def judges_row_by_row(self, settings: Spec) -> bool:
        return bool(settings["metric"] == "math_verify")

    def describe_score(self, settings: Spec) -> ScoreDescription:
        metric = settings["metric"]
        return ScoreDescription(None if metric in SUITS else settings["threshold"], suits=SUITS.get(metric, SENTENCES))

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.lexical.judge import LexicalJudge

        return LexicalJudge(context.settings)


KIND = LexicalKind()
