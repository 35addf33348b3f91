// web/src/trace.js: a profile as a trace that Perfetto and chrome://tracing open. Pure. Times there are microseconds.
import { eventName, kKindNames, siteText } from "./model.js";

export function chromeTrace(model) {
    const { events, memory, kernels } = model;
    const out = [{ ph: "M", pid: 1, name: "process_name", args: { name: `weft: ${model.title}` } }];
    for (const track of model.tracks) {
        out.push({ ph: "M", pid: 1, tid: track.index, name: "thread_name", args: { name: track.name } });
        out.push({ ph: "M", pid: 1, tid: track.index, name: "thread_sort_index", args: { sort_index: track.index } });
    }
    const details = kernels.map((kernel) => {
        const args = { kernel: kernel.index };
        for (const name of ["kind", "reads", "writes", "flops"])
            if (kernel[name] !== undefined) args[name] = kernel[name];
        const sites = kernel.sites.map((site) => siteText(model, site)).filter(Boolean);
        if (sites.length) args.sites = sites;
        return args;
    });
    for (let i = 0; i < events.count; ++i) {
        const event = {
            name: eventName(model, i),
            cat: kKindNames[events.kind[i]] ?? "event",
            pid: 1,
            tid: events.track[i],
            ts: events.start[i] / 1000,
        };
        if (events.duration[i] > 0) Object.assign(event, { ph: "X", dur: events.duration[i] / 1000 });
        else Object.assign(event, { ph: "i", s: "t" });
        if (events.kind[i] === 0 && details[events.what[i]]) event.args = details[events.what[i]];
        out.push(event);
    }
    for (let i = 0; i < memory.time.length; ++i) {
        out.push({
            ph: "C",
            pid: 1,
            name: "memory",
            ts: memory.time[i] / 1000,
            args: { live: memory.live[i], pool: memory.pool[i] },
        });
    }
    return { traceEvents: out, displayTimeUnit: "ns", otherData: { title: model.title, weft: model.raw.weft ?? "" } };
}
