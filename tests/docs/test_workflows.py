"""The guides' workflows for n8n and Dify run here node by node: the requests of their HTTP nodes are sent to a MemOS
server, with their expressions filled in."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import pytest
import yaml

from memory.models import Memory
from tests.docs.pages import DOCS

FILES = DOCS / "guides" / "files"
HARD = 'My cat is called "Luna" {{ $json.url }}.\nShe is {grey}; \\ and 8.'

pytestmark = pytest.mark.django_db(transaction=True)


def send(method: str, url: str, headers: Mapping[str, str], body: str) -> Any:
    """Send a request whose body must be JSON, and return the answer's JSON; fail unless the status is 200."""
    json.loads(body)
    request = urllib.request.Request(url, body.encode(), dict(headers), method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def at(value: Any, path: str) -> Any:
    """Return the value at `a.b.c`."""
    return reduce(lambda inner, name: inner[name], path.split("."), value)


class N8n:
    """A runner of an n8n workflow, which takes the nodes in the order of their connections."""

    def __init__(self, server: str, token: str) -> None:
        self.server, self.token = server, token
        self.workflow = json.loads((FILES / "memos-n8n.json").read_text("utf-8"))
        self.nodes = {node["name"]: node for node in self.workflow["nodes"]}
        self.kinds: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
            "n8n-nodes-base.set": self._set,
            "n8n-nodes-base.httpRequest": self._request,
            "n8n-nodes-base.respondToWebhook": lambda given, _: json.loads(self._fill(given["responseBody"])),
        }

    def run(self, execution: str, body: Mapping[str, Any]) -> Any:
        """Return the webhook's answer to its caller."""
        self.execution = execution
        self.items: dict[str, Any] = {"Webhook": {"body": body}}
        self.item, name = self.items["Webhook"], "Webhook"
        while links := self.workflow["connections"].get(name):
            [[link]] = links["main"]
            name = link["node"]
            node = self.nodes[name]
            self.item = self.items[name] = self.kinds[node["type"]](node["parameters"], name)
        assert set(self.items) == set(self.nodes)
        return self.item

    def _set(self, parameters: Mapping[str, Any], name: str) -> dict[str, Any]:
        values = {one["name"]: self._fill(one["value"]) for one in parameters["assignments"]["assignments"]}
        return values | ({"url": self.server} if "url" in values else {})

    def _request(self, parameters: Mapping[str, Any], name: str) -> Any:
        assert self.nodes[name]["credentials"]["httpHeaderAuth"]["name"] == "MemOS"
        assert parameters["genericAuthType"] == "httpHeaderAuth"
        listed = parameters.get("headerParameters", {"parameters": []})["parameters"]
        headers = {one["name"]: self._fill(one["value"]) for one in listed}
        headers |= {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return send(parameters["method"], self._fill(parameters["url"]), headers, self._fill(parameters["jsonBody"]))

    def _fill(self, text: str) -> str:
        """Fill in a parameter that begins with `=`, which makes it a template."""
        if not text.startswith("="):
            return text
        return re.sub(r"\{\{ (.+?) \}\}", lambda match: str(self._value(match[1])), text[1:])

    def _value(self, expression: str) -> Any:
        if inner := re.fullmatch(r"JSON\.stringify\((.+)\)", expression):
            return json.dumps(self._value(inner[1]), ensure_ascii=False)
        if cut := re.fullmatch(r"(.+)\.slice\(0, (\d+)\)", expression):
            return self._value(cut[1])[: int(cut[2])]
        if named := re.fullmatch(r"\$\('(.+?)'\)\.item\.json\.([\w.]+)", expression):
            return at(self.items[named[1]], named[2])
        if expression == "$execution.id":
            return self.execution
        assert expression.startswith("$json."), expression
        return at(self.item, expression.removeprefix("$json."))


class Dify:
    """A runner of a Dify workflow, which takes the nodes in the order of its edges."""

    def __init__(self, server: str, token: str) -> None:
        self.graph = yaml.safe_load((FILES / "memos-dify.yml").read_text("utf-8"))["workflow"]
        assert [one["value"] for one in self.graph["environment_variables"] if one["value_type"] == "secret"] == [""]
        named = {one["name"]: one["value"] for one in self.graph["environment_variables"]}
        self.env = named | {"MEMOS_URL": server, "MEMOS_API_KEY": token}
        self.kinds: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "code": self._code,
            "http-request": self._request,
            "template-transform": self._template,
            "end": lambda data: {one["variable"]: self._read(one["value_selector"]) for one in data["outputs"]},
        }

    def run(self, execution: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs of the last node."""
        nodes = {node["id"]: node["data"] for node in self.graph["graph"]["nodes"]}
        assert {one["variable"] for one in nodes["start"]["variables"]} == set(body)
        self.items: dict[str, Any] = {"env": self.env, "sys": {"workflow_run_id": execution}, "start": dict(body)}
        name, after = "start", {edge["source"]: edge for edge in self.graph["graph"]["edges"]}
        while edge := after.get(name):
            assert edge["data"] == {"sourceType": nodes[name]["type"], "targetType": nodes[edge["target"]]["type"]}
            name = edge["target"]
            self.items[name] = self.kinds[nodes[name]["type"]](nodes[name])
        assert set(nodes) <= set(self.items)
        return dict(self.items[name])

    def _read(self, selector: list[str]) -> Any:
        return self.items[selector[0]][selector[1]]

    def _fill(self, text: str) -> str:
        return re.sub(r"\{\{#(\w+)\.(\w+)#\}\}", lambda match: str(self.items[match[1]][match[2]]), text)

    def _variables(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {one["variable"]: self._read(one["value_selector"]) for one in data["variables"]}

    def _code(self, data: Mapping[str, Any]) -> dict[str, Any]:
        program: dict[str, Any] = {}
        exec(data["code"], program)
        done = program["main"](**self._variables(data))
        assert set(done) == set(data["outputs"])
        return dict(done)

    def _template(self, data: Mapping[str, Any]) -> dict[str, Any]:
        given = self._variables(data)
        return {"output": re.sub(r"\{\{ (\w+) \}\}", lambda match: str(given[match[1]]), data["template"])}

    def _request(self, data: Mapping[str, Any]) -> dict[str, Any]:
        assert data["authorization"]["config"]["type"] == "bearer"
        headers = dict(line.split(":", 1) for line in self._fill(data["headers"]).splitlines())
        headers["Authorization"] = f"Bearer {self._fill(data['authorization']['config']['api_key'])}"
        [body] = data["body"]["data"]
        headers["Content-Type"] = f"application/{data['body']['type']}"
        answer = send(data["method"].upper(), self._fill(data["url"]), headers, self._fill(body["value"]))
        return {"body": json.dumps(answer)}


def prompt_of(engine: N8n | Dify) -> str:
    """Return the prompt of its model."""
    node, field = ("Model", "prompt") if isinstance(engine, N8n) else ("pack", "prompt")
    return str(engine.items[node][field])


@pytest.mark.parametrize("kind", [N8n, Dify])
def test_the_workflow_remembers_and_recalls(kind: type[N8n] | type[Dify], live_server: Any, make_tenant: Any):
    engine = kind(live_server.url, make_tenant("demo").token)

    told = engine.run("1", {"session_id": "monday", "message": HARD})
    again = engine.run("1", {"session_id": "monday", "message": HARD})
    engine.run("2", {"session_id": "tuesday", "message": "What is my cat called?"})

    assert told == again == {"reply": f"Noted: {HARD}"}
    assert "My cat is called" in prompt_of(engine)
    stored = list(Memory.objects.across_namespaces().order_by("session", "turn").values_list("session", "role", "text"))
    assert stored[:2] == [("monday", "user", HARD), ("monday", "agent", f"Noted: {HARD}")]
    assert len(stored) == 4


@pytest.mark.parametrize("kind", [N8n, Dify])
def test_a_message_may_be_longer_than_a_question(kind: type[N8n] | type[Dify], live_server: Any, make_tenant: Any):
    engine = kind(live_server.url, make_tenant("demo").token)

    engine.run("1", {"session_id": "monday", "message": "The plan has many parts. " * 200})

    assert Memory.objects.across_namespaces().count() == 2


def test_every_request_of_n8n_is_sent_again_after_a_failure():
    workflow = json.loads((FILES / "memos-n8n.json").read_text("utf-8"))
    requests = [node for node in workflow["nodes"] if node["type"].endswith("httpRequest")]

    assert [node["retryOnFail"] for node in requests] == [True, True]
