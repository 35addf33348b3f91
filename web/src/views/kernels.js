// web/src/views/kernels.js: all kernels in a table and on the machine's roofline; the stages of the selected one.
import { kernelColor } from "../colors.js";
import { column, h, replace } from "../dom.js";
import * as format from "../format.js";
import { dot } from "../marks.js";
import { table } from "../table.js";
import { rooflineChart } from "./roofline_chart.js";
import { stagesOf } from "./stages.js";

export function kernelsView(app) {
    const { model } = app;
    let filter = "";
    let chosen;
    const baseName = (path) => (path ?? "?").split(/[/\\]/).pop();
    const linesText = (kernel) => {
        const [first, ...others] = kernel.lines ?? [];
        return first
            ? `${baseName(model.files[first.file]?.path)}:${first.line}${others.length ? ` +${others.length}` : ""}`
            : format.kNone;
    };
    const list = table({
        label: "Kernels",
        sort: "total",
        onpick: (kernel) => app.go("kernels", kernel.index),
        columns: [
            {
                name: "kernel",
                className: "name",
                value: (k) => k.name,
                text: (k) => k.name,
                cell: (k) => [
                    dot(kernelColor(k), k.kind),
                    k.name,
                    k.isBackward ? [" ", h("span", { class: "tag backward" }, "backward")] : "",
                ],
            },
            { name: "calls", number: true, value: (k) => k.calls, text: (k) => format.count(k.calls) },
            { name: "total", number: true, value: (k) => k.time, text: (k) => format.time(k.time) },
            { name: "mean", number: true, value: (k) => k.mean, text: (k) => format.time(k.mean) },
            { name: "best", number: true, value: (k) => k.best, text: (k) => format.time(k.best) },
            { name: "GB/s", number: true, value: (k) => k.bandwidth, text: (k) => format.gigaPerSecond(k.bandwidth) },
            { name: "GFLOP/s", number: true, value: (k) => k.rate, text: (k) => format.gigaPerSecond(k.rate) },
            {
                name: "of limit",
                title: "The least time that this machine needs, divided by the mean time. More than 100 %: data came from the caches",
                number: true,
                value: (k) => k.ofLimit,
                text: (k) => format.percent(k.ofLimit),
            },
            { name: "lines", className: "fit dim", value: linesText, text: linesText },
        ],
    });
    const counted = h("span", { class: "dim" });
    const input = h("input", {
        type: "search",
        placeholder: "Filter by name, kind, module or file",
        "aria-label": "Filter kernels",
        style: { width: "300px" },
        oninput: () => {
            filter = input.value.trim().toLowerCase();
            refresh();
        },
    });
    const chart = h("div", { class: "card", style: { width: "420px", flex: "none" } });
    const detail = h("div", { class: "card", hidden: true });
    const element = column(
        h(
            "div",
            { class: "split", style: { "align-items": "stretch", height: "400px" } },
            h(
                "div",
                {
                    class: "card grow",
                    style: { display: "flex", "flex-direction": "column", gap: "8px", "padding-bottom": "6px" },
                },
                h("div", { class: "row" }, input, counted),
                h("div", { class: "scroll", style: { margin: "0 -10px" } }, list.element),
            ),
            chart,
        ),
        detail,
    );

    const words = model.kernels.map((kernel) =>
        [
            kernel.name,
            kernel.kind,
            ...kernel.sites.flatMap((s) => [
                model.sites[s]?.module,
                model.sites[s]?.op,
                model.files[model.sites[s]?.file]?.path,
            ]),
        ]
            .filter(Boolean)
            .join(" ")
            .toLowerCase(),
    );
    function refresh() {
        const rows = model.kernels.filter((kernel) => words[kernel.index].includes(filter));
        counted.textContent =
            rows.length === model.kernels.length
                ? format.plural(rows.length, "kernel")
                : `${format.count(rows.length)} of ${format.plural(model.kernels.length, "kernel")}`;
        list.show(rows);
    }
    const drawChart = () =>
        replace(chart, rooflineChart(app, { selected: chosen, onpick: (kernel) => app.go("kernels", kernel.index) }));
    refresh();

    return {
        element,
        show(argument) {
            const next = argument === undefined ? chosen : model.kernels[Number(argument)];
            const changed = next !== chosen;
            chosen = next;
            list.select(chosen);
            drawChart();
            if (changed || !chosen) {
                detail.hidden = !chosen;
                replace(detail, chosen && stagesOf(app, chosen));
            }
            if (changed && chosen)
                element.querySelector("tr[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
        },
        key(event) {
            if (event.key !== "Escape" || !chosen) return false;
            chosen = undefined;
            app.go("kernels");
            return true;
        },
    };
}
