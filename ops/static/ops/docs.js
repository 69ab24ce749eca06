// Swagger UI has dark colours of its own, for a root of the class dark-mode: it follows the theme of the console.
"use strict";
{
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => {
        const theme = root.dataset.theme;
        root.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && system.matches));
    };
    system.addEventListener("change", follow);
    follow();
}

// Lists the routes of the document whose method, path or summary has all the words that are typed. Swagger UI draws only
// the routes in view, so they are read from the document; a link opens the page at its route.
addEventListener("DOMContentLoaded", async () => {
    const input = document.getElementById("filter");
    const count = document.getElementById("filter-count");
    const found = document.getElementById("filter-found");
    const answer = await fetch(document.getElementById("document").href);
    const routes = Object.entries((await answer.json()).paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, one]) => ({
            said: `${method.toUpperCase()} ${path} ${one.summary ?? ""}`,
            href: `?route=${one.operationId}#/${encodeURIComponent(one.tags[0])}/${one.operationId}`,
        })),
    );
    const apply = () => {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const left = words.length
            ? routes.filter(({ said }) => words.every((word) => said.toLowerCase().includes(word)))
            : [];
        count.textContent = words.length ? `${left.length} of ${routes.length}` : "";
        found.replaceChildren(
            ...left.map(({ said, href }) => {
                const item = document.createElement("li");
                const link = document.createElement("a");
                link.href = href;
                link.textContent = said;
                item.append(link);
                return item;
            }),
        );
    };
    input.addEventListener("input", apply);
    apply();
});
