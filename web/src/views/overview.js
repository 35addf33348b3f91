// web/src/views/overview.js: where the time and the memory went, on one screen, and what stands out.
import { kKindColors } from "../colors.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { kPython, lineText, siteText } from "../model.js";
import { kParts, mainTrack, modulesOf, notes, sourceLine, stepCount, timeByPart } from "../stats.js";
import { meter } from "../table.js";

const kTop = 8;

export function overviewView(app) {
    const { model } = app;
    const track = mainTrack(model);
    const element = h(
        "div",
        { class: "view" },
        h(
            "div",
            { class: "stack" },
            factsCard(app),
            track && barCard(app, track),
            notesCard(app, track),
            h("div", { class: "columns" }, kernelsCard(app), linesCard(app)),
            h("div", { class: "columns" }, memoryCard(app), modulesCard(app)),
        ),
    );
    return { element };
}

function factsCard({ model }) {
    const { machine, kernels, memory } = model;
    const fact = (value, label) => h("div", null, h("b", null, value), h("span", null, label));
    const launches = kernels.reduce((sum, kernel) => sum + (kernel.calls ?? 0), 0),
        steps = stepCount(model);
    const described = [
        machine.cpu,
        machine.level,
        machine.threads !== undefined && format.plural(machine.threads, "thread"),
        machine.backend,
        machine.bandwidth && `${format.gigaPerSecond(machine.bandwidth)}\u00a0GB/s`,
        machine.flops && `${format.gigaPerSecond(machine.flops)}\u00a0GFLOP/s`,
    ]
        .filter(Boolean)
        .join(" · ");
    const made = [
        model.raw.began?.replace("T", " ").replace("Z", " UTC"),
        model.raw.weft && `Weft ${model.raw.weft}`,
        model.raw.overhead !== undefined &&
            `recording cost about ${format.percent(model.raw.overhead / model.duration)}`,
    ]
        .filter(Boolean)
        .join(" · ");
    return h(
        "div",
        { class: "card" },
        h(
            "div",
            { class: "facts" },
            fact(format.time(model.duration), "duration"),
            steps > 0 && fact(format.count(steps), steps === 1 ? "optimiser step" : "optimiser steps"),
            steps > 0 && fact(format.time(model.duration / steps), "per step"),
            fact(format.count(launches), `launches of ${format.plural(kernels.length, "kernel")}`),
            fact(format.count(model.plans.length), model.plans.length === 1 ? "plan" : "plans"),
            memory.peak && fact(format.bytes(memory.peak.bytes), "peak memory"),
        ),
        h("p", { class: "dim", style: { "margin-top": "12px" } }, described, described && made ? h("br") : "", made),
    );
}

function barCard(app, track) {
    const { model } = app;
    const times = timeByPart(model, track);
    const parts = kParts.filter(({ kind }) => times[kind] > 0);
    const color = (kind) => ({ background: `var(--${kKindColors[kind]})` });
    const bar = h(
        "div",
        {
            class: "bar",
            role: "img",
            "aria-label": parts
                .map(({ kind, name }) => `${name} ${format.percent(times[kind] / model.duration)}`)
                .join(", "),
        },
        parts.map(({ kind, name }) => {
            const share = times[kind] / model.duration;
            return h(
                "div",
                {
                    class: share > 0.08 ? "named" : undefined,
                    style: { ...color(kind), "flex-grow": share, "flex-basis": 0 },
                    title: `${name}: ${format.time(times[kind])}, ${format.percent(share)}`,
                },
                share > 0.08 ? `${name} ${format.percent(share)}` : "",
            );
        }),
    );
    const legend = h(
        "div",
        { class: "legend" },
        parts.map(({ kind, name }) =>
            h(
                "div",
                null,
                h("i", { class: "dot", style: color(kind) }),
                name,
                h("b", null, format.percent(times[kind] / model.duration)),
                h("span", { class: "dim" }, format.time(times[kind])),
            ),
        ),
    );
    return h(
        "div",
        { class: "card" },
        h(
            "h2",
            null,
            "Where the time went",
            h("span", { class: "dim", style: { "font-weight": 400 } }, ` · ${track.name}`),
        ),
        bar,
        legend,
        otherTracks(model, track, color),
    );
}

// What the other threads, helpers and streams did meanwhile.
function otherTracks(model, track, color) {
    const others = model.tracks.filter((other) => other !== track && other.rows.length > 0).slice(0, 8);
    if (!others.length) return undefined;
    return h(
        "div",
        { class: "thin" },
        others.map((other) => {
            const times = timeByPart(model, other);
            const busy = kParts.filter(({ kind }) => kind !== kPython && times[kind] > 0);
            const share = (kind) => times[kind] / model.duration;
            return [
                h("span", null, other.name),
                h(
                    "div",
                    { class: "bar" },
                    busy.map(({ kind, name }) =>
                        h("div", {
                            style: { ...color(kind), width: `${100 * share(kind)}%` },
                            title: `${name}: ${format.time(times[kind])}`,
                        }),
                    ),
                ),
                h("span", { class: "number dim" }, `busy ${format.percent(1 - share(kPython))}`),
            ];
        }),
    );
}

function notesCard(app, track) {
    const list = notes(app.model, track);
    if (!list.length) return undefined;
    return h(
        "div",
        { class: "card" },
        h("h2", null, "What stands out"),
        h(
            "ul",
            { class: "notes" },
            list
                .slice(0, 7)
                .map((note) =>
                    h(
                        "li",
                        null,
                        note.text,
                        " ",
                        note.tab &&
                            h(
                                "a",
                                { href: `#${note.tab}${note.kernel === undefined ? "" : `/${note.kernel}`}` },
                                "show",
                            ),
                    ),
                ),
        ),
    );
}

