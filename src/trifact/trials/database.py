"""Where the trials of searches are kept: SQLite on one machine, PostgreSQL for many."""

from __future__ import annotations

import fcntl
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.storages import RDBStorage
from sqlalchemy.pool import NullPool

from trifact.errors import ConfigError, RunError

LOCK = 0x7472_6966_6163_7400  # PostgreSQL's advisory lock of all trifact searches in a database
PATIENCE = 60  # seconds that SQLite waits while somebody else writes
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds, before a connection is asked for once more
HIDDEN = "***"  # how a URL shows that it has a password
FORM = "sqlite:///FILE or postgresql://USER@HOST/DATABASE"


class StorageError(RunError):
    """A database that does not answer, or not as it should."""


@dataclass(frozen=True)
class Database:
    """A database by its URL."""

    url: sqlalchemy.URL

    @classmethod
    def of(cls, text: str) -> Database:
        """Of the URL that a user gave."""
        try:
            url = sqlalchemy.make_url(text)
        except sqlalchemy.exc.ArgumentError:
            raise ConfigError(f"storage must be {FORM}, not {text!r}") from None
        kind = url.get_backend_name()
        if "password" in url.query:
            raise ConfigError("storage: say a password as USER:PASSWORD@HOST, where it is hidden")
        if kind == "postgresql":
            return cls(url.set(drivername="postgresql+psycopg"))
        if kind != "sqlite" or url.database in (None, "", ":memory:"):
            shown = url.render_as_string(hide_password=True)
            raise ConfigError(f"storage must be {FORM}, not {shown}")
        return cls.in_file(Path(str(url.database)))

    @classmethod
    def in_file(cls, path: Path) -> Database:
        """SQLite in a file; it is the same one wherever a search goes on."""
        return cls(sqlalchemy.URL.create("sqlite", database=str(path.absolute())))

    def __str__(self) -> str:
        """The URL without its password."""
        return self.url.render_as_string(hide_password=True)

    @property
    def is_missing(self) -> bool:
        """Whether it should be a file and is none."""
        return self._file is not None and not self._file.exists()

    def open(self) -> RDBStorage:
        """The storage; its tables are made by whoever comes first, and by nobody else.

        A database that does not answer here is refused at once; later it is waited for.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        arguments = {"timeout": PATIENCE} if self._file else {}
        own = {"connect_args": arguments, "poolclass": NullPool}  # nothing stays open in between
        with self.answering(), self.alone(patient=False), warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            try:
                made = RDBStorage(self.url.render_as_string(hide_password=False), engine_kwargs=own)
            except RuntimeError as error:  # tables that another version of Optuna has made
                raise StorageError(f"{self}: {str(error).partition(' Please')[0]}") from None
        _wait_for(made.engine)
        return made

    @contextmanager
    def alone(self, *, patient: bool = True) -> Iterator[None]:
        """Of all searches in this database only one is here at a time, on whichever machine."""
        with self._locked_file(self._file) if self._file else self._advisory(patient=patient):
            yield

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A database that fails is one sentence."""
        try:
            yield
        except ModuleNotFoundError as error:
            if error.name != "psycopg":
                raise
            raise ConfigError(
                "PostgreSQL needs its driver: pip install 'psycopg[binary]'"
            ) from None
        except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            cause = error if isinstance(error, sqlalchemy.exc.SQLAlchemyError) else error.__cause__
            why = str(getattr(cause, "orig", None) or cause).strip().partition("\n")[0]
            raise StorageError(f"{self}: the storage of the trials does not work ({why})") from None

    @property
    def _file(self) -> Path | None:
        if self.url.get_backend_name() != "sqlite":
            return None
        return Path(str(self.url.database))

    @contextmanager
    def _locked_file(self, path: Path) -> Iterator[None]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f".{path.name}.lock").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _advisory(self, *, patient: bool) -> Iterator[None]:
        """PostgreSQL frees the lock with the connection, also of a process that was killed."""
        engine = sqlalchemy.create_engine(self.url, poolclass=NullPool)
        if patient:
            _wait_for(engine)
        with engine.connect() as connection:
            connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_lock(LOCK)))
            yield


def _wait_for(engine: sqlalchemy.Engine) -> None:
    """Let an engine ask again for connections that fail for a moment, as while a server restarts.

    Every transaction makes its own. One that is broken off is not repeated: it may have been done.
    """

    @sqlalchemy.event.listens_for(engine, "do_connect")
    def connect(
        dialect: sqlalchemy.Dialect, record: object, words: list[Any], named: dict[str, Any]
    ) -> object:
        assert dialect.loaded_dbapi is not None
        for pause in PAUSES:
            try:
                return dialect.connect(*words, **named)
            except dialect.loaded_dbapi.OperationalError:
                time.sleep(pause)
        return dialect.connect(*words, **named)
