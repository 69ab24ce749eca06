// The map of memories on a canvas: colours, time, search, lasso, keyboard. Three dimensions are in map3d.js.
"use strict";
{
    const root = document.querySelector("[data-map]");
    const $ = (selector) => root.querySelector(selector);
    const meta = JSON.parse(document.getElementById("map-metadata").textContent);
    const [canvas, canvas3d, tip, status] = ["[data-canvas]", "[data-canvas-3d]", "[data-tip]", "[data-status]"].map($);
    const pen = canvas.getContext("2d");
    const TONES = ["blue", "orange", "green", "purple", "amber", "teal", "rose", "grey"];
    const RAMP = 5;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const narrow = matchMedia("(max-width: 40rem)").matches;

    let points = null;
    let mode = "cluster";
    let view = { x: 0, y: 0, scale: 1 };
    let time = [0, 1];
    let focus = -1;
    let lasso = null;
    let lassoing = false;
    let found = null;
    let near = [];
    let hover = -1;
    let space = null;
    let palette = {};
    const selected = new Set();
    const hidden = new Set();

    const say = (text) => {
        status.textContent = text;
    };
    const said = (name, values = {}) =>
        Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), status.dataset[name]);

    // Points --------------------------------------------------------------------------------------------------------
    const read = (buffer) => {
        const count = new DataView(buffer).getUint32(0, true);
        let at = 4;
        const column = (Kind, size = 1) => {
            const values = new Kind(buffer, at, count * size);
            at += values.byteLength;
            return values;
        };
        const all = { count };
        for (const name of ["x", "y", "z"]) {
            all[name] = column(Float32Array);
        }
        all.occurred = column(Uint32Array);
        all.uses = column(Uint16Array);
        for (const name of ["kind", "state", "importance", "session", "cluster"]) {
            all[name] = column(Uint8Array);
        }
        all.bytes = column(Uint8Array, 16);
        const sizes = new Array(256).fill(0);
        all.cluster.forEach((one) => sizes[one]++);
        all.rank = new Array(256);
        [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a]).forEach((one, rank) => (all.rank[one] = rank));
        all.first = all.occurred.reduce((least, one) => Math.min(least, one), Infinity);
        all.last = all.occurred.reduce((most, one) => Math.max(most, one), 0);
        return all;
    };
    const idOf = (place) =>
        [...points.bytes.subarray(16 * place, 16 * place + 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

    // Colours -------------------------------------------------------------------------------------------------------
    const learnColours = () => {
        const style = getComputedStyle(root);
        const value = (name) => style.getPropertyValue(name).trim();
        palette = {
            tones: TONES.map((tone) => value(`--mos-${tone}`)),
            ramp: Array.from({ length: RAMP }, (_, step) => value(`--ramp-${step + 1}`)),
            ground: value("--mos-surface"),
            text: value("--mos-text"),
            quiet: value("--mos-quiet"),
            accent: value("--mos-accent"),
            mark: value("--mos-bad"),
        };
    };
    const rampStep = (share) => Math.min(RAMP - 1, Math.max(0, Math.floor(share * RAMP)));
    const span = () => Math.max(1, points.last - points.first);
    const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);
    // What a point is in the present mode: the number of its entry in the legend.
    const keyOf = (place) => {
        if (mode === "age") {
            return rampStep((points.occurred[place] - points.first) / span());
        }
        if (mode === "importance") {
            return rampStep(points.importance[place] / 255);
        }
        return points[mode][place];
    };
    const colourOf = (key) => {
        if (mode === "age" || mode === "importance") {
            return palette.ramp[key];
        }
        if (mode === "session" && key === 255) {
            return palette.quiet;
        }
        // The largest clusters differ from each other; with many, the smaller ones take the colours again.
        return palette.tones[(mode === "cluster" ? points.rank[key] : key) % TONES.length];
    };
    const labelOf = (key) => {
        if (mode === "age") {
            const step = span() / RAMP;
            return `${day(points.first + key * step)} – ${day(points.first + (key + 1) * step)}`;
        }
        if (mode === "importance") {
            return `${(key / RAMP).toFixed(1)} – ${((key + 1) / RAMP).toFixed(1)}`;
        }
        const names = { cluster: meta.clusters, kind: meta.kinds, state: meta.states, session: meta.sessions }[mode];
        return names[key] ?? $("[data-legend]").dataset.other;
    };
    const inTime = (place) => {
        const share = (points.occurred[place] - points.first) / span();
        return share >= time[0] && share <= time[1];
    };
    const visible = (place) => inTime(place) && !hidden.has(keyOf(place));
    // Asked for every point of every frame: counted once.
    let all = [];
    const places = () => {
        if (all.length !== points.count) {
            all = Array.from({ length: points.count }, (_, place) => place);
        }
        return all;
    };

    // A count that opens the list of what it counts: as a link where the ids have room in an address, else by a form.
    const listOf = (some) => `${root.dataset.list}?pk__in=${some.map(idOf).join(",")}`;
    const counted = (some) => {
        const open = $("[data-open-list]");
        const short = some.length <= meta.most_in_address;
        const number = document.createElement(!open || !some.length ? "span" : short ? "a" : "button");
        number.className = "number";
        number.textContent = some.length.toLocaleString();
        if (number.localName === "span") {
            return number;
        }
        number.setAttribute("aria-label", $("[data-legend]").dataset.open.replace("{n}", number.textContent));
        if (short) {
            number.href = listOf(some);
        } else {
            number.type = "button";
            number.addEventListener("click", () => {
                select(some);
                open.click();
            });
        }
        return number;
    };

    const legend = () => {
        const list = $("[data-legend]");
        const members = new Map();
        const shown = [];
        for (const place of places()) {
            if (inTime(place)) {
                const key = keyOf(place);
                members.has(key) ? members.get(key).push(place) : members.set(key, [place]);
                if (!hidden.has(key)) {
                    shown.push(place);
                }
            }
        }
        const ramp = mode === "age" || mode === "importance";
        const ordered = [...members].sort((a, b) => (ramp ? a[0] - b[0] : b[1].length - a[1].length));
        list.replaceChildren(
            ...ordered.map(([key, own]) => {
                const item = document.createElement("li");
                const button = document.createElement("button");
                button.type = "button";
                button.setAttribute("aria-pressed", String(!hidden.has(key)));
                const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
                swatch.setAttribute("class", "swatch");
                swatch.setAttribute("viewBox", "0 0 10 10");
                swatch.setAttribute("aria-hidden", "true");
                const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
                for (const [name, value] of Object.entries({ cx: 5, cy: 5, r: 4.5, fill: colourOf(key) })) {
                    dot.setAttribute(name, value);
                }
                swatch.append(dot);
                const label = document.createElement("span");
                label.textContent = labelOf(key);
                button.append(swatch, label);
                button.addEventListener("click", () => {
                    if (!hidden.delete(key)) {
                        hidden.add(key);
                    }
                    legend();
                    draw();
                });
                item.append(button, counted(own));
                return item;
            }),
        );
        $("[data-visible]").replaceChildren(counted(shown), ` / ${points.count.toLocaleString()}`);
    };

    // Drawing -------------------------------------------------------------------------------------------------------
    const size = () => [canvas.clientWidth, canvas.clientHeight];
    let extent = [0, 0];
    const toScreen = (place) => {
        const [width, height] = extent;
        return [(points.x[place] - view.x) * view.scale + width / 2, height / 2 - (points.y[place] - view.y) * view.scale];
    };
    const fit = () => {
        const [width, height] = (extent = size());
        const ends = (values) => values.reduce(([a, b], one) => [Math.min(a, one), Math.max(b, one)], [Infinity, -Infinity]);
        const [left, right] = ends(points.x);
        const [bottom, top] = ends(points.y);
        view = {
            x: (left + right) / 2,
            y: (bottom + top) / 2,
            scale: 0.9 * Math.min(width / Math.max(right - left, 1e-6), height / Math.max(top - bottom, 1e-6)),
        };
    };
    const sized = $("[data-sized]");
    const radius = (place) => {
        const plain = points.count > 3000 ? 2 : points.count > 600 ? 3 : 4.5;
        return sized.checked ? plain + Math.min(5, 1.1 * Math.log2(1 + points.uses[place])) : plain;
    };
    const disc = (place, more, paint) => {
        const [x, y] = toScreen(place);
        pen.beginPath();
        pen.arc(x, y, radius(place) + more, 0, 2 * Math.PI);
        paint();
    };
    // A disc is drawn once for each colour and size, and stamped from then on: many times faster than a path a point.
    const stamps = new Map();
    const stamp = (colour, size, density) => {
        const name = `${colour}/${size.toFixed(1)}/${density}`;
        if (!stamps.has(name)) {
            const dot = document.createElement("canvas");
            dot.width = dot.height = 2 * Math.ceil(size * density + 1);
            const ink = dot.getContext("2d");
            ink.fillStyle = colour;
            ink.arc(dot.width / 2, dot.width / 2, size * density, 0, 2 * Math.PI);
            ink.fill();
            stamps.set(name, dot);
        }
        return stamps.get(name);
    };
    const ring = (place, colour, more = 3, width = 2) => {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        disc(place, more, () => pen.stroke());
    };

    let asked = false;
    const draw = () => {
        if (asked || !points) {
            return;
        }
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            paint();
            space?.update(state3d());
        });
    };
    const paint = () => {
        const [width, height] = (extent = size());
        const density = devicePixelRatio || 1;
        if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
            canvas.width = Math.round(width * density);
            canvas.height = Math.round(height * density);
        }
        pen.setTransform(density, 0, 0, density, 0, 0);
        pen.fillStyle = palette.ground;
        pen.fillRect(0, 0, width, height);
        const faded = found || selected.size ? 0.16 : 0.78;
        const groups = new Map();
        for (const place of places()) {
            if (visible(place)) {
                const strong = (found?.has(place) ?? false) || selected.has(place);
                const name = `${keyOf(place)}/${strong}`;
                if (!groups.has(name)) {
                    groups.set(name, { colour: colourOf(keyOf(place)), strong, members: [] });
                }
                groups.get(name).members.push(place);
            }
        }
        for (const { colour, strong, members } of [...groups.values()].sort((a, b) => a.strong - b.strong)) {
            pen.globalAlpha = strong ? 1 : faded;
            for (const place of members) {
                const [x, y] = toScreen(place);
                const dot = stamp(colour, radius(place) + (strong ? 1 : 0), density);
                pen.drawImage(dot, x - dot.width / density / 2, y - dot.height / density / 2, dot.width / density, dot.height / density);
            }
        }
        pen.globalAlpha = 1;
        if (focus >= 0) {
            pen.strokeStyle = palette.text;
            pen.lineWidth = 1;
            for (const place of near) {
                pen.beginPath();
                pen.moveTo(...toScreen(focus));
                pen.lineTo(...toScreen(place));
                pen.stroke();
                ring(place, palette.text, 2, 1.25);
            }
            ring(focus, palette.accent, 4, 2.5);
        }
        if (hover >= 0 && hover !== focus) {
            ring(hover, palette.text, 3, 1.5);
        }
        if (mode === "cluster") {
            labels(width, height);
        }
        if (lasso) {
            pen.beginPath();
            lasso.forEach(([x, y], step) => (step ? pen.lineTo(x, y) : pen.moveTo(x, y)));
            pen.closePath();
            pen.fillStyle = palette.accent;
            pen.globalAlpha = 0.12;
            pen.fill();
            pen.globalAlpha = 1;
            pen.strokeStyle = palette.accent;
            pen.lineWidth = 1.5;
            pen.setLineDash([5, 4]);
            pen.stroke();
            pen.setLineDash([]);
        }
    };
    const labels = (width, height) => {
        const middles = new Map();
        for (const place of places()) {
            if (visible(place)) {
                const sum = middles.get(points.cluster[place]) || [0, 0, 0];
                const [x, y] = toScreen(place);
                middles.set(points.cluster[place], [sum[0] + x, sum[1] + y, sum[2] + 1]);
            }
        }
        pen.font = `600 ${narrow ? 11 : 12}px system-ui, sans-serif`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.lineJoin = "round";
        const taken = [];
        for (const [key, [x, y, count]] of [...middles].sort((a, b) => b[1][2] - a[1][2])) {
            const text = labelOf(key);
            const half = pen.measureText(text).width / 2 + 4;
            const at = [Math.min(Math.max(x / count, half), width - half), y / count];
            const box = [at[0] - half, at[1] - 9, at[0] + half, at[1] + 9];
            const free = taken.every((one) => box[2] < one[0] || box[0] > one[2] || box[3] < one[1] || box[1] > one[3]);
            if (free && at[1] > 8 && at[1] < height - 8) {
                taken.push(box);
                pen.strokeStyle = palette.ground;
                pen.lineWidth = 4;
                pen.strokeText(text, ...at);
                pen.fillStyle = palette.text;
                pen.fillText(text, ...at);
            }
        }
    };

    // Finding points ------------------------------------------------------------------------------------------------
    const pointAt = (x, y) => {
        let best = -1;
        let least = 12;
        for (const place of places()) {
            if (visible(place)) {
                const [px, py] = toScreen(place);
                const gap = Math.hypot(px - x, py - y) - radius(place);
                if (gap < least) {
                    [best, least] = [place, gap];
                }
            }
        }
        return best;
    };
    const inside = ([x, y], polygon) => {
        let within = false;
        for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
            const [[xi, yi], [xj, yj]] = [polygon[i], polygon[j]];
            if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) {
                within = !within;
            }
        }
        return within;
    };
    const select = (chosen) => {
        selected.clear();
        chosen.forEach((place) => selected.add(place));
        const panel = $("[data-selection]");
        panel.hidden = !selected.size;
        $("[data-selection-title]").textContent = said("selected", { n: selected.size.toLocaleString() });
        $("[data-selection-form] [name=ids]").value = [...selected].map(idOf).join(",");
        if (selected.size) {
            say(said("selected", { n: selected.size.toLocaleString() }));
        }
        draw();
    };
    const look = (place) => {
        focus = place;
        near = [];
        draw();
    };
    const open = (place) => {
        look(place);
        const id = idOf(place).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
        const url = root.dataset.memory.replace("00000000-0000-0000-0000-000000000000", id);
        htmx.ajax("GET", url, { target: "#drawer-body", swap: "innerHTML" });
    };
    document.addEventListener("htmx:afterSwap", (event) => {
        if (event.detail.target?.id === "drawer-body" && points) {
            const ids = new Map(places().map((place) => [idOf(place), place]));
            near = [...document.querySelectorAll("[data-near]")].map((item) => ids.get(item.dataset.near)).filter((one) => one >= 0);
            draw();
        }
    });
    const go = (dx, dy) => {
        if (focus < 0) {
            const [width, height] = size();
            let best = Infinity;
            for (const place of places().filter(visible)) {
                const [x, y] = toScreen(place);
                const gap = Math.hypot(x - width / 2, y - height / 2);
                if (gap < best) {
                    [best, focus] = [gap, place];
                }
            }
        } else {
            const [fx, fy] = toScreen(focus);
            let best = Infinity;
            let next = -1;
            for (const place of places()) {
                if (place !== focus && visible(place)) {
                    const [x, y] = toScreen(place);
                    const ahead = (x - fx) * dx + (y - fy) * dy;
                    const beside = Math.abs((x - fx) * dy) + Math.abs((y - fy) * dx);
                    if (ahead > 0.01 && beside <= 2 * ahead && ahead + 2 * beside < best) {
                        [best, next] = [ahead + 2 * beside, place];
                    }
                }
            }
            focus = next >= 0 ? next : focus;
        }
        near = [];
        if (focus >= 0) {
            say(`${said("point", { n: focus + 1, all: points.count })} · ${labelOf(keyOf(focus))} · ${day(points.occurred[focus])}`);
        }
        draw();
    };
    const zoom = (factor, x, y) => {
        const [width, height] = size();
        const [ox, oy] = [(x ?? width / 2) - width / 2, height / 2 - (y ?? height / 2)];
        view.x += ox / view.scale - ox / (view.scale * factor);
        view.y += oy / view.scale - oy / (view.scale * factor);
        view.scale *= factor;
        draw();
    };

    // Pointer and keys ----------------------------------------------------------------------------------------------
    const spot = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        drag = { from: spot(event), view: { ...view }, moved: false };
        if (lassoing || event.shiftKey) {
            lasso = [spot(event)];
        }
    });
    canvas.addEventListener("pointermove", (event) => {
        const [x, y] = spot(event);
        if (!points) {
            return;
        }
        if (lasso) {
            lasso.push([x, y]);
            draw();
        } else if (drag) {
            const [dx, dy] = [x - drag.from[0], y - drag.from[1]];
            drag.moved = drag.moved || Math.hypot(dx, dy) > 4;
            view.x = drag.view.x - dx / view.scale;
            view.y = drag.view.y + dy / view.scale;
            draw();
        } else {
            const now = pointAt(x, y);
            if (now !== hover) {
                hover = now;
                tip.hidden = hover < 0;
                if (hover >= 0) {
                    tip.textContent = `${labelOf(keyOf(hover))} · ${meta.kinds[points.kind[hover]]} · ${day(points.occurred[hover])}`;
                }
                draw();
            }
        }
    });
    canvas.addEventListener("pointerup", (event) => {
        if (lasso) {
            const around = lasso;
            lasso = null;
            setLasso(false);
            select(around.length > 2 ? places().filter((place) => visible(place) && inside(toScreen(place), around)) : []);
        } else if (drag && !drag.moved && points) {
            const place = pointAt(...spot(event));
            if (place >= 0) {
                open(place);
            } else {
                look(-1);
            }
        }
        drag = null;
    });
    canvas.addEventListener("pointercancel", () => {
        drag = null;
        lasso = null;
        draw();
    });
    canvas.addEventListener("pointerleave", () => {
        hover = -1;
        tip.hidden = true;
        draw();
    });
    canvas.addEventListener(
        "wheel",
        (event) => {
            event.preventDefault();
            zoom(Math.exp(-event.deltaY / 400), ...spot(event));
        },
        { passive: false },
    );
    const WAYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    canvas.addEventListener("keydown", (event) => {
        if (!points || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        if (WAYS[event.key]) {
            go(...WAYS[event.key]);
        } else if (event.key === "Enter" && focus >= 0) {
            open(focus);
        } else if (event.key === " " && focus >= 0) {
            select(selected.has(focus) ? [...selected].filter((one) => one !== focus) : [...selected, focus]);
        } else if (event.key === "+" || event.key === "=") {
            zoom(1.4);
        } else if (event.key === "-") {
            zoom(1 / 1.4);
        } else if (event.key === "l" || event.key === "L") {
            setLasso(!lassoing);
        } else if (event.key === "Escape") {
            setLasso(false);
            select([]);
            look(-1);
        } else {
            return;
        }
        event.preventDefault();
    });

    // Controls ------------------------------------------------------------------------------------------------------
    const setLasso = (on) => {
        lassoing = on;
        lasso = null;
        $("[data-lasso]").setAttribute("aria-pressed", String(on));
        canvas.classList.toggle("is-lassoing", on);
        say(on ? said("lassoing") : "");
        draw();
    };
    $("[data-lasso]").addEventListener("click", () => setLasso(!lassoing));
    $("[data-fit]").addEventListener("click", () => {
        fit();
        draw();
    });
    $("[data-clear]").addEventListener("click", () => select([]));
    $("[data-sized]").addEventListener("change", draw);
    root.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => zoom(Number(button.dataset.zoom))));
    $("[data-colour]").addEventListener("change", (event) => {
        mode = event.target.value;
        hidden.clear();
        legend();
        draw();
    });
    document.querySelectorAll("[data-select-cluster]").forEach((button) =>
        button.addEventListener("click", () => {
            const number = Number(button.dataset.selectCluster);
            select(places().filter((place) => points.cluster[place] === number));
            canvas.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
        }),
    );
    const setTime = () => {
        const [from, to] = [$("[data-from]"), $("[data-to]")].map((slider) => Number(slider.value) / 1000);
        time = [Math.min(from, to), Math.max(from, to)];
        $("[data-time]").textContent = time.map((share) => day(points.first + share * span())).join(" – ");
        legend();
        draw();
    };
    $("[data-from]").addEventListener("input", setTime);
    $("[data-to]").addEventListener("input", setTime);
    $("[data-find-form]")?.addEventListener("submit", async (event) => {
        event.preventDefault();
        const form = new FormData(event.target);
        if (!form.get("words").trim()) {
            found = null;
            say("");
            draw();
            return;
        }
        const answer = await fetch(root.dataset.find, { method: "POST", body: form }).catch(() => null);
        if (!answer?.ok) {
            say(document.body.dataset.silentText);
            return;
        }
        const ids = new Set((await answer.json()).ids);
        found = new Set(places().filter((place) => ids.has(idOf(place))));
        say(found.size ? said("found", { n: found.size.toLocaleString() }) : said("none"));
        draw();
    });
    $("[data-png]").addEventListener("click", () => {
        const flat = canvas3d.hidden ? canvas : (space?.snapshot(), canvas3d);
        const link = document.createElement("a");
        link.download = `map-${root.dataset.namespace}.png`;
        link.href = flat.toDataURL("image/png");
        link.click();
    });
    // A few ids go in the address, so that the list can be shared; more are kept by the server.
    $("[data-open-list]")?.addEventListener("click", (event) => {
        if (selected.size && selected.size <= meta.most_in_address) {
            event.preventDefault();
            location.assign(listOf([...selected]));
        }
    });

    // Three dimensions ----------------------------------------------------------------------------------------------
    const state3d = () => ({
        visible: places().map(visible),
        colours: places().map((place) => colourOf(keyOf(place))),
        strong: places().map((place) => (found?.has(place) ?? false) || selected.has(place)),
        muted: Boolean(found || selected.size),
        ground: palette.ground,
    });
    const show = (three) => {
        canvas.hidden = three;
        canvas3d.hidden = !three;
        for (const button of root.querySelectorAll("[data-view]")) {
            button.setAttribute("aria-pressed", String((button.dataset.view === "3d") === three));
        }
        draw();
    };
    const canDraw3d = () => {
        try {
            return Boolean(document.createElement("canvas").getContext("webgl2"));
        } catch {
            return false;
        }
    };
    root.querySelectorAll("[data-view]").forEach((button) =>
        button.addEventListener("click", async () => {
            if (button.dataset.view === "2d") {
                space?.stop();
                space = null;
                show(false);
                return;
            }
            if (!canDraw3d()) {
                say(said("noWebgl"));
                return;
            }
            const { Space } = await import(root.dataset.three);
            show(true);
            space?.stop();
            const [three, controls] = await Promise.all([import(root.dataset.threeModule), import(root.dataset.threeControls)]);
            space = new Space(three, controls, canvas3d, points, { still, open });
            space.update(state3d());
        }),
    );

    // Beginning -----------------------------------------------------------------------------------------------------
    const renewColours = () => {
        learnColours();
        if (points) {
            legend();
            draw();
        }
    };
    new MutationObserver(renewColours).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renewColours);
    learnColours();
    fetch(root.dataset.points)
        .then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(String(answer.status)))))
        .then((buffer) => {
            points = read(buffer);
            document.querySelectorAll("[data-needs-script]").forEach((element) => {
                element.hidden = false;
            });
            fit();
            setTime();
            new ResizeObserver(draw).observe(canvas);
            root.dataset.ready = String(points.count);
        })
        .catch(() => say(said("failed")));
}