function kernelsCard({ model }) {
    const top = [...model.kernels]
        .sort((a, b) => b.time - a.time)
        .slice(0, kTop)
        .filter((kernel) => kernel.time > 0);
    const all = model.kernels.reduce((sum, kernel) => sum + (kernel.time ?? 0), 0);
    return h(
        "div",
        { class: "card" },
        h("h2", null, "Kernels that take the most time"),
        top.length
            ? h(
                  "table",
                  null,
                  h(
                      "tbody",
                      null,
                      top.map((kernel) =>
                          h(
                              "tr",
                              null,
                              h(
                                  "td",
                                  { class: "name" },
                                  h("a", { href: `#kernels/${kernel.index}`, title: kernel.name }, kernel.name),
                              ),
                              h("td", { class: "fit" }, meter(kernel.time / top[0].time)),
                              h("td", { class: "number" }, format.time(kernel.time)),
                              h("td", { class: "number dim" }, format.percent(kernel.time / all)),
                          ),
                      ),
                  ),
              )
            : h("p", { class: "dim" }, "No kernel ran."),
    );
}

function linesCard({ model, lines }) {
    const top = [...lines.values()]
        .sort((a, b) => b.time - a.time)
        .slice(0, kTop)
        .filter((line) => line.time > 0);
    const all = model.kernels.reduce((sum, kernel) => sum + (kernel.time ?? 0), 0);
    return h(
        "div",
        { class: "card" },
        h("h2", { title: "A kernel's time is shared equally among its lines" }, "Lines that take the most time"),
        top.length
            ? h(
                  "table",
                  null,
                  h(
                      "tbody",
                      null,
                      top.map((line) =>
                          h(
                              "tr",
                              null,
                              h(
                                  "td",
                                  { class: "name" },
                                  h(
                                      "a",
                                      {
                                          href: `#program/${line.key}`,
                                          class: "mono",
                                          title: lineText(model, line.file, line.line),
                                      },
                                      sourceLine(model, line.file, line.line)?.trim() ||
                                          lineText(model, line.file, line.line),
                                  ),
                              ),
                              h(
                                  "td",
                                  { class: "fit dim" },
                                  `${(model.files[line.file]?.path ?? "?").split(/[/\\]/).pop()}:${line.line}`,
                              ),
                              h("td", { class: "fit" }, meter(line.time / top[0].time)),
                              h("td", { class: "number" }, format.time(line.time)),
                              h("td", { class: "number dim" }, format.percent(line.time / all)),
                          ),
                      ),
                  ),
              )
            : h("p", { class: "dim" }, "No line is known."),
    );
}

export function holdersTable(model, holders) {
    const most = Math.max(...holders.map((holder) => holder.bytes ?? 0));
    return h(
        "table",
        null,
        h(
            "tbody",
            null,
            holders.map((holder) =>
                h(
                    "tr",
                    null,
                    h("td", { class: "fit mono" }, holder.type ?? ""),
                    h("td", { class: "name dim" }, siteLink(model, holder.site)),
                    h("td", { class: "fit" }, meter(holder.bytes / most, "var(--copy)")),
                    h("td", { class: "number" }, format.bytes(holder.bytes)),
                ),
            ),
        ),
    );
}

export function siteLink(model, index) {
    const site = model.sites[index];
    if (!site) return "";
    const text = siteText(model, index);
    return site.file === undefined ? text : h("a", { href: `#program/${site.file}:${site.line}`, title: text }, text);
}

function modulesCard({ model }) {
    const top = modulesOf(model)
        .slice(0, kTop)
        .filter((entry) => entry.time > 0);
    if (!top.length) return undefined;
    const all = model.kernels.reduce((sum, kernel) => sum + (kernel.time ?? 0), 0);
    return h(
        "div",
        { class: "card" },
        h("h2", { title: "A kernel's time is shared equally among its modules" }, "Modules that take the most time"),
        h(
            "table",
            null,
            h(
                "tbody",
                null,
                top.map(({ module, time, site }) =>
                    h(
                        "tr",
                        null,
                        h(
                            "td",
                            { class: "name" },
                            model.sites[site].file === undefined
                                ? module
                                : h(
                                      "a",
                                      {
                                          href: `#program/${model.sites[site].file}:${model.sites[site].line}`,
                                          title: module,
                                      },
                                      module,
                                  ),
                        ),
                        h("td", { class: "fit" }, meter(time / top[0].time)),
                        h("td", { class: "number" }, format.time(time)),
                        h("td", { class: "number dim" }, format.percent(time / all)),
                    ),
                ),
            ),
        ),
    );
}

function memoryCard({ model }) {
    const { peak } = model.memory;
    if (!peak) return undefined;
    return h(
        "div",
        { class: "card" },
        h(
            "h2",
            null,
            `Peak memory ${format.bytes(peak.bytes)}`,
            h("span", { class: "dim", style: { "font-weight": 400 } }, ` · at ${format.time(peak.time)} · `),
            h("a", { href: "#timeline/peak", style: { "font-weight": 400 } }, "show"),
        ),
        peak.holders?.length
            ? holdersTable(model, peak.holders.slice(0, kTop))
            : h("p", { class: "dim" }, "Who held it is not recorded."),
    );
}
