"""The tables of providers: settings, commands, checks and modules have the same entries."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest
from django.core.management import CommandError, call_command

from memory.checks import check_reranker
from memory.errors import RerankUnavailable
from memory.providers import embedding, rerank
from memory.providers.embedding import registry as embeddings
from memory.providers.rerank import registry as rerankers
from memos_site.settings import env


def choices(setting: str) -> list[str]:
    [declared] = [one for one in env.declared if one.name == setting]
    return declared.kind.split(" \\| ")


def help_of(setting: str) -> str:
    return next(one.help for one in env.declared if one.name == setting)


@pytest.mark.parametrize("package", [embedding, rerank], ids=["embedding", "rerank"])
def test_every_module_with_a_kind_stands_in_the_table(package: ModuleType):
    modules = {one.name: import_module(f"{package.__name__}.{one.name}") for one in iter_modules(package.__path__)}
    assert {name for name, module in modules.items() if hasattr(module, "KIND")} == set(package.PROVIDERS)


@pytest.mark.parametrize(
    ("setting", "known"),
    [
        ("MEMOS_EMBEDDING_PROVIDER", list(embedding.PROVIDERS)),
        ("MEMOS_RERANK_PROVIDER", [rerank.OFF, *rerank.PROVIDERS]),
    ],
)
def test_the_settings_offer_every_provider_and_say_what_it_is(setting, known):
    assert choices(setting) == known
    for name in known:
        assert name == rerank.OFF or f"`{name}` (" in help_of(setting)


def test_the_command_takes_every_embedding_provider_and_no_other(db, capsys):
    with pytest.raises(SystemExit):
        call_command("reembed", "--help")
    assert f"--provider {{{','.join(embedding.PROVIDERS)}}}" in capsys.readouterr().out
    with pytest.raises(CommandError, match="invalid choice: 'word2vec'"):
        call_command("reembed", "--provider", "word2vec")


def test_an_unknown_embedding_provider_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=f"choose one of {', '.join(embedding.PROVIDERS)}"):
        embeddings.provider_for("word2vec", "any")


@pytest.mark.parametrize("name", embedding.PROVIDERS)
def test_a_provider_is_used_with_its_own_model_where_the_settings_name_none(settings, name):
    settings.MEMOS_EMBEDDING_PROVIDER, settings.MEMOS_EMBEDDING_MODEL = name, ""
    assert embeddings.read_configured_model() == (name, embeddings.find_kind(name).default_model)
    settings.MEMOS_EMBEDDING_MODEL = "mine"
    assert embeddings.read_configured_model() == (name, "mine")


@pytest.mark.parametrize("name", rerank.PROVIDERS)
def test_a_reranker_without_what_it_needs_says_so_at_the_check_and_at_the_query(settings, name):
    needs = rerankers.find_kind(name).needs
    settings.MEMOS_RERANK_PROVIDER = name
    setattr(settings, needs, "")
    [warning] = check_reranker(None)
    assert warning.id == "memos.W003"
    assert f"MEMOS_RERANK_PROVIDER={name} is set without {needs}" in warning.msg
    with pytest.raises(RerankUnavailable, match=f"={name} needs {needs}"):
        rerankers.find_reranker()
