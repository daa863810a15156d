"""A space is what its file says, or is refused with the place and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from trifact.errors import ConfigError, InputError
from trifact.run.options import TrainConfig
from trifact.trials.options import SearchConfig
from trifact.trials.space import Range, Space, read_space, shipped

PAPER = (0.0, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 5e-1)
MIXED = """
model = "cp"
rank = [10, 20]
reg = {low = 0.001, high = 1, log = true}
batch = {low = 10, high = 100}
epochs = [7]

[search]
sampler = "tpe"
trials = 12
"""


def write(folder: Path, text: str) -> str:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_scalars_are_fixed_lists_are_chosen_from_and_tables_are_ranges(tmp_path: Path) -> None:
    space, search = read_space(write(tmp_path, MIXED))
    assert space.name == "my"
    assert space.fixed == {"model": "cp", "epochs": 7}
    assert space.searched == {
        "rank": (10, 20),
        "reg": Range(0.001, 1.0, log=True),
        "batch": Range(10, 100),
    }
    assert search == {"sampler": "tpe", "trials": 12}
    assert Space.from_values(space.values()) == Space(space.fixed, space.searched)
    assert not space.is_grid
    assert space.config({"rank": 20, "reg": 0.5, "batch": 11}) == TrainConfig(
        model="cp", epochs=7, rank=20, reg=0.5, batch=11
    )


def test_a_space_may_be_plain_values() -> None:
    values = {"rank": (1, 2), "lr": {"low": 0.1, "high": 0.2}, "search": {"trials": 3}}
    space, search = read_space(values)
    assert (space.searched["rank"], search) == ((1, 2), {"trials": 3})
    assert "search" in values  # they stay as they were
    with pytest.raises(ConfigError, match="there is no setting 'rnk'; did you mean rank"):
        read_space({"rnk": [1, 2]})


def test_the_points_of_a_grid_are_all_combinations() -> None:
    space = Space.from_values({"rank": [1, 2], "lr": [0.1, 0.2, 0.3], "epochs": 3})
    points = space.points()
    assert len(points) == 6 == len({tuple(point.values()) for point in points})
    assert points[:3] == [{"rank": 1, "lr": lr} for lr in (0.1, 0.2, 0.3)]
    assert space.fixing({"lr": 0.7, "seed": 5}).points() == [{"rank": 1}, {"rank": 2}]
    assert space.fixing({"lr": 0.7}).config({"rank": 1}).lr == 0.7


def test_points_of_a_grid_that_come_to_the_same_are_one() -> None:
    space = Space.from_values({"regularizer": ["none", "n3"], "reg": [0.1, 0.2]})
    points = space.points()
    assert [(point["regularizer"], point["reg"]) for point in points] == [
        ("none", 0.1),
        ("n3", 0.1),
        ("n3", 0.2),
    ]
    assert space.config(points[0]) == space.config({"regularizer": "none", "reg": 0.2})


def test_the_highest_value_of_a_setting_is_known() -> None:
    space = Space.from_values({"rank": [5, 3], "batch": {"low": 4, "high": 9}, "lr": 0.3})
    assert [space.highest(key) for key in ("rank", "batch", "lr", "epochs")] == [5, 9, 0.3, 100]
    assert Space.from_values({"lr": 0.1}).highest("rank") is None


@pytest.mark.parametrize("name", shipped())
def test_the_spaces_of_the_paper_are_its_grid(name: str) -> None:
    space, search = read_space(name)
    config, config_of_search = space.config(space.points()[0]), SearchConfig.from_values(search)
    scale = 3 if config.regularizer == "fro" else 1  # our FRO has a 1/3 that the paper's has not
    assert space.searched["reg"] == pytest.approx([scale * reg for reg in PAPER])
    assert space.searched["lr"] == (0.1, 0.01)
    assert space.searched["batch"] == ((500, 3000) if "yago" in name else (25, 100))
    ranks = {"complex": 2000, "cp": 4000} if "yago" not in name else {"complex": 1000, "cp": 1000}
    assert config.rank == ranks[config.model]
    assert (config.optimizer, config.cap, config.epochs) == ("adagrad", 1, 100)
    assert config.patience * config.validate_every >= config.epochs  # it never stops early
    assert len(space.points()) == 28
    assert not config_of_search.prune


def test_every_model_and_norm_of_the_paper_has_its_space() -> None:
    rows = {f"{model}-{norm}" for model in ("complex", "cp") for norm in ("n3", "fro")}
    assert set(shipped()) == {f"paper{graph}-{row}" for graph in ("", "-yago") for row in rows}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rnk = [1, 2]", "there is no setting 'rnk'; did you mean rank"),
        ("rank = [1, 0]", "rank must be at least 1, not 0"),
        ("rank = [1, 2.5]", "rank must be int, not 2.5"),
        ("reg = [0.1, 'x']", "reg must be float, not 'x'"),
        ("reg = []", "reg has no value"),
        ("reg = [0.1, 0.10]", "reg has the value 0.1 twice"),
        ("lr = {low = 0.1}", "lr: a range needs both low and high"),
        ("lr = {low = 0.1, high = 0.1}", "lr: low must be below high"),
        ("reg = {low = 0.0, high = 0.1, log = true}", "reg: a logarithmic range begins above 0"),
        ("lr = {low = 0.1, high = 0.2, log = 1}", "lr: log must be true or false, not 1"),
        ("lr = {low = 0.1, high = 0.2, step = 1}", "lr: a range has low, high and log, not step"),
        ("model = {low = 1, high = 2}", "model is no number and has no range; list its values"),
        ("nonsense = {low = 1, high = 2}", "there is no setting 'nonsense'"),
        (
            "rank = [1, 2]\n[search]\ntrails = 3",
            "there is no setting 'trails'; did you mean trials",
        ),
        ("rank = [1, 2]\nsearch = 3", "search must be a table"),
        ("rank = [1, 2]\n[search]\ntimeout = 'soon'", "timeout: 'soon' is not a duration"),
        ("rank = [1, 2", "this is not TOML"),
        ("regularizer = 'none'\nreg = [0.0, 0.1]", "reg has no effect with regularizer none"),
        ("regularizer = 'dura'\nrank = [1, 2]\nweighting = 'none'", "weighting has no effect"),
    ],
)
def test_a_bad_space_is_one_sentence_that_names_file_and_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_space(path)
    line = "" if "not TOML" in sentence else f":{len(text.splitlines())}"
    assert str(caught.value).startswith(f"{path}{line}: ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_space_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no space is called 'papre'; known: paper-complex-fro"):
        read_space("papre")
    with pytest.raises(InputError, match="cannot be read"):
        read_space(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "space: nothing is searched; give a setting several values"),
        ({"rank": 10}, "space: nothing is searched; give a setting several values"),
        ({"rank": [1, 2], "validate_every": [0, 1]}, "validate_every may be 0"),
        ({"rank": [1, 2], "epochs": {"low": 0, "high": 5}}, "epochs may be 0"),
    ],
)
def test_a_space_needs_something_to_search_and_to_judge_by(
    values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Space.from_values(values).check()


def test_by_rule_is_no_value_among_others() -> None:
    with pytest.raises(ConfigError, match="rank has no value among others"):
        Space.from_values({"rank": [None, 4]})


def test_a_grid_over_a_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="lr is a range; a grid needs a list"):
        Space.from_values({"lr": {"low": 0.1, "high": 0.2}}).points()
