// Sends a file that is too large for one request in parts, as soon as it is chosen; its form is then sent with the id of
// the upload in place of the file. A part that gets lost is sent again.
"use strict";
{
    const TRIES = 5;
    const PAUSE = 2000;

    const percent = new Intl.NumberFormat(document.documentElement.lang || "en", { style: "percent" });

    const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

    const post = async (form, address, body, headers = {}) => {
        const token = form.elements.csrfmiddlewaretoken.value;
        const answer = await fetch(address, {
            method: "POST",
            body,
            headers: { "X-CSRFToken": token, ...headers },
            redirect: "error",
        });
        if (answer.ok || answer.status === 400 || answer.status === 404 || answer.status === 409) {
            const says = answer.status === 204 ? {} : await answer.json();
            if (!answer.ok) {
                throw Object.assign(new Error(says.problem), { isFinal: true });
            }
            return says;
        }
        throw new Error(String(answer.status));
    };

    const sendPart = async (form, address, part) => {
        for (let tries = 1; ; tries += 1) {
            try {
                return await post(form, address, part, { "Content-Type": "application/octet-stream" });
            } catch (error) {
                if (error.isFinal || tries === TRIES) {
                    throw error;
                }
                await wait(PAUSE * tries);
            }
        }
    };

    for (const input of document.querySelectorAll("input[type=file][data-upload]")) {
        const { form } = input;
        const name = input.name;
        const id = form.elements.upload;
        const box = form.querySelector("[data-upload-progress]");
        const bar = box.querySelector("progress");
        const words = box.querySelector("[data-upload-words]");
        let chosen = 0;

        const setBusy = (busy) => {
            for (const button of form.querySelectorAll("button")) {
                button.disabled = busy;
            }
        };

        const send = async (file, number) => {
            const fields = new FormData();
            fields.set("name", file.name);
            fields.set("bytes", String(file.size));
            const upload = await post(form, input.dataset.upload, fields);
            for (let part = 0, at = 0; at < file.size && number === chosen; part += 1, at += upload.part_bytes) {
                await sendPart(form, `${upload.parts}${part}/`, file.slice(at, at + upload.part_bytes));
                if (number === chosen) {
                    bar.value = Math.min(1, (at + upload.part_bytes) / file.size);
                    words.textContent = box.dataset.sending.replace("{percent}", percent.format(bar.value));
                }
            }
            return upload.id;
        };

        input.addEventListener("change", async () => {
            chosen += 1;
            const number = chosen;
            const file = input.files[0];
            input.name = name;
            id.value = "";
            box.hidden = true;
            setBusy(false);
            if (!file || file.size <= Number(input.dataset.uploadAbove)) {
                return;
            }
            bar.value = 0;
            words.textContent = box.dataset.sending.replace("{percent}", percent.format(0));
            box.hidden = false;
            setBusy(true);
            try {
                const upload = await send(file, number);
                if (number === chosen) {
                    // The form is sent without the file, which the server has.
                    input.removeAttribute("name");
                    id.value = upload;
                    words.textContent = box.dataset.sent;
                    setBusy(false);
                }
            } catch (error) {
                if (number === chosen) {
                    words.textContent = error.isFinal ? error.message : box.dataset.failed;
                    input.value = "";
                    setBusy(false);
                }
            }
        });
    }
}
