"""The page of results and its figures are those of the records, and change with them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from scripts import results, tensor_picture
from scripts.result_figures import hash_in, pictures

from trifact.cli.reproducing import show
from trifact.paper import archive, printed, tables
from trifact.paper.contests import CONTESTS, name_of
from trifact.paper.plan import BATCHES, BEYOND, FOUR, TARGETS, Wish
from trifact.paper.recipes import Recipe, read_recipes
from trifact.paper.reproduction import is_done
from trifact.paper.tables import Findings

RECORDS = archive.read_all(results.RECORDS)


def test_the_page_is_that_of_the_records() -> None:
    page = results.PAGE.read_text(encoding="utf-8")
    assert page == results.page(RECORDS), "run `python -m scripts.results`"


def test_the_figures_are_those_of_the_records() -> None:
    assert [p.name for p in results.stale(RECORDS)] == [], "run `python -m scripts.results`"
    kept = {path.name for path in results.DOCS.glob("results-*.png")}
    assert kept == {picture.name for picture in pictures(RECORDS)}


def test_a_row_with_a_rate_of_its_own_says_so_wherever_it_stands() -> None:
    findings, name = Findings(RECORDS, RECORDS.keys()), "FB15K-complex-n3-reciprocal-small"
    config = RECORDS[name]["config"]
    assert config["lr"] != 0.1
    sheets = [tables.table2(findings, ["FB15K"], []), *tables.table3(findings, ["FB15K"], [])]
    assert all(any(note.startswith(f"{name}: trained with") for note in s.notes) for s in sheets)
    assert not any("trained with" in n for n in tables.table2(findings, ["WN18"], []).notes)
    row = next(row for row in tables.runs(findings).rows if row[0] == name)
    assert row[1].endswith(f" lr {config['lr']:g}")


def test_contests_are_those_of_the_records() -> None:
    contests = [record for name, record in RECORDS.items() if name.startswith("contest-")]
    assert contests
    for contest in contests:
        compared = [RECORDS[name]["evaluation"]["run"] for name in contest["runs"]]
        assert contest["factors"] == [run["factors_sha256"] for run in compared]


def test_records_are_those_of_their_recipes() -> None:
    library = read_recipes()
    for name, record in RECORDS.items():
        if "recipe" in record:
            base, _, seed = name.partition("-seed")
            recipe = library[base]
            if seed:
                chosen = RECORDS[base]["choice"].get("chosen")
                recipe = recipe.sown(int(seed) + 1, chosen)[-1]
            assert recipe.name == name
            assert is_done(record, recipe, results.RECORDS / f"{name}.json")


@pytest.mark.parametrize("name", ["table1", "symmetry", "appendix", "figure1"])
def test_what_costs_little_is_there(name: str) -> None:
    assert name in RECORDS


def test_sizes_and_shares_are_those_of_the_paper() -> None:
    """Rounded as there; train of FB15K is 483,142 facts, which the paper calls 500k."""
    graphs = RECORDS["table1"]["graphs"]
    for dataset, sizes in printed.SIZES.items():
        if graphs[dataset] is None:
            continue
        found = [
            graphs[dataset][key] for key in ("entities", "predicates", "train", "valid", "test")
        ]
        for text, count in zip(sizes, found, strict=True):
            unit = {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)
            assert count == pytest.approx(
                float(text.rstrip("kM")) * unit, rel=0.35 if unit > 1 else 0
            )
    shares = RECORDS["symmetry"]["graphs"]
    for dataset, share in printed.MUST_FAIL.items():
        row = shares[dataset]
        assert row["must_fail"] / row["test"] == pytest.approx(share, abs=0.005)
    for tree in RECORDS["appendix"]["trees"]:
        assert tree["mrr"] == pytest.approx(tree["formula"], rel=1e-12)


HARD = ("FB15K-237", "WN18RR")
SAID = {"reg": 0.1, "relations": 0.0, "lr": 0.1, "seed": 0, "precision": "bfloat16"}


def table(mrr: float, queries: int = 100) -> dict[str, Any]:
    return {"queries": queries, "mrr": mrr, "hits@10": mrr + 0.1, "interval": {"mrr": [mrr, mrr]}}


def made(recipe: Recipe, mrr: float) -> dict[str, Any]:
    """A record as `reproduce` writes them, of a run that nobody made."""
    epochs = recipe.train.epochs
    history = [
        {"epoch": e, "seconds": 2.0, "mrr": mrr * e / epochs if e % 5 == 0 or e < 3 else None}
        for e in range(1, epochs + 1)
    ]
    choice = {}
    if recipe.choice:
        tried = [{"value": value} for value in recipe.choice.values]
        choice = {"setting": recipe.choice.setting, "chosen": tried[1]["value"], "tried": tried}
    return {
        "format": 1,
        "commit": "abc",
        "config": {"epochs": epochs, **SAID},
        "machine": {"threads": 2},
        "recipe": {"dataset": recipe.dataset, "row": recipe.row, "size": recipe.size},
        "metrics": {"mrr": mrr, "epoch": epochs, "test": table(mrr)},
        "history": history,
        "choice": choice,
        "evaluation": {"filtered": {"by_category": dict.fromkeys(printed.BY_CATEGORY, table(mrr))}},
    }


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """Records of all that can be run, each with an MRR of its own."""
    library, found = read_recipes(), dict(RECORDS)
    wishes = [*map(Wish, TARGETS), *(Wish(what, sizes=("large",)) for what in ("table2", "beyond"))]
    for number, wish in enumerate(wishes):
        for place, recipe in enumerate(wish.recipes(library)):
            found.setdefault(recipe.name, made(recipe, 0.3 + 0.001 * place + 0.1 * number / 8))
    test = {"pairs": 9, "better": 5, "worse": 3, "equal": 1, "p": 0.03}
    contest: dict[str, Any] = {
        "overall": {"mrr": {"first": 0.3, "difference": 0.01, "interval": [-0.002, 0.022]}},
        "wilcoxon": {"ranks_by_query": test, "mrr_by_fact": test},
        "pooled": {
            "pairs": 2,
            "differences": [0.01, -0.004],
            "difference": 0.003,
            "interval": [-0.001, 0.007],
            "mrr_by_fact": test,
        },
    }
    contest["precisions"] = ["bfloat16", "float32"]
    found |= {name_of(name, "small"): contest for name in CONTESTS}
    for size in ("small", "large"):
        found |= {name_of(name, size, on): contest for name in BEYOND for on in HARD}
    found |= {name_of("n3-over-fro", "small", on): contest for on in FOUR}
    sure = {**contest, "pooled": {**contest["pooled"], "mrr_by_fact": {**test, "p": 0.0}}}
    found[name_of("n3-over-fro", "small", "FB15K-237")] = sure
    found["pace-nuc2-FB15K-237-small"] = {"ratio": 1.25}
    return found


def test_a_page_of_everything_lacks_nothing(everything: dict[str, Any]) -> None:
    page = results.page(everything)
    body = page.removeprefix(results.TOP)
    assert "not run" not in body
    row = everything["WN18RR-complex-n3-reciprocal-small"]["metrics"]["test"]
    assert f"{row['mrr']:.3f}/{row['hits@10']:.3f}".replace("0.", ".") in page
    gain = "MRR +.003 (-.001 to +.007), mean of 2 seeds, trained in bfloat16 and float32"
    assert f"{gain}, p 0.03 (5 facts better, 3 worse) (WN18RR)" in page
    assert "float32, p < 1e-300 (5 facts better" in page
    assert "a step takes 1.25 times as long" in page
    assert "| .010 -.004 | .003 | -.001 to .007 | 0.03 | 62 % |" in page
    assert "reg 0.15 [0.3] 0.6" in page
    for name in ("results-mrr.png", "results-batch.png", "results-tensors.png"):
        assert f"]({name})" in page


@pytest.mark.parametrize("what", [*TARGETS])
def test_all_numbers_fit_a_terminal(
    what: str,
    everything: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show(Wish(what), Findings(everything, read_recipes()))
    shown = capsys.readouterr().out
    assert shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_one_number_that_changes_changes_the_page_and_its_figures(
    everything: dict[str, Any], tmp_path: Path
) -> None:
    for picture in pictures(everything):
        picture.save(tmp_path)
        assert hash_in(tmp_path / picture.name) == picture.hash
    assert results.stale(everything, tmp_path) == []
    other = copy.deepcopy(everything)
    other["WN18-cp-n3-standard-small"]["metrics"]["test"]["mrr"] += 0.01
    assert results.page(other) != results.page(everything)
    assert [p.name for p in results.stale(other, tmp_path)] == ["results-mrr.png"]
    other = copy.deepcopy(everything)
    other[f"FB15K-237-{BATCHES[0]}-figure"]["history"][4]["mrr"] += 0.01
    assert [p.name for p in results.stale(other, tmp_path)] == ["results-batch.png"]


def test_figure_1_shows_models_that_score_as_the_paper_says() -> None:
    """The scores that are drawn are sums of products; training has learnt the facts."""
    tensors = tensor_picture.Tensors.of(RECORDS["figure1"])
    i, j, k = tensors.fact
    scores = tensors.scores(tensors.standard)
    model = tensors.standard
    a, b, c = model.table("subject")[i], model.table("predicate")[j], model.table("object")[k]
    assert float(scores[j, i, k]) == pytest.approx(float((a * b * c).sum()), abs=1e-6)
    assert int(scores[j, i].argmax()) == k
    assert int(scores[j, :, k].argmax()) == i
    back = tensors.scores(tensors.reciprocal)[j + len(tensors.predicates)]
    assert int(back[k].argmax()) == i


def test_the_record_of_figure_1_can_be_made_again() -> None:
    made_now, kept = tensor_picture.record(), RECORDS["figure1"]
    for setting in ("standard", "reciprocal"):
        for name, rows in kept[setting].items():
            for row, again in zip(rows, made_now[setting][name], strict=True):
                assert again == pytest.approx(row, abs=1e-3)
