// Gives every element with data-copy a button that copies what is in it. Without a clipboard (plain HTTP) there is no
// button: a click on the text selects all of it.
"use strict";
if (navigator.clipboard) {
    const words = document.body.dataset;
    const addButtons = (root) => {
        for (const source of root.querySelectorAll("[data-copy]:not([data-copy-ready])")) {
            source.dataset.copyReady = "";
            const button = document.createElement("button");
            button.type = "button";
            button.className = "button";
            button.textContent = words.copyText || "Copy";
            button.addEventListener("click", async () => {
                await navigator.clipboard.writeText(source.textContent);
                button.textContent = words.copiedText || "Copied";
                setTimeout(() => {
                    button.textContent = words.copyText || "Copy";
                }, 2000);
            });
            source.after(button);
        }
    };
    addButtons(document);
    document.addEventListener("htmx:afterSettle", (event) => addButtons(event.detail.target ?? document));
}
