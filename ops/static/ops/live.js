// Pages that keep themselves up to date. Elements with data-live poll by htmx: for themselves (ops/parts/live.html), or
// for several parts of the page, whose ids are in data-parts and which come out of band. Here they are held while the
// tab is hidden or Pause is on, ask for changes only (v=), say how old they are, and grow stale visibly.
"use strict";
{
    const PAUSED = "memos-paused";
    const BACK_OFF = [5000, 10000, 30000];
    const line = document.querySelector("[data-live-line]");
    const state = line?.querySelector("[data-live-state]");
    const pauseButton = line?.querySelector("[data-live-pause]");
    const retryButton = line?.querySelector("[data-live-retry]");
    const announcer = document.querySelector("[data-live-announce]");
    const relative = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { style: "short" });
    const sources = new Map();
    let updated = Date.now();
    let paused = false;

    try {
        paused = localStorage.getItem(PAUSED) === "1";
    } catch {
        // Storage is switched off: not paused.
    }

    const known = (element) => {
        if (!sources.has(element)) {
            sources.set(element, { failures: 0, next: 0, since: null, held: new Set() });
        }
        return sources.get(element);
    };
    const polls = (element) => element instanceof Element && element.matches("[data-live]");
    const markStale = (element, stale) => {
        const ids = element.dataset.parts?.split(" ") ?? [];
        for (const part of [element, ...ids.map((id) => document.getElementById(id))]) {
            part.classList.toggle("is-stale", stale);
        }
    };
    const pollerOf = (part) => {
        if (polls(part)) {
            return part;
        }
        return part.id ? document.querySelector(`[data-live][data-parts~="${CSS.escape(part.id)}"]`) : null;
    };
    const staleSince = () => {
        for (const [element, source] of sources) {
            if (!element.isConnected) {
                sources.delete(element);
            } else if (source.since) {
                return source.since;
            }
        }
        return null;
    };
    const announce = (text) => {
        if (announcer && announcer.textContent !== text) {
            announcer.textContent = text;
        }
    };

    const show = () => {
        if (!line) {
            return;
        }
        const since = staleSince();
        line.classList.toggle("is-stale", Boolean(since));
        retryButton.hidden = !since;
        pauseButton.setAttribute("aria-pressed", String(paused));
        if (since) {
            const text = line.dataset.stale.replace("{time}", since.toLocaleTimeString([], { hour12: false }));
            state.textContent = text;
            announce(text);
        } else if (paused) {
            state.textContent = line.dataset.paused;
            announce(line.dataset.paused);
        } else {
            const seconds = Math.round((Date.now() - updated) / 1000);
            const when = seconds < 60 ? relative.format(-seconds, "second") : relative.format(-Math.round(seconds / 60), "minute");
            state.textContent = line.dataset.updated.replace("{when}", when);
            announce("");
        }
    };

    const ask = (element) => {
        known(element).asked = true;
        htmx.ajax("GET", element.getAttribute("hx-get"), { source: element, target: element, swap: element.getAttribute("hx-swap") });
    };

    document.addEventListener("htmx:configRequest", (event) => {
        const element = event.detail.elt;
        if (polls(element) && element.dataset.version) {
            event.detail.parameters.v = element.dataset.version;
        }
    });

    document.addEventListener("htmx:beforeRequest", (event) => {
        const element = event.detail.elt;
        // The first load of a skeleton, and what someone asks for, is made even so.
        if (!polls(element) || element.querySelector("[aria-busy=true]") || known(element).asked) {
            if (sources.has(element)) {
                sources.get(element).asked = false;
            }
        } else if (document.hidden || paused || Date.now() < known(element).next) {
            event.preventDefault();
        }
    });

    // What is being read or typed is not exchanged under the reader: it is asked for again.
    const beforeExchange = (event) => {
        const part = event.detail.target;
        const poller = pollerOf(part);
        if (!poller) {
            return;
        }
        const active = document.activeElement;
        const editing = active && part.contains(active) && active.matches("input, textarea, select");
        if (editing || part.querySelector("dialog[open]")) {
            event.detail.shouldSwap = false;
            known(poller).held.add(part.id);
        } else {
            part.openDetails = [...part.querySelectorAll("details")].map((details) => details.open);
        }
    };
    const afterExchange = (event) => {
        const part = event.detail.target;
        if (event.detail.shouldSwap === false) {
            return;
        }
        const details = [...part.querySelectorAll("details")];
        if (part.openDetails?.length === details.length) {
            details.forEach((one, index) => {
                one.open = part.openDetails[index];
            });
        }
        const drawer = document.getElementById("drawer");
        if (part.id === "drawer-body" && !drawer.open) {
            drawer.showModal();
        }
    };
    document.addEventListener("htmx:beforeSwap", beforeExchange);
    document.addEventListener("htmx:oobBeforeSwap", beforeExchange);
    document.addEventListener("htmx:afterSwap", afterExchange);
    document.addEventListener("htmx:oobAfterSwap", afterExchange);

    const failed = (element) => {
        const source = known(element);
        source.since = source.since || new Date(updated);
        source.next = Date.now() + BACK_OFF[Math.min(source.failures, BACK_OFF.length - 1)];
        source.failures += 1;
        markStale(element, true);
        show();
    };

    document.addEventListener("htmx:afterRequest", (event) => {
        const { elt: element, xhr } = event.detail;
        if (xhr?.status === 401) {
            document.getElementById("session-ended").hidden = false;
        }
        if (!polls(element)) {
            return;
        }
        if (xhr?.status === 200 || xhr?.status === 204) {
            const source = known(element);
            const version = xhr.getResponseHeader("X-Fragment-Version");
            if (version) {
                const shown = (element.dataset.version ?? "").split(".");
                const ids = element.dataset.parts?.split(" ") ?? [element.id];
                const now = version.split(".").map((one, index) => (source.held.has(ids[index]) ? shown[index] : one));
                element.dataset.version = now.join(".");
            }
            source.held.clear();
            source.failures = 0;
            source.next = 0;
            source.since = null;
            markStale(element, false);
            updated = Date.now();
            show();
        } else {
            failed(element);
        }
    });

    // What someone asked for and did not get is said, in place of its skeleton or as a toast; a part that polls says so
    // on its own line.
    const told = (element, text) => {
        const words = document.body.dataset;
        const box = document.createElement("div");
        const said = document.createElement("p");
        said.textContent = text;
        box.append(said);
        const skeleton = element.querySelector("[aria-busy=true]");
        const end = document.createElement(skeleton ? "a" : "button");
        if (skeleton) {
            box.className = "notice notice-bad";
            box.setAttribute("role", "alert");
            end.href = "";
            end.className = "button";
            end.textContent = words.againText;
        } else {
            box.className = "toast toast-error";
            end.type = "button";
            end.className = "text-button";
            end.dataset.dismiss = "";
            end.textContent = words.dismissText;
        }
        box.append(end);
        (skeleton ? element : document.getElementById("toasts")).replaceChildren(box);
    };
    document.addEventListener("htmx:responseError", (event) => {
        const { elt: element, xhr } = event.detail;
        const { refusedText, silentText } = document.body.dataset;
        if (!polls(element) && xhr.status !== 401) {
            told(element, xhr.status === 503 ? silentText : refusedText.replace("{status}", xhr.status));
        }
    });
    document.addEventListener("htmx:sendError", (event) => {
        if (!polls(event.detail.elt)) {
            told(event.detail.elt, document.body.dataset.silentText);
        }
    });

    pauseButton?.addEventListener("click", () => {
        paused = !paused;
        try {
            localStorage.setItem(PAUSED, paused ? "1" : "0");
        } catch {
            // Storage is switched off: it holds for this page.
        }
        show();
        if (!paused) {
            document.querySelectorAll("[data-live]").forEach(ask);
        }
    });
    retryButton?.addEventListener("click", () => document.querySelectorAll("[data-live].is-stale").forEach(ask));
    document.addEventListener("visibilitychange", () => {
        if (!document.hidden && !paused) {
            document.querySelectorAll("[data-live]").forEach(ask);
        }
    });

    setInterval(show, 1000);
    show();
}
