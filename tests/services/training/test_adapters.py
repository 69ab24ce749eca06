"""/v1/adapters: refusals, evaluation, loading, and unlearning of erased and superseded memories."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from django.utils import timezone

from memory.enums import AdapterState
from memory.errors import AdapterServerUnavailable
from memory.governance.adapters import judge_adapter
from memory.models import Adapter, AuditLog, Erasure, Job
from memory.models.locks import Lock, try_lock
from memory.services.cubes.create import register_cube
from memory.services.training import files, process, servers, serving
from tests.job_queue import run_job, run_task
from tests.services.training.scenes import (
    ADAPTERS,
    ADMIN,
    carry_out,
    consent,
    erase,
    export,
    fill,
    look,
    operate,
    replace,
    train,
    turn_on,
)
from tests.services.training.stand_in import PASSES, ModelServer, serve_models
from tests.threads import other_connection

pytestmark = pytest.mark.usefixtures("trainer")


@pytest.fixture
def ids(alice, remember):
    consent(alice)
    return fill(alice, remember)


@pytest.fixture
def made(alice, ids):
    return export(alice)


def row_of(adapter):
    return Adapter.objects.across_namespaces().get(id=adapter["id"])


def weights_of(adapter):
    return files.folder_of(row_of(adapter)) / files.WEIGHTS


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": "Style"}, 400),
        ({"name": "../../etc"}, 400),
        ({"name": "-"}, 400),
        ({"rank": 0}, 400),
        ({"epochs": 10**6}, 400),
        ({"learning_rate": "much"}, 400),
        ({"dataset_id": "x"}, 400),
        ({"dataset_id": str(uuid.uuid4())}, 404),
        ({"namespace": "bob"}, 404),
    ],
)
def test_what_is_wrong_trains_nothing(alice, bob, made, change, status):
    body = {"namespace": "alice", "name": "style", "dataset_id": made["id"], **change}
    assert alice.post(ADAPTERS, body).status_code == status
    assert not Adapter.objects.across_namespaces().exists()


def test_another_tenants_adapter_is_not_there(alice, bob, olga, make_tenant, made, models):
    adapter = train(alice, made)
    consent(bob)
    assert bob.post(ADAPTERS, {"namespace": "bob", "name": "x", "dataset_id": made["id"]}).status_code == 404
    assert bob.get(f"{ADAPTERS}/{adapter['id']}").status_code == 404
    for verb in ("activate", "retire"):
        assert operate(bob, adapter, verb).status_code == 404
        assert operate(make_tenant("alice", scopes=("read", "write")), adapter, verb).status_code == 403
        assert olga.post(f"{ADAPTERS}/{adapter['id']}/{verb}").status_code == 401
    assert bob.get(ADAPTERS).json()["adapters"] == []
    assert not models.loaded


def test_without_a_base_model_or_a_trainer_it_is_said(alice, made, settings, trainer):
    trainer.lack("torch", "peft")
    adapter = train(alice, made)
    assert adapter["state"] == "refused"
    assert "lacks torch, peft" in adapter["problem"]
    settings.MEMOS_TRAINER_PYTHON = "/nowhere/python"
    assert "MEMOS_TRAINER_PYTHON" in train(alice, made)["problem"]
    settings.MEMOS_ADAPTER_BASE_MODEL = ""
    answer = alice.post(ADAPTERS, {"namespace": "alice", "name": "x", "dataset_id": made["id"]})
    assert answer.status_code == 409
    assert "MEMOS_ADAPTER_BASE_MODEL" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("measured", "named"),
    [
        ({"recall": 0.5}, "recall is 50%"),
        ({"paraphrases": 0.1}, "paraphrases is 10%"),
        ({"paraphrases": None}, "paraphrases was not measured"),
        ({"refusals": 0.0}, "refusals is 0%"),
        ({"loss_general": [3.0, 5.0]}, "loss_general went from 3.00 to 5.00"),
        ({"loss_general": [3.0, float("nan")]}, "loss_general"),
        ({"loss_facts": [1.0, 1.0]}, "nothing was learnt"),
    ],
)
def test_what_does_not_pass_the_evaluation_is_named(measured, named):
    assert judge_adapter(PASSES) == []
    assert named in " ".join(judge_adapter(PASSES | measured))
    assert judge_adapter({})


def test_what_does_not_pass_is_refused_and_its_files_are_gone(alice, made, trainer, models, settings):
    trainer.measure(recall=0.2)
    adapter = train(alice, made)
    assert (adapter["state"], adapter["files"]) == ("refused", {})
    assert adapter["metrics"]["recall"] == 0.2
    assert "recall is 20%" in adapter["problem"]
    answer = operate(alice, adapter, "activate")
    assert answer.status_code == 409
    assert "recall is 20%" in answer.json()["error"]["message"]
    assert not models.loaded
    assert not list(Path(settings.MEMOS_ADAPTERS_DIR).rglob("*.safetensors"))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("raise ValueError('Ada lives in room 42')", "ValueError"),
        ("os.kill(os.getpid(), 9)", "killed"),
        (
            "(folder / 'problem.json').write_text(json.dumps({'problem': 'The base model has no chat template.'}))",
            "chat",
        ),
        ("pass", "without an adapter"),
    ],
)
def test_a_trainer_that_fails_says_why_and_quotes_nothing(alice, made, trainer, settings, act, said):
    trainer.act(act)
    adapter = train(alice, made)
    assert adapter["state"] == "refused"
    assert said in adapter["problem"]
    assert "room 42" not in adapter["problem"]
    assert not list(Path(settings.MEMOS_ADAPTERS_DIR, ".work").iterdir())


def test_a_trainer_knows_nothing_of_the_server(alice, made, trainer, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    train(alice, made, rank=4)
    environment = json.loads(trainer.saw("environment"))
    assert "secret" not in json.dumps(environment)
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert json.loads(trainer.saw("request"))["rank"] == 4
    assert "release train" in trainer.saw("sft")


def test_what_passes_is_loaded_and_the_former_one_retired(alice, made, models):
    first, second = train(alice, made), train(alice, made)
    assert (first["state"], len(first["files"])) == ("candidate", 2)
    assert operate(alice, first, "activate").json()["served_by"] == [models.url]
    assert models.loaded == {first["model"]: str(weights_of(first).parent)}
    assert models.asked[0][2]["Authorization"] == "Bearer key-of-the-server"

    assert operate(alice, second, "activate").status_code == 200

    assert models.loaded == {second["model"]: str(weights_of(second).parent)}
    assert (look(alice, first)["state"], look(alice, second)["state"]) == ("retired", "active")
    assert operate(alice, first, "activate").status_code == 200
    assert look(alice, second)["state"] == "retired"
    gone = operate(alice, first, "retire", delete_files=True).json()
    assert (gone["state"], gone["files"], models.loaded) == ("retired", {}, {})
    assert not weights_of(first).exists()
    assert operate(alice, first, "activate").status_code == 409
    events = AuditLog.objects.in_scope(alice.scope).filter(subject=first["id"]).values_list("event_type", flat=True)
    assert {"ADAPTER_TRAIN", "ADAPTER_JUDGE", "ADAPTER_ACTIVATE", "ADAPTER_RETIRE"} <= set(events)


def swap(path):
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def add_pickle(path):
    (path.parent / "adapter_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")


def pickle_in_its_name(path):
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")


def link(path):
    path.unlink()
    path.symlink_to("/etc/hosts")


def cut(path):
    path.write_bytes(path.read_bytes()[:20])


def remove(path):
    path.unlink()


def name_code(path):
    config = {"peft_type": "LORA", "auto_mapping": {"parent_library": "os"}}
    (path.parent / files.CONFIG).write_text(json.dumps(config))


@pytest.mark.parametrize("damage", [swap, add_pickle, pickle_in_its_name, link, cut, remove, name_code])
def test_files_that_are_not_what_was_trained_are_not_used(alice, made, models, damage):
    adapter = train(alice, made)
    damage(weights_of(adapter))
    answer = operate(alice, adapter, "activate")
    assert answer.status_code == 409
    assert "Train it anew" in answer.json()["error"]["message"]
    assert not models.loaded


def test_a_server_that_fails_leaves_all_as_it_was(alice, made, models, settings):
    first, second = train(alice, made), train(alice, made)
    operate(alice, first, "activate")
    models.has_routes = False
    answer = operate(alice, second, "activate")
    assert answer.status_code == 503
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" in answer.json()["error"]["message"]
    assert (look(alice, first)["state"], look(alice, second)["state"]) == ("active", "candidate")
    models.has_routes = True
    run_task("follow_training")
    assert models.loaded == {first["model"]: str(weights_of(first).parent)}
    settings.MEMOS_ADAPTER_SERVERS = ["http://127.0.0.1:9"]
    assert operate(alice, second, "activate").status_code == 503


@pytest.mark.parametrize(
    ("server", "options", "said"),
    [
        ({"key": "another"}, {}, "status 401: Unauthorized; MEMOS_ADAPTER_SERVER_KEY"),
        ({"has_routes": False}, {}, "status 404: it has no such route; vLLM has it when"),
        ({"has_lora": False}, {}, "start it with --enable-lora"),
        ({}, {"rank": 32}, "LoRA rank 32 is greater than max_lora_rank 16"),
        ({}, {"rank": 32}, "start it with a --max-lora-rank"),
        ({"fails": True}, {}, "status 500: out of memory"),
    ],
)
def test_what_vllm_refuses_is_said_with_what_mends_it(alice, made, models, server, options, said):
    adapter = train(alice, made, **options)
    for name, value in server.items():
        setattr(models, name, value)
    answer = operate(alice, adapter, "activate")
    assert answer.status_code == 503
    assert said in answer.json()["error"]["message"]
    shown = look(alice, adapter)
    assert (shown["state"], models.loaded) == ("candidate", {})
    for name in server:
        setattr(models, name, getattr(ModelServer(""), name))
    if not options:
        assert operate(alice, adapter, "activate").status_code == 200


def test_files_that_a_server_does_not_see_are_no_missing_route(models):
    with pytest.raises(AdapterServerUnavailable, match="under the same path") as raised:
        servers.load(models.url, "memos-1-style", "/nowhere/style")
    assert "no such route" not in raised.value.message


def test_another_adapter_under_the_name_is_replaced_and_the_same_one_left_alone(alice, made, models, tmp_path):
    """Someone may load another adapter by hand, or a server may finish a load late."""
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    folder = str(weights_of(adapter).parent)
    asked = len(models.asked)
    assert operate(alice, adapter, "activate").status_code == 200
    run_task("follow_training")
    assert {method for method, *_ in models.asked[asked:]} == {"GET"}

    models.loaded[adapter["model"]] = str(tmp_path / "other")
    run_task("follow_training")
    assert models.loaded == {adapter["model"]: folder}


def test_a_server_that_does_not_say_which_folder_it_loaded_is_believed(alice, made, models):
    models.has_roots = False
    adapter = train(alice, made)
    assert operate(alice, adapter, "activate").status_code == 200
    run_task("follow_training")
    assert list(models.loaded) == [adapter["model"]]
    assert operate(alice, adapter, "retire").status_code == 200
    assert not models.loaded


def test_what_is_unloaded_was_asked_for_also_when_it_is_not_listed_yet(models):
    """vLLM lists an adapter only once it is loaded, and only then can unload it."""
    servers.unload(models.url, "memos-1-style")
    assert [(method, path) for method, path, _ in models.asked] == [
        ("GET", "/v1/models"),
        ("POST", "/v1/unload_lora_adapter"),
        ("GET", "/v1/models"),
    ]


def test_servers_are_named_the_folder_from_the_root_of_the_disk(alice, made, models, settings, monkeypatch, tmp_path):
    """vLLM takes an invisible relative path for a name at a model hub, and asks there."""
    monkeypatch.chdir(tmp_path)
    settings.MEMOS_ADAPTERS_DIR = "adapters"
    adapter = train(alice, made)
    assert operate(alice, adapter, "activate").status_code == 200
    folder = tmp_path / "adapters" / str(alice.scope.namespace_id) / uuid.UUID(adapter["id"]).hex
    assert models.loaded == {adapter["model"]: str(folder)}


def test_only_servers_of_the_settings_are_spoken_to(alice, made, models, settings):
    adapter = train(alice, made)
    with serve_models() as other:
        assert operate(alice, adapter, "activate", server=other.url).status_code == 400
        assert not other.asked
    settings.MEMOS_ADAPTER_SERVERS = ["file:///etc/passwd"]
    assert operate(alice, adapter, "activate").status_code == 503


def test_a_server_that_was_started_again_gets_it_back(alice, made, models):
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    models.loaded.clear()
    run_task("follow_training")
    assert list(models.loaded) == [adapter["model"]]


def test_what_is_superseded_is_refused_unloaded_and_made_anew(alice, remember, ids, made, models):
    adapter, spare = train(alice, made), train(alice, made, name="spare")
    operate(alice, adapter, "activate")
    replace(ids["fact"], remember(alice, "The release train leaves every Monday at 09:00.", speaker="Ada"))

    assert look(alice, adapter)["state"] == "stale"
    answer = operate(alice, spare, "activate")
    assert answer.status_code == 409
    assert "1 superseded" in answer.json()["error"]["message"]
    assert run_task("follow_training") == 2

    assert not models.loaded
    assert (look(alice, adapter)["state"], look(alice, spare)["rebuild"]) == ("stale", False)
    rebuilt = work(alice)
    assert (rebuilt["name"], rebuilt["state"], rebuilt["stale"]) == ("style", "candidate", {})
    assert operate(alice, rebuilt, "activate").status_code == 200
    assert run_task("follow_training") == 0
    assert not Job.objects.in_scope(alice.scope).filter(state="queued", kind="export_training").exists()


def work(tenant):
    """Carry out a rebuilding as the worker would, and return the newest adapter."""
    run_task("follow_training")
    for kind in ("export_training", "train_adapter"):
        for job in Job.objects.in_scope(tenant.scope).filter(kind=kind, state="queued"):
            run_job(job)
    return tenant.get(ADAPTERS).json()["adapters"][0]


def test_without_the_trainer_it_is_said_that_it_is_not_rebuilt(alice, remember, ids, made, trainer):
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    replace(ids["fact"], remember(alice, "The release train leaves every Monday at 09:00.", speaker="Ada"))
    trainer.lack("torch")
    for _ in range(2):
        run_task("follow_training")
    shown = look(alice, adapter)
    assert shown["problem"].count("Not rebuilt: The trainer lacks torch") == 1
    assert shown["rebuild"]
    trainer.lack()
    assert work(alice)["state"] == "candidate"


def test_an_erasure_unloads_and_deletes_what_learnt_it(alice, ids, made, models):
    adapter, retired = train(alice, made), train(alice, made, name="spare")
    operate(alice, adapter, "activate")
    operate(alice, retired, "retire")

    receipt = erase(alice, ids["fact"])

    assert receipt["status"] == "finished", receipt
    unlearnt = receipt["proof"]["training"]
    assert unlearnt["datasets"] == [made["id"]]
    assert [one["id"] for one in unlearnt["adapters"]] == [adapter["id"], retired["id"]]
    assert any(f"style ({adapter['id']})" in note for note in receipt["notes"])
    assert receipt["holders"]["memory_adapter"] == {"counted": 2, "cleared": 2, "left": 0}
    assert not models.loaded
    assert not weights_of(adapter).parent.exists()
    assert not weights_of(retired).parent.exists()
    shown = look(alice, adapter)
    assert (shown["state"], shown["files"], shown["stale"]) == ("stale", {}, {"erased": 1})
    assert operate(alice, adapter, "activate").status_code == 409
    assert alice.post(ADAPTERS, {"namespace": "alice", "name": "x", "dataset_id": made["id"]}).status_code == 409
    assert work(alice)["state"] == "candidate"


def test_an_erasure_waits_for_a_server_that_does_not_answer(alice, ids, made, models, settings):
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    models.fails = True

    receipt = erase(alice, ids["fact"])

    assert receipt["status"] == "waiting"
    assert models.url in receipt["waiting_for"]
    assert weights_of(adapter).exists()
    models.fails = False
    assert carry_out(alice, receipt["id"])["status"] == "finished"
    assert not models.loaded
    assert Erasure.objects.in_scope(alice.scope).get().holders["memory_adapter"]["left"] == 0


def test_an_erasure_goes_on_when_a_server_is_taken_out_of_the_settings(alice, ids, made, models, settings):
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    models.fails = True
    receipt = erase(alice, ids["fact"])
    settings.MEMOS_ADAPTER_SERVERS = []
    assert carry_out(alice, receipt["id"])["status"] == "finished"
    assert not weights_of(adapter).exists()


def test_an_erasure_stops_a_training_that_learns_it(alice, ids, made):
    """The erasure waits while another process is training; then nothing of the training is kept."""
    body = {"namespace": "alice", "name": "style", "dataset_id": made["id"]}
    adapter = alice.post(ADAPTERS, body).json()
    row = row_of(adapter)
    work_folder = files.work_folder(row.id)
    work_folder.mkdir(parents=True)
    (work_folder / "sft.jsonl").write_text("what is learnt")
    with other_connection() as other, try_lock(Lock.ADAPTER, row.id, on=other) as mine:
        assert mine
        receipt = erase(alice, ids["fact"])
        assert receipt["status"] == "waiting"
        assert "being trained" in receipt["waiting_for"]
    assert carry_out(alice, receipt["id"])["status"] == "finished"
    assert not work_folder.exists()
    assert run_task("train_adapter", alice.scope.namespace_id, adapter["id"]) == 0
    assert look(alice, adapter)["state"] == "stale"


def test_a_training_that_is_not_wanted_any_more_is_stopped(alice, made, trainer, settings, monkeypatch):
    monkeypatch.setattr(process, "_POLL_SECONDS", 0.05)
    trainer.act("while True: time.sleep(0.05)")
    adapter = alice.post(ADAPTERS, {"namespace": "alice", "name": "style", "dataset_id": made["id"]}).json()
    find = process.run

    def run(folder, *, wanted, report):
        operate(alice, adapter, "retire")
        return find(folder, wanted=wanted, report=report)

    monkeypatch.setattr("memory.services.training.process.run", run)
    assert run_task("train_adapter", alice.scope.namespace_id, adapter["id"]) == 0
    assert look(alice, adapter)["state"] == "retired"
    assert not list(Path(settings.MEMOS_ADAPTERS_DIR, ".work").iterdir())


def test_consent_that_is_withdrawn_takes_it_out_of_use(alice, made, models):
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    consent(alice, given=False)
    run_task("follow_training")
    shown = look(alice, adapter)
    assert (shown["state"], shown["rebuild"], models.loaded) == ("retired", False, {})
    assert "consent was withdrawn" in shown["problem"]
    assert operate(alice, adapter, "activate").status_code == 403


def test_parametric_memory_that_is_turned_off_takes_it_out_of_use(alice, made, models):
    adapter = train(alice, made)
    operate(alice, adapter, "activate")
    cube = register_cube(ADMIN, namespace="alice", name="Alice's", kinds=("textual", "parametric"), now=timezone.now())
    run_task("follow_training")
    assert look(alice, adapter)["state"] == "active"

    turn_on(alice, cube.pk, on=False)
    refused = alice.post(ADAPTERS, {"namespace": "alice", "name": "other", "dataset_id": made["id"]})
    assert (refused.status_code, refused.json()["error"]["detail"]["kind"]) == (409, "parametric")
    assert operate(alice, adapter, "activate").status_code == 409
    run_task("follow_training")
    shown = look(alice, adapter)
    assert (shown["state"], shown["rebuild"], shown["stale"], models.loaded) == ("retired", False, {}, {})
    assert shown["problem"] == "The cube has no parametric memory: it was turned off."

    # The adapter's files still exist, and what it has learnt is still valid.
    turn_on(alice, cube.pk)
    assert operate(alice, adapter, "activate").status_code == 200
    assert models.loaded


def test_what_is_erased_while_it_is_loaded_is_taken_out_again(alice, ids, made, models, monkeypatch):
    adapter = train(alice, made)
    load = serving._load_everywhere

    def load_and_be_late(row, wanted):
        load(row, wanted)
        Adapter.objects.in_scope(alice.scope).update(state=AdapterState.STALE)

    monkeypatch.setattr(serving, "_load_everywhere", load_and_be_late)
    assert operate(alice, adapter, "activate").status_code == 409
    assert not models.loaded
    assert look(alice, adapter)["served_by"] == []


def test_what_a_killed_activation_left_is_taken_out(alice, made, models):
    first, second = train(alice, made), train(alice, made)
    operate(alice, first, "activate")
    # This is the state if a process is killed just after a server has loaded the new one.
    models.loaded[second["model"]] = str(weights_of(second).parent)
    Adapter.objects.in_scope(alice.scope).filter(id=second["id"]).update(served_by=[models.url])
    run_task("follow_training")
    assert models.loaded == {first["model"]: str(weights_of(first).parent)}
    assert look(alice, second)["served_by"] == []


def test_the_command_trains_and_says_what_was_measured(alice, ids, trainer, models, capsys):
    from django.core.management import CommandError, call_command

    call_command("train_adapter", "alice", "--name", "house-style", "--activate")
    said = capsys.readouterr().out
    assert "recall       100%" in said
    assert f"memos-{alice.scope.namespace_id}-house-style" in said
    assert models.loaded
    trainer.measure(refusals=0.0)
    with pytest.raises(CommandError, match="refusals is 0%"):
        call_command("train_adapter", "alice")
    consent(alice, given=False)
    with pytest.raises(CommandError, match=r"training\.consent"):
        call_command("train_adapter", "alice")
