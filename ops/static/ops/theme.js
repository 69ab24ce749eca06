// Sets the theme before the first paint. Django's admin keeps its own choice under the same key: both follow it.
"use strict";
{
    let theme = "auto";
    try {
        theme = localStorage.getItem("theme") || "auto";
    } catch {
        // Storage is switched off: the system's theme.
    }
    document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
}
