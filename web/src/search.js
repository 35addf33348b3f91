// web/src/search.js: the box that finds kernels, source lines, modules and regions by their text.
import { h, replace } from "./dom.js";
import { Kind, lineText } from "./model.js";

const kMost = 12; // of each sort

export function find(app, text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const { model } = app;
    const has = (value) => value !== undefined && value.toLowerCase().includes(wanted);
    const results = [];
    const take = (list) => results.push(...list.slice(0, kMost));
    take(
        model.kernels
            .filter((k) => has(k.name))
            .sort((a, b) => b.time - a.time)
            .map((k) => ({ sort: "kernel", text: k.name, tab: "kernels", argument: k.index })),
    );
    const lines = [];
    model.files.forEach((file, f) => {
        (file.source ?? "").split("\n").forEach((line, i) => {
            if (lines.length < kMost && has(line))
                lines.push({
                    sort: "line",
                    text: `${lineText(model, f, i + 1)}  ${line.trim()}`,
                    tab: "program",
                    argument: `${f}:${i + 1}`,
                });
        });
    });
    take(lines);
    const modules = new Map();
    for (const site of model.sites) if (has(site.module) && site.file !== undefined) modules.set(site.module, site);
    take(
        [...modules].map(([module, site]) => ({
            sort: "module",
            text: module,
            tab: "program",
            argument: `${site.file}:${site.line}`,
        })),
    );
    take(
        model.labels
            .map((label, i) => [label, i])
            .filter(([label]) => has(label))
            .map(([label, i]) => ({ sort: "region", text: label, tab: "timeline", argument: () => longest(model, i) }))
            .filter((r) => r.argument() !== undefined),
    );
    return results;
}

// The longest event with this label.
function longest(model, label) {
    const { events } = model;
    let best = -1;
    for (let i = 0; i < events.count; ++i) {
        if (events.kind[i] <= Kind.run || events.what[i] !== label) continue;
        if (best < 0 || events.duration[i] > events.duration[best]) best = i;
    }
    return best < 0 ? undefined : `e${best}`;
}

export function searchBox(app) {
    let results = [];
    let at = 0;
    const input = h("input", {
        type: "search",
        placeholder: "Search  /",
        "aria-label": "Search",
        oninput: update,
        onfocus: update,
        onkeydown: key,
    });
    const list = h("div", { class: "results", role: "listbox", hidden: true });
    const element = h("div", { class: "search" }, input, list);
    addEventListener("pointerdown", (event) => !element.contains(event.target) && close());

    function update() {
        results = find(app, input.value);
        at = 0;
        draw();
    }
    function draw() {
        list.hidden = !input.value.trim();
        replace(
            list,
            results.length
                ? results.map((result, i) =>
                      h(
                          "button",
                          { role: "option", "aria-selected": String(i === at), onclick: () => open(result) },
                          h("span", { class: "dim" }, result.sort),
                          h("span", { title: result.text }, result.text),
                      ),
                  )
                : h("p", { class: "dim", style: { padding: "6px 10px" } }, "Nothing found."),
        );
    }
    function open(result) {
        close();
        app.go(result.tab, typeof result.argument === "function" ? result.argument() : result.argument);
    }
    function close() {
        const was = document.activeElement === input || !list.hidden;
        list.hidden = true;
        if (was) input.blur();
        return was;
    }
    function key(event) {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            at = Math.max(0, Math.min(results.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
            draw();
            list.children[at]?.scrollIntoView({ block: "nearest" });
            event.preventDefault();
        } else if (event.key === "Enter" && results[at]) open(results[at]);
    }
    return { element, close, focus: () => (input.focus(), input.select()) };
}
