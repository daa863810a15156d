"""What was kept of a calibration, and how the report shows whether its probabilities hold."""

from __future__ import annotations

from typing import Any

from trifact.durable import read_json
from trifact.run.markup import figure, paragraph, side_by_side
from trifact.run.pictures import Series, histogram, line_chart
from trifact.run.run import Run

FILE = "calibration.json"
FORMAT = 2
PARTS = ("factors_sha256", "fitted", "prior", "whole", "by_predicate", "reliability")


def read_kept(run: Run) -> dict[str, Any] | None:
    """The run's `calibration.json`, None where there is none; damaged or newer, it is refused."""
    path = run.path / FILE
    return read_json(path, what="calibration", newest=FORMAT, parts=PARTS, advice="calibrate again")


def is_current(run: Run, kept: dict[str, Any]) -> bool:
    """Whether it belongs to the factors that the run now has."""
    return bool(kept["factors_sha256"] == run.factors_hash())


def reliability(run: Run) -> str:
    """The section of the report; nothing without a calibration of the present factors."""
    kept = read_kept(run)
    if kept is None or not is_current(run, kept):
        return ""
    found = kept["reliability"]
    points = [(b["said"], b["true"]) for b in found["bins"] if b["weight"]]
    counts = [(f"{b['low']:.1f}", round(b["weight"])) for b in found["bins"]]
    chart = line_chart(
        [Series("cross-validated", points, dots=True)],
        x="probability that was said",
        y="share that is true",
        reference=[(0.0, 0.0), (1.0, 1.0)],
    )
    return paragraph(summary(kept)) + side_by_side(
        figure("Said and true, in ten bins", chart),
        figure("How often each probability was said", histogram(counts, x="probability, from")),
    )


def summary(kept: dict[str, Any]) -> str:
    """What was fitted on what, and how far it can be trusted, in a few sentences."""
    fitted, found = kept["fitted"], kept["reliability"]
    facts = f"the {fitted['split']} facts and the false facts of {fitted['negatives']}"
    if fitted["negatives"] is None:
        facts = (
            f"the model's {fitted['k']} best answers to the questions of the {fitted['split']} "
            "facts (these are true, and unknown answers count as false)"
        )
    note = f" It was {fitted['note']}." if fitted.get("note") else ""
    return (
        f"Fitted on {facts}; {found['share_true']:.1%} of them are true.{note} Cross-validated: "
        f"expected calibration error {found['ece']:.4f}, Brier score {found['brier']:.4f} (always "
        f"saying the share of true facts: {found['brier_of_share']:.4f})."
    )
