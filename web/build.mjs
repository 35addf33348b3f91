// web/build.mjs: bundles src/ into one self-contained page, web/page.html. `node build.mjs [file]` writes elsewhere.
// The same sources give the same bytes: versions are pinned, and nothing of the machine or the clock goes in.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const kPlaceholder = "/*PROFILE*/";
const kLimit = 300_000; // bytes, compressed
const target = process.argv[2] ?? join(here, "page.html");

async function bundle(entry) {
    const result = await build({
        entryPoints: [join(here, "src", entry)],
        absWorkingDir: here,
        bundle: true,
        minify: true,
        write: false,
        format: "iife",
        target: "es2021",
        charset: "utf8",
        legalComments: "none", // the licences are in a comment of the page
        metafile: true,
    });
    return { text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs) };
}

// The licence of every package that the bundle holds, and of what these depend on: some hold that as a part of their own files.
function licences(inputs) {
    const names = new Set();
    const describe = (name) => JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    const add = (name) => {
        if (names.has(name)) return;
        names.add(name);
        for (const other of Object.keys(describe(name).dependencies ?? {})) add(other);
    };
    for (const path of inputs) {
        const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
        if (match) add(match[1]);
    }
    const holders = new Map(); // by the words of a licence, which several packages have in common: whose it is
    for (const name of [...names].sort()) {
        const { version, license } = describe(name);
        const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
        const start = text.search(/^Permission/m);
        const words = text.slice(Math.max(start, 0));
        const key = words.replace(/\s+/g, " ");
        const notice =
            start > 0
                ? `, ${text
                      .slice(0, start)
                      .match(/^Copyright.*$/gm)
                      .join(", ")}`
                : "";
        if (!holders.has(key)) holders.set(key, { owners: [], words });
        holders.get(key).owners.push(`${name} ${version} (${license})${notice}`);
    }
    return [...holders.values()].map(({ owners, words }) => `${owners.join("\n")}\n\n${words}`);
}

const script = await bundle("main.js");
const style = await bundle("style.css");
for (const { text } of [script, style]) {
    if (/<\/(script|style)/i.test(text) || text.includes(kPlaceholder))
        throw new Error("the bundle would end its own element");
}
const notice = licences([...script.inputs, ...style.inputs])
    .join("\n\n")
    .replaceAll("--", "- -");
const hash = createHash("sha256").update(script.text).digest("base64");

const values = { LICENCES: notice, HASH: hash, STYLE: style.text, SCRIPT: script.text };
const page = readFileSync(join(here, "src", "page.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
if (page.split(kPlaceholder).length !== 2) throw new Error("the page must hold its placeholder exactly once");

const compressed = gzipSync(page, { level: 9 }).length;
if (compressed > kLimit) throw new Error(`the page has ${compressed} bytes compressed, more than ${kLimit}`);
writeFileSync(target, page);
console.log(`${(page.length / 1000).toFixed(0)} kB, ${(compressed / 1000).toFixed(0)} kB compressed`);
