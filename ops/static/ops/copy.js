// Gives every element with data-copy a button that copies what is in it. Without a clipboard (plain HTTP) there is no
// button: a click on the text selects all of it.
"use strict";
if (navigator.clipboard) {
    for (const source of document.querySelectorAll("[data-copy]")) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "button";
        button.textContent = "Copy";
        button.addEventListener("click", async () => {
            await navigator.clipboard.writeText(source.textContent);
            button.textContent = "Copied";
            setTimeout(() => {
                button.textContent = "Copy";
            }, 2000);
        });
        source.after(button);
    }
}
