"""Write src/trifact/paper/recipes/: what is the same in many recipes is said here once.

python -m scripts.make_recipes

Lambda is ours, in Omega with its 1/3. For N3 it is three times that of the authors' code, whose
best values by rank are known; for FRO it is three times the paper's. In the standard setting one
term of the regularizer stands beside two losses, so lambda is doubled to be as strong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trifact.config import Config
from trifact.durable import write_text
from trifact.paper.recipes import FOLDER, Choice, Recipe
from trifact.run.options import TrainConfig

SAID = (
    *("model", "rank", "setting", "regularizer", "reg", "weighting", "optimizer", "lr", "batch"),
    *("cap", "epochs", "validate_every", "patience", "init_scale", "seed"),
)
"""What a recipe says even where it is the default: all that the paper's numbers hang on."""
SAYS = {
    "small": "400 reals in a row",
    "large": "2000 reals in a row",
    "paper": "the paper's rank",
}


class Graph(NamedTuple):
    """What a graph needs: lambdas around the best known, and steps that suit it."""

    n3: tuple[float, float, float]
    fro: tuple[float, float, float]
    n3_paper: float
    fro_paper: float
    batch: int = 500
    dura: tuple[float, float, float] = (0.0, 0.0, 0.0)
    relations: tuple[float, float, float] = (0.0, 0.0, 0.0)
    relations_large: float = 0.0
    epochs: int = 50


GRAPHS = {
    "WN18": Graph((0.05, 0.15, 0.45), (0.005, 0.015, 0.05), 0.15, 0.02, epochs=20),
    "WN18RR": Graph(
        *((0.15, 0.3, 0.6), (0.006, 0.02, 0.06), 0.3, 0.06),
        batch=250,
        dura=(0.05, 0.1, 0.2),
        relations=(0.0125, 0.05, 0.2),
        relations_large=0.05,
    ),
    "FB15K": Graph((0.003, 0.01, 0.03), (0.0007, 0.002, 0.006), 0.0075, 0.0015),
    "FB15K-237": Graph(
        *((0.075, 0.15, 0.3), (0.01, 0.03, 0.1), 0.15, 0.03),
        dura=(0.025, 0.05, 0.1),
        relations=(0.125, 0.5, 2.0),
        relations_large=4.0,
    ),
    "YAGO3-10": Graph(*((0.005, 0.015, 0.05), (0.001, 0.003, 0.01), 0.015, 0.003), batch=1000),
}
RATES = {("FB15K", "complex-n3-reciprocal"): 0.05}
"""Where controls found a better one than .1 (docs/log.md)."""
LARGE_DURA = 0.05
"""What validation chose at 400 reals in a row, on both graphs."""
TABLE_2 = (
    *("cp-n3-standard", "complex-n3-standard", "distmult-n3-standard"),
    *("cp-fro-reciprocal", "cp-n3-reciprocal", "complex-fro-reciprocal", "complex-n3-reciprocal"),
)


def settings(dataset: str, row: str, rank: int) -> TrainConfig:
    """The fixed settings of a row on a graph; a ComplEx rank is half the reals of an entity."""
    graph, (model, norm, setting) = GRAPHS[dataset], row.split("-")
    return TrainConfig(
        model=model,
        rank=rank if model == "complex" else 2 * rank,
        setting=setting,
        regularizer=norm,
        lr=RATES.get((dataset, row), 0.1),
        batch=graph.batch,
        epochs=graph.epochs,
        validate_every=5,
        patience=3,
    )


def small(dataset: str, row: str) -> Recipe:
    """400 reals in a row; lambda is chosen from three."""
    graph, (_, norm, setting) = GRAPHS[dataset], row.split("-")
    twice = 2 if setting == "standard" else 1
    values = tuple(twice * value for value in (graph.fro if norm == "fro" else graph.n3))
    epochs = 30 if (dataset, row) in RATES else 10  # with a lower rate it takes longer to tell
    choice = Choice(values=values, epochs=epochs)
    return Recipe(dataset, row, "small", settings(dataset, row, 200), choice)


def fixed(dataset: str, row: str, size: str, rank: int) -> Recipe:
    """A larger rank, with the lambda that is best by what is known."""
    graph, (_, norm, setting) = GRAPHS[dataset], row.split("-")
    reg = graph.fro_paper if norm == "fro" else graph.n3_paper
    train = settings(dataset, row, rank).replace(reg=(2 if setting == "standard" else 1) * reg)
    return Recipe(dataset, row, size, train)


