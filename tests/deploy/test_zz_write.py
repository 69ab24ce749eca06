import io
from contextlib import redirect_stdout
from pathlib import Path

from deploy.citus import distribute, tables
from memory.postgresql.base import open_connection
from tests.deploy.split import url_of


def test_write(monkeypatch, db):
    monkeypatch.setenv("DATABASE_URL", url_of(open_connection()))
    said = io.StringIO()
    with redirect_stdout(said):
        distribute.main()
    Path(tables.__file__).with_name("distribute.sql").write_text(said.getvalue(), "utf-8")
