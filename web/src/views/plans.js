// web/src/views/plans.js: what one run does: kernels in order, the graph before and after simplify, and where values live.
import { kKernelKinds, kernelColor } from "../colors.js";
import { diffLines } from "../diff.js";
import { column, h, replace } from "../dom.js";
import * as format from "../format.js";
import { dot, meter } from "../marks.js";
import { siteText } from "../model.js";
import { arenaUse } from "../plan.js";
import { planTime } from "../stats.js";
import { table } from "../table.js";
import { arenaPicture } from "./arena_picture.js";
import { siteLink } from "./overview.js";
import { diffBlock } from "./stages.js";

// A choice of a plan, the one that took the most time first.
export function planChooser(app, tab) {
    const { model } = app;
    const order = [...model.plans].sort((a, b) => planTime(model, b) - planTime(model, a));
    const text = (plan) =>
        `plan ${plan.index} · ${format.plural(plan.kernels.length, "kernel")}${plan.runs === undefined ? "" : ` · ${format.plural(plan.runs, "run")}`} · ${format.time(planTime(model, plan))}`;
    const element = h(
        "select",
        { "aria-label": "Plan", onchange: () => app.go(tab, element.value) },
        order.map((plan) => h("option", { value: plan.index }, text(plan))),
    );
    return { element, first: order[0]?.index };
}

export function plansView(app) {
    const { model } = app;
    const chooser = planChooser(app, "plans");
    const content = h("div", { class: "stack" });
    const element = column(
        h(
            "div",
            { class: "row" },
            h("h2", null, "Plan"),
            chooser.element,
            h("span", { class: "dim" }, format.plural(model.plans.length, "plan")),
        ),
        content,
    );
    let shown;
    return {
        element,
        show(argument) {
            const plan = model.plans[Number(argument ?? shown?.index ?? chooser.first)];
            if (!plan) return void replace(content, h("p", { class: "dim" }, "The profile holds no such plan."));
            chooser.element.value = plan.index;
            if (plan === shown) return;
            shown = plan;
            replace(
                content,
                memoryCard(app, plan),
                h("div", { class: "columns" }, kernelsCard(app, plan), graphCard(plan)),
                valuesCard(app, plan),
            );
        },
    };
}

function memoryCard(app, plan) {
    const use = arenaUse(plan);
    if (!use.total) return undefined;
    const arena = plan.arena ?? use.most;
    return h(
        "div",
        { class: "card" },
        h("h2", null, "Memory between kernels"),
        h(
            "p",
            { class: "dim", style: { "margin-bottom": "10px" } },
            `An arena of ${format.bytes(arena)} holds values of ${format.bytes(use.total)}: `,
            `each byte serves ${format.significant(use.total / arena)} values. `,
            `At most ${format.bytes(use.most)} are live at once. Point at a value to see what shares its bytes.`,
        ),
        arenaPicture(app, plan),
        h(
            "div",
            { class: "legend" },
            h("span", { class: "dim" }, "made by a kernel of kind"),
            kKernelKinds.map((kind) => h("div", null, dot(kind), kind)),
        ),
    );
}

function kernelsCard({ model }, plan) {
    const times = plan.kernels.map((k) => model.kernels[k]?.mean ?? 0);
    const total = times.reduce((a, b) => a + b, 0);
    const most = Math.max(1, ...times);
    const rows = plan.kernels
        .slice(0, 1000)
        .map((k, step) =>
            h(
                "tr",
                null,
                h("td", { class: "number dim" }, step),
                h(
                    "td",
                    { class: "name" },
                    dot(kernelColor(model.kernels[k])),
                    model.kernels[k]
                        ? h("a", { href: `#kernels/${k}`, title: model.kernels[k].name }, model.kernels[k].name)
                        : "?",
                ),
                h("td", { class: "fit" }, meter(times[step] / most)),
                h("td", { class: "number" }, format.time(times[step] || undefined)),
            ),
        );
    return h(
        "div",
        { class: "card" },
        h(
            "h2",
            null,
            "Kernels in order ",
            h("span", { class: "dim", style: { "font-weight": 400 } }, `· ${format.time(total)} a run · `),
            h("a", { href: `#step/${plan.index}`, style: { "font-weight": 400 } }, "as a graph"),
        ),
        h("div", { class: "scroll", style: { "max-height": "460px" } }, h("table", null, h("tbody", null, rows))),
    );
}

function graphCard(plan) {
    const before = plan.graph;
    const after = plan.simplified;
    const text =
        before !== undefined && after !== undefined
            ? diffBlock(diffLines(before, after))
            : h("pre", null, before ?? after ?? "");
    return h(
        "div",
        { class: "card", style: { display: "flex", "flex-direction": "column" } },
        h("h2", null, "The graph, and what simplify made of it"),
        plan.rules?.length > 0 &&
            h(
                "p",
                { style: { "margin-bottom": "10px" } },
                plan.rules.map(([rule, times]) => [
                    h("span", { class: "tag dim", style: { "margin-right": "6px" } }, `${rule} × ${times}`),
                    " ",
                ]),
            ),
        before === undefined && after === undefined
            ? h("p", { class: "dim" }, "The graph is not recorded.")
            : h("div", { class: "scroll", style: { "max-height": "430px" } }, text),
    );
}

function valuesCard({ model }, plan) {
    const steps = plan.kernels.length;
    const when = (step) =>
        step === undefined ? format.kNone : step < 0 ? "before" : step >= steps ? "after" : format.count(step);
    const list = table({
        label: "Values",
        sort: "bytes",
        columns: [
            { name: "value", number: true, value: (v) => v.index, text: (v) => format.count(v.index) },
            { name: "type", className: "fit mono", value: (v) => v.type, text: (v) => v.type ?? "" },
            { name: "bytes", number: true, value: (v) => v.bytes, text: (v) => format.bytes(v.bytes) },
            {
                name: "where",
                className: "fit",
                value: (v) => v.where,
                text: (v) =>
                    [v.where, v.leaf !== undefined && `input ${v.leaf}`, v.whole !== undefined && `value ${v.whole}`]
                        .filter(Boolean)
                        .join(", "),
            },
            {
                name: "offset",
                number: true,
                value: (v) => v.offset,
                text: (v) => (v.offset === undefined ? "" : format.count(v.offset)),
            },
            {
                name: "first",
                title: "The step that writes it first",
                number: true,
                value: (v) => v.first,
                text: (v) => when(v.first),
            },
            {
                name: "last",
                title: "The step that reads it last",
                number: true,
                value: (v) => v.last,
                text: (v) => when(v.last),
            },
            {
                name: "made by",
                className: "name dim",
                value: (v) => siteText(model, v.site),
                cell: (v) => siteLink(model, v.site),
            },
        ],
    });
    list.show(plan.values.map((value, index) => ({ ...value, index })));
    return h(
        "div",
        { class: "card" },
        h("h2", null, `Values · ${format.count(plan.values.length)}`),
        h("div", { class: "scroll", style: { "max-height": "480px" } }, list.element),
    );
}
