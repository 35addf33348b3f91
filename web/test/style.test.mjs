// web/test/style.test.mjs: text can be read on what it stands on, in both themes (WCAG 2: a contrast of 4.5, of 3 for marks).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const css = readFileSync(new URL("../src/style.css", import.meta.url), "utf8");

function variables(selector) {
    const from = css.indexOf(`${selector} {`);
    const block = css.slice(from, css.indexOf("}", from));
    return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map((match) => [match[1], match[2]]));
}

function luminance(color) {
    const [r, g, b] = [1, 3, 5]
        .map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
};

const light = variables(":root");
const dark = { ...light, ...variables(':root[data-theme="dark"]') };
const kText = [
    ...[
        "text",
        "dim",
        "accent",
        "keyword",
        "string",
        "comment",
        "number",
        "warn",
        "backward",
        "forward",
        "data",
        "compile",
    ].map((name) => [name, "card"]),
    ["text", "page"],
    ["dim", "page"],
    ["dim", "soft"],
    ["text", "accent-soft"],
    ["accent", "accent-soft"],
    ["page", "text"],
    ["added-text", "added"],
    ["removed-text", "removed"],
    ["on-region", "region"],
    ...["kernel", "kernel2", "kernel3", "compile", "run", "wait", "data", "copy", "python", "step"].map((name) => [
        "on-event",
        name,
    ]),
];

for (const [theme, colors] of Object.entries({ light, dark })) {
    test(`contrast, ${theme}`, () => {
        for (const [text, ground] of kText) {
            const value = contrast(colors[text], colors[ground]);
            assert.ok(value >= 4.5, `${text} on ${ground}: ${value.toFixed(2)}`);
        }
        for (const mark of ["contraction", "row", "map", "custom", "kernel", "copy", "step"])
            assert.ok(contrast(colors[mark], colors.card) >= 3, mark);
    });
}

test("both themes set the same colours", () => {
    assert.deepEqual(Object.keys(variables(':root[data-theme="dark"]')).sort(), Object.keys(light).sort());
});
