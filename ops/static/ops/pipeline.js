// Choosing jobs of the list. The list renews itself: what was chosen and typed stays.
"use strict";
{
    const boxes = (form) => [...form.querySelectorAll("input[name=job]")];
    let kept = null;

    const show = (form) => {
        const all = boxes(form);
        const chosen = all.filter((box) => box.checked).length;
        const words = form.querySelector("[data-chosen]");
        const whole = form.querySelector("[data-choose-all]");
        if (words) {
            words.textContent = chosen ? words.dataset.words.replace("{n}", chosen) : "";
        }
        if (whole) {
            whole.checked = chosen > 0 && chosen === all.length;
            whole.indeterminate = chosen > 0 && chosen < all.length;
            whole.disabled = all.length === 0;
        }
        for (const button of form.querySelectorAll("[data-needs-choice]")) {
            button.disabled = chosen === 0;
        }
    };
    const showAll = () => document.querySelectorAll("form[data-choose]").forEach(show);

    document.addEventListener("change", (event) => {
        const form = event.target.closest("form[data-choose]");
        if (!form) {
            return;
        }
        if ("chooseAll" in event.target.dataset) {
            for (const box of boxes(form)) {
                box.checked = event.target.checked;
            }
        }
        show(form);
    });

    document.addEventListener("htmx:oobBeforeSwap", (event) => {
        const form = event.detail.target.closest("form[data-choose]");
        if (form) {
            kept = {
                chosen: new Set(boxes(form).filter((box) => box.checked).map((box) => box.value)),
                reason: form.elements.reason?.value ?? "",
            };
        }
    });
    document.addEventListener("htmx:oobAfterSwap", (event) => {
        const form = event.detail.target.closest("form[data-choose]");
        if (form && kept) {
            for (const box of boxes(form)) {
                box.checked = kept.chosen.has(box.value);
            }
            if (form.elements.reason) {
                form.elements.reason.value = kept.reason;
            }
        }
        showAll();
    });
    addEventListener("pageshow", showAll);
    showAll();
}
