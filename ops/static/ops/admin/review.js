// Keys of the review pages: each presses the button, follows the link or focuses the field that names it in data-key.
"use strict";

const page = document.querySelector("[data-review]");
const help = document.querySelector("dialog.mos-help");

function typing(target) {
    return target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);
}

document.addEventListener("keydown", (event) => {
    if (!page || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) {
        return;
    }
    if (typing(event.target)) {
        if (event.key === "Escape") {
            event.target.blur();
        }
        return;
    }
    if (help && help.open) {
        return;
    }
    const wanted = [...page.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
    if (!wanted) {
        return;
    }
    event.preventDefault();
    if (wanted.matches("input")) {
        wanted.focus();
    } else {
        wanted.click();
    }
});

document.querySelector("[data-help]")?.addEventListener("click", () => help.showModal());
// One decision a page, however fast the key is pressed.
page?.querySelector("form[method=post]")?.addEventListener("submit", (event) => {
    if (page.dataset.sent) {
        event.preventDefault();
    }
    page.dataset.sent = "yes";
});
