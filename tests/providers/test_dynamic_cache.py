"""Keys and values by transformers, with the small real model: a restored cache continues in the same way."""

from __future__ import annotations

import pytest

from memory.errors import Conflict, InvalidInput
from memory.providers.dynamic_cache import CausalModel, missing_package, read_header
from tests.providers.small_weights import find_weights

BEGINNING = "<|im_start|>user\n- [p1] Ada: the lamp of order 1037 ships to Lyon.\n- [p2] Ada: 1074 goes to Metz.\n"
QUESTION = "Question: Where does order 1037 ship?<|im_end|>\n<|im_start|>assistant\n"


def test_a_missing_package_and_a_missing_model_are_named(tmp_path):
    if missing_package():
        with pytest.raises(Conflict, match=r"requirements-activation\.txt"):
            CausalModel(str(tmp_path))
        return
    with pytest.raises(Conflict, match="MEMOS_ACTIVATION_MODEL"):
        CausalModel(str(tmp_path / "none"))
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickled")
    with pytest.raises(Conflict, match=r"\.safetensors"):
        _ = CausalModel(str(tmp_path)).sha256


def test_what_is_no_safetensors_is_refused(tmp_path):
    path = tmp_path / "memos.safetensors"
    for content in (
        b"",
        b"\x80\x04\x95pickled",
        (2**60).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="safetensors"):
            read_header(path)


@pytest.fixture(scope="module")
def model() -> CausalModel:
    return CausalModel(str(find_weights()))


def test_a_restored_cache_goes_on_as_the_whole_prompt_does(model, tmp_path):
    import torch

    path = tmp_path / "memos.safetensors"
    saved = model.save(BEGINNING, path)

    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert saved.bytes == path.stat().st_size
    assert read_header(path) == {"model": model.name, "model_sha256": model.sha256}
    behind = model.read_on(path, BEGINNING + QUESTION)
    with torch.no_grad():
        whole = model.model(torch.tensor([model.count_tokens(BEGINNING + QUESTION)])).logits[0][saved.tokens :]
    assert float((behind - whole).abs().max()) < 1e-4
    assert bool((behind.argmax(-1) == whole.argmax(-1)).all())
    for other in (QUESTION + BEGINNING, BEGINNING, "Hello"):
        with pytest.raises(InvalidInput, match="not joined"):
            model.read_on(path, other)


def test_a_cache_of_another_model_is_refused(model, tmp_path):
    from safetensors.torch import load_file, save_file

    path = tmp_path / "memos.safetensors"
    model.save(BEGINNING, path)
    save_file(load_file(path), path, metadata={"model": model.name, "model_sha256": "0" * 64})
    with pytest.raises(InvalidInput, match="another model"):
        model.read_on(path, BEGINNING + QUESTION)
