"""The TypeScript client, installed from its tarball, in Node.js against a MemOS server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory.models import Memory, MemoryImport, Upload
from memory.services.imports import uploads
from tests.docs.pages import DOCS, blocks
from tests.job_queue import work_off
from tests.sdk.flaky import flaky_proxy
from tests.sdk.node_package import PACKAGE, NodePackage

PROGRAMS = Path(__file__).parent / "programs" / "typescript"
GUIDE = blocks((DOCS / "guides" / "typescript.md").read_text("utf-8"))
SECONDS = 120

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="session")
def programs(node_package: NodePackage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the compiled programs that use the client, and the installed packages."""
    folder = tmp_path_factory.mktemp("programs")
    for program in (*PROGRAMS.glob("*.ts"), PROGRAMS / "tsconfig.json"):
        shutil.copy(program, folder)
    (folder / "guide.ts").write_text("".join(one.text for one in GUIDE if one.language == "ts"), encoding="utf-8")
    (readme,) = [one.text for one in blocks((PACKAGE / "README.md").read_text("utf-8")) if one.language == "ts"]
    readme = readme.replace('"http://127.0.0.1:8000", "mos_…"', "process.env.MEMOS_URL!, process.env.MEMOS_API_KEY!")
    (folder / "readme.ts").write_text(readme, encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "node_modules").mkdir()
    for name in node_package.modules.iterdir():
        (folder / "node_modules" / name.name).symlink_to(name)
    (folder / "node_modules" / "@types").symlink_to(node_package.source / "node_modules" / "@types")
    (folder / "node_modules" / "undici-types").symlink_to(node_package.source / "node_modules" / "undici-types")
    right = [one.name for one in folder.glob("*.ts") if one.name != "wrong.ts"]
    config = json.loads((PROGRAMS / "tsconfig.json").read_text("utf-8"))
    (folder / "right.json").write_text(json.dumps({**config, "files": right}), encoding="utf-8")
    (folder / "wrong.json").write_text(json.dumps({**config, "files": ["wrong.ts"]}), encoding="utf-8")
    done = node_package.tool("tsc", "--project", str(folder / "right.json"))
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def run(programs: Path, live_server: Any, alice: Any) -> Callable[..., list[str]]:
    """Run a program in Node.js and return the lines of its output."""

    def run_(program: str, *, url: str = "", key: str = "") -> list[str]:
        done = subprocess.run(
            ["node", str(programs / "out" / f"{program}.js")],
            env={"PATH": os.environ["PATH"], "MEMOS_URL": url or live_server.url, "MEMOS_API_KEY": key or alice.token},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run_


def test_every_method_does_what_it_says(run):
    assert run("everything") == ["done"]


def test_refusals_time_limits_and_aborted_calls(run):
    assert run("refusals") == ["done"]


def test_a_lost_answer_stores_nothing_twice(run, live_server):
    with flaky_proxy(live_server.url) as flaky:
        flaky.faults = ["lost", "busy", "limited", "", "busy"]
        assert run("repeats", url=flaky.url) == ["accept", "done"]

    assert Memory.objects.across_namespaces().count() == 1
    assert len({*flaky.keys[:4]}) == 1
    assert all(flaky.keys[:4])
    assert flaky.keys[4:] == [None, None]


def test_a_file_is_imported_in_parts(run, live_server, monkeypatch):
    monkeypatch.setattr(uploads, "PART_BYTES", 256)
    monkeypatch.setattr(uploads, "_SLICE_BYTES", 64)
    with flaky_proxy(live_server.url) as flaky:
        flaky.faults = ["busy", "", "lost", "", "busy"]
        [started] = run("imports", url=flaky.url)
        assert flaky.faults == []

    row = MemoryImport.objects.across_namespaces().get()
    assert (str(row.id), row.name, row.speaker) == (started, "notes.txt", "Ada")
    # Nothing is left of the refused file and of the abandoned one.
    assert [one.used_by for one in Upload.objects.across_namespaces()] == [row.id]
    work_off()
    row.refresh_from_db()
    assert (row.new, Memory.objects.across_namespaces().count()) == (40, 40)


def test_the_guide_runs(run, make_tenant):
    everyone = make_tenant("any", all_namespaces=True)
    shown = "".join(one.text for one in GUIDE if one.language == "text").splitlines()
    ticket, reply, *streamed, cited, refusal = run("guide", key=everyone.token)

    assert [ticket, reply, refusal] == shown
    assert any("QX-4471" in line for line in [*streamed, cited])
    assert cited.endswith("true")


def test_the_readme_runs(run, make_tenant):
    assert "I moved to Lisbon in May. [1]" in run("readme", key=make_tenant("any", all_namespaces=True).token)


def test_what_is_wrong_does_not_compile(programs, node_package):
    found = node_package.tool("tsc", "--noEmit", "--project", str(programs / "wrong.json"))
    lines = (PROGRAMS / "wrong.ts").read_text("utf-8").splitlines()

    assert found.returncode != 0
    assert {int(line) for line in re.findall(r"wrong\.ts\((\d+),", found.stdout)} == {
        number for number, line in enumerate(lines, start=1) if "// wrong:" in line
    }


def test_the_tarball_has_what_it_needs(node_package):
    installed = node_package.modules / "memos-client"
    names = {one.relative_to(installed).as_posix() for one in installed.rglob("*") if one.is_file()}
    written = {one.stem for one in (PACKAGE / "src").glob("*.ts")}

    assert names == {"package.json", "README.md"} | {f"dist/{one}{end}" for one in written for end in (".js", ".d.ts")}


def test_it_uses_nothing_that_browsers_lack(node_package):
    for module in (node_package.modules / "memos-client" / "dist").glob("*.js"):
        assert set(re.findall(r'from "([^."][^"]*)"', module.read_text("utf-8"))) <= {"openapi-fetch"}


def test_the_types_are_those_of_the_schema(client, node_package, tmp_path):
    schema, made = tmp_path / "schema.json", tmp_path / "schema.ts"
    schema.write_bytes(client.get("/openapi.json").content)
    scripts = json.loads((PACKAGE / "package.json").read_text("utf-8"))["scripts"]
    name, *options = scripts["types"].split()
    options[options.index("--output") + 1] = str(made)

    done = node_package.tool(name, str(schema), *options)

    assert done.returncode == 0, done.stderr
    assert made.read_text("utf-8") == (PACKAGE / "src" / "schema.ts").read_text("utf-8"), "run make client-types"
