"""What the paper reports, as plain values: its tables, and the results that it quotes.

Lacroix, Usunier and Obozinski, Canonical Tensor Decomposition for Knowledge Base Completion,
ICML 2018. All metrics are filtered, on test facts.
"""

from __future__ import annotations

from typing import NamedTuple

DATASETS = ("WN18", "WN18RR", "FB15K", "FB15K-237", "YAGO3-10")
"""In the order of its tables."""


class Published(NamedTuple):
    """Two numbers of Table 2."""

    mrr: float
    hits10: float


class Row(NamedTuple):
    """A row of Table 2: what it is called, and its numbers by dataset."""

    part: str
    model: str
    found: dict[str, Published]


def _row(part: str, model: str, *pairs: tuple[float, float] | None) -> Row:
    found = zip(DATASETS, pairs, strict=True) if pairs else ()
    return Row(part, model, {name: Published(*pair) for name, pair in found if pair})


SIZES = {
    "WN18": ("41k", "18", "141k", "5k", "5k"),
    "WN18RR": ("41k", "11", "87k", "3k", "3k"),
    "FB15K": ("15k", "1k", "500k", "50k", "60k"),
    "FB15K-237": ("15k", "237", "272k", "18k", "20k"),
    "YAGO3-10": ("123k", "37", "1M", "5k", "5k"),
}
"""Table 1: N, P, facts of train, valid, test."""

PAST = "Past results"
STANDARD, RECIPROCAL = "Standard", "Reciprocal"
QUOTED = (
    _row(PAST, "CP", (0.08, 0.13), None, (0.33, 0.53), None, None),
    _row(PAST, "ComplEx [1]", (0.94, 0.95), (0.44, 0.51), (0.70, 0.84), (0.25, 0.43), (0.36, 0.55)),
    _row(PAST, "DistMult [2]", (0.82, 0.94), (0.43, 0.49), (0.8, 0.89), (0.24, 0.42), (0.34, 0.54)),
    _row(PAST, "ConvE [2]", (0.94, 0.95), (0.46, 0.48), (0.75, 0.87), (0.32, 0.49), (0.52, 0.66)),
    _row(PAST, "Best [3]", (0.94, 0.97), (0.46, 0.51), (0.84, 0.93), (0.32, 0.49), (0.52, 0.66)),
)
"""Rows of Table 2 that the paper took from elsewhere."""
REFERENCES = (
    "[1] the best of Dettmers et al. 2017 (ConvE) and Trouillon et al. 2016 (ComplEx)",
    "[2] the best of Dettmers et al. 2017 and Kadlec et al. 2017 (DistMult)",
    "[3] the best published then. MRR: WN18 Trouillon et al. 2016, FB15K Kadlec et al. 2017, "
    "else Dettmers et al. 2017; H@10: WN18 Ma et al. 2017, FB15K Shen et al. 2016, "
    "else Dettmers et al. 2017",
)
ROWS = {
    "cp-n3-standard": _row(
        *(STANDARD, "CP-N3"),
        *((0.20, 0.33), (0.12, 0.20), (0.46, 0.65), (0.33, 0.51), (0.38, 0.65)),
    ),
    "complex-n3-standard": _row(
        *(STANDARD, "ComplEx-N3"),
        *((0.95, 0.96), (0.47, 0.54), (0.80, 0.89), (0.35, 0.54), (0.49, 0.68)),
    ),
    "distmult-n3-standard": _row(STANDARD, "DistMult-N3"),
    "cp-fro-reciprocal": _row(
        *(RECIPROCAL, "CP-FRO"),
        *((0.95, 0.95), (0.46, 0.48), (0.86, 0.91), (0.34, 0.51), (0.54, 0.68)),
    ),
    "cp-n3-reciprocal": _row(
        *(RECIPROCAL, "CP-N3"),
        *((0.95, 0.96), (0.47, 0.54), (0.86, 0.91), (0.36, 0.54), (0.57, 0.71)),
    ),
    "complex-fro-reciprocal": _row(
        *(RECIPROCAL, "ComplEx-FRO"),
        *((0.95, 0.96), (0.47, 0.54), (0.86, 0.91), (0.35, 0.53), (0.57, 0.71)),
    ),
    "complex-n3-reciprocal": _row(
        *(RECIPROCAL, "ComplEx-N3"),
        *((0.95, 0.96), (0.48, 0.57), (0.86, 0.91), (0.37, 0.56), (0.58, 0.71)),
    ),
}
"""Table 2, by the rows of our recipes; DistMult-N3 is a row of ours."""

BY_CATEGORY = ("1-1", "m-1", "1-m", "m-m")
CATEGORIES = {
    "cp-n3-standard": ("CP Standard", (0.45, 0.71, 0.24, 0.44)),
    "cp-n3-reciprocal": ("CP Reciprocal", (0.77, 0.92, 0.71, 0.86)),
    "complex-n3-standard": ("ComplEx Standard", (0.87, 0.92, 0.59, 0.81)),
    "complex-n3-reciprocal": ("ComplEx Reciprocal", (0.88, 0.92, 0.71, 0.87)),
}
"""Table 3: MRR by category on FB15K."""

MUST_FAIL = {"FB15K": 0.04, "WN18": 0.60}
"""Section 2.2: test facts on which a symmetric model must fail on one side."""
NUC2_SLOWER = 1.5
"""Section 4.2: the nuclear 2-norm against the 3-norm, for CP on FB15K."""
WITHIN_EPOCHS = 25
"""Section 6.1: the reported performances were reached within these."""
