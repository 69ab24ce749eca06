// Shows the sentence behind the line of the graph that is pointed at or focused; the table below has all of them.
"use strict";
{
    const line = document.querySelector("[data-evidence-line]");

    const read = (event) => {
        const edge = event.target.closest?.("[data-edge]");
        if (!edge || !line) {
            return;
        }
        const sentence = document.querySelector(`[data-evidence="${edge.dataset.edge}"]`)?.textContent.trim();
        const words = edge.getAttribute("aria-label");
        line.textContent = sentence ? `${words}: “${sentence}”` : words;
        line.classList.add("is-read");
        for (const other of document.querySelectorAll("[data-edge]")) {
            other.classList.toggle("is-read", other === edge);
        }
    };

    document.addEventListener("pointerover", read);
    document.addEventListener("focusin", read);

    // The row of a line stands in a folded table.
    document.addEventListener("click", (event) => {
        const edge = event.target.closest?.("[data-edge]");
        const table = edge && document.getElementById(`edge-${edge.dataset.edge}`)?.closest("details");
        if (table) {
            table.open = true;
        }
    });
}
