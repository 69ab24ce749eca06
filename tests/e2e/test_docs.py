"""/docs: the API's documentation works under the policy of all pages, with files from this server."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe

from tests.e2e.conftest import AXE, KEEP_SHOTS, in_looks, keep_shot, settle

# The bar, the description of the API and one open route. The colours of JSON are Swagger UI's own.
SHOWN = {"include": [".docs-bar", ".information-container", "#operations-Ask-query"], "exclude": [".microlight"]}


def test_a_route_is_tried_out_in_the_colours_of_the_console(open_page):
    """In one page, which takes the browser longer to draw than any other. Nothing that it loads is blocked."""
    page = open_page("/docs#/Ask/query")
    page.locator(".try-out__btn").click(timeout=60_000)
    page.locator(".execute").wait_for()
    page.get_by_text("/v1/ingest", exact=True).first.wait_for()
    assert '"namespace": "demo"' in page.locator("textarea").first.input_value()

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


def test_routes_are_found_by_what_is_typed_in_the_theme_that_was_chosen(open_page):
    page = open_page("/admin/login/")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.goto("/docs")
    assert page.evaluate("document.documentElement.classList.contains('dark-mode')")
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
