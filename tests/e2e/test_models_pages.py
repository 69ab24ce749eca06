"""Activation caches and adapters in the browser: what stands in the way is said, what cannot be undone is asked."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import ActivationCache, TrainingDataset
from tests.e2e.conftest import check_looks
from tests.ops.test_activation_page import folder, make_cache  # noqa: F401 - the same world as its page tests
from tests.ops.test_adapters_page import adapter, consent  # noqa: F401


def test_a_cache_is_dropped(open_page, root, world, folder):  # noqa: F811
    make_cache("harbour", "llamacpp/own")
    page = open_page("/ops/activation/?ns=harbour", client=root)
    page.get_by_role("button", name="Build the cache").click()
    refusal = page.get_by_text("There is no cube of a namespace")
    check_looks(page, "activation", refusal, page.get_by_text("llamacpp/own"))
    page.get_by_role("button", name="Drop the cache of llamacpp/own").click()
    page.get_by_role("dialog", name="Drop the cache?").get_by_role("button", name="Drop the cache").click()
    expect(page.get_by_text("There are no caches")).to_be_visible()
    assert not ActivationCache.objects.in_scope(world.harbour).exists()


def test_adapters_and_data_sets(open_page, root, adapter):  # noqa: F811
    consent("harbour")
    page = open_page("/ops/adapters/?ns=harbour", client=root)
    page.get_by_label("Name of the new adapter").fill("A B")
    page.get_by_role("button", name="Train an adapter").click()
    check_looks(page, "adapters", page.get_by_text("small letters"))
    page.get_by_role("button", name="Delete…").click()
    check_looks(page, "adapters-asked", page.get_by_text("Its files go for good."))
    page.get_by_role("button", name="Delete the data set").click()
    expect(page.get_by_text("The files of the data set are deleted.")).to_be_visible()
    assert TrainingDataset.objects.across_namespaces().get(id=adapter.dataset_id).dropped_at is not None

    page.get_by_role("link", name="harbour-style").click()
    check_looks(page, "adapter", page.get_by_text("does not pass").first, page.get_by_role("button", name="Activate"))
