"""mem0's own clients, unmodified, against a MemOS server: the guide's programs, and further calls."""

from __future__ import annotations

import json
import os
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from memory.models import Memory
from tests.docs.pages import DOCS, ROOT, blocks
from tests.sdk.node_package import install_published

PAGE = blocks((DOCS / "guides" / "mem0.md").read_text("utf-8"))
PYTHON = ROOT / ".venv-clients" / "bin" / "python"
PACKAGE = "mem0ai@3.3.1"

pytestmark = pytest.mark.django_db(transaction=True)
python_client = pytest.mark.skipif(not PYTHON.exists(), reason="mem0ai is not installed: make install-clients")


def guide(language: str) -> tuple[str, str]:
    """Return the guide's program in the language, and what the program prints."""
    place = next(number for number, block in enumerate(PAGE) if block.language == language)
    return PAGE[place].text, PAGE[place + 1].text


def run(command: list[str], program: str, url: str, key: str, folder: Path) -> str:
    """Return the output of the program. `MEM0_DIR` keeps the client's settings separate."""
    done = subprocess.run(
        [*command, program.replace("http://127.0.0.1:8000", url)],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MEMOS_API_KEY": key,
            "NO_PROXY": "127.0.0.1",
            "MEM0_TELEMETRY": "false",
            "MEM0_DIR": str(folder / "mem0"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_python(program: str, url: str, key: str, folder: Path) -> str:
    return run([str(PYTHON), "-W", "ignore", "-c"], program, url, key, folder)


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with mem0's package for Node.js."""
    return install_published(tmp_path_factory, PACKAGE)


def in_node(program: str, url: str, key: str, folder: Path) -> str:
    return run(["node", "--input-type=module", "--eval"], program, url, key, folder)


@python_client
def test_the_guides_program(live_server: Any, make_tenant: Any, tmp_path: Path):
    tenant = make_tenant("planner")
    program, printed = guide("python")

    assert in_python(program, live_server.url, tenant.token, tmp_path) == printed
    kept = {memory.text: memory for memory in Memory.objects.in_scope(tenant.scope)}
    assert kept["I take the train to Lyon and to Paris."].metadata == {"topic": "travel", "user_id": "ada"}
    assert kept["Then I look for trains first."].metadata == {"topic": "travel", "agent_id": "planner"}
    assert [memory.state for memory in kept.values()].count("archived") == 1


@python_client
def test_the_guides_way_from_mem0(live_server: Any, alice: Any, tmp_path: Path):
    """Run the guide's export against our own server instead of mem0 (same answers), and import the result."""
    for number in range(120):
        owner = {"user_id": "ada"} if number % 3 else {"agent_id": "bot", "run_id": f"r{number}"}
        messages = [{"role": "user", "content": f"Fact number {number}."}]
        assert alice.post("/v3/memories/add/", {"messages": messages, **owner}).status_code == 200
    (shell,) = [block.text for block in PAGE if block.language == "sh"]
    program = shell.partition("<<'EOF'\n")[2].partition("\nEOF\n")[0]
    host = program.replace('os.environ["MEM0_API_KEY"]', f'os.environ["MEMOS_API_KEY"], host="{live_server.url}"')
    assert host != program
    saved = tmp_path / "memories.json"
    saved.write_text(in_python(host, live_server.url, alice.token, tmp_path), encoding="utf-8")

    call_command("import_memories", str(saved), "--from", "mem0", "--namespace", "moved", stdout=StringIO())

    moved = Memory.objects.across_namespaces().filter(namespace__name="moved")
    assert sorted(moved.values_list("text", flat=True)) == sorted(f"Fact number {number}." for number in range(120))
    assert moved.filter(metadata__user_id="ada").count() == 80
    assert moved.filter(metadata__agent_id="bot", metadata__run_id="r0").count() == 1


def test_the_guides_program_in_node(live_server: Any, make_tenant: Any, node_folder: Path):
    program, printed = guide("js")
    assert in_node(program, live_server.url, make_tenant("node").token, node_folder) == printed


@python_client
def test_all_that_the_python_client_calls(live_server: Any, alice: Any, tmp_path: Path):
    program = """
import asyncio, json, os
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import AddMemoryOptions, DeleteAllMemoryOptions, SearchMemoryOptions

client = MemoryClient(api_key=os.environ["MEMOS_API_KEY"], host="http://127.0.0.1:8000")
told = {"project": (client.org_id, client.project_id)}
options = AddMemoryOptions(filters={"user_id": "ada", "run_id": "trip"}, infer=False)
run = client.add("The ferry leaves at nine.", options)
told["added"] = run["message"]
first = run["results"][0]["id"]
train = {"role": "user", "content": "The train leaves at ten."}
second = client.add(train, user_id="ada", timestamp=1767225600)["results"][0]["id"]
shown = ("memory", "user_id", "run_id", "agent_id", "metadata", "categories")
told["get"] = {name: client.get(first)[name] for name in shown}
told["event"] = client.client.get(f"/v1/event/{run['event_id']}/").json()["status"]
told["events"] = client.client.get("/v1/events/").json()["count"]
told["search"] = [one["memory"] for one in client.search("When does it leave?", SearchMemoryOptions(
    filters={"AND": [{"user_id": "ada"}, {"run_id": "*"}]}, top_k=5, rerank=True, threshold=0.0))["results"]]
told["fields"] = sorted(client.search("When?", filters={"user_id": "ada"}, fields=["score"])["results"][0])
page = client.get_all(filters={"OR": [{"user_id": "ada"}, {"run_id": "trip", "user_id": "*"}]}, page=1, page_size=1)
told["page"] = (page["count"], page["next"] is not None, page["previous"])
told["batch"] = client.batch_update([{"memory_id": first, "text": "The ferry leaves at eight."},
                                     {"memory_id": second, "metadata": {"platform": "3"}}])
told["changed"] = (client.get(first)["memory"], client.get(second)["metadata"])
told["updated"] = client.update(second, expiration_date="2020-01-01")["expiration_date"]
told["expired"] = [client.get_all(filters={"user_id": "ada"}, show_expired=show)["count"] for show in (False, True)]
told["kept"] = client.update(second, expiration_date=None)["expiration_date"]
told["feedback"] = client.feedback(first, feedback="NEGATIVE", feedback_reason="It was nine.")["feedback"]
told["history"] = [one["event"] for one in client.history(first)]
told["users"] = [(one["type"], one["name"], one["total_memories"]) for one in client.users()["results"]]
told["deleted"] = [client.delete(first)["message"], client.batch_delete([{"memory_id": second}])["message"]]
try:
    client.get(first)
except Exception as error:
    told["error"] = (type(error).__name__, str(error))
try:
    client.search("Whose?", filters={"AND": [{"topic": "travel"}]})
except Exception as error:
    told["refused"] = (type(error).__name__, str(error))

async def main():
    client = AsyncMemoryClient(api_key=os.environ["MEMOS_API_KEY"], host="http://127.0.0.1:8000")
    await client.add("I like tea.", user_id="bo")
    told["async"] = [one["memory"] for one in (await client.search("tea", filters={"user_id": "bo"}))["results"]]
    told["all"] = await client.delete_all(DeleteAllMemoryOptions(filters={"user_id": "bo"}))
    await client.add("I like coffee.", agent_id="barista", app_id="shop")
    told["entities"] = await client.delete_users(agent_id="barista")
    told["left"] = (await client.users())["count"]

asyncio.run(main())
print(json.dumps(told))
"""
    told = json.loads(in_python(program, live_server.url, alice.token, tmp_path))

    assert told["project"] == ["memos", "alice"]
    assert told["added"] == "1 memory stored."
    assert told["get"] == {
        "memory": "The ferry leaves at nine.",
        "user_id": "ada",
        "run_id": "trip",
        "agent_id": None,
        "metadata": {},
        "categories": [],
    }
    assert (told["event"], told["events"]) == ("SUCCEEDED", 2)
    assert told["search"] == ["The ferry leaves at nine."]
    assert told["fields"] == ["id", "memory", "score"]
    assert told["page"] == [2, True, None]
    assert told["batch"] == {"message": "Successfully updated 2 memories"}
    assert told["changed"] == ["The ferry leaves at eight.", {"platform": "3"}]
    assert (told["updated"], told["expired"], told["kept"]) == ("2020-01-01", [0, 1], None)
    assert told["feedback"] == "NEGATIVE"
    assert told["history"] == ["ADD", "UPDATE"]
    assert told["users"] == [["run", "trip", 1], ["user", "ada", 2]]
    assert told["deleted"] == ["Memory deleted successfully!", "Successfully deleted 1 memory"]
    assert told["error"][0] == "MemoryNotFoundError"
    assert "restore" in told["error"][1]
    assert told["refused"][0] == "ValidationError"
    assert "topic: is no field. There are user_id" in told["refused"][1]
    assert told["async"] == ["I like tea."]
    assert told["all"] == {"message": "Memories deleted successfully!"}
    assert told["entities"] == {"message": "Entity deleted successfully."}
    assert told["left"] == 0


@python_client
def test_a_project_and_a_timestamp_of_the_python_client(live_server: Any, alice: Any, tmp_path: Path):
    program = """
import json, os
from mem0 import MemoryClient

client = MemoryClient(api_key=os.environ["MEMOS_API_KEY"], host="http://127.0.0.1:8000")
client.update_project(custom_instructions="Names only.")
client.project.update(custom_categories=[{"food": "What they eat"}])
told = {"project": client.project.get(fields=["custom_instructions", "custom_categories"])}
told["old"] = client.get_project(fields=["custom_instructions"])
said = {"role": "user", "content": {"type": "text", "text": "I like tea."}}
first = client.add([said], user_id="ada", timestamp=1683554160)["results"][0]["id"]
told["created"] = client.get(first)["created_at"]
told["deleted"] = [client.delete_all(user_id="ada")["message"], client.delete_users(user_id="ada")["message"]]
print(json.dumps(told))
"""
    told = json.loads(in_python(program, live_server.url, alice.token, tmp_path))

    instructions = {"custom_instructions": "Names only."}
    assert told["project"] == {**instructions, "custom_categories": [{"food": "What they eat"}]}
    assert told["old"] == instructions
    assert told["created"] == "2023-05-08T13:56:00+00:00"
    assert told["deleted"] == ["Memories deleted successfully!", "Entity deleted successfully."]


@python_client
def test_the_commands_of_mem0s_cli(live_server: Any, alice: Any, tmp_path: Path):
    def cli(*arguments: str) -> Any:
        done = subprocess.run(
            [str(PYTHON.with_name("mem0")), "--json", *arguments],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "MEM0_API_KEY": alice.token,
                "MEM0_BASE_URL": live_server.url,
                "MEM0_TELEMETRY": "false",
                "NO_PROXY": "127.0.0.1",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    assert cli("status")["status"] == "success"
    assert cli("add", "I keep bees in Porto.", "--user-id", "ada")["status"] == "success"
    (found,) = cli("search", "Where are the bees?", "--user-id", "ada")["data"]
    assert found["memory"] == "I keep bees in Porto."
    cli("update", found["id"], "I keep bees in Braga.")
    assert cli("get", found["id"])["data"]["memory"] == "I keep bees in Braga."
    assert [one["memory"] for one in cli("list", "--user-id", "ada")["data"]] == ["I keep bees in Braga."]
    assert [one["name"] for one in cli("entity", "list", "users")["data"]] == ["ada"]
    cli("delete", "--all", "--user-id", "ada", "--force")
    cli("entity", "delete", "--user-id", "ada", "--force")
    assert not Memory.objects.in_scope(alice.scope).active().exists()
    cli("add", "I like tea.", "--agent-id", "bot")
    cli("delete", "--all", "--project", "--force")
    assert not Memory.objects.in_scope(alice.scope).active().exists()


def test_all_that_the_node_client_calls(live_server: Any, alice: Any, node_folder: Path):
    program = """
import { MemoryClient } from "mem0ai";
const client = new MemoryClient({ apiKey: process.env.MEMOS_API_KEY, host: "http://127.0.0.1:8000" });
const told = {};
const add = (text, ids) => client.add([{ role: "user", content: text }], { ...ids, metadata: { topic: "travel" } });
const first = (await add("The ferry leaves at nine.", { userId: "ada", runId: "trip" })).results[0].id;
const second = (await add("The train leaves at ten.", { userId: "ada" })).results[0].id;
told.get = (await client.get(first)).runId;
told.search = (await client.search("When?", { filters: { user_id: "ada" }, topK: 3 })).results.map((one) => one.memory);
told.page = (await client.getAll({ filters: { user_id: "ada", run_id: "*" }, page: 1, pageSize: 10 })).count;
told.updated = (await client.update(first, { text: "The ferry leaves at eight." })).memory;
told.batch = (await client.batchUpdate([{ memoryId: second, text: "The train leaves at noon." }])).message;
told.history = (await client.history(second)).map((one) => [one.event, one.oldMemory, one.newMemory]);
told.feedback = (await client.feedback({ memoryId: second, feedback: "POSITIVE" })).feedback;
told.users = (await client.users()).results.map((one) => [one.type, one.name, one.totalMemories]);
told.deleted = (await client.delete(first)).message;
told.batchDeleted = (await client.batchDelete([second])).message;
await add("The bus leaves at one.", { userId: "ada" });
told.all = (await client.deleteAll({ userId: "ada" })).message;
await add("The tram leaves at two.", { appId: "city" });
told.entities = (await client.deleteUsers({ appId: "city" })).message;
try { await client.get(first); } catch (error) { told.error = [error.name, error.message.includes("restore")]; }
console.log(JSON.stringify(told));
"""
    told = json.loads(in_node(program, live_server.url, alice.token, node_folder))

    assert told == {
        "get": "trip",
        "search": ["The train leaves at ten."],
        "page": 1,
        "updated": "The ferry leaves at eight.",
        "batch": "Successfully updated 1 memory",
        "history": [
            ["ADD", None, "The train leaves at ten."],
            ["UPDATE", "The train leaves at ten.", "The train leaves at noon."],
        ],
        "feedback": "POSITIVE",
        "users": [["run", "trip", 1], ["user", "ada", 2]],
        "deleted": "Memory deleted successfully!",
        "batchDeleted": "Successfully deleted 1 memory",
        "all": "Memories deleted successfully!",
        "entities": "Entity deleted successfully.",
        "error": ["MemoryNotFoundError", True],
    }
