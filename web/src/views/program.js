// web/src/views/program.js: the user's source with a heat column per line. A line leads to its kernels, a kernel to its lines.
import { clickable, h, replace } from "../dom.js";
import * as format from "../format.js";
import { legend } from "../marks.js";
import { lineText } from "../model.js";
import { tokens } from "../python_tokens.js";

const kShare = "A kernel is one piece of work for all of its lines: its time and bytes are shared equally among them.";

export function programView(app) {
    const { model, lines } = app;
    const perFile = model.files.map((file, f) => {
        const own = [...lines.values()].filter((line) => line.file === f);
        return { file, index: f, time: own.reduce((sum, line) => sum + line.time, 0), lines: own };
    });
    const hottest = Math.max(1, ...[...lines.values()].map((line) => line.time));
    let shown = -1;
    let chosen;
    let kernel;
    const rows = new Map(); // "file:line" to its row

    const byTime = [...perFile].sort((a, b) => b.time - a.time);
    const files = h(
        "select",
        { "aria-label": "Files", class: "mono", onchange: () => app.go("program", `${files.value}:0`) },
        byTime.map(({ file, index, time }) =>
            h("option", { value: index }, `${file.path ?? "?"} · ${time ? format.time(time) : "no kernels"}`),
        ),
    );
    const body = h("tbody");
    const heading = h("h2", { class: "mono" });
    const side = h("div", { class: "side card" });
    const head = (text, title, number) => h("th", { class: number ? "number" : undefined, title }, text);
    const element = h(
        "div",
        { class: "view fill" },
        h(
            "div",
            { class: "row" },
            model.files.length > 1
                ? [h("h2", null, "File"), files, h("span", { class: "dim" }, format.plural(model.files.length, "file"))]
                : heading,
            h("div", { class: "grow" }),
            legend(["forward", "backward"].map((name) => [name, name])),
        ),
        h(
            "div",
            { class: "split grow" },
            h(
                "div",
                { class: "card scroll grow", style: { padding: "0 0 12px" } },
                h(
                    "table",
                    { class: "source", "aria-label": "Source with times" },
                    h(
                        "thead",
                        null,
                        h(
                            "tr",
                            null,
                            head("", kShare),
                            head("time", kShare, true),
                            head("bytes", kShare, true),
                            head("kernels", "Kernels that compute a part of this line", true),
                            head("", undefined, true),
                            head("source"),
                        ),
                    ),
                    body,
                ),
            ),
            side,
        ),
    );

    function drawFile(f) {
        shown = f;
        rows.clear();
        const { file, lines: own } = perFile[f];
        heading.textContent = file.path ?? "?";
        const known = new Map(own.map((line) => [line.line, line]));
        // Without source the lines that have kernels still tell something.
        const texts = file.source !== undefined ? tokens(file.source) : undefined;
        const numbers = texts ? texts.map((_, i) => i + 1) : [...known.keys()].sort((a, b) => a - b);
        replace(
            body,
            numbers.map((number) => drawLine(f, number, known.get(number), texts?.[number - 1])),
            !numbers.length &&
                h("tr", null, h("td", { colspan: 6, class: "dim" }, "The source of this file is not in the profile.")),
        );
    }

    function drawLine(f, number, line, parts) {
        const code = parts
            ? parts.map(({ text, kind }) => (kind ? h("span", { class: `k-${kind}` }, text) : text))
            : h("span", { class: "dim" }, "(source not recorded)");
        const cells = [
            h("td", { class: "heat" }, line && heat(line)),
            h("td", { class: "number" }, line ? format.time(line.time) : ""),
            h("td", { class: "number dim" }, line?.bytes ? format.bytes(line.bytes) : ""),
            h("td", { class: "number dim" }, line ? line.kernels.length : ""),
            h("td", { class: "at" }, number),
            h(
                "td",
                { class: "code", style: line && { background: `rgba(var(--heat), ${(0.2 * line.time) / hottest})` } },
                code,
            ),
        ];
        const key = `${f}:${number}`;
        const row = line
            ? h("tr", { class: "pick", ...clickable(() => app.go("program", key)), role: undefined }, cells)
            : h("tr", null, cells);
        rows.set(key, row);
        return row;
    }

    function heat(line) {
        const forward = line.time - line.backward;
        const part = (x) => ({ width: `${(100 * x) / hottest}%` });
        return h(
            "div",
            {
                class: "heatbar",
                title: `forward ${format.time(forward)}, backward ${format.time(line.backward)}. ${kShare}`,
            },
            h("i", { style: part(forward) }),
            h("i", { style: part(line.backward) }),
        );
    }

    function drawSide() {
        for (const [key, row] of rows) {
            row.setAttribute("aria-selected", String(key === chosen));
            row.classList.toggle("of-kernel", Boolean(kernel?.lines.some((line) => line.key === key)));
        }
        const line = lines.get(chosen);
        if (!line)
            return replace(
                side,
                h("h2", null, "Lines and kernels"),
                h(
                    "p",
                    { class: "dim", style: { margin: "8px 0" } },
                    "Click a line to see the kernels that compute it.",
                ),
                h("p", { class: "dim" }, kShare),
            );
        replace(
            side,
            h("h2", null, lineText(model, line.file, line.line)),
            h("p", { class: "dim" }, `${format.time(line.time)} in ${format.plural(line.kernels.length, "kernel")}`),
            h("h3", null, "Kernels"),
            line.kernels.map((entry) =>
                h(
                    "button",
                    {
                        class: "choice",
                        "aria-pressed": String(entry.kernel === kernel),
                        onclick: () => {
                            kernel = entry.kernel === kernel ? undefined : entry.kernel;
                            drawSide();
                        },
                    },
                    h(
                        "span",
                        null,
                        entry.kernel.name,
                        " ",
                        h(
                            "span",
                            { class: `tag ${entry.backward ? "backward" : "forward"}` },
                            entry.backward ? "backward" : "forward",
                        ),
                    ),
                    h("span", { class: "number" }, format.time(entry.share)),
                ),
            ),
            kernel && [
                h("h3", null, "Lines of this kernel"),
                h(
                    "ul",
                    null,
                    kernel.lines.map((l) =>
                        h(
                            "li",
                            null,
                            h("a", { href: `#program/${l.key}` }, lineText(model, l.file, l.line)),
                            " ",
                            h(
                                "span",
                                { class: `tag ${l.backward ? "backward" : "forward"}` },
                                l.backward ? "backward" : "forward",
                            ),
                        ),
                    ),
                ),
                h(
                    "p",
                    { style: { "margin-top": "10px" } },
                    h("a", { href: `#kernels/${kernel.index}` }, "Stages of this kernel"),
                ),
            ],
        );
    }

    return {
        element,
        show(argument) {
            const [f, number] = (argument ?? "").split(":").map(Number);
            const file = perFile[f] && argument ? f : shown >= 0 ? shown : byTime[0]?.index;
            if (file === undefined)
                return void replace(side, h("p", { class: "dim" }, "The profile names no source files."));
            const fresh = file !== shown;
            if (fresh) drawFile(file);
            files.value = file;
            const key = `${file}:${number}`;
            if (argument && key !== chosen) {
                chosen = key;
                if (kernel && !kernel.lines.some((line) => line.key === key)) kernel = undefined;
            }
            drawSide();
            if (!argument && !fresh) return;
            const top = perFile[file].lines.reduce((best, line) => (best?.time >= line.time ? best : line), undefined);
            const asked = argument && rows.get(chosen);
            const row = asked || rows.get(top?.key); // nobody asks for a line: where the time is
            row?.scrollIntoView({ block: asked ? "nearest" : "center" });
            body.closest(".scroll").scrollLeft = 0; // the numbers stay in sight
        },
        key(event) {
            if (event.key !== "Escape") return false;
            chosen = kernel = undefined;
            drawSide();
            return true;
        },
    };
}
