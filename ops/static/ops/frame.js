// The frame around every page: theme, drawers, menus, the namespace picker, toasts.
"use strict";
{
    const root = document.documentElement;

    const showTheme = () => {
        for (const button of document.querySelectorAll("[data-theme-choice]")) {
            button.setAttribute("aria-pressed", String(button.dataset.themeChoice === root.dataset.theme));
        }
    };

    document.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button?.dataset.themeChoice) {
            root.dataset.theme = button.dataset.themeChoice;
            try {
                localStorage.setItem("theme", button.dataset.themeChoice);
            } catch {
                // Storage is switched off: it holds for this page.
            }
            showTheme();
        } else if (button?.dataset.open) {
            document.getElementById(button.dataset.open).showModal();
        } else if (button && "close" in button.dataset) {
            button.closest("dialog").close();
        } else if (button && "dismiss" in button.dataset) {
            button.closest(".toast").remove();
        } else if (event.target instanceof HTMLDialogElement) {
            // The backdrop is the dialog itself.
            event.target.close();
        }
        for (const menu of document.querySelectorAll("details.menu[open]")) {
            if (!menu.contains(event.target)) {
                menu.open = false;
            }
        }
    });

    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
            for (const menu of document.querySelectorAll("details.menu[open]")) {
                menu.open = false;
                menu.querySelector("summary").focus();
            }
        }
    });

    document.addEventListener("change", (event) => {
        event.target.closest("form[data-submit-on-change]")?.requestSubmit();
    });

    // An empty choice leaves the address clean.
    document.addEventListener("submit", (event) => {
        if (event.target.matches("form[data-submit-on-change]")) {
            for (const field of event.target.elements) {
                field.disabled = field.disabled || (field.name && !field.value);
            }
        }
    });
    addEventListener("pageshow", () => {
        for (const field of document.querySelectorAll("form[data-submit-on-change] :disabled")) {
            field.disabled = false;
        }
    });

    addEventListener("storage", (event) => {
        if (event.key === "theme") {
            root.dataset.theme = event.newValue || "auto";
            showTheme();
        }
    });
    showTheme();
}
