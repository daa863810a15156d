"""The work on a wish: all that is missing of a part of the paper, one thing after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from trifact.errors import DivergedError, DownloadError
from trifact.graph.loading import load
from trifact.paper.archive import Record
from trifact.paper.contests import CONTESTS, keep_contest, name_of
from trifact.paper.cost import ahead, undone
from trifact.paper.plan import Target, Wish
from trifact.paper.recipes import Recipe
from trifact.paper.reproduction import Workshop, reproduce
from trifact.paper.studies import keep_pace, keep_study
from trifact.run.durations import shown
from trifact.run.folder import BusyError


@dataclass(frozen=True)
class Session:
    """Recipes by name, and where they are worked on."""

    library: dict[str, Recipe]
    shop: Workshop
    diverged: set[str] = field(default_factory=set)
    """What could not be trained."""

    def fulfil(self, wish: Wish) -> set[str]:
        """Do it; the datasets of which there is no data are left out and returned."""
        ranked = replace(self.shop, ranked=bool(wish.target.contests))
        return replace(self, shop=ranked)._fulfil(wish)

    def _fulfil(self, wish: Wish) -> set[str]:
        target, recipes = wish.target, wish.recipes(self.library)
        if not target.rows:
            keep_study(wish.what, target.datasets, shop=self.shop)
        missing = self._announce(recipes, target.seeds)
        for recipe in recipes:
            if recipe.dataset not in missing:
                with self._going_on(recipe.name):
                    self._with_seeds(recipe, target.seeds)
        for dataset in target.datasets:
            if dataset not in missing:
                self._contests(dataset, target)
        return missing

    @contextmanager
    def _going_on(self, name: str) -> Iterator[None]:
        """What another process trains is left to it, and what diverges keeps nothing else up."""
        try:
            yield
        except BusyError:
            self.shop.say(f"{name}: another process is at work on it; left to that")
        except DivergedError as error:
            self.diverged.add(name)
            self.shop.say(f"{name}: {error}")

    def _announce(self, recipes: list[Recipe], seeds: int) -> set[str]:
        """Say how long it will take; the datasets that are needed and cannot be had."""
        wanted = [one for recipe in recipes for one in undone(recipe, seeds, self.shop)]
        missing, epochs, length = set[str](), 0, 0.0
        for dataset in dict.fromkeys(recipe.dataset for recipe in wanted):
            try:
                graph = load(dataset, progress=self.shop.progress)
            except DownloadError as error:
                missing.add(dataset)
                self.shop.say(f"{dataset} is left out: {error}")
                continue
            more, longer = ahead(
                [one for one in wanted if one.dataset == dataset], graph, self.shop
            )
            epochs, length = epochs + more, length + longer
        if epochs:
            self.shop.say(
                f"at most {epochs:,} epochs are ahead, and {shown(length)} of this machine "
                "if it does nothing but their matrix products"
            )
        return missing

    def _with_seeds(self, recipe: Recipe, seeds: int) -> list[Record]:
        """The recipe, then what it chose with other seeds."""
        record = reproduce(recipe, self.shop)
        others = recipe.sown(seeds, record["choice"].get("chosen"))
        return [record, *(reproduce(other, self.shop) for other in others)]

    def _contests(self, dataset: str, target: Target) -> None:
        """All pairs of recipes, both of which are wished for."""
        for contest in target.contests:
            _, *rows = CONTESTS[contest]
            for size in target.sizes if set(rows) <= set(target.rows) else ():
                names = [f"{dataset}-{row}-{size}" for row in rows]
                pair = [self.library.get(name) for name in names]
                if None not in pair and not self.diverged.intersection(names):
                    name = name_of(contest, size, dataset)
                    with self._going_on(name):
                        self._contest(name, *filter(None, pair), seeds=target.seeds)

    def _contest(self, name: str, first: Recipe, second: Recipe, *, seeds: int) -> None:
        records = (self._with_seeds(recipe, seeds) for recipe in (first, second))
        keep_contest(name, [*zip(*records, strict=True)], shop=self.shop)
        if second.train.regularizer == "nuc2":
            keep_pace(name.replace("contest", "pace"), first, second, shop=self.shop)
