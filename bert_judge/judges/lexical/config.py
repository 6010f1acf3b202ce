"""Settings of judges of kind `lexical`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from bert_judge.config.base import JudgeConfig, Share, as_list

Extraction = Literal["final_answer", "boxed", "choice", "last_number", "full_text"]
ExtractionList = Annotated[list[Extraction], Field(min_length=1)]
Extractions = Annotated[ExtractionList, BeforeValidator(as_list, json_schema_input_type=Extraction | ExtractionList)]


class LexicalJudgeConfig(JudgeConfig):
    """A rule on the words of the answer."""

    kind: Literal["lexical"]
    metric: Literal["exact_match", "contains", "token_f1", "rouge_l_recall", "rouge_l_f", "math_verify"]
    """the rule"""
    extract: Extractions = ["full_text"]
    """where the answer stands in the text; with a list, the first that is found. None found: invalid"""
    normalize: bool = True
    """ignore case, punctuation, articles and white space (SQuAD's normalisation)"""
    stem: bool = True
    """ROUGE-L and token F1 compare the stems of English words"""
    threshold: Share = 0.5
    """lowest ROUGE-L or token F1 that counts as correct"""
    timeout: float = Field(10.0, gt=0)
    """longest processor time for one answer in Math-Verify; over it: invalid"""
