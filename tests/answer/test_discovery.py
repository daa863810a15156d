"""Discovery lists what is new and probable, and says how true it expects the list to be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
import torch
import typer
from scipy.special import expit
from typer.testing import CliRunner

import trifact
from tests.answer.test_sweep import DENSE, a_model, every_score
from tests.run.conftest import KeepRun, keep
from tests.run.test_evaluation import graph_of
from trifact.answer.calibration import calibrate
from trifact.answer.discovery import discover
from trifact.answer.expectation import lengths
from trifact.answer.options import DiscoverConfig
from trifact.cli.discover import discover as command
from trifact.errors import ConfigError, InputError, RunError, TrifactError
from trifact.run.run import Run
from trifact.tensor.models import Model


def test_float32_scores_are_those_of_facts(keep_run: KeepRun) -> None:
    run = keep_run(DENSE)
    found = discover(run, DiscoverConfig(top=40))
    exact = run.model()
    exact.tables = {key: table.double() for key, table in exact.tables.items()}
    slow = every_score(exact, 8)
    scores = [float(slow[s, p, o]) for s, p, o in found.facts.tolist()]
    assert found.columns["score"] == pytest.approx(scores, abs=1e-5)


def test_the_subject_that_lacks_its_only_object_is_found_by_its_roles(tmp_path: Path) -> None:
    cities = [(f"c{i}", "lies in", f"land{i % 3}") for i in range(9)]
    zones = [(f"c{i}", "has zone", f"zone{i % 3}") for i in range(8)]  # and not the last one
    graph = trifact.load(cities + zones, valid=0.0, test=0.0)
    run = keep(tmp_path / "run", graph, a_model("complex", graph))
    for among, there in (("observed", False), ("roles", True)):
        found = discover(run, DiscoverConfig(top=1000, among=among, single=False))
        rows = zip(found.columns["subject"], found.columns["predicate"], strict=True)
        assert (("c8", "has zone") in set(rows)) == there


def test_a_smaller_share_of_holders_asks_more(tmp_path: Path) -> None:
    kinds = [(f"c{i:02}", "is a", "city") for i in range(24)]
    zones = [(f"c{i:02}", "has zone", f"zone{i % 3}") for i in range(12)]  # half of them
    graph = trifact.load(kinds + zones, valid=0.0, test=0.0)
    run = keep(tmp_path / "run", graph, a_model("complex", graph))
    asked = DiscoverConfig(top=1000, predicates=("has zone",))
    assert len(discover(run, asked)) == 0
    assert len(discover(run, asked.replace(holders=0.5))) == 12 * 3
    shown = " ".join(said(str(run.path), "--predicates", "has zone").split())
    assert "0 new facts of 0 pairs" in shown
    assert "--holders 0.5, say, asks more of those who have none (now 0.75)" in shown
    assert "probability" not in shown.partition("0 pairs")[0]


@pytest.mark.parametrize("side", ["subject", "object"])
def test_who_has_the_one_answer_is_not_asked_again(tmp_path: Path, side: str) -> None:
    cities = [(f"c{i:02}", "lies in", f"land{i % 3}") for i in range(13)]
    zones = [(f"c{i:02}", "has zone", f"zone{i % 3}") for i in range(12)]  # and not the last one
    twins = [(f"c{i:02}", "twin of", f"c{(i + k) % 13:02}") for i in range(13) for k in (1, 2)]
    facts, missing = cities + zones + twins, (12, 0, "zone1")
    if side == "object":  # the same, said the other way round
        facts = [(o, p, s) for s, p, o in facts]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    run = keep(tmp_path / "run", graph, a_model("complex", graph))
    found = discover(run, DiscoverConfig(top=1000))
    rows = {(row[side], row["predicate"]) for row in found}
    assert {row for row in rows if row[1] != "twin of"} == {("c12", "has zone")}
    assert len(rows) == 14  # a town may have another twin

    test = np.array([[missing[0], missing[1], graph.entities.find(missing[2])]])
    held = replace(graph, test=test if side == "subject" else test[:, ::-1])
    run = keep(tmp_path / "held", held, a_model("complex", held))
    found = discover(run, DiscoverConfig(top=1000))
    assert {row["predicate"] for row in found} == {"twin of"}  # test has the answer
    assert found.expected is not None
    assert found.expected["at"][-1]["found"] == 1
    found = discover(run, DiscoverConfig(top=1000, filter=("train",)))
    assert sum(row["predicate"] == "has zone" for row in found) == 3


def test_the_estimate_is_what_the_list_without_the_held_out_facts_finds(keep_run: KeepRun) -> None:
    run = keep_run(DENSE)
    calibrate(run)
    listed = discover(run, DiscoverConfig(top=300))
    before = discover(run, DiscoverConfig(top=300, filter=("train",)))
    assert listed.expected is not None
    held = {tuple(f) for f in [*DENSE.valid.tolist(), *DENSE.test.tolist()]}
    held -= {tuple(f) for f in DENSE.train.tolist()}
    assert listed.expected["held_out"] == len(held)
    rows = [tuple(f) for f in before.facts.tolist()]
    for at in listed.expected["at"]:
        assert at["found"] == sum(row in held for row in rows[: at["n"]])
        assert at["at_least"] == pytest.approx(at["found"] / at["n"])
    assert listed.expected["at"][-1]["found"] > 0
    assert not held & {tuple(f) for f in listed.facts.tolist()}
    means = {at["n"]: at["calibrated"] for at in listed.expected["at"]}
    chances = np.array(listed.columns["probability"], dtype=float)
    assert means[10] == pytest.approx(chances[:10].mean())
    assert before.expected is not None
    counts = [[row[key] for row in e["at"] for key in ("n", "found", "found_in_test", "joined")]
              for e in (listed.expected, before.expected)]  # fmt: skip
    assert counts[0] == counts[1]


def test_where_nothing_was_held_out_there_is_no_estimate(keep_run: KeepRun) -> None:
    assert discover(keep_run(DENSE.all_in_train())).expected is None
    assert lengths(42) == [10, 30, 42]
    assert lengths(0) == []


def test_facts_that_train_joins_already_are_counted(keep_run: KeepRun) -> None:
    graph = graph_of([(0, 0, 1), (2, 0, 3), (3, 1, 0), (1, 1, 2)], test=[(0, 0, 3), (2, 0, 1)])
    found = discover(keep_run(graph), DiscoverConfig(top=1000, among="observed"))
    assert found.expected is not None
    assert found.expected["held_out_joined"] == 2  # 3 and 0, 1 and 2: the other way round
    assert found.expected["at"][-1]["joined"] >= 2


def test_the_order_is_by_probability_where_there_is_one(keep_run: KeepRun) -> None:
    run = keep_run(DENSE)
    by_score = discover(run, DiscoverConfig(top=200))
    assert by_score.about["order"] == "score"
    assert set(by_score.columns["probability"]) == {None}
    scores = np.array(by_score.columns["score"], dtype=float)
    assert (np.diff(scores) <= 0).all()
    chances = calibrate(run).pairs
    assert chances is not None
    found = discover(run, DiscoverConfig(top=200))
    said = np.array(found.columns["probability"], dtype=float)
    assert found.about["order"] == "probability"
    assert (np.diff(said) <= 0).all()
    mine = np.array(found.columns["score"], dtype=float)
    odds = chances.log_odds(found.facts, mine, DENSE.known("train"))
    np.testing.assert_allclose(said, expit(odds), rtol=1e-5)
    least = float(said[20]) - 1e-9
    few = discover(run, DiscoverConfig(top=200, min_probability=least))
    assert few.facts.tolist() == found.facts[said >= least].tolist()
    assert len(discover(run, DiscoverConfig(min_probability=1.0))) == 0


def test_only_the_predicates_asked_for_by_name_or_label(keep_run: KeepRun) -> None:
    graph = replace(DENSE, predicate_labels={5: "likes"})
    run = keep_run(graph)
    everything = discover(run, DiscoverConfig(top=10_000))
    found = discover(run, DiscoverConfig(top=10_000, predicates=("p2", "likes", "p2")))
    assert set(found.facts[:, 1].tolist()) == {2, 5}
    both = np.isin(everything.facts[:, 1], [2, 5])
    assert found.facts.tolist() == everything.facts[both].tolist()
    one = discover(run, DiscoverConfig(top=10_000, per_predicate=3))
    assert np.bincount(one.facts[:, 1]).tolist() == [3] * 8
    with pytest.raises(InputError, match="there is no predicate 'like'"):
        discover(run, DiscoverConfig(predicates=("like",)))
    with pytest.raises(InputError, match="there is no predicate ''"):
        discover(run, DiscoverConfig(predicates=("",)))


def test_a_predicate_that_train_lacks_has_nothing_new(keep_run: KeepRun) -> None:
    graph = graph_of([(0, 0, 1), (1, 0, 2)], valid=[(0, 1, 2)])
    found = discover(keep_run(graph), DiscoverConfig(predicates=("p1",)))
    assert len(found) == 0
    assert found.expected is not None
    assert (found.expected["held_out"], found.expected["reachable"]) == (1, 0)


def test_candidates_by_types(keep_run: KeepRun, tmp_path: Path) -> None:
    types = tmp_path / "types.tsv"
    types.write_text("".join(f"e{i:02}\t{'odd' if i % 2 else 'even'}\n" for i in range(14)))
    config = DiscoverConfig(top=10_000, among="types", types=str(types))
    found = discover(keep_run(DENSE), config)
    assert {12, 13} <= set(found.facts[:, 0].tolist())  # train does not have them
    for bad in ({"among": "types"}, {"types": str(types)}):
        with pytest.raises(ConfigError, match="go together"):
            DiscoverConfig.from_values(bad)


COLUMNS = ["subject", "subject_label", "predicate", "predicate_label", "object", "object_label",
           "score", "probability"]  # fmt: skip


def test_every_format_is_read_back(keep_run: KeepRun, tmp_path: Path) -> None:
    run = keep_run(replace(DENSE, entity_labels={0: "nought"}, predicate_labels={3: "likes"}))
    calibrate(run)
    config = DiscoverConfig(top=50)
    found = discover(run, config)
    for ending in ("parquet", "tsv", "csv", "json", "nt"):
        discover(run, config, out=tmp_path / f"new.{ending}")
    rows = [tuple(row.values()) for row in found]
    table = duckdb.sql(f"from read_parquet('{tmp_path}/new.parquet')")
    assert table is not None
    assert table.columns == COLUMNS == list(found.columns)
    assert table.fetchall() == rows
    assert json.loads((tmp_path / "new.json").read_text()) == list(found)
    lines = (tmp_path / "new.tsv").read_text().splitlines()
    assert lines[0].split("\t") == COLUMNS
    assert [float(line.split("\t")[7]) for line in lines[1:]] == [row[7] for row in rows]
    names = {(row[0], row[2], row[4]) for row in rows}
    for ending in ("parquet", "tsv", "csv", "nt"):  # as facts, by name
        graph = trifact.load(tmp_path / f"new.{ending}", valid=0.0, test=0.0)
        facts = ((graph.entities[s], graph.predicates[p], graph.entities[o])
                 for s, p, o in graph.train.tolist())  # fmt: skip
        assert set(facts) == names


def test_a_minimal_probability_needs_a_calibration(keep_run: KeepRun) -> None:
    with pytest.raises(ConfigError, match="trifact calibrate"):
        discover(keep_run(DENSE), DiscoverConfig(min_probability=0.5))


def test_factors_that_are_no_numbers_are_refused(keep_run: KeepRun, tmp_path: Path) -> None:
    model = a_model("complex", DENSE)
    model.tables["entity"][3, 0] = torch.nan
    with pytest.raises(TrifactError, match="not a number"):
        discover(keep(tmp_path / "bad", DENSE, model))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"top": 0}, "top must be at least 1"),
        ({"top": 10**9}, "top must be at most"),
        ({"min_probability": 1.5}, "at most 1"),
        ({"per_predicate": 0}, "at least 1"),
        ({"filter": ("test",)}, "must name train"),
        ({"filter": ("train", "rest")}, "not rest"),
        ({"among": "all"}, "one of roles, observed, types"),
        ({"among": "observed", "holders": 0.5}, "holders is for among = roles"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        DiscoverConfig.from_values(settings)


def said(*words: str) -> str:
    """What the command prints."""
    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_shows_the_first_and_what_to_expect(keep_run: KeepRun, tmp_path: Path) -> None:
    run = keep_run(replace(DENSE, entity_labels={1: "a name that is much longer than its column"}))
    shown = said(str(run.path), "--top", "100", "--predicates", "p1,p3")
    tables = shown.partition("in the order of scores")[0]  # notes are not wrapped
    assert max(map(len, tables.splitlines())) <= 80
    for words in ("100 new facts of", "How true?", "at least", "trifact calibrate", "80 more"):
        assert words in shown
    calibrate(run)
    out = tmp_path / "new.nt"
    shown = said(str(run.path), "--min-probability", "0.01", "--out", str(out))
    assert "mean probability" in shown
    assert f"{len(out.read_text().splitlines())} facts written" in " ".join(shown.split())


def test_a_predicate_with_a_comma_is_named_in_quotes(keep_run: KeepRun) -> None:
    run = keep_run(replace(DENSE, predicate_labels={3: "likes, really"}))
    shown = said(str(run.path), "--top", "100", "--predicates", 'p1, "likes, really"')
    assert shown == said(str(run.path), "--top", "100", "--predicates", "p1,p3")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ('" likes"', {" likes"}),
        ("likes", {"likes"}),
        ('" likes" , likes', {" likes", "likes"}),
        (" sees ", {"sees "}),
        ('"say ""x"", y"', {'say "x", y'}),
    ],
)
def test_predicates_in_quotes_are_what_they_are(
    keep_run: KeepRun, tmp_path: Path, words: str, names: set[str]
) -> None:
    kinds = enumerate((" likes", "likes", "sees ", 'say "x", y'), 1)
    facts = [(f"e{i}", p, f"e{(i + step) % 9}") for step, p in kinds for i in range(9)]
    run, out = keep_run(trifact.load(facts, valid=0.0, test=0.0)), tmp_path / "new.json"
    said(str(run.path), "--no-single", "--predicates", words, "--out", str(out))
    assert {row["predicate"] for row in json.loads(out.read_text())} == names


def test_the_command_says_where_there_is_no_estimate(keep_run: KeepRun) -> None:
    run = keep_run(DENSE.all_in_train())
    shown = " ".join(said(str(run.path)).split())
    assert "no fact was held out, so the list has no estimate of its own" in shown


def test_an_empty_list_and_no_estimate_are_about_the_predicates_asked_for(
    keep_run: KeepRun,
) -> None:
    facts = [("a", "p0", "b"), ("b", "p0", "a"), ("a", "p1", "b"), ("c", "p1", "d")]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    held = replace(graph, train=graph.train[:3], test=graph.train[3:])
    shown = " ".join(said(str(keep_run(held).path), "--predicates", "p0").split())
    assert "all of these pairs are known, entities with themselves" in shown
    assert "no fact of these predicates was held out" in shown


def test_factors_that_change_before_the_sweep_are_refused(
    keep_run: KeepRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, load = keep_run(DENSE), Run.model

    def changed(run: Run) -> Model:
        monkeypatch.setattr(Run, "factors_hash", lambda *_: "other")
        return load(run)

    monkeypatch.setattr(Run, "model", changed)
    with pytest.raises(RunError, match="its factors changed; try again"):
        discover(run, out=tmp_path / "new.tsv")
    assert not list(tmp_path.glob("*new.tsv*"))


def test_false_facts_that_were_given_say_nothing_about_pairs(keep_run: KeepRun) -> None:
    false = [(f"e{i:02}", "p1", f"e{j:02}") for i in range(9) for j in range(9)]
    run = keep_run(DENSE)
    calibrate(run)
    before = discover(run, DiscoverConfig(top=9))
    given = calibrate(run, negatives=trifact.load(false, valid=0.0, test=0.0))
    after = discover(run, DiscoverConfig(top=9))
    assert before.columns == after.columns
    assert "false ones of" in given.doubts(np.array([1]))[0]  # where answers are shown


def test_probabilities_of_predicates_without_held_out_facts_are_doubted(keep_run: KeepRun) -> None:
    run = keep_run(replace(DENSE, valid=DENSE.valid[DENSE.valid[:, 1] != 1]))
    calibrate(run)
    of_one, of_others = (said(str(run.path), "--predicates", name) for name in ("p1", "p0"))
    assert "the probabilities of these may be far off" in " ".join(of_one.split())
    assert "may be far off" not in " ".join(of_others.split())
