"""One recipe from nothing to its record: short trials, the best of them to the end, test once.

What is done is kept at once, as runs in one folder and records in another; so a session can be
stopped at any moment, and the next one does what is missing. Validation decides all choices; test
facts are looked at when nothing is left to decide.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from trifact.errors import ConfigError, DivergedError, RunError, TrainingError
from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.graph.storage import read_summary
from trifact.paper import archive, keptranks
from trifact.paper.archive import Record
from trifact.paper.recipes import Recipe
from trifact.progress import Progress, silent
from trifact.run import checkpoint, training
from trifact.run.evaluation import as_usual, evaluate, is_current, read_evaluation
from trifact.run.folder import CHECKPOINTS, CONFIG, DIVERGED, read_config
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.run.preparation import with_precision
from trifact.run.run import Run
from trifact.run.training import MAY_CHANGE, Interrupted, OnEpoch


@dataclass(frozen=True)
class Workshop:
    """Where runs and records are kept, who is told what goes on, until when there is time."""

    runs: Path
    results: Path
    say: Callable[[str], None] = lambda note: None
    on_epoch: OnEpoch = lambda epoch: None
    progress: Progress = silent
    until: float = math.inf
    """A moment of `time.monotonic`."""
    ranked: bool = False
    """Whether a record needs its ranks, too: contests do."""
    code: str = field(default_factory=archive.commit)
    """The commit at the beginning; others may come while runs are trained."""

    @property
    def time_is_over(self) -> bool:
        """Whether nothing more is to be begun."""
        return time.monotonic() >= self.until

    def check_time(self) -> None:
        """Ends the session if its time is over."""
        if self.time_is_over:
            raise Interrupted("the time is over, all is saved")

    def stopping(self) -> Progress:
        """Progress of a training that is asked to stop when the time is over.

        It is asked as Ctrl-C would, once: a second signal does not ask any more.
        """
        asked = False

        def shown(what: str, done: int, total: int) -> None:
            nonlocal asked
            self.progress(what, done, total)
            if self.time_is_over and not asked:
                asked = True
                signal.raise_signal(signal.SIGINT)

        return shown


def reproduce(recipe: Recipe, shop: Workshop) -> Record:
    """The record of a recipe; what it lacks is trained, gone on with and evaluated."""
    done = finished(recipe, shop)
    if done is not None:
        return done
    shop.check_time()
    graph = load(recipe.dataset, progress=shop.progress)
    settled, choice = _chosen(_in_one_precision(recipe, graph, shop), graph, shop)
    path = run_folder(recipe, shop, choice.get("chosen"))
    run = trained(graph, settled.train, path, shop=shop)
    evaluation = _tested(run, recipe.name, shop)
    record = {
        **archive.record_of(run, code=shop.code),
        "name": recipe.name,
        "run": run.path.name,
        "recipe": {"dataset": recipe.dataset, "row": recipe.row, "size": recipe.size},
        "choice": choice,
        "evaluation": evaluation,
    }
    archive.write(_place(recipe, shop), record)
    return record


def _in_one_precision(recipe: Recipe, graph: Graph, shop: Workshop) -> Recipe:
    """The recipe with one precision for all its values: that of a run of it, or what pays here."""
    if recipe.train.precision != "auto":
        return recipe
    folders = run_folders(recipe, shop)
    begun = [read_config(folder) for folder in folders if (folder / CONFIG).exists()]
    precision = (begun or [with_precision(recipe.train, graph)])[0].precision
    return replace(recipe, train=recipe.train.replace(precision=precision))


def finished(recipe: Recipe, shop: Workshop) -> Record | None:
    """The record of a recipe, if there is nothing left to do for it."""
    path = _place(recipe, shop)
    record = archive.read(path, "config", "choice", "evaluation")
    if record is None or not is_done(record, recipe, path):
        return None
    return None if shop.ranked and not keptranks.are_kept(record, shop.results) else record


def _place(recipe: Recipe, shop: Workshop) -> Path:
    return shop.results / f"{recipe.name}.json"


def is_done(record: Record, recipe: Recipe, path: Path) -> bool:
    """Whether a record is of this recipe, with all epochs and values; one of another is refused."""
    try:
        config = TrainConfig.from_values(record["config"])
    except ConfigError as error:
        raise RunError(f"{path}: this is no record of a run ({error}); move it away") from None
    open_ones = {recipe.choice.setting} if recipe.choice else set[str]()
    _refuse_another(path, difference(config, recipe.train, open_ones))
    return config.epochs >= recipe.train.epochs and _tried(record["choice"]) == (
        (recipe.choice.epochs, list(recipe.choice.values)) if recipe.choice else None
    )


def _tried(choice: Record) -> tuple[int, list[float]] | None:
    """For how many epochs a record's values were tried, and which."""
    return (choice["epochs"], [trial["value"] for trial in choice["tried"]]) if choice else None


