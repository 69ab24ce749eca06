"""The command `memos`: remember, recall, ask and import from a shell, or serve MCP to a program that starts it."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

from memos_client.adapters import REDACTED
from memos_client.client import MemOS
from memos_client.errors import APIError, MemOSError
from memos_client.mcp import serve_mcp

# Number of turns in a request.
BATCH = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 1 if the server refuses or is away, 2 for wrong arguments, else 0."""
    options = _parser().parse_args(arguments)
    try:
        with MemOS(options.url, options.key, namespace=options.namespace) as memos:
            return int(options.run(memos, options) or 0)
    except APIError as error:
        problems = error.detail if isinstance(error.detail, list) else []
        print(
            f"memos: {error}", *(f"  {one['field']}: {one['problem']}" for one in problems), sep="\n", file=sys.stderr
        )
    except (MemOSError, OSError, ValueError) as error:
        print(f"memos: {error}", file=sys.stderr)
    except BrokenPipeError:
        return 0
    return 1


def _parser() -> argparse.ArgumentParser:
    server = argparse.ArgumentParser(add_help=False)
    server.add_argument("--url", help="the server; else MEMOS_URL, else http://127.0.0.1:8000")
    server.add_argument("--key", help="the API key; else MEMOS_API_KEY")
    server.add_argument("--namespace", help="whose memory; else MEMOS_NAMESPACE, else the key's default")
    shared = argparse.ArgumentParser(add_help=False, parents=[server])
    shared.add_argument("--json", action="store_true", help="print the server's answer as JSON")
    parser = argparse.ArgumentParser(prog="memos", description="A memory for agents, from the shell.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("remember", parents=[shared], help="remember a text")
    one.add_argument("text", help="what to remember; - reads it from standard input")
    one.add_argument("--session", help="the conversation it belongs to")
    one.add_argument("--speaker", help="who said it")
    one.set_defaults(run=_remember)

    one = commands.add_parser("recall", parents=[shared], help="show what is remembered about something")
    one.add_argument("question")
    one.add_argument("--top-k", type=int, default=6, help="how many memories (6)")
    one.set_defaults(run=_recall)

    one = commands.add_parser("ask", parents=[shared], help="answer a question from the memories")
    one.add_argument("question")
    one.add_argument("--model", help="provider/model; else the server's, or quotes where it has none")
    one.set_defaults(run=_ask)

    one = commands.add_parser("import", parents=[shared], help="remember turns of a file of JSON lines")
    one.add_argument("file", help="each line an object with `text` or `messages`, and what else ingest takes; - reads "
                     "standard input")  # fmt: skip
    one.set_defaults(run=_import)

    one = commands.add_parser("mcp", parents=[server], help="be an MCP server on standard input and output, for "
                              "programs that start one")  # fmt: skip
    one.set_defaults(run=_serve_mcp)
    return parser


def _remember(memos: MemOS, options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.text == "-" else options.text
    given = {"session_id": options.session, "speaker": options.speaker}
    done = memos.remember(text, **{name: value for name, value in given.items() if value})
    if options.json:
        _print(done)
    else:
        why = "; ".join(reason["says"] for reason in done["reasons"])
        print(f"{done['verdict']} {done['memory_id'] or ''}".rstrip() + (f": {why}" if why else ""))
    return 0 if done["accepted"] else 1


def _recall(memos: MemOS, options: argparse.Namespace) -> None:
    found = memos.recall(options.question, top_k=options.top_k)
    if options.json:
        _print(found)
        return
    for hit in found["hits"]:
        about = [str(hit["metadata"][name]) for name in ("occurred_at", "speaker") if hit["metadata"].get(name)]
        print(f"{hit['relevance']:.2f}  {' '.join(hit['text'].split())}" + (f"  ({', '.join(about)})" if about else ""))
    if not found["answerable"]:
        print("Nothing that is remembered fits well.", file=sys.stderr)


def _ask(memos: MemOS, options: argparse.Namespace) -> None:
    given = {"model": options.model} if options.model else {}
    if options.json:
        _print(memos.answer(options.question, **given))
        return
    for name, data in memos.answer(options.question, stream=True, **given):
        if name == "delta":
            print(data["text"], end="", flush=True)
    print()


def _import(memos: MemOS, options: argparse.Namespace) -> int:
    with sys.stdin if options.file == "-" else open(options.file, encoding="utf-8") as lines:
        accepted = marked = refused = 0
        numbered = _read(lines)
        while batch := list(islice(numbered, BATCH)):
            done = memos.remember_all([one for _, one in batch], idempotency_key=_key(memos, batch))
            outcomes = done["results"]
            accepted += sum(one["accepted"] for one in outcomes)
            marked += sum(one["verdict"] == REDACTED for one in outcomes)
            refused += sum(not one["accepted"] for one in outcomes)
    if options.json:
        _print({"accepted": accepted, "redacted": marked, "not_accepted": refused})
    else:
        kept = f"{accepted} remembered" + (f", {marked} with marks in the place of secrets" if marked else "")
        print(kept + (f", {refused} not accepted (see the quarantine)" if refused else ""))
    return 0


def _serve_mcp(memos: MemOS, options: argparse.Namespace) -> None:
    serve_mcp(options.url, options.key, sys.stdin.buffer, sys.stdout.buffer, namespace=options.namespace)


def _read(lines: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects with their line numbers. Raises ValueError that names the line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            turn = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"line {number} is no JSON: {error}") from error
        if not isinstance(turn, dict) or not {"text", "messages"} & turn.keys():
            raise ValueError(f"line {number} is no object with `text` or `messages`")
        yield number, turn


def _key(memos: MemOS, batch: Sequence[tuple[int, dict[str, Any]]]) -> str:
    """Return an idempotency key made from the lines and their numbers: importing a file again stores nothing twice."""
    content = json.dumps([memos.namespace_of(None), batch], sort_keys=True)
    return f"import-{hashlib.sha256(content.encode()).hexdigest()}"


def _print(answer: Any) -> None:
    print(json.dumps(answer, ensure_ascii=False, indent=2))
