// Swagger UI has dark colours of its own, for a root of the class dark-mode: it follows the theme of the console.
"use strict";
{
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => {
        const theme = root.dataset.theme;
        root.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && system.matches));
    };
    system.addEventListener("change", follow);
    follow();
}
