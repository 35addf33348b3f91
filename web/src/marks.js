// web/src/marks.js: the small marks that several views share: a dot in a colour of the style, a legend, a bar for a fraction.
import { h } from "./dom.js";

export const dot = (color, title) => h("i", { class: "dot", style: { background: `var(--${color})` }, title });

// entries: [[color, label], …]
export const legend = (entries) =>
    h(
        "div",
        { class: "legend plain" },
        entries.map(([color, label]) => h("div", null, dot(color), label)),
    );

// A small horizontal bar for a fraction of 1.
export function meter(fraction, color = "kernel") {
    const width = `${Math.max(0, Math.min(1, fraction || 0)) * 100}%`;
    const bar = h("i", { style: { width, background: `var(--${color})` } });
    return h("span", { class: "meter", "aria-hidden": "true" }, bar);
}
