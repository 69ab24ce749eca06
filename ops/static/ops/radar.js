// The plot by keyboard: arrow keys move from one candidate to the next, in the order of their places; Enter or a click
// opens what is behind it in the drawer. Without script every dot is a link to its row of the table.
"use strict";
{
    const drawer = document.getElementById("drawer");
    const body = document.getElementById("drawer-body");
    const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

    const mark = (name, on) => {
        document.getElementById(`row-${name}`)?.classList.toggle("is-pointed", on);
        document.querySelector(`[data-arrow="${name}"]`)?.classList.toggle("is-pointed", on);
    };

    for (const plot of document.querySelectorAll("[data-polar]")) {
        // Drawn last is on top: the best. The keyboard goes by places.
        const dots = [...plot.querySelectorAll(".blip")].sort((one, other) => one.dataset.place - other.dataset.place);
        const focus = (dot) => {
            for (const other of dots) {
                other.setAttribute("tabindex", other === dot ? "0" : "-1");
            }
        };
        focus(dots[0]);
        plot.addEventListener("keydown", (event) => {
            const here = dots.indexOf(event.target.closest(".blip"));
            const step = STEPS[event.key];
            const next = step
                ? (here + step + dots.length) % dots.length
                : { Home: 0, End: dots.length - 1 }[event.key] ?? -1;
            if (here >= 0 && next >= 0) {
                event.preventDefault();
                focus(dots[next]);
                dots[next].focus();
            }
        });
        for (const dot of dots) {
            for (const kind of ["mouseenter", "focus"]) {
                dot.addEventListener(kind, () => mark(dot.dataset.detail, true));
            }
            for (const kind of ["mouseleave", "blur"]) {
                dot.addEventListener(kind, () => mark(dot.dataset.detail, false));
            }
        }
    }

    document.addEventListener("click", (event) => {
        const name = event.target.closest("[data-detail]")?.dataset.detail;
        const detail = name && document.getElementById(`detail-${name}`);
        if (detail && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            body.replaceChildren(detail.content.cloneNode(true));
            drawer.showModal();
        }
    });
}