def of_claims() -> Iterator[Recipe]:
    """What the paper says in words, on FB15K-237: one thing is unlike in a row of Table 2."""
    name = "FB15K-237"
    for row in ("cp-fro-standard", "complex-fro-standard"):
        yield small(name, row)
    nuc2 = settings(name, "cp-nuc2-reciprocal", 200)
    yield Recipe(name, "cp-nuc2-reciprocal", "small", nuc2, Choice(values=(0.025, 0.05, 0.1)))
    base = settings(name, "complex-n3-reciprocal", 200)
    rates = Choice(setting="lr", values=(0.001, 0.003, 0.01))
    adam = base.replace(optimizer="adam", reg=0.15)
    yield Recipe(name, "complex-n3-reciprocal-adam", "small", adam, rates)
    # without weights a row counts as one, with them as its frequency, 1/14,541 on average
    plain = base.replace(weighting="none")
    values = Choice(values=(3e-5, 1e-4, 3e-4))
    yield Recipe(name, "complex-n3-reciprocal-unweighted", "small", plain, values)


def beyond(dataset: str) -> Iterator[Recipe]:
    """What came after the paper: a loss of predicates beside N3, and DURA in its place.

    N3's lambda is the best known. DURA's is chosen around the published one.
    """
    graph, base = GRAPHS[dataset], "complex-n3-reciprocal"
    n3, dura = f"{base}-relations", "complex-dura-reciprocal"
    small, large = (
        settings(dataset, base, rank).replace(reg=graph.n3_paper) for rank in (200, 1000)
    )
    choice = Choice(setting="relations", values=graph.relations)
    yield Recipe(dataset, n3, "small", small, choice)
    yield Recipe(dataset, n3, "large", large.replace(relations=graph.relations_large))
    yield Recipe(dataset, dura, "small", settings(dataset, dura, 200), Choice(values=graph.dura))
    yield Recipe(dataset, dura, "large", settings(dataset, dura, 1000).replace(reg=LARGE_DURA))


def of_figure() -> Iterator[Recipe]:
    """Steps of 100 and 400 facts, nothing grouped; in the standard setting one is two queries."""
    for setting, reg, queries in (("standard", 0.3, 2), ("reciprocal", 0.15, 1)):
        base = settings("FB15K-237", f"complex-n3-{setting}", 50)
        for facts in (100, 400):
            train = base.replace(
                reg=reg, batch=queries * facts, cap=1, epochs=25, validate_every=1, patience=25
            )
            yield Recipe("FB15K-237", f"batch{facts}-{setting}", "figure", train)


def paper_rank(dataset: str, row: str) -> int:
    """As `settings` takes it: 2000 for ComplEx and 4000 else; on YAGO3-10 1000 for every model."""
    if dataset != "YAGO3-10":
        return 2000
    return 1000 if row.startswith("complex") else 500


def recipes() -> Iterator[Recipe]:
    """All of them."""
    for dataset in GRAPHS:
        for row in TABLE_2:
            yield small(dataset, row)
            yield fixed(dataset, row, "paper", paper_rank(dataset, row))
    for dataset in ("FB15K-237", "WN18RR"):
        yield fixed(dataset, "complex-n3-reciprocal", "large", 1000)
        yield from beyond(dataset)
    yield from of_claims()
    yield from of_figure()


def text(recipe: Recipe) -> str:
    """A recipe as a TOML file that `read_recipe` reads back."""
    size = f" at {SAYS[recipe.size]}" if recipe.size in SAYS else ""
    lines = [f"# {recipe.row} on {recipe.dataset}{size}; made by `python -m scripts.make_recipes`."]
    lines += [f'{key} = "{getattr(recipe, key)}"' for key in ("dataset", "row", "size")]
    chosen = recipe.choice.setting if recipe.choice else ""
    said = {*SAID, *_unusual(recipe.train)} - {chosen}
    lines += ["", "[train]", *_lines(recipe.train, said)]
    if recipe.choice:
        lines += ["", "[choose]", *_lines(recipe.choice, {"setting", "values", "epochs"})]
    return "\n".join(lines) + "\n"


def _unusual(config: TrainConfig) -> set[str]:
    usual = vars(TrainConfig())
    return {name for name, value in vars(config).items() if value != usual[name]}


def _lines(config: Config, said: set[str]) -> list[str]:
    """Some settings, without their doc lines."""
    lines = config.to_toml().splitlines()
    return [line for line in lines if line[0] != "#" and line.partition(" ")[0] in said]


def main() -> None:
    made = {f"{recipe.name}.toml": text(recipe) for recipe in recipes()}
    for name, content in made.items():
        write_text(FOLDER / name, content)
    for path in set(FOLDER.glob("*.toml")) - {FOLDER / name for name in made}:
        path.unlink()
    print(f"{len(made)} recipes in {FOLDER}")


if __name__ == "__main__":
    main()
