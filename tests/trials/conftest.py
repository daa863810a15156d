"""The graph that is searched for, and the databases that hold trials."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy

import trifact
from trifact.graph.graph import Graph


@pytest.fixture(scope="session")
def graph() -> Graph:
    """A small graph that can be learned: four groups, and who likes or is kin to whom."""
    pairs = [(f"a{i:02}", (j - i) % 4, f"a{j:02}") for i in range(20) for j in range(20) if i != j]
    facts = [(i, ("kin", "likes")[gap], j) for i, gap, j in pairs if gap < 2]
    return trifact.load(facts, valid=0.2, test=0.1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real server in a throw-away cluster, on a socket of its own."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("there is no PostgreSQL server here (Debian: apt-get install postgresql)")
    binaries = found[-1].parent
    user = "nobody" if os.getuid() == 0 else getpass.getuser()  # initdb refuses root
    folder = Path(tempfile.mkdtemp(prefix="trifact-postgres-"))
    shutil.chown(folder, user)

    def server(program: str, *words: str) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        whom = {"user": user, "extra_groups": []} if os.getuid() == 0 else {}
        command = [binaries / program, "-D", folder / "data", *words]
        subprocess.run(command, check=True, cwd=folder, **quiet, **whom)  # type: ignore[call-overload]

    server("initdb", "-U", "trifact", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8")
    options = f"-c listen_addresses='' -c fsync=off -k {folder}"
    server("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    yield f"postgresql://trifact@/postgres?host={folder}"
    server("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    server = sqlalchemy.make_url(request.getfixturevalue("postgres"))
    name = f"test_{time.time_ns()}"
    engine = sqlalchemy.create_engine(
        server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(f"create database {name}"))
    engine.dispose()
    return server.set(database=name).render_as_string()
