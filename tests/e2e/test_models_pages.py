"""Activation caches and adapters in the browser: obstacles are explained, and irreversible actions are confirmed."""

from __future__ import annotations

from django.utils import timezone
from playwright.sync_api import expect

from memory.models import ActivationCache, TrainingDataset
from memory.services.cubes.create import register_cube
from memory.types import system_access
from tests.e2e.conftest import check_looks
from tests.ops.test_activation_page import make_cache
from tests.ops.test_adapters_page import adapter, consent  # noqa: F401 - the same world as its page tests


def test_what_a_cache_lacks_is_mended_step_by_step_and_a_cache_is_dropped(open_page, root, world, settings, tmp_path):
    register_cube(system_access("tests"), namespace="harbour", name="The port's", now=timezone.now())
    page = open_page("/ops/activation/?ns=harbour", client=root)
    page.get_by_role("button", name="Build the cache").click()
    lack = page.get_by_text("does not hold activation caches")
    check_looks(page, "activation-empty", lack, page.get_by_text("There are no caches"))
    page.get_by_role("link", name="Switch them on").click()
    page.get_by_label("Activation caches").check()
    page.get_by_role("button", name="Save the changes").click()
    page.get_by_role("link", name="Activation").click()
    page.get_by_role("button", name="Build the cache").click()
    expect(page.get_by_text("No folder for activation caches is set up")).to_be_visible()

    settings.MEMOS_ACTIVATION_DIR = str(tmp_path)
    make_cache("harbour", "llamacpp/own")
    page.get_by_role("link", name="Activation").click()
    check_looks(page, "activation", page.get_by_text("llamacpp/own"))
    page.get_by_role("button", name="Drop the cache of llamacpp/own").click()
    page.get_by_role("dialog", name="Drop the cache?").get_by_role("button", name="Drop the cache").click()
    expect(page.get_by_text("There are no caches")).to_be_visible()
    assert not ActivationCache.objects.in_scope(world.harbour).exists()


def test_without_consent_nothing_is_trained(open_page, root, world):
    page = open_page("/ops/adapters/?ns=harbour", client=root)
    check_looks(page, "adapters-empty", page.get_by_text("No adapter was trained yet"))
    expect(page.get_by_role("button", name="Make a data set")).to_be_hidden()


def test_adapters_and_data_sets(open_page, root, adapter):  # noqa: F811
    consent("harbour")
    page = open_page("/ops/adapters/?ns=harbour", client=root)
    page.get_by_label("Name of the new adapter").fill("A B")
    page.get_by_role("button", name="Train an adapter").click()
    check_looks(page, "adapters", page.get_by_text("small letters"))
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete the data set").click()
    expect(page.get_by_text("The files of the data set are deleted.")).to_be_visible()
    assert TrainingDataset.objects.across_namespaces().get(id=adapter.dataset_id).dropped_at is not None

    page.get_by_role("link", name="harbour-style").click()
    check_looks(page, "adapter", page.get_by_text("does not pass").first, page.get_by_role("button", name="Activate"))
    page.get_by_role("button", name="Take out of use").click()
    expect(page.get_by_text("The adapter is out of use.")).to_be_visible()
