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

    // Times go on while a page stays open, by the server's clock. Spans as timesince (Django) cuts them.
    const SPANS = [
        [31556952, "year"],
        [2629746, "month"],
        [604800, "week"],
        [86400, "day"],
        [3600, "hour"],
        [60, "minute"],
    ];
    const TICK = 10_000;
    const words = new Intl.RelativeTimeFormat(root.lang || "en", { numeric: "always" });
    const ahead = Date.parse(document.body.dataset.now) - Date.now();
    const relative = (seconds) => {
        const span = SPANS.find(([length]) => Math.abs(seconds) >= length);
        if (span) {
            return words.format(-Math.trunc(seconds / span[0]), span[1]);
        }
        return seconds < 0 ? document.body.dataset.soonText : document.body.dataset.secondsText.replace("{n}", Math.floor(seconds));
    };
    const tick = () => {
        for (const time of document.querySelectorAll("time.ago")) {
            const text = relative((Date.now() + ahead - Date.parse(time.dateTime)) / 1000);
            if (time.firstChild.data !== text) {
                time.firstChild.data = text;
            }
        }
    };
    if (document.body.dataset.now) {
        tick();
        setInterval(tick, TICK);
        document.addEventListener("htmx:afterSwap", tick);
        document.addEventListener("htmx:oobAfterSwap", tick);
    }
}
