// The toast of bulk actions, which looks again while a worker is at it, and the similar memories of a memory's page.
"use strict";

const HIDDEN = "memos.toast.hidden";
const EVERY_MS = 2000;

function hiddenToast() {
    try {
        return sessionStorage.getItem(HIDDEN);
    } catch {
        return null;
    }
}

function prepare(toast) {
    const state = `${toast.dataset.toast}:${toast.dataset.poll ? "running" : "over"}`;
    toast.hidden = hiddenToast() === state;
    toast.querySelector("[data-hide]")?.addEventListener("click", () => {
        toast.hidden = true;
        try {
            sessionStorage.setItem(HIDDEN, state);
        } catch {
            // Without storage it is hidden on this page only.
        }
    });
    if (toast.dataset.poll) {
        setTimeout(() => lookAgain(toast), EVERY_MS);
    }
}

async function lookAgain(toast) {
    if (document.hidden) {
        setTimeout(() => lookAgain(toast), EVERY_MS);
        return;
    }
    try {
        const at = encodeURIComponent(location.pathname + location.search);
        const answer = await fetch(`${toast.dataset.poll}?at=${at}`, { credentials: "same-origin", redirect: "error" });
        if (answer.ok) {
            const holder = document.createElement("template");
            holder.innerHTML = await answer.text();
            const fresh = holder.content.querySelector("[data-toast]");
            toast.replaceWith(fresh);
            prepare(fresh);
            return;
        }
    } catch {
        // The server is away for a moment: look again.
    }
    setTimeout(() => lookAgain(toast), 3 * EVERY_MS);
}

async function fill(panel) {
    const body = panel.querySelector(".mos-similar-body");
    try {
        const answer = await fetch(panel.dataset.similar, { credentials: "same-origin", redirect: "error" });
        if (!answer.ok) {
            throw new Error(String(answer.status));
        }
        body.innerHTML = await answer.text();
    } catch {
        const link = document.createElement("a");
        link.href = panel.dataset.similar;
        link.textContent = "↻";
        body.replaceChildren(link);
    }
    panel.setAttribute("aria-busy", "false");
}

document.querySelectorAll("[data-toast]").forEach(prepare);

const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
        watcher.unobserve(entry.target);
        fill(entry.target);
    }
});
document.querySelectorAll("[data-similar]").forEach((panel) => watcher.observe(panel));
