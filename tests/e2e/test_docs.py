"""/docs: the API's documentation works under the policy of all pages, with files from this server."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe

from tests.e2e.conftest import AXE, KEEP_SHOTS, in_looks, keep_shot, settle

# The bar, the description of the API and one open route. The colours of JSON are Swagger UI's own.
SHOWN = {"include": [".docs-bar", ".information-container", "#operations-Ask-query"], "exclude": [".microlight"]}


def test_the_routes_are_shown_and_nothing_is_blocked(open_page):
    page = open_page("/docs")

    page.get_by_text("/v1/ingest", exact=True).first.wait_for(timeout=20_000)
    page.locator("#operations-v1-query").or_(page.get_by_text("/v1/query", exact=True).first).first.click()
    page.get_by_role("button", name="Try it out").first.wait_for()


def test_it_has_the_colours_of_the_console_in_light_and_dark(open_page):
    page = open_page("/docs#/Ask/query")
    page.locator(".try-out__btn").click(timeout=60_000)
    page.locator(".execute").wait_for()
    grounds = set()
    for theme, width in in_looks(page):
        settle(page)
        found = Axe().run(page, context=SHOWN, options=AXE | {"runOnly": ["color-contrast"]}).response["violations"]
        if found or KEEP_SHOTS:
            keep_shot(page, f"docs-{theme}-{width}")
        assert {node["html"][:200] for one in found for node in one["nodes"]} == set(), theme
        wanted, ground = page.evaluate(
            """() => {
                const probe = document.createElement("i");
                probe.style.color = getComputedStyle(document.documentElement).getPropertyValue("--mos-ground");
                document.body.append(probe);
                const wanted = getComputedStyle(probe).color;
                probe.remove();
                return [wanted, getComputedStyle(document.querySelector(".swagger-ui")).backgroundColor];
            }"""
        )
        assert ground == wanted
        grounds.add(ground)
    assert len(grounds) == 2


def test_it_keeps_to_the_theme_that_was_chosen_in_the_console(open_page):
    page = open_page("/docs")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()

    assert page.evaluate("document.documentElement.classList.contains('dark-mode')")


def test_a_route_that_is_tried_out_is_filled_with_the_demo(open_page):
    page = open_page("/docs#/Ask/query")
    page.locator(".try-out__btn").click(timeout=60_000)

    assert '"namespace": "demo"' in page.locator("textarea").first.input_value()


def test_routes_are_found_by_what_is_typed(open_page):
    page = open_page("/docs")
    found = page.locator("#filter-found a")
    page.locator(".opblock").first.wait_for(timeout=60_000)

    page.get_by_label("Filter routes").fill("post /v1/query")
    found.first.wait_for()
    assert found.count() == 1
    assert page.locator("#filter-count").inner_text().startswith("1 of ")
    found.first.click()
    page.locator(".opblock.is-open").wait_for(timeout=60_000)
    assert "/v1/query" in page.locator(".opblock.is-open").inner_text()
    page.get_by_label("Filter routes").fill("")
    assert found.count() == 0
