// Decay: what sliders say, arrow keys in the grid, "select all".
"use strict";
{
    const say = (slider) => {
        const value = Number(slider.value);
        const shown = value === 0 ? slider.dataset.off : `${slider.value} ${slider.dataset.unit || ""}`;
        slider.parentElement.querySelector("output").textContent = shown.trim();
    };
    const sayAll = () => document.querySelectorAll(".slider input").forEach(say);

    document.addEventListener("input", (event) => {
        if (event.target.matches(".slider input")) {
            say(event.target);
        }
    });
    // The form is exchanged with its answer: the slider that was moved keeps the focus.
    let focused = "";
    document.addEventListener("htmx:beforeSwap", (event) => {
        if (event.detail.target?.id === "what-if") {
            focused = document.activeElement?.id || "";
        }
    });
    document.addEventListener("htmx:afterSwap", (event) => {
        sayAll();
        if (event.detail.target?.id === "what-if" && focused) {
            document.getElementById(focused)?.focus();
        }
    });

    document.addEventListener("change", (event) => {
        if (event.target.matches("[data-all]")) {
            for (const box of event.target.form.elements) {
                if (box.name === "memory") {
                    box.checked = event.target.checked;
                }
            }
        }
    });

    // One number of the grid is in the order of the Tab key, arrow keys go on from there. The grid may come later.
    const links = () => [...document.querySelectorAll("[data-heat] a")];
    const place = (link) => [link.closest("tr").rowIndex, link.closest("td").cellIndex];
    const choose = (chosen) => {
        for (const one of links()) {
            one.tabIndex = one === chosen ? 0 : -1;
        }
    };
    const WAYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    document.addEventListener("keydown", (event) => {
        const way = WAYS[event.key];
        if (!way || !event.target.matches("[data-heat] a")) {
            return;
        }
        event.preventDefault();
        const [row, column] = place(event.target);
        let best = null;
        for (const link of links()) {
            const [down, right] = [place(link)[0] - row, place(link)[1] - column];
            const ahead = down * way[0] + right * way[1];
            const beside = Math.abs(down * way[1]) + Math.abs(right * way[0]);
            if (ahead > 0 && (!best || ahead + 3 * beside < best.cost)) {
                best = { link, cost: ahead + 3 * beside };
            }
        }
        if (best) {
            choose(best.link);
            best.link.focus();
        }
    });
    const begin = () => {
        sayAll();
        choose(links()[0]);
    };
    document.addEventListener("htmx:load", (event) => {
        if (event.target.querySelector?.("[data-heat]") || event.target.matches?.("[data-heat]")) {
            begin();
        }
    });
    begin();
}