def difference(config: TrainConfig, wanted: TrainConfig, open_ones: set[str]) -> str:
    """In what settings differ, in words; those that may change, or are open, do not count."""
    free = {*MAY_CHANGE, *open_ones} | ({"precision"} if wanted.precision == "auto" else set())
    for name, value in asdict(wanted).items():
        found = getattr(config, name)
        if name not in free and found != value:
            return f"its {name} is {found}, the recipe says {value}"
    return ""


def _refuse_another(path: Path, why: str) -> None:
    if why:
        raise RunError(f"{path}: {why}; move it away, or choose another folder")


def trained(graph: Graph, config: TrainConfig, path: Path, *, shop: Workshop) -> Run:
    """The run in `path`, with all its epochs: begun, gone on with, or as it is."""
    shop.check_time()

    def on_epoch(epoch: Epoch) -> str | None:
        archive.note_code(path, shop.code)
        return shop.on_epoch(epoch)

    told: dict[str, Any] = {"on_epoch": on_epoch, "progress": shop.stopping()}
    if not (path / CONFIG).exists():
        return training.train(graph, config, out=path, **told)
    _check_same(path, config, graph)
    if (path / DIVERGED).exists():
        raise DivergedError((path / DIVERGED).read_text(encoding="utf-8").strip())
    if _has_all_epochs(path, config):
        return Run(path)
    changes = {name: getattr(config, name) for name in ("epochs", "patience", "validate_every")}
    return training.resume(path, **told, **changes)


def _check_same(path: Path, config: TrainConfig, graph: Graph) -> None:
    _refuse_another(path, difference(read_config(path), config, set()))
    if read_summary(path)["content_hash"] != graph.content_hash:
        _refuse_another(path, f"it was trained on other facts than those of {graph.name} now")


def _has_all_epochs(path: Path, config: TrainConfig) -> bool:
    """Whether training has come to its end: all epochs, or no better for long enough."""
    folder = path / CHECKPOINTS
    if not ((folder / "last.json").exists() and (folder / "best.json").exists()):
        return False
    state = checkpoint.read_manifest(folder, "last")["state"]
    return bool(state["epoch"] > config.epochs or state["waited"] >= config.patience)


def _chosen(recipe: Recipe, graph: Graph, shop: Workshop) -> tuple[Recipe, Record]:
    """The recipe with the value that validation chose, and what was tried."""
    choice = recipe.choice
    if choice is None:
        shop.say(f"{recipe.name}: training")
        return recipe, {}
    if not len(graph.valid):
        raise TrainingError(f"{graph.name}: it has no validation facts to choose a value by")
    tried = []
    for value in choice.values:
        shop.say(f"{recipe.name}: {choice.setting} {value:g}, {choice.epochs} epochs")
        tried.append(_try(recipe, value, graph, shop=shop))
    best = max(tried, key=lambda trial: trial["mrr"])
    if best["mrr"] < 0:
        raise DivergedError(f"every {choice.setting} of the recipe diverges")
    shop.say(f"{recipe.name}: {choice.setting} {best['value']:g} is the best; on to the end")
    found = {"setting": choice.setting, "epochs": choice.epochs, "chosen": best["value"]}
    return recipe.settled(best["value"]), {**found, "tried": tried}


def _try(recipe: Recipe, value: float, graph: Graph, *, shop: Workshop) -> Record:
    """What a value came to within the epochs of the choice, however long it was trained since."""
    assert recipe.choice is not None
    path = run_folder(recipe, shop, value)
    try:
        history = trained(graph, recipe.trial(value), path, shop=shop).history
    except DivergedError as error:  # it has lost
        shop.say(str(error))
        return {"value": value, "mrr": -1.0, "history": []}
    epochs = [epoch for epoch in history if epoch.epoch <= recipe.choice.epochs]
    best = max(epoch.mrr for epoch in epochs if epoch.mrr is not None)
    return {"value": value, "mrr": best, "history": [asdict(epoch) for epoch in epochs]}


def run_folder(recipe: Recipe, shop: Workshop, value: float | None = None) -> Path:
    """Where a recipe is trained; of one with a choice, each value, and the best to the end."""
    trial = f"-{recipe.choice.setting}{value:g}" if recipe.choice else ""
    return shop.runs / f"{recipe.name}{trial}"


def run_folders(recipe: Recipe, shop: Workshop) -> list[Path]:
    """Those of all its values; the only one of a recipe without a choice."""
    values = recipe.choice.values if recipe.choice else [None]
    return [run_folder(recipe, shop, value) for value in values]


def _tested(run: Run, name: str, shop: Workshop) -> Record:
    """What is kept of the evaluation on test facts, which is made once, under a record's name."""
    kept = run.evaluations.get("test")
    if kept is None or not (is_current(run, kept) and as_usual(kept)):
        shop.say(f"{run.path.name}: test facts")
        evaluate(run, progress=shop.progress)
    found = read_evaluation(run, "test")
    few = {key: value for key, value in found.metrics["filtered"].items() if key != "by_predicate"}
    return {
        **{key: found.metrics[key] for key in ("run", "facts", "protocol")},
        "ranks": keptranks.keep(found.ranks.filtered, name, shop.results),
        "filtered": few,
    }
