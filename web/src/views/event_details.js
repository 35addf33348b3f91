// web/src/views/event_details.js: what is known of one event, and of the peak of memory, in words and numbers.
import { kKindColors, kernelColor } from "../colors.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { dot } from "../marks.js";
import { Kind, eventName, kKindNames, lineText, rates } from "../model.js";
import { partsOf, sourceLine, timeInRange } from "../stats.js";
import { siteLink } from "./overview.js";

export const pairs = (list) =>
    h(
        "dl",
        { class: "pairs" },
        list
            .filter(([, value]) => value !== undefined && value !== false)
            .map(([name, value, title]) => [h("dt", { title }, name), h("dd", null, value)]),
    );
const rate = (value, unit) => value && `${format.gigaPerSecond(value)}\u00a0${unit}`;

export function eventDetails(app, i) {
    const { model } = app;
    const { events } = model;
    const kind = events.kind[i];
    const what = events.what[i];
    const kernel = kind === Kind.kernel ? model.kernels[what] : undefined;
    const moment = events.duration[i] === 0;
    const common = [
        ["kind", kKindNames[kind]],
        ["track", model.tracks[events.track[i]].name],
        [moment ? "at" : "began at", format.time(events.start[i])],
        ["duration", !moment && format.time(events.duration[i])],
        ["outside of what it contains", events.self[i] < events.duration[i] && format.time(events.self[i])],
    ];
    const parent = events.parent[i];
    return [
        h("h2", null, eventName(model, i)),
        pairs(common),
        kernel && kernelFacts(app, kernel, events.duration[i], model.tracks[events.track[i]].kind === "worker"),
        (kind === Kind.run || kind === Kind.compile) &&
            model.plans[what] &&
            h(
                "p",
                null,
                h("a", { href: `#plans/${what}` }, `Plan ${what}`),
                ` · ${format.plural(model.plans[what].kernels.length, "kernel")}`,
            ),
        parent >= 0 && [
            h("h3", null, "Inside of"),
            h(
                "p",
                null,
                h("a", { href: `#timeline/e${parent}` }, eventName(model, parent)),
                h("span", { class: "dim" }, ` ${format.time(events.duration[parent])}`),
            ),
        ],
    ];
}

// A helper has a part of the work, nobody knows which.
function kernelFacts(app, kernel, time, helps) {
    const { model } = app;
    const now = rates(kernel, time);
    return [
        !helps && h("h3", null, "This launch"),
        !helps &&
            pairs([
                ["bytes", now.moved !== undefined && format.bytes(now.moved)],
                ["operations", kernel.flops !== undefined && format.flops(kernel.flops)],
                ["bandwidth", rate(now.bandwidth, "GB/s")],
                ["arithmetic", rate(now.rate, "GFLOP/s")],
                [
                    "of the limit",
                    now.ofLimit !== undefined && format.percent(now.ofLimit),
                    "The least time that this machine needs for these bytes and operations, divided by the time taken",
                ],
            ]),
        h("h3", null, "All launches"),
        pairs([
            ["launches", format.count(kernel.calls)],
            ["mean", format.time(kernel.mean)],
            ["best", kernel.best !== undefined && format.time(kernel.best)],
            ["total", format.time(kernel.time)],
        ]),
        h("p", null, h("a", { href: `#kernels/${kernel.index}` }, "Stages of this kernel")),
        kernel.lines?.length > 0 && [
            h("h3", null, "Lines"),
            h(
                "ul",
                null,
                kernel.lines.map((line) => lineItem(model, line)),
            ),
        ],
    ];
}

export function lineItem(model, line) {
    const text = sourceLine(model, line.file, line.line)?.trim();
    return h(
        "li",
        null,
        h("a", { href: `#program/${line.key}` }, lineText(model, line.file, line.line)),
        " ",
        line.backward && h("span", { class: "tag backward" }, "backward"),
        text && h("div", { class: "mono dim" }, text),
    );
}

// Nothing is selected: what the visible part of the time consists of.
export function rangeDetails(app, track, from, to, title = "In view") {
    const { model } = app;
    if (!track) return h("h2", null, "No events");
    const { times, kernels } = timeInRange(model, track, from, to);
    const part = (color, name, time) =>
        h(
            "li",
            { class: "part" },
            dot(color),
            h("span", { class: "grow one" }, name),
            h("span", { class: "number" }, format.time(time)),
            h("span", { class: "number dim" }, format.percent(time / (to - from))),
        );
    return [
        h("h2", null, title),
        h("p", { class: "dim" }, `${format.time(to - from)} of ${track.name}`),
        h("h3", null, "Time"),
        h(
            "ul",
            null,
            partsOf(model)
                .filter(({ kind }) => times[kind] > 0)
                .map(({ kind, name }) => part(kKindColors[kind], name, times[kind])),
        ),
        kernels.length > 0 && [
            h("h3", null, "Kernels"),
            h(
                "ul",
                null,
                kernels
                    .slice(0, 8)
                    .map(([k, time]) =>
                        part(
                            kernelColor(model.kernels[k]),
                            model.kernels[k]
                                ? h("a", { href: `#kernels/${k}`, title: model.kernels[k].name }, model.kernels[k].name)
                                : "?",
                            time,
                        ),
                    ),
            ),
        ],
    ];
}

export function peakDetails(app) {
    const { model } = app;
    const { peak } = model.memory;
    return [
        h("h2", null, `Peak memory ${format.bytes(peak.bytes)}`),
        pairs([["at", format.time(peak.time)]]),
        h("h3", null, "Largest holders"),
        peak.holders?.length
            ? h(
                  "ul",
                  null,
                  peak.holders.map((holder) =>
                      h(
                          "li",
                          null,
                          h("b", null, format.bytes(holder.bytes)),
                          " ",
                          h("span", { class: "mono" }, holder.type ?? ""),
                          h("div", null, siteLink(model, holder.site)),
                      ),
                  ),
              )
            : h("p", { class: "dim" }, "Who held it is not recorded."),
    ];
}
