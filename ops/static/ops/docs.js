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

// Shows the routes whose method, path or summary has all the words that are typed. Swagger UI draws routes when a group
// is opened, and again: each time they are judged anew.
addEventListener("DOMContentLoaded", () => {
    const input = document.getElementById("filter");
    const count = document.getElementById("filter-count");
    const page = document.getElementById("swagger-ui");
    const apply = () => {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const routes = [...page.querySelectorAll(".opblock")];
        for (const route of routes) {
            const shown = route.querySelector(".opblock-summary").textContent.toLowerCase();
            route.hidden = !words.every((word) => shown.includes(word));
        }
        for (const group of page.querySelectorAll(".opblock-tag-section")) {
            const own = [...group.querySelectorAll(".opblock")];
            group.hidden = words.length > 0 && own.length > 0 && own.every((route) => route.hidden);
        }
        const left = routes.filter((route) => !route.hidden).length;
        const told = words.length ? `${left} of ${routes.length}` : "";
        if (count.textContent !== told) count.textContent = told;
    };
    input.addEventListener("input", apply);
    new MutationObserver(apply).observe(page, { childList: true, subtree: true });
});
