// web/src/views/compare.js: this profile beside another one, by line and by kernel, the largest change first.
import { compare } from "../comparison.js";
import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { buildModel, parseProfile } from "../model.js";
import { table } from "../table.js";

export function compareView(app) {
    const { model } = app;
    let other;
    let swapped = false;
    let perStep = false;
    const result = h("div", { class: "stack" });
    const problem = h("p", { class: "warn", role: "alert" });
    const input = h("input", {
        type: "file",
        accept: ".json,.html",
        "aria-label": "Another profile",
        onchange: () => input.files[0] && read(input.files[0]),
    });
    const drop = h(
        "div",
        { class: "drop" },
        h(
            "p",
            { style: { "margin-bottom": "10px" } },
            "Choose the profile of an earlier run, saved as .json or .html, or drop it here.",
        ),
        input,
        problem,
    );
    const element = h(
        "div",
        {
            class: "view",
            ondragover: (event) => (event.preventDefault(), drop.classList.add("over")),
            ondragleave: () => drop.classList.remove("over"),
            ondrop: dropped,
        },
        h("div", { class: "stack" }, drop, result),
    );

    function dropped(event) {
        event.preventDefault();
        drop.classList.remove("over");
        if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
    }
    async function read(file) {
        problem.textContent = "";
        try {
            other = { model: buildModel(parseProfile(await file.text())), name: file.name };
            draw();
        } catch (error) {
            problem.textContent = error.message;
        }
    }

    function draw() {
        const [before, after] = swapped ? [model, other.model] : [other.model, model];
        const { canPerStep, duration, lines, kernels } = compare(before, after, { perStep });
        const toggle = (text, pressed, action) =>
            h("button", { "aria-pressed": String(pressed), onclick: () => (action(), draw()) }, text);
        const side = (name, time, which) =>
            h("div", null, h("b", null, format.time(time)), h("span", null, `${which} · ${name}`));
        replace(
            result,
            h(
                "div",
                { class: "card row" },
                h(
                    "div",
                    { class: "facts" },
                    side(swapped ? model.title : other.name, duration.before, "before"),
                    side(swapped ? other.name : model.title, duration.after, "after"),
                    h(
                        "div",
                        null,
                        h(
                            "b",
                            { class: tone(duration.after - duration.before) },
                            format.ratio(duration.after, duration.before),
                        ),
                        h("span", null, perStep ? "per optimiser step" : "duration"),
                    ),
                ),
                h("div", { class: "grow" }),
                canPerStep && toggle("Per optimiser step", perStep, () => (perStep = !perStep)),
                toggle("Swap", swapped, () => (swapped = !swapped)),
            ),
            h("div", { class: "card" }, h("h2", null, "By line"), changes(lines, "line")),
            h("div", { class: "card" }, h("h2", null, "By kernel"), changes(kernels, "kernel")),
        );
    }
    return { element };
}

const tone = (change) => (change < 0 ? "better" : change > 0 ? "worse" : undefined);

function changes(rows, what) {
    const most = Math.max(1, ...rows.map((row) => Math.abs(row.change)));
    const list = table({
        label: `Changes by ${what}`,
        sort: "size of change",
        columns: [
            {
                name: what,
                className: what === "line" ? "name mono" : "name",
                value: (r) => r.label,
                text: (r) => r.label || r.place,
                cell: (r) => r.label || r.place,
            },
            what === "line" && { name: "where", className: "fit dim", value: (r) => r.place, text: (r) => r.place },
            { name: "before", number: true, value: (r) => r.before, text: (r) => format.time(r.before) },
            { name: "after", number: true, value: (r) => r.after, text: (r) => format.time(r.after) },
            {
                name: "ratio",
                number: true,
                value: (r) => (r.before ? r.after / r.before : undefined),
                text: (r) =>
                    r.before === undefined ? "new" : r.after === undefined ? "gone" : format.ratio(r.after, r.before),
            },
            {
                name: "size of change",
                number: true,
                value: (r) => Math.abs(r.change),
                cell: (r) => h("span", { class: tone(r.change) }, format.signedTime(r.change)),
            },
            { name: "", className: "fit", cell: (r) => changeBar(r.change / most) },
        ].filter(Boolean),
    });
    list.show(rows);
    return h("div", { class: "scroll", style: { "max-height": "460px" } }, list.element);
}

// Left of the middle: faster. Right: slower.
function changeBar(part) {
    const size = `${Math.abs(part) * 50}%`;
    return h(
        "span",
        { class: "meter", style: { width: "120px" }, "aria-hidden": "true" },
        h("i", {
            style: {
                background: part < 0 ? "var(--data)" : "var(--compile)",
                width: size,
                left: part < 0 ? `calc(50% - ${size})` : "50%",
            },
        }),
    );
}
