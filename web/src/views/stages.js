// web/src/views/stages.js: how one kernel came to be, from the computed graph to machine code, the stages side by side.
import { h } from "../dom.js";
import { diffLines } from "../diff.js";
import * as format from "../format.js";
import { Kind } from "../model.js";
import { lineItem, pairs } from "./event_details.js";

export function stagesOf(app, kernel) {
    const { model } = app;
    const stages = [
        whatStage(model, kernel),
        kernel.compute && textStage("computes", kernel.compute),
        cutStage(kernel),
        ...passStages(kernel),
        kernel.source && textStage("code", kernel.source, codeNote(kernel)),
    ].filter(Boolean);
    const strip = h(
        "div",
        { class: "stages", tabindex: "0", "aria-label": "Stages" },
        stages.map((stage) => stage.element),
    );
    const removed = h(
        "button",
        {
            "aria-pressed": "true",
            onclick: () => removed.setAttribute("aria-pressed", String(!strip.classList.toggle("hide-removed"))),
        },
        "removed lines",
    );
    return [
        h(
            "div",
            { class: "row" },
            h("h2", { style: { "font-size": "17px", "overflow-wrap": "anywhere" } }, kernel.name),
            h(
                "span",
                { class: "dim" },
                [kernel.kind, kernel.plan !== undefined && `plan ${kernel.plan}, step ${kernel.step}`]
                    .filter(Boolean)
                    .join(" · "),
            ),
            kernel.plan !== undefined && h("a", { href: `#plans/${kernel.plan}` }, "plan"),
            kernel.plan !== undefined && h("a", { href: `#step/${kernel.plan}` }, "step graph"),
            slowestLink(model, kernel),
        ),
        h(
            "div",
            { class: "chips", role: "group", "aria-label": "Go to a stage" },
            stages.map((stage) =>
                h(
                    "button",
                    {
                        onclick: () =>
                            stage.element.scrollIntoView({ behavior: "smooth", inline: "start", block: "nearest" }),
                    },
                    stage.name,
                ),
            ),
            kernel.passes?.length > 1 && [
                h("span", { class: "grow" }),
                h("span", { class: "dim", style: { "font-size": "12px", "align-self": "center" } }, "show"),
                removed,
            ],
        ),
        strip,
    ];
}

function slowestLink(model, kernel) {
    const { events } = model;
    let slowest = -1;
    for (let i = 0; i < events.count; ++i) {
        if (
            events.kind[i] === Kind.kernel &&
            events.what[i] === kernel.index &&
            (slowest < 0 || events.duration[i] > events.duration[slowest])
        )
            slowest = i;
    }
    return slowest >= 0 && h("a", { href: `#timeline/e${slowest}` }, "slowest launch");
}

function stage(name, note, ...content) {
    return {
        name,
        element: h(
            "section",
            { class: "stage" },
            h("header", null, h("b", null, name), h("span", { class: "dim" }, note)),
            h("div", null, content),
        ),
    };
}
const textStage = (name, text, note) =>
    stage(name, note ?? format.plural(text.split("\n").length, "line"), h("pre", null, text));

function whatStage(model, kernel) {
    return stage(
        "facts",
        undefined,
        pairs([
            ["launches", format.count(kernel.calls)],
            ["total", format.time(kernel.time)],
            ["mean", format.time(kernel.mean)],
            ["best", kernel.best !== undefined && format.time(kernel.best)],
            ["limit of the machine", kernel.limit !== undefined && format.time(kernel.limit)],
            ["reached", kernel.ofLimit !== undefined && format.percent(kernel.ofLimit)],
            ["reads", kernel.reads !== undefined && format.bytes(kernel.reads)],
            ["writes", kernel.writes !== undefined && format.bytes(kernel.writes)],
            ["scratch", kernel.scratch !== undefined && format.bytes(kernel.scratch)],
            ["operations", kernel.flops !== undefined && format.flops(kernel.flops)],
            ["bandwidth", kernel.bandwidth !== undefined && `${format.gigaPerSecond(kernel.bandwidth)}\u00a0GB/s`],
            ["arithmetic", kernel.rate !== undefined && `${format.gigaPerSecond(kernel.rate)}\u00a0GFLOP/s`],
            ["registers", kernel.registers],
            [
                "spills",
                kernel.spills !== undefined && (kernel.spills > 0 ? h("b", { class: "warn" }, kernel.spills) : "0"),
            ],
        ]),
        h("h3", null, "Lines"),
        kernel.lines?.length > 0
            ? h(
                  "ul",
                  { style: { "list-style": "none", padding: 0 } },
                  kernel.lines.map((line) => lineItem(model, line)),
              )
            : h("p", { class: "dim" }, "None is known: it was written before the profile began, or in C++."),
    );
}

function cutStage(kernel) {
    const list = (title, items) =>
        items?.length > 0 && [
            h("h3", null, title),
            h(
                "ul",
                null,
                items.map((item) => h("li", null, item)),
            ),
        ];
    if (!kernel.reason && !kernel.stored?.length && !kernel.inside?.length && !kernel.schedule?.length)
        return undefined;
    return stage(
        "decisions",
        undefined,
        kernel.reason && [
            h("h3", null, "Why it is a kernel of its own"),
            h("p", { style: { margin: "2px 0 10px" } }, kernel.reason),
        ],
        list("Stored", kernel.stored),
        list("Inside other values", kernel.inside),
        list("Schedule", kernel.schedule),
    );
}

// Loops as lowered, then after each pass, compared with the pass before.
function passStages(kernel) {
    return (kernel.passes ?? []).map((pass, i, all) => {
        if (i === 0) return textStage(pass.name, pass.loops ?? "", "loops");
        const lines = diffLines(all[i - 1].loops ?? "", pass.loops ?? "");
        const count = (kind) => lines.filter((line) => line.kind === kind).length;
        return stage(pass.name, `+${count("added")} −${count("removed")}`, diffBlock(lines));
    });
}

export const diffBlock = (lines) =>
    h(
        "div",
        { class: "diff mono" },
        lines.map((line) => h("div", { class: line.kind === "same" ? undefined : line.kind }, line.text || " ")),
    );

function codeNote(kernel) {
    const parts = [
        kernel.registers !== undefined && format.plural(kernel.registers, "register"),
        kernel.spills !== undefined && format.plural(kernel.spills, "spill"),
    ].filter(Boolean);
    return parts.join(" · ") || undefined;
}
