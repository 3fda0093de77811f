"""Metrics of texts."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from scoring.metrics.metric import Floats, Prediction, Rows, Subject, Target, no_value

_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
TEXTS: Final = Subject(group="text", direction="max", target=Target("text"), prediction=Prediction("text"), perfect=1.0)
ERROR_RATES: Final = TEXTS.but(direction="min", range=(0.0, None), perfect=0.0)
TRANSLATIONS: Final = TEXTS.but(range=(0.0, 100.0), perfect=100.0, weighted=False, words="translation")


def _pairs(rows: Rows) -> list[tuple[str, str]]:
    return [(str(truth), str(prediction)) for truth, prediction in zip(rows.truth, rows.prediction, strict=True)]


def _normal(text: str) -> list[str]:
    """Words in lower case, without punctuation and articles, as SQuAD compares answers."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


@TEXTS.mean("exact_match", "Exact match", "Rajpurkar et al. (2016), SQuAD, EMNLP", words="em question answering")
def exact_matches(rows: Rows) -> Floats:
    """Share of the answers that are right, but for case, punctuation and articles.

    >>> exact_matches(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))).round(4).tolist()
    [0.0]
    """
    return np.array([float(_normal(truth) == _normal(prediction)) for truth, prediction in _pairs(rows)])


def _token_f1(truth: str, prediction: str) -> float:
    true, predicted = _normal(truth), _normal(prediction)
    if not true or not predicted:
        return float(true == predicted)
    both = sum((Counter(true) & Counter(predicted)).values())
    return 2 * both / (len(true) + len(predicted))


@TEXTS.mean("token_f1", "Token F1", "Rajpurkar et al. (2016), SQuAD, EMNLP", words="squad")
def token_f1(rows: Rows) -> Floats:
    """Mean F1 of the words that answer and truth share.

    >>> token_f1(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))).round(4).tolist()
    [0.5]
    """
    return np.array([_token_f1(*pair) for pair in _pairs(rows)])


def _distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Levenshtein's distance, a row of the table at a time."""
    codes: dict[str, int] = {}
    first_codes, second_codes = (
        np.array([codes.setdefault(unit, len(codes)) for unit in units], dtype=np.int64) for units in (first, second)
    )
    places = np.arange(len(second_codes) + 1)
    row = places.copy()
    for count, unit in enumerate(first_codes, start=1):
        changed = np.concatenate([[count], np.minimum(row[1:] + 1, row[:-1] + (second_codes != unit))])
        row = np.minimum.accumulate(changed - places) + places
    return int(row[-1])


def _error_rate(rows: Rows, units: Callable[[str], Sequence[str]]) -> float:
    pairs = [(units(truth), units(prediction)) for truth, prediction in _pairs(rows)]
    length = rows.mean([len(truth) for truth, _ in pairs])
    if length == 0:
        raise no_value("all true texts are empty", "give each part texts")
    return rows.mean([_distance(truth, prediction) for truth, prediction in pairs]) / length


@ERROR_RATES.whole(
    "word_error_rate", "Word error rate", "Levenshtein (1966), Soviet Physics Doklady 10(8)", words="wer speech"
)
def word_error_rate(rows: Rows) -> float:
    """Edits of words over the number of true words.

    All rows count together.

    >>> round(word_error_rate(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))), 4)
    0.6667
    """
    return _error_rate(rows, str.split)


@ERROR_RATES.whole(
    "character_error_rate", "Character error rate", "Levenshtein (1966), Soviet Physics Doklady 10(8)", words="cer ocr"
)
def character_error_rate(rows: Rows) -> float:
    """Edits of characters over the number of true characters.

    All rows count together.

    >>> round(character_error_rate(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))), 4)
    0.5
    """
    return _error_rate(rows, tuple)


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence, a row of the table at a time, as the bits of a number.

    Reference: Hyyro (2004), "Bit-parallel LCS-length computation revisited", AWOCA.
    """
    places: Counter[str] = Counter()
    for place, unit in enumerate(first):
        places[unit] |= 1 << place
    every = row = (1 << len(first)) - 1  # a 0 for each place of `first` at which the length grows
    for unit in second:
        if met := row & places[unit]:
            row = ((row + met) | (row - met)) & every
    return len(first) - row.bit_count()


def _rouge_l(truth: str, prediction: str) -> float:
    true, predicted = (re.findall(r"[a-z0-9]+", text.lower()) for text in (truth, prediction))
    length = len(true) + len(predicted)
    return 2 * _common(true, predicted) / length if length else 0.0


@TEXTS.mean("rouge_l", "ROUGE-L", "Lin (2004), ROUGE, ACL workshop", words="summary summarization")
def rouge_l(rows: Rows) -> Floats:
    """Longest common sequence of words, for summaries.

    >>> rouge_l(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))).round(4).tolist()
    [0.3333]
    """
    return np.array([_rouge_l(*pair) for pair in _pairs(rows)])


@TRANSLATIONS.whole("bleu", "BLEU", "sacrebleu.metrics.BLEU")
def bleu(rows: Rows) -> float:
    """Overlap of word sequences, for translations.

    >>> round(bleu(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))), 4)
    0.0
    """
    from sacrebleu.metrics.bleu import BLEU

    return float(
        BLEU().corpus_score([str(text) for text in rows.prediction], [[str(text) for text in rows.truth]]).score
    )


@TRANSLATIONS.whole("chrf", "chrF", "sacrebleu.metrics.CHRF")
def chrf(rows: Rows) -> float:
    """Overlap of character sequences, for translations into languages with many word forms.

    >>> round(chrf(Rows(np.array(["The cat sat."]), np.array(["a cat ran"]))), 4)
    13.3156
    """
    from sacrebleu.metrics.chrf import CHRF

    return float(
        CHRF().corpus_score([str(text) for text in rows.prediction], [[str(text) for text in rows.truth]]).score
    )
